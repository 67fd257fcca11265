//! Size and SHA-256 of the input files, for a page's provenance. They are read beside scoring, when what is decoded is in the
//! system's memory anyway; what is very large is left out.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Larger files are not read for their hash: that would take longer than many a score.
const LARGEST: u64 = 4 << 30;
const PIECE: usize = 1 << 20;

/// Hashing that is under way. Dropped before its end, it stops.
pub struct Hashes {
    threads: [Option<JoinHandle<Value>>; 2],
    stop: Arc<AtomicBool>,
}

/// What was found out about reference and distorted video.
#[derive(Debug, Default)]
pub struct Origin([Value; 2]);

impl Hashes {
    pub fn begin(paths: [&PathBuf; 2]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = paths.map(|path| {
            let (path, stop) = (path.clone(), Arc::clone(&stop));
            let thread = std::thread::Builder::new().name("hash".to_owned());
            // Without a thread there is no hash, and the page says nothing of it.
            thread.spawn(move || origin(&path, LARGEST, &stop)).ok()
        });
        Self { threads, stop }
    }

    pub fn finish(mut self) -> Origin {
        Origin(std::array::from_fn(|side| {
            self.threads[side].take().and_then(|thread| thread.join().ok()).unwrap_or_default()
        }))
    }
}

impl Drop for Hashes {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Origin {
    /// Adds what is known to a report's provenance.
    pub fn add_to(&self, report: &mut Value) {
        for (side, facts) in ["reference", "distorted"].into_iter().zip(&self.0) {
            let (Some(input), Some(facts)) = (report["provenance"][side].as_object_mut(), facts.as_object())
            else {
                continue;
            };
            input.extend(facts.clone());
        }
    }
}

/// Nothing for what is no regular file.
fn origin(path: &Path, largest: u64, stop: &AtomicBool) -> Value {
    let Some(bytes) = path.metadata().ok().filter(std::fs::Metadata::is_file).map(|facts| facts.len()) else {
        return Value::Null;
    };
    let sha256 = if bytes > largest {
        format!("not computed: the file is larger than {} GiB", largest >> 30)
    } else {
        hash(path, stop).unwrap_or_else(|error| format!("not computed: {error}"))
    };
    json!({ "bytes": bytes, "sha256": sha256 })
}

fn hash(path: &Path, stop: &AtomicBool) -> std::io::Result<String> {
    let (mut file, mut hasher, mut piece) = (File::open(path)?, Sha256::new(), vec![0; PIECE]);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        if stop.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("it was not waited for"));
        }
        hasher.update(&piece[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_hashed_unless_they_are_large_or_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let go_on = AtomicBool::new(false);
        let found = origin(&path, 3, &go_on);
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(found, json!({ "bytes": 3, "sha256": known }));
        assert!(
            origin(&path, 2, &go_on)["sha256"]
                .as_str()
                .unwrap()
                .starts_with("not computed: the file is larger")
        );
        assert_eq!(origin(folder.path(), 2, &go_on), Value::Null);
        let mut report = json!({ "provenance": { "reference": { "file": "abc" }, "distorted": "x" } });
        Hashes::begin([&path, &path]).finish().add_to(&mut report);
        assert_eq!(report["provenance"]["reference"]["sha256"], known);
    }
}
