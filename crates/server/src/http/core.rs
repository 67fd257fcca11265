//! What stands behind the routes, as they see it.

use serde_json::{Map, Value};

use super::settings::StartError;
use crate::ToolError;
use crate::config::Config;
use crate::jobs::{JobHandle, Jobs, Owner};

/// A handle to the job table and the engines.
#[derive(Clone, Debug)]
pub struct Core {
    jobs: Jobs,
}

impl Core {
    pub fn new(config: Config) -> Result<Self, StartError> {
        Ok(Self { jobs: Jobs::new(config.limits) })
    }

    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Checks a scoring request, opens its files and queues it. Blocks; not for async threads.
    pub fn submit_score(&self, _owner: &Owner, _fields: Map<String, Value>) -> Result<JobHandle, ToolError> {
        Err(ToolError::Refused("stub".to_owned()))
    }

    /// Why no work can be done at the moment.
    pub fn unready(&self) -> Option<String> {
        None
    }
}

/// The schema of a scoring request.
pub fn request_schema() -> Map<String, Value> {
    Map::new()
}
