//! MCP and HTTP over one job queue: agents and services score video through it.
//!
//! This crate owns two front ends, [`mcp`] and [`http`], and what they share: [`config`], the allowed [`roots`], one bounded
//! table of [`jobs`], the two [`engines`] (embedded, or a `vmaf` executable as child), the [`tools`] with their arguments,
//! handlers and answers, and every [`text`] that a client reads. It is the only async crate, and nothing blocking runs on
//! its async threads.
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make files of their own"))]

pub mod allocator;
pub mod config;
pub mod engines;
pub mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod history;
pub mod http;
mod incoming;
pub mod jobs;
pub mod mcp;
mod memory;
mod previews;
pub mod report;
pub mod roots;
mod server;
pub mod text;
pub mod tools;
mod web;

pub use error::{Fault, ToolError};
pub(crate) use server::WHILE_MADE;
pub use server::{Server, Started, blocking};

/// What stands as the version in reports.
pub const VERSION: &str = concat!("visus-", env!("CARGO_PKG_VERSION"));
