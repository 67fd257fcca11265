//! What all machines share: the plan, and a piece for each result.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::Plan;
use super::store::{self, Store};

const PLAN: &str = "plan.json";

/// What became of a task. It is written once; whoever comes second leaves what is there.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum TaskResult {
    /// A report as `visus score` writes it; without frames where the pair was not cut.
    Ok { report: Value },
    /// The videos are at fault: trying again would not help.
    Error { error: String, error_class: String },
}

#[derive(Clone, Debug)]
pub struct PlanFolder {
    store: Arc<dyn Store>,
}

impl PlanFolder {
    pub fn open(place: &Path) -> Result<Self> {
        Ok(Self { store: store::open(place)? })
    }

    pub fn write_plan(&self, plan: &Plan) -> Result<()> {
        self.put(PLAN, plan, true)
    }

    pub fn read_plan(&self) -> Result<Plan> {
        let shown = self.store.shown(PLAN);
        let text = self
            .store
            .get(PLAN)?
            .with_context(|| format!("there is no plan: no {shown}; `visus plan` makes one"))?;
        serde_json::from_slice(&text).with_context(|| format!("{shown} is no plan"))
    }

    pub fn is_done(&self, key: &str) -> Result<bool> {
        Ok(self.written(key)?.is_some())
    }

    /// When a result was written, if there is one.
    pub fn written(&self, key: &str) -> Result<Option<SystemTime>> {
        self.store.written(&result_name(key))
    }

    /// The result of a task. A file that is cut short or foreign is an error: on a sound file system there is none.
    pub fn result(&self, key: &str) -> Result<Option<TaskResult>> {
        let name = result_name(key);
        let Some(text) = self.store.get(&name)? else { return Ok(None) };
        let result = serde_json::from_slice(&text);
        result
            .map(Some)
            .with_context(|| format!("{} is no result; remove it and work again", self.store.shown(&name)))
    }

    pub fn put_result(&self, key: &str, result: &TaskResult) -> Result<()> {
        self.put(&result_name(key), result, false)
    }

    fn put(&self, name: &str, value: &impl Serialize, replace: bool) -> Result<()> {
        let text = serde_json::to_vec(value);
        let mut text = text.with_context(|| format!("cannot write {}", self.store.shown(name)))?;
        text.push(b'\n');
        self.store.put(name, text, replace)
    }
}

/// Results lie in folders of at most a few hundred.
fn result_name(key: &str) -> String {
    format!("results/{}/{key}.json", key.get(..2).unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_result_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = PlanFolder::open(root.path()).unwrap();
        let error =
            |text: &str| TaskResult::Error { error: text.to_owned(), error_class: "video".to_owned() };
        assert!(!folder.is_done("abc").unwrap() && folder.result("abc").unwrap().is_none());
        folder.put_result("abc", &error("first")).unwrap();
        folder.put_result("abc", &error("second")).unwrap();
        let Some(TaskResult::Error { error, .. }) = folder.result("abc").unwrap() else { panic!() };
        assert_eq!(error, "first");
        let files = std::fs::read_dir(root.path().join("results/ab")).unwrap().count();
        assert_eq!(files, 1, "no temporary file is left");
    }

    #[test]
    fn a_torn_file_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("results/ab")).unwrap();
        std::fs::write(root.path().join("results/ab/abc.json"), "{\"status\":\"ok\",").unwrap();
        assert!(PlanFolder::open(root.path()).unwrap().result("abc").is_err());
    }
}
