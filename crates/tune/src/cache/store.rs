//! The folder as a whole: what lies in it, how much, and what goes when it is too much.

#![expect(
    clippy::disallowed_methods,
    reason = "works in folders of its own, or on files that the command line named"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::Cache;
use crate::TuneError;

/// Something that the cache holds.
#[derive(Clone, Debug)]
pub struct Entry {
    pub path: PathBuf,
    pub bytes: u64,
    pub used: SystemTime,
    /// What a value depends on; `None` for files, whose value names them.
    pub facts: Option<Value>,
    /// Words that came with it.
    pub note: Option<String>,
}

/// How full it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub values: usize,
    pub files: usize,
    pub bytes: u64,
    pub limit: u64,
}

/// What was cleared away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    pub entries: usize,
    pub bytes: u64,
}

/// After an eviction this part of the limit is used, so that the next one is not due at once.
const FILL: f64 = 0.9;
/// Half-written files of killed processes are removed when they are this old.
const STALE: Duration = Duration::from_secs(3600);

pub(super) fn touch(path: &Path) {
    // A time that cannot be set only makes the entry look older.
    let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

impl Cache {
    /// Everything in it, the longest unused first.
    fn scan(&self) -> Vec<Entry> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.join("entries"), self.root.join("files")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() {
                    folders.push(entry.path());
                } else {
                    let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.push(Entry {
                        path: entry.path(),
                        bytes: metadata.len(),
                        used,
                        facts: None,
                        note: None,
                    });
                }
            }
        }
        found.sort_by_key(|entry| entry.used);
        found
    }

    pub fn usage(&self) -> Usage {
        let mut usage = Usage { limit: self.limit, ..Usage::default() };
        for entry in self.scan().iter().filter(|entry| !is_temporary(&entry.path)) {
            if is_value(&entry.path) {
                usage.values += 1;
            } else {
                usage.files += 1;
            }
            usage.bytes += entry.bytes;
        }
        usage
    }

    /// Everything in it, the last used first, with what values depend on.
    pub fn list(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> =
            self.scan().into_iter().filter(|entry| !is_temporary(&entry.path)).collect();
        entries.reverse();
        for entry in entries.iter_mut().filter(|entry| is_value(&entry.path)) {
            let text = std::fs::read_to_string(&entry.path).unwrap_or_default();
            let Ok(mut stored) = serde_json::from_str::<Value>(&text) else { continue };
            entry.note = stored["note"].as_str().map(str::to_owned);
            entry.facts = Some(stored["facts"].take());
        }
        entries
    }

    /// Removes everything that is not being written.
    pub fn clear(&self) -> Result<Cleared, TuneError> {
        let mut cleared = Cleared::default();
        for entry in self.scan().into_iter().filter(|entry| !is_temporary(&entry.path)) {
            match std::fs::remove_file(&entry.path) {
                Ok(()) => {
                    cleared.entries += 1;
                    cleared.bytes += entry.bytes;
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(TuneError::io(&entry.path, error)),
            }
        }
        Ok(cleared)
    }

    /// Holds the folder to its limit. One process at a time; another one that is at it does it for us.
    pub(super) fn evict(&self) {
        let Ok(lock) = File::create(self.root.join("locks").join("evict")) else { return };
        if lock.try_lock().is_err() {
            return;
        }
        let entries = self.scan();
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        let full = bytes > self.limit;
        let enough = (self.limit as f64 * FILL) as u64;
        for entry in entries {
            let stale = is_temporary(&entry.path) && entry.used.elapsed().is_ok_and(|age| age > STALE);
            let surplus = full && bytes > enough && !is_temporary(&entry.path);
            if (stale || surplus) && std::fs::remove_file(&entry.path).is_ok() {
                bytes -= entry.bytes;
            }
        }
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".new-"))
}

fn is_value(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}
