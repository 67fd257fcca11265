//! The threads on which requests run: two, started when the first is made.

use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

use crate::RemoteError;

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

pub fn runtime() -> Result<&'static Runtime, RemoteError> {
    let start = || {
        let started =
            Builder::new_multi_thread().worker_threads(2).thread_name("remote").enable_all().build();
        started.map_err(|error| error.to_string())
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|reason| RemoteError::failed("threads for requests", reason))
}

/// Waits for a future. Not for use on the threads of a runtime.
pub fn wait<T>(future: impl Future<Output = Result<T, RemoteError>>) -> Result<T, RemoteError> {
    runtime()?.block_on(future)
}
