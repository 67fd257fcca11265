//! What all machines share: the plan, and a piece for each result.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use visus_scoring::FoundPairs;

use super::bundle::{Bundle, Plan};
use super::file::{self, PlanFile};
use super::store::{self, Store};

const PLAN: &str = "plan.ndjson";
const RESULTS: &str = "results";
const PAIRS: &str = "pairs";
/// How the line of a video at fault begins.
const BAD: &[u8] = b"{\"status\":\"error\"";

/// What became of a task. It is written once; whoever comes second leaves what is there.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum TaskResult {
    /// A report as `visus score` writes it; without frames where the pair was not cut.
    Ok { report: Value },
    /// The videos are at fault: trying again would not help.
    Error { error: String, error_class: String },
}

impl TaskResult {
    fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        match self {
            Self::Ok { report } => writeln!(out, "{{\"status\":\"ok\",\"report\":{report}}}"),
            Self::Error { error, error_class } => {
                writeln!(out, "{}", json!({ "status": "error", "error": error, "error_class": error_class }))
            }
        }
    }
}

/// The results of a bundle's tasks; `None` for those that have none yet.
pub type Lines = Vec<Option<TaskResult>>;

#[derive(Clone, Debug)]
pub struct PlanFolder {
    store: Arc<dyn Store>,
}

impl PlanFolder {
    pub fn open(place: &Path) -> Result<Self> {
        Ok(Self { store: store::open(place)? })
    }

    pub fn write_plan(&self, plan: &Plan) -> Result<()> {
        let bytes = file::encode(plan).with_context(|| format!("cannot write {}", self.store.shown(PLAN)))?;
        self.store.put(PLAN, bytes, true)
    }

    /// The plan, of which no more than the head has been read.
    pub fn open_plan(&self) -> Result<PlanFile> {
        let shown = self.store.shown(PLAN);
        let bytes = self.store.open(PLAN)?;
        let bytes = bytes.with_context(|| format!("there is no plan: no {shown}; `visus plan` makes one"))?;
        PlanFile::open(bytes).with_context(|| format!("{shown} is no plan"))
    }

    pub fn read_plan(&self) -> Result<Plan> {
        self.open_plan()?.all().with_context(|| format!("{} is no plan", self.store.shown(PLAN)))
    }

