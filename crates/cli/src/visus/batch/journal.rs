//! The output: a line per encode, safe on disk before the next one is begun, and read back to go on after a crash.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::arrange::Lines;
use super::list::Row;
use crate::visus::merge::replace;

/// Lines are appended by several threads, each whole.
pub struct Journal {
    out: Mutex<Out>,
    /// Tasks that an earlier run finished.
    done: HashSet<String>,
}

enum Out {
    Stdout,
    File { file: File, path: PathBuf },
}

impl Journal {
    /// Without a path, standard output. An existing file is taken up only on demand.
    pub fn open(path: Option<&Path>, resume: bool) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self { out: Mutex::new(Out::Stdout), done: HashSet::new() });
        };
        let name = path.display().to_string();
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .with_context(|| format!("cannot open {name}"))?;
        if file.try_lock().is_err() {
            bail!("{name} is in use by another batch");
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).with_context(|| format!("cannot read {name}"))?;
        if !text.is_empty() && !resume {
            bail!("{name} exists; --resume goes on with it");
        }
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let done = finished(&text[..whole]).with_context(|| name.clone())?;
        if whole < text.len() {
            // The last line was being written when the power went.
            file.set_len(whole as u64).with_context(|| format!("cannot cut the torn last line of {name}"))?;
        }
        Ok(Self { out: Mutex::new(Out::File { file, path: path.to_path_buf() }), done })
    }

    pub fn has(&self, task: &Value) -> bool {
        self.done.contains(&task.to_string())
    }

    /// Returns when the line is safe.
    pub fn write(&self, line: &Value) -> Result<()> {
        let text = format!("{line}\n");
        match &mut *self.out.lock().unwrap_or_else(PoisonError::into_inner) {
            Out::Stdout => {
                let mut out = std::io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
            }
            Out::File { file, path } => file
                .write_all(text.as_bytes())
                .and_then(|()| file.sync_data())
                .with_context(|| format!("cannot write {}", path.display())),
        }
    }

    /// Puts the lines of a file into the order of the list, once all are there. Standard output keeps the order in which encodes were
    /// finished.
    pub fn arrange(&self, rows: &[Row]) -> Result<()> {
        let Out::File { file, path } = &mut *self.out.lock().unwrap_or_else(PoisonError::into_inner) else {
            return Ok(());
        };
        let cannot = || format!("cannot read {}", path.display());
        let mut text = String::new();
        file.rewind().and_then(|()| file.read_to_string(&mut text)).with_context(cannot)?;
        let lines = Lines::read(&text).with_context(cannot)?;
        if lines.are_arranged(rows) {
            return Ok(());
        }
        replace(path, |out| lines.write(rows, out))
    }
}

/// The tasks of lines that tell a score. A file of other content is not ours to append to.
fn finished(text: &[u8]) -> Result<HashSet<String>> {
    let mut done = HashSet::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let mut line: Value = serde_json::from_slice(line)
            .with_context(|| format!("line {} is no line of a batch", number + 1))?;
        match line["status"].as_str() {
            Some("ok") => drop(done.insert(line["task"].take().to_string())),
            Some("error") => {}
            _ => bail!("line {} is no line of a batch", number + 1),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_torn_line_is_cut_and_the_rest_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.ndjson");
        let journal = Journal::open(Some(&path), false).unwrap();
        journal.write(&json!({ "status": "ok", "task": 1 })).unwrap();
        journal.write(&json!({ "status": "error", "task": 2 })).unwrap();
        assert!(Journal::open(Some(&path), true).is_err(), "it is locked");
        drop(journal);
        assert!(Journal::open(Some(&path), false).is_err(), "it exists");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"status\":\"ok\",\"ta").unwrap();
        let journal = Journal::open(Some(&path), true).unwrap();
        assert!(journal.has(&json!(1)) && !journal.has(&json!(2)));
        journal.write(&json!({ "status": "ok", "task": 3 })).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    }

    #[test]
    fn foreign_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        for text in ["hello\n", "{}\n", "[1]\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(Journal::open(Some(&path), true).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
