//! The handle that a caller has on its job.

use std::sync::Arc;

use tokio::sync::watch;

use super::table::{self, Shared};
use super::{Progress, State, Status};
use crate::ToolError;
use crate::report::Output;

/// Waits on a job. Dropping it ends the job: a caller that went away takes its work along. A detached handle does not.
#[derive(Debug)]
pub struct JobHandle {
    id: String,
    shared: Arc<Shared>,
    state: watch::Receiver<State>,
    attached: bool,
}

impl JobHandle {
    pub(super) fn new(id: String, shared: Arc<Shared>, state: watch::Receiver<State>) -> Self {
        Self { id, shared, state, attached: true }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The same handle, without ending the job when it is dropped.
    #[must_use]
    pub fn detached(mut self) -> Self {
        self.attached = false;
        self
    }

    pub fn status(&self) -> Status {
        self.state.borrow().status.clone()
    }

    pub fn progress(&self) -> Progress {
        self.state.borrow().progress.clone()
    }

    /// What the job has found so far; nothing once it is over.
    pub fn live(&self) -> Arc<super::Live> {
        Arc::clone(&self.state.borrow().live)
    }

    /// Returns when something has changed since the last look. `false`: the job is over, nothing will change.
    pub async fn changed(&mut self) -> bool {
        if self.state.borrow_and_update().status.is_over() {
            return false;
        }
        self.state.changed().await.is_ok()
    }

    /// Waits for the result.
    pub async fn wait(&mut self) -> Result<Arc<Output>, ToolError> {
        loop {
            let status = self.state.borrow_and_update().status.clone();
            match status {
                Status::Done(output) => return Ok(output),
                Status::Failed(error) => return Err(error),
                Status::Cancelled => return Err(ToolError::Cancelled),
                Status::Queued | Status::Running => {
                    if self.state.changed().await.is_err() {
                        return Err(ToolError::Cancelled);
                    }
                }
            }
        }
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        if self.attached {
            table::cancel(&self.shared, &self.id);
        }
    }
}
