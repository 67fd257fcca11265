//! Doors for programs: MCP and HTTP over one job queue.
#![forbid(unsafe_code)]

pub mod http;
