//! The folder that all machines share: the plan, and a file for each result.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::merge::readable;
use super::plan::Plan;

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
    root: PathBuf,
}

impl PlanFolder {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    fn plan_file(&self) -> PathBuf {
        self.root.join("plan.json")
    }

    pub fn write_plan(&self, plan: &Plan) -> Result<()> {
        std::fs::create_dir_all(&self.root)
            .with_context(|| format!("cannot create {}", self.root.display()))?;
        put(&self.plan_file(), plan, true)
    }

    pub fn read_plan(&self) -> Result<Plan> {
        let path = self.plan_file();
        let text = std::fs::read(&path)
            .with_context(|| format!("{} is no plan: cannot read {}", self.root.display(), path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is no plan", path.display()))
    }

    /// Results lie in folders of at most a few hundred.
    fn result_file(&self, key: &str) -> PathBuf {
        self.root.join("results").join(&key[..2.min(key.len())]).join(format!("{key}.json"))
    }

    pub fn is_done(&self, key: &str) -> bool {
        self.result_file(key).is_file()
    }

    /// The result of a task. A file that is cut short or foreign is an error: on a sound file system there is none.
    pub fn result(&self, key: &str) -> Result<Option<TaskResult>> {
        let path = self.result_file(key);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let result = serde_json::from_slice(&text);
        result.map(Some).with_context(|| format!("{} is no result; remove it and work again", path.display()))
    }

    pub fn put_result(&self, key: &str, result: &TaskResult) -> Result<()> {
        put(&self.result_file(key), result, false)
    }
}

/// Writes a file that appears whole or not at all and outlives a power failure. An existing one is kept unless `replace`.
fn put(path: &Path, value: &impl Serialize, replace: bool) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(cannot)?;
    let mut file = tempfile::Builder::new().prefix(".visus-").tempfile_in(folder).with_context(cannot)?;
    let mut text = serde_json::to_vec(value).with_context(cannot)?;
    text.push(b'\n');
    file.write_all(&text).and_then(|()| file.as_file().sync_all()).with_context(cannot)?;
    readable(file.as_file()).with_context(cannot)?;
    if replace {
        file.persist(path).map_err(|error| error.error).with_context(cannot)?;
        return Ok(());
    }
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error).with_context(cannot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_result_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = PlanFolder::new(root.path());
        let error =
            |text: &str| TaskResult::Error { error: text.to_owned(), error_class: "video".to_owned() };
        assert!(!folder.is_done("abc") && folder.result("abc").unwrap().is_none());
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
        assert!(PlanFolder::new(root.path()).result("abc").is_err());
    }
}
