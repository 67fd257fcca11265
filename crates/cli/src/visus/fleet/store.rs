//! Where a plan is kept: a folder that all machines see, or a prefix of an object store.
//!
//! A store has named pieces of bytes. A piece appears whole or not at all, and one that must not be replaced is written by
//! whoever comes first. That is all that a plan needs of it.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, Result};
use visus_scoring::SeekableBytes;

use super::place;
use crate::visus::merge::readable;

pub trait Store: Debug + Send + Sync {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>>;

    /// A piece to be read in parts, if it is there. What is read belongs together even if the piece is replaced meanwhile.
    fn open(&self, name: &str) -> Result<Option<Box<dyn SeekableBytes>>>;

    /// Writes a piece. An existing one is kept unless `replace`.
    fn put(&self, name: &str, bytes: Vec<u8>, replace: bool) -> Result<()>;

    /// When a piece was written, by the store's clock, if it is there.
    fn written(&self, name: &str) -> Result<Option<SystemTime>>;

    /// All pieces below a name, and when they were written.
    fn list(&self, name: &str) -> Result<HashMap<String, SystemTime>>;

    /// How many pieces are worth asking for at once.
    fn width(&self) -> usize;

    /// What messages call a piece.
    fn shown(&self, name: &str) -> String;
}

/// The store at a place.
pub fn open(place: &Path) -> Result<Arc<dyn Store>> {
    if place::is_remote(place) {
        return place::store(place);
    }
    Ok(Arc::new(Folder { root: place.to_path_buf() }))
}

#[derive(Clone, Debug)]
struct Folder {
    root: PathBuf,
}

impl Store for Folder {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.root.join(name);
        match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(Some).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    fn open(&self, name: &str) -> Result<Option<Box<dyn SeekableBytes>>> {
        let path = self.root.join(name);
        match std::fs::File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
            Ok(file) => Ok(Some(Box::new(file))),
        }
    }

    /// Written beside its place, synced and renamed, so that it also outlives a power failure.
    fn put(&self, name: &str, bytes: Vec<u8>, replace: bool) -> Result<()> {
        let path = self.root.join(name);
        let cannot = || format!("cannot write {}", path.display());
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).with_context(cannot)?;
        let mut file = tempfile::Builder::new().prefix(".visus-").tempfile_in(folder).with_context(cannot)?;
        file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).with_context(cannot)?;
        readable(file.as_file()).with_context(cannot)?;
        if replace {
            file.persist(&path).map_err(|error| error.error).with_context(cannot)?;
            return Ok(());
        }
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error.error).with_context(cannot),
        }
    }

    fn written(&self, name: &str) -> Result<Option<SystemTime>> {
        let path = self.root.join(name);
        match std::fs::metadata(&path).and_then(|facts| facts.modified()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(Some).with_context(|| format!("cannot look at {}", path.display())),
        }
    }

    fn list(&self, name: &str) -> Result<HashMap<String, SystemTime>> {
        let (mut found, mut folders) = (HashMap::new(), vec![name.to_owned()]);
        while let Some(name) = folders.pop() {
            let path = self.root.join(&name);
            let cannot = || format!("cannot list {}", path.display());
            let entries = match std::fs::read_dir(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other.with_context(cannot)?,
            };
            for entry in entries {
                let entry = entry.with_context(cannot)?;
                let below = format!("{name}/{}", entry.file_name().to_string_lossy());
                // A file that was renamed in the meantime is listed by its new name, or next time.
                let Ok(facts) = entry.metadata() else { continue };
                if facts.is_dir() {
                    folders.push(below);
                } else {
                    found.insert(below, facts.modified().with_context(cannot)?);
                }
            }
        }
        Ok(found)
    }

    fn width(&self) -> usize {
        1
    }

    fn shown(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }
}
