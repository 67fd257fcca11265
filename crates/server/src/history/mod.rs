//! What was asked for and what came of it, kept on disk so that a restart loses nothing.
//!
//! Every job that a person starts is an [`Entry`]: written when it is submitted, and again when it ends. Beside the entry of
//! a finished score lie its summary, its curve and the whole report. The folder is private to the user, bounded in number
//! and size, and the oldest entries go first.

mod entry;
mod store;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

pub use entry::{Entry, Input, Stored, seconds};
use store::Store;

use crate::jobs::Status;
use crate::report::{Detail, Output, ScoreReport};
use crate::text;

/// Entries that are kept, at most.
const MOST_ENTRIES: usize = 500;
/// Bytes that all entries take on disk, at most.
const MOST_BYTES: u64 = 1 << 30;

/// The history; clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct History(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    entries: Mutex<BTreeMap<String, Entry>>,
}

impl History {
    /// Opens the history in a folder, or in a temporary one where that cannot be written. What ran when the last server
    /// ended is marked as interrupted.
    pub fn open(folder: Option<PathBuf>) -> std::io::Result<Self> {
        let store = match folder.map(Store::open) {
            Some(Ok(store)) => store,
            Some(Err(error)) => {
                tracing::warn!(%error, "the history cannot be kept; it ends with this server");
                Store::temporary()?
            }
            None => Store::temporary()?,
        };
        let mut entries = BTreeMap::new();
        for mut entry in store.entries() {
            if !entry.is_over() {
                entry.status = "interrupted".to_owned();
                let _ = store.write_entry(&entry);
            }
            entries.insert(entry.id.clone(), entry);
        }
        Ok(Self(Arc::new(Inner { store, entries: Mutex::new(entries) })))
    }

    /// The folder that the history is usually kept in: `VISUS_STATE_DIR`, else the system's folder for state.
    pub fn usual_folder() -> Option<PathBuf> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let system = || {
            if cfg!(windows) {
                return variable("LOCALAPPDATA");
            }
            let home = variable("HOME");
            let own = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/state" };
            variable("XDG_STATE_HOME").or_else(|| home.map(|home| home.join(own)))
        };
        let folder = variable("VISUS_STATE_DIR").or_else(|| system().map(|folder| folder.join("visus")))?;
        Some(folder.join("history"))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job that was just submitted. Blocks.
    pub fn begin(&self, entry: Entry) {
        self.write(&entry);
        self.lock().insert(entry.id.clone(), entry);
        self.forget_old();
    }