    /// The pairs of a range, if they were found. A file that is damaged counts as none.
    pub fn pairs(&self, key: &str) -> Result<Option<FoundPairs>> {
        let text = self.store.get(&pairs_name(key))?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    pub fn has_pairs(&self, key: &str) -> Result<bool> {
        Ok(self.store.written(&pairs_name(key))?.is_some())
    }

    pub fn put_pairs(&self, key: &str, pairs: &FoundPairs) -> Result<()> {
        self.store.put(&pairs_name(key), serde_json::to_vec(pairs)?, true)
    }

    /// How many pairs a film has whose ranges have theirs.
    pub fn pair_count(&self, key: &str) -> Result<Option<u64>> {
        let text = self.store.get(&pairs_name(key))?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    pub fn put_pair_count(&self, key: &str, pairs: u64) -> Result<()> {
        self.store.put(&pairs_name(key), serde_json::to_vec(&pairs)?, true)
    }

    pub fn is_done(&self, key: &str) -> Result<bool> {
        Ok(self.store.written(&result_name(key))?.is_some())
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

    /// The results of these bundles, in their order; several are asked for at once where that is quicker.
    pub fn results(&self, bundles: &[&Bundle]) -> Result<Vec<Lines>> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let found: Vec<Mutex<Option<Result<Lines>>>> = bundles.iter().map(|_| Mutex::default()).collect();
        let ask = || {
            while let Some((bundle, place)) = {
                let place = next.fetch_add(1, Ordering::Relaxed);
                bundles.get(place).map(|bundle| (bundle, place)).filter(|_| !failed.load(Ordering::Relaxed))
            } {
                let result = self.result(bundle);
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                *found[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        match self.store.width().min(bundles.len()) {
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

    /// A line for each task of the bundle. A file that is cut short or foreign is an error: on a sound file system there is none.
    pub fn result(&self, bundle: &Bundle) -> Result<Lines> {
        match self.lines(&result_name(&bundle.key), bundle)? {
            Some(lines) => Ok(lines),
            None => self.unfinished(bundle),
        }
    }

    /// What a machine that failed at one of the tasks left of the others.
    pub fn unfinished(&self, bundle: &Bundle) -> Result<Lines> {
        let lines = match bundle.tasks.len() {
            1 => None,
            _ => self.lines(&unfinished_name(&bundle.key), bundle)?,
        };
        Ok(lines.unwrap_or_else(|| bundle.tasks.iter().map(|_| None).collect()))
    }

    fn lines(&self, name: &str, bundle: &Bundle) -> Result<Option<Lines>> {
        let Some(text) = self.store.get(name)? else { return Ok(None) };
        let wrong = || format!("{} is no result; remove it and work again", self.store.shown(name));
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines: Lines = lines.map(serde_json::from_slice).collect::<Result<_, _>>().with_context(wrong)?;
        if lines.len() != bundle.tasks.len() {
            bail!(wrong());
        }
        Ok(Some(lines))
    }

    /// How many tasks of a finished bundle are of bad video.
    pub fn bad(&self, key: &str) -> Result<usize> {
        let text = self.store.get(&result_name(key))?.unwrap_or_default();
        Ok(text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(BAD)).count())
    }

    /// Writes what became of all tasks of a bundle. Where a machine failed at some of them, what the others came to is kept for
    /// the next attempt.
    pub fn put_results(&self, bundle: &Bundle, lines: &[Option<TaskResult>]) -> Result<()> {
        let is_finished = lines.iter().all(Option::is_some);
        let has_some = lines.iter().any(Option::is_some);
        let mut text = Vec::new();
        for line in lines {
            match line {
                Some(line) => line.write(&mut text)?,
                None => text.extend_from_slice(b"null\n"),
            }
        }
        match (is_finished, has_some) {
            (true, _) => self.store.put(&result_name(&bundle.key), text, false),
            (false, true) => self.store.put(&unfinished_name(&bundle.key), text, true),
            (false, false) => Ok(()),
        }
    }
}

fn pairs_name(key: &str) -> String {
    format!("{PAIRS}/{}/{key}.json", key.get(..2).unwrap_or(key))
}

/// Results lie in folders of at most a few hundred.
fn result_name(key: &str) -> String {
    format!("{RESULTS}/{}/{key}.json", key.get(..2).unwrap_or(key))
}

fn unfinished_name(key: &str) -> String {
    format!("{RESULTS}/{}/{key}.unfinished.json", key.get(..2).unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use super::super::bundle;
    use super::*;

    fn bundle(tasks: usize) -> Bundle {
        let tasks = (0..tasks).map(|row| bundle::tests::task(row, 0.1)).collect();
        Bundle { key: "abc".to_owned(), shard: 0, tasks }
    }

    fn error(text: &str) -> Option<TaskResult> {
        Some(TaskResult::Error { error: text.to_owned(), error_class: "video".to_owned() })
    }

    #[test]
    fn the_first_result_stays() {
        let (root, bundle) = (tempfile::tempdir().unwrap(), bundle(1));
        let folder = PlanFolder::open(root.path()).unwrap();
        assert!(!folder.is_done("abc").unwrap() && folder.result(&bundle).unwrap()[0].is_none());
        folder.put_results(&bundle, &[error("first")]).unwrap();
        folder.put_results(&bundle, &[error("second")]).unwrap();
        let lines = folder.results(&[&bundle]).unwrap().remove(0);
        let [Some(TaskResult::Error { error, .. })] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&**error, folder.bad("abc").unwrap()), ("first", 1));
        let files = std::fs::read_dir(root.path().join("results/ab")).unwrap().count();
        assert_eq!(files, 1, "no temporary file is left");
        assert_eq!(folder.done().unwrap().into_keys().collect::<Vec<_>>(), ["abc"]);
    }

    #[test]
    fn what_was_scored_before_a_failure_is_kept() {
        let (root, bundle) = (tempfile::tempdir().unwrap(), bundle(2));
        let folder = PlanFolder::open(root.path()).unwrap();
        folder.put_results(&bundle, &[None, None]).unwrap();
        assert!(folder.unfinished(&bundle).unwrap().iter().all(Option::is_none));
        let scored = || Some(TaskResult::Ok { report: json!({ "score": 1 }) });
        folder.put_results(&bundle, &[None, scored()]).unwrap();
        let lines = folder.result(&bundle).unwrap();
        assert!(!folder.is_done("abc").unwrap() && lines[0].is_none() && lines[1].is_some());
        folder.put_results(&bundle, &[error("bad"), scored()]).unwrap();
        assert!(folder.is_done("abc").unwrap() && folder.result(&bundle).unwrap()[0].is_some());
    }

    #[test]
    fn a_torn_file_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("results/ab")).unwrap();
        let folder = PlanFolder::open(root.path()).unwrap();
        for torn in ["{\"status\":\"ok\",", "{\"status\":\"ok\",\"report\":{}}\n"] {
            std::fs::write(root.path().join("results/ab/abc.json"), torn).unwrap();
            assert!(folder.result(&bundle(2)).is_err(), "{torn}");
        }
    }
}
