//! What was encoded and measured before, found again by content.
//!
//! An entry's name is the SHA-256 of everything its value depends on. Values appear by rename, so a reader sees a whole
//! one or none, whoever is killed when. Work on one key is done by one process at a time, under a file lock that the
//! system releases when its holder dies. When the folder outgrows its limit, what was not used for longest goes first.

mod store;

pub use store::{Cleared, Entry, Usage};

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use visus_engine::Cancel;

use crate::TuneError;

/// What a value depends on, and its hash.
#[derive(Clone, Debug)]
pub struct Key {
    facts: Value,
    digest: String,
    note: Option<String>,
}

impl Key {
    /// Facts are objects that are written in one place each, so their text is always the same.
    pub fn new(facts: Value) -> Self {
        let digest = hex(&Sha256::digest(facts.to_string().as_bytes()));
        Self { facts, digest, note: None }
    }

    /// The same with words for lists; they decide nothing.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    pub fn digest(&self) -> &str {
        &self.digest
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The default limit on the size of a cache.
pub const DEFAULT_LIMIT: u64 = 4 << 30;
/// The layout's version; another one is another folder.
const LAYOUT: &str = "v1";
/// How often a busy lock is tried again.
const RETRY: Duration = Duration::from_millis(50);

/// A folder of values and files.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    limit: u64,
    // Keeps a folder alive that is only for this run.
    _temporary: Option<std::sync::Arc<tempfile::TempDir>>,
}

/// Work on a key; others wait until it is dropped.
#[derive(Debug)]
pub struct Guard {
    _lock: Option<File>,
}

/// Makes the folder, or checks that nobody else can write it: whoever can would decide our results.
#[cfg(unix)]
fn make_private(folder: &Path) -> Result<(), TuneError> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let fail = |error| TuneError::io(folder, error);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
    let facts = folder.metadata().map_err(fail)?;
    let own = rustix::process::geteuid().as_raw();
    let refuse = |reason: String| Err(TuneError::io(folder, std::io::Error::other(reason)));
    match (facts.uid(), facts.mode() & 0o022) {
        (uid, _) if uid != own => {
            refuse(format!("the cache folder belongs to user {uid}, not to user {own}; set VISUS_CACHE_DIR"))
        }
        (_, 0) => Ok(()),
        _ => refuse("others may write to the cache folder; chmod go-w it, or set VISUS_CACHE_DIR".to_owned()),
    }
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> Result<(), TuneError> {
    std::fs::create_dir_all(folder).map_err(|error| TuneError::io(folder, error))
}

impl Cache {
    /// A cache in this folder.
    pub fn open(folder: &Path, limit: u64) -> Result<Self, TuneError> {
        let root = folder.join(LAYOUT);
        make_private(folder)?;
        for name in ["entries", "files", "locks", "tmp"] {
            let path = root.join(name);
            std::fs::create_dir_all(&path).map_err(|error| TuneError::io(&path, error))?;
        }
        Ok(Self { root, limit, _temporary: None })
    }

    /// A cache that is gone with its last handle.
    pub fn temporary() -> Result<Self, TuneError> {
        let folder = crate::workspace::private_folder("visus-cache-", &std::env::temp_dir());
        let folder = folder.map_err(|error| TuneError::io(&std::env::temp_dir(), error))?;
        let mut cache = Self::open(folder.path(), DEFAULT_LIMIT)?;
        cache._temporary = Some(std::sync::Arc::new(folder));
        Ok(cache)
    }

    /// The default folder of the cache: `VISUS_CACHE_DIR`, else the user's cache folder.
    pub fn usual_folder() -> Option<PathBuf> {
        visus_scoring::cache_folder()
    }

