//! What all machines share: the plan, and a piece for each result.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::Plan;
use super::store::{self, Store};

const PLAN: &str = "plan.json";
const RESULTS: &str = "results";

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

    /// Whether a question takes much longer than on a disk.
    pub fn answers_slowly(&self) -> bool {
        self.store.width() > 1
    }

    /// When each result was written, by its key.
    pub fn done(&self) -> Result<HashMap<String, SystemTime>> {
        let key = |name: &str| Some(name.rsplit('/').next()?.strip_suffix(".json")?.to_owned());
        let found = self.store.list(RESULTS)?;
        Ok(found.into_iter().filter_map(|(name, when)| Some((key(&name)?, when))).collect())
    }

    /// The results of these tasks, in their order; several are asked for at once where that is quicker.
    pub fn results(&self, keys: &[&str]) -> Result<Vec<Option<TaskResult>>> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let found: Vec<Mutex<Option<Result<Option<TaskResult>>>>> =
            keys.iter().map(|_| Mutex::default()).collect();
        let ask = || {
            while let Some((key, place)) = {
                let place = next.fetch_add(1, Ordering::Relaxed);
                keys.get(place).map(|key| (key, place)).filter(|_| !failed.load(Ordering::Relaxed))
            } {
                let result = self.result(key);
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                *found[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        match self.store.width().min(keys.len()) {
            0 | 1 => ask(),
            width => std::thread::scope(|scope| (0..width).for_each(|_| drop(scope.spawn(ask)))),
        }
        let found: Vec<_> = found
            .into_iter()
            .map(|found| found.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        // Those that were not asked for come after an error, which is what is returned.
        let (errors, asked): (Vec<_>, Vec<_>) = found.into_iter().flatten().partition(Result::is_err);
        errors.into_iter().chain(asked).collect()
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
    format!("{RESULTS}/{}/{key}.json", key.get(..2).unwrap_or(key))
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
        assert_eq!(folder.done().unwrap().into_keys().collect::<Vec<_>>(), ["abc"]);
        let results = folder.results(&["none", "abc"]).unwrap();
        assert!(results[0].is_none() && results[1].is_some());
    }

    #[test]
    fn a_torn_file_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("results/ab")).unwrap();
        std::fs::write(root.path().join("results/ab/abc.json"), "{\"status\":\"ok\",").unwrap();
        assert!(PlanFolder::open(root.path()).unwrap().result("abc").is_err());
    }
}
