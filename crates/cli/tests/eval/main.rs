//! Models against opinion scores, compared with scipy, pandas and onnxruntime.
#![cfg(unix)]

#[path = "../mcp/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "../common/mod.rs"]
mod common;
mod evaluate;
mod features;
mod hostile;
mod python;
#[path = "../mcp/schema.rs"]
mod schema;
mod tools;
