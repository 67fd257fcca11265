//! Object stores and work queues behind blocking calls.
//!
//! Everything asynchronous stays within this crate: callers see functions that return when the bytes are there. Cryptography is
//! graviola's (Rust and inline assembly), so that neither feature needs a C compiler.
//!
//! | feature | what |
//! |---|---|
//! | `object-store` | [`Bucket`], a place for named bytes in S3, Google Cloud Storage or Azure; [`RangeReader`], an object read by ranges; [`Cache`], objects staged into a bounded folder |
//! | `nats` | [`Queue`], a work queue of NATS JetStream |
//! | `tls` | [`tls::provider`], cryptography for TLS; the server uses it too |

#![forbid(unsafe_code)]

#[cfg(feature = "object-store")]
mod address;
#[cfg(feature = "object-store")]
mod bucket;
#[cfg(feature = "object-store")]
mod cache;
#[cfg(feature = "object-store")]
mod crypto;
mod error;
#[cfg(feature = "object-store")]
mod http;
#[cfg(feature = "nats")]
mod queue;
#[cfg(feature = "object-store")]
mod ranges;
#[cfg(any(feature = "object-store", feature = "nats"))]
mod runtime;
#[cfg(feature = "tls")]
pub mod tls;

#[cfg(feature = "object-store")]
pub use address::Address;
#[cfg(feature = "object-store")]
pub use bucket::{Bucket, ObjectFacts};
#[cfg(feature = "object-store")]
pub use cache::{Cache, Staged};
pub use error::RemoteError;
#[cfg(feature = "nats")]
pub use queue::{Delivery, Job, Queue, QueueSettings};
#[cfg(feature = "object-store")]
pub use ranges::RangeReader;