    /// Notes how a job ended, and keeps what it found. Blocks.
    pub fn end(&self, id: &str, status: &Status) {
        let Some(mut entry) = self.get(id) else { return };
        entry.status = status.name().to_owned();
        entry.ended = Some(entry::now());
        let kept = match status {
            Status::Done(output) => self.keep(&mut entry, output),
            Status::Failed(error) => {
                entry.error = Some(error.to_string());
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(error) = kept {
            tracing::warn!(%error, job_id = id, "the result cannot be kept in the history");
        }
        self.write(&entry);
        // An entry that was removed meanwhile stays away.
        if let Some(known) = self.lock().get_mut(id) {
            *known = entry;
        }
        self.forget_old();
    }

    fn write(&self, entry: &Entry) {
        if let Err(error) = self.0.store.write_entry(entry) {
            tracing::warn!(%error, job_id = entry.id, "the history cannot be written");
        }
    }

    fn keep(&self, entry: &mut Entry, output: &Output) -> std::io::Result<()> {
        let store = &self.0.store;
        match output {
            Output::Score(report) => {
                let view = report.view(&entry.id);
                store.write(&entry.id, Stored::Report, &serde_json::to_vec(&view.full())?)?;
                store.write(&entry.id, Stored::Curve, &curve(report))?;
                let summary = text::clean_answer(report.answer(&entry.id, Detail::Summary));
                let name = view.main_column().map(|column| column.name().to_owned());
                entry.score = name.as_deref().and_then(|name| mean(&summary, name));
                entry.frames = Some(report.outcome.frames);
                entry.metric = name;
                let result = json!({ "summary": summary, "steps": report.steps, "shots": report.shots() });
                store.write(&entry.id, Stored::Result, result.to_string().as_bytes())
            }
            Output::Worst(_) | Output::Value(_) => {
                let answer = text::clean_answer(output.answer(&entry.id, Detail::Full));
                store.write(&entry.id, Stored::Result, Value::Object(answer).to_string().as_bytes())
            }
        }
    }

    pub fn get(&self, id: &str) -> Option<Entry> {
        self.lock().get(id).cloned()
    }

    /// All entries, newest first.
    pub fn list(&self) -> Vec<Entry> {
        let mut all: Vec<Entry> = self.lock().values().cloned().collect();
        all.sort_by(|a, b| (b.created, &b.id).cmp(&(a.created, &a.id)));
        all
    }

    /// A file of an entry. Blocks.
    pub fn read(&self, id: &str, what: Stored) -> Option<Vec<u8>> {
        // Only ids that are known become names of files.
        self.get(id)?;
        self.0.store.read(id, what).ok()
    }

    /// Where an entry's file is as JSON. Blocks.
    pub fn read_json(&self, id: &str, what: Stored) -> Option<Value> {
        serde_json::from_slice(&self.read(id, what)?).ok()
    }

    /// Bytes of a file of an entry. Blocks.
    pub fn bytes(&self, id: &str, what: Stored) -> u64 {
        self.0.store.length(id, what)
    }

    /// Removes an entry and its files; says whether there was one. Blocks.
    pub fn remove(&self, id: &str) -> bool {
        let removed = self.lock().remove(id).is_some();
        if removed {
            self.0.store.remove(id);
        }
        removed
    }

    fn forget_old(&self) {
        let (mut bytes, mut count) = (0u64, 0usize);
        for entry in self.list() {
            bytes += self.0.store.bytes(&entry.id);
            count += 1;
            if entry.is_over() && (count > MOST_ENTRIES || bytes > MOST_BYTES) {
                bytes -= self.0.store.bytes(&entry.id);
                self.remove(&entry.id);
            }
        }
    }
}

/// Scores by frame number as 32-bit floats, lowest byte first; NaN where a frame has none.
fn curve(report: &ScoreReport) -> Vec<u8> {
    let Some(column) = report.view("").main_column() else { return Vec::new() };
    let mut scores: Vec<f32> = Vec::new();
    for (index, score) in column.iter().filter(|(index, _)| index % report.outcome.subsample.max(1) == 0) {
        scores.resize(usize::try_from(index).unwrap_or(scores.len()).max(scores.len()), f32::NAN);
        scores.push(score as f32);
    }
    scores.iter().flat_map(|score| score.to_le_bytes()).collect()
}

fn mean(summary: &Map<String, Value>, name: &str) -> Option<f64> {
    summary.get("pooled_metrics")?.get(name)?.get("mean")?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u32, created: u64) -> Entry {
        let mut entry = Entry::new(&format!("{id:032x}"), "vmaf_score", Map::new(), Vec::new());
        entry.created = created;
        entry
    }

    #[test]
    fn what_ran_when_the_server_ended_is_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let place = || Some(folder.path().join("history"));
        let history = History::open(place()).unwrap();
        history.begin(entry(1, 10));
        history.begin(entry(2, 20));
        history.end(&format!("{:032x}", 2), &Status::Cancelled);
        drop(history);
        let again = History::open(place()).unwrap();
        let found: Vec<(u64, String)> =
            again.list().into_iter().map(|entry| (entry.created, entry.status)).collect();
        assert_eq!(found, [(20, "cancelled".to_owned()), (10, "interrupted".to_owned())]);
        assert!(again.remove(&format!("{:032x}", 1)));
        assert!(!again.remove("../../etc"));
        assert_eq!(History::open(place()).unwrap().list().len(), 1);
    }

    #[test]
    fn foreign_and_broken_files_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
        std::fs::write(folder.path().join(format!("{:032x}.entry.json", 7)), "{").unwrap();
        let other = entry(9, 1);
        let text = serde_json::to_string(&other).unwrap();
        std::fs::write(folder.path().join(format!("{:032x}.entry.json", 8)), text).unwrap();
        let history = History::open(Some(folder.path().to_owned())).unwrap();
        assert!(history.list().is_empty(), "an entry counts only under its own name");
    }

    #[test]
    fn long_requests_lose_their_longest_arguments() {
        let mut request = Map::from_iter([("width".to_owned(), json!(1920))]);
        request.insert("model".to_owned(), json!("m".repeat(8000)));
        request.insert("unknown".to_owned(), json!("x".repeat(4 << 20)));
        let entry = Entry::new("a", "vmaf_score", request, Vec::new());
        let names: Vec<&String> = entry.request.keys().collect();
        assert_eq!(names, ["width", "model"]);
    }

    #[test]
    fn the_oldest_go_first() {
        let history = History::open(None).unwrap();
        for id in 0..MOST_ENTRIES as u32 + 5 {
            let mut entry = entry(id, u64::from(id));
            entry.status = "done".to_owned();
            history.begin(entry);
        }
        let left = history.list();
        assert_eq!(left.len(), MOST_ENTRIES);
        assert_eq!(left.last().map(|entry| entry.created), Some(5));
    }
}