    /// The default limit: `VISUS_CACHE_SIZE`, else [`DEFAULT_LIMIT`].
    pub fn usual_limit() -> Result<u64, String> {
        match std::env::var("VISUS_CACHE_SIZE").ok().filter(|text| !text.is_empty()) {
            Some(text) => bytes(&text).map_err(|error| format!("VISUS_CACHE_SIZE: {error}")),
            None => Ok(DEFAULT_LIMIT),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// Where workspaces are made, on the same device as the files.
    pub fn workspaces(&self) -> PathBuf {
        self.root.join("tmp")
    }

    fn entry_path(&self, key: &Key) -> PathBuf {
        self.root.join("entries").join(&key.digest[..2]).join(format!("{}.json", key.digest))
    }

    fn file_path(&self, key: &Key) -> PathBuf {
        self.root.join("files").join(&key.digest[..2]).join(&key.digest)
    }

    /// The value of a key. One that cannot be read is removed and counts as absent.
    pub fn get<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let path = self.entry_path(key);
        let text = std::fs::read_to_string(&path).ok()?;
        let parsed = serde_json::from_str::<Value>(&text).ok().filter(|entry| entry["facts"] == key.facts);
        match parsed.and_then(|mut entry| serde_json::from_value(entry["value"].take()).ok()) {
            Some(value) => {
                store::touch(&path);
                Some(value)
            }
            None => {
                let _ = std::fs::remove_file(&path);
                None
            }
        }
    }

    pub fn put<T: Serialize>(&self, key: &Key, value: &T) -> Result<(), TuneError> {
        let path = self.entry_path(key);
        let value = serde_json::to_value(value)
            .map_err(|error| TuneError::io(&path, std::io::Error::other(error)))?;
        let text = json!({ "facts": key.facts, "note": key.note, "value": value }).to_string();
        self.place(&path, |file| std::io::Write::write_all(file, text.as_bytes()))
    }

    /// The stored file of a key, as a link or copy at `to`, so that it stays while it is used.
    pub fn fetch(&self, key: &Key, to: &Path) -> bool {
        let path = self.file_path(key);
        store::touch(&path);
        std::fs::hard_link(&path, to).is_ok() || std::fs::copy(&path, to).is_ok()
    }

    /// Stores a file. One that would fill half of the cache is not worth it.
    pub fn store(&self, key: &Key, from: &Path) -> Result<(), TuneError> {
        let length = from.metadata().map_err(|error| TuneError::io(from, error))?.len();
        if length > self.limit / 2 {
            return Ok(());
        }
        let path = self.file_path(key);
        self.place(&path, |file| {
            let mut source = File::open(from)?;
            std::io::copy(&mut source, file).map(drop)
        })
    }

    /// Writes beside and renames. The folder may be cleared by another process meanwhile; then it is made again.
    fn place(&self, path: &Path, write: impl Fn(&mut File) -> std::io::Result<()>) -> Result<(), TuneError> {
        let fail = |error| TuneError::io(path, error);
        let folder = path.parent().unwrap_or(&self.root);
        let mut outcome = Ok(());
        for _ in 0..3 {
            std::fs::create_dir_all(folder).map_err(fail)?;
            outcome = tempfile::Builder::new().prefix(".new-").tempfile_in(folder).and_then(|mut file| {
                write(file.as_file_mut())?;
                file.persist(path).map(drop).map_err(|error| error.error)
            });
            match &outcome {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                _ => break,
            }
        }
        outcome.map_err(fail)?;
        self.evict();
        Ok(())
    }

    /// Waits until nobody else works on the key.
    pub fn lock(&self, key: &Key, cancel: &Cancel) -> Result<Guard, TuneError> {
        // Locks are shared by hash, so that there is no end to clear up: a few thousand empty files at most.
        let path = self.root.join("locks").join(&key.digest[..3]);
        let Ok(file) = File::create(&path) else { return Ok(Guard { _lock: None }) };
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Guard { _lock: Some(file) }),
                Err(std::fs::TryLockError::WouldBlock) => {}
                // A file system without locks: work may be done twice, nothing worse.
                Err(std::fs::TryLockError::Error(_)) => return Ok(Guard { _lock: None }),
            }
            if cancel.is_fired() {
                return Err(TuneError::Cancelled);
            }
            std::thread::sleep(RETRY);
        }
    }
}

/// `20M`, `1.5G`, `1000`: powers of 1024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let refuse = || format!("'{text}' is not a size; write it as 500K, 20M, 1.5G or a number of bytes");
    let upper = text.trim().to_ascii_uppercase();
    let bare = upper.trim_end_matches("IB").trim_end_matches('B');
    let (number, shift) = match bare.chars().last() {
        Some('K') => (&bare[..bare.len() - 1], 10),
        Some('M') => (&bare[..bare.len() - 1], 20),
        Some('G') => (&bare[..bare.len() - 1], 30),
        Some('T') => (&bare[..bare.len() - 1], 40),
        _ => (bare, 0),
    };
    let number: f64 = number.trim().parse().map_err(|_| refuse())?;
    let size = number * (1u64 << shift) as f64;
    if size.is_finite() && (1.0..1e18).contains(&size) { Ok(size as u64) } else { Err(refuse()) }
}

#[cfg(test)]
mod tests;
