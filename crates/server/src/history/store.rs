//! The folder that entries lie in: one file for each part of an entry, written whole or not at all.
#![expect(clippy::disallowed_methods, reason = "the folder is the server's own")]

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use super::entry::{Entry, Stored};

/// Entries beyond this are not read at the start.
const MOST_READ: usize = 10_000;
/// The longest entry that is read, in bytes.
const LONGEST_ENTRY: u64 = 4 << 20;

#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// Removed with the server, where nothing else could be written.
    _temporary: Option<TempDir>,
}

impl Store {
    /// Makes the folder, for its owner alone.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        // Says now whether it can be written.
        NamedTempFile::new_in(&folder)?.close()?;
        Ok(Self { folder, _temporary: None })
    }

    pub fn temporary() -> io::Result<Self> {
        let folder = TempDir::with_prefix("visus-history-")?;
        Ok(Self { folder: folder.path().to_owned(), _temporary: Some(folder) })
    }

    /// Every entry that can be read and lies under its own name.
    pub fn entries(&self) -> Vec<Entry> {
        let Ok(listed) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let ending = format!(".{}", Stored::Entry.ending());
        let entry = |path: &Path| -> Option<Entry> {
            let id = path.file_name()?.to_str()?.strip_suffix(&ending)?.to_owned();
            let length = std::fs::symlink_metadata(path).ok().filter(|facts| facts.is_file())?.len();
            let text = (length <= LONGEST_ENTRY).then(|| std::fs::read(path).ok())??;
            let entry: Entry = serde_json::from_slice(&text).ok()?;
            (is_id(&id) && entry.id == id).then_some(entry)
        };
        listed.flatten().filter_map(|file| entry(&file.path())).take(MOST_READ).collect()
    }

    pub fn write_entry(&self, entry: &Entry) -> io::Result<()> {
        self.write(&entry.id, Stored::Entry, &serde_json::to_vec(entry)?)
    }

    /// Writes beside the old file and renames: nobody ever reads half of it.
    pub fn write(&self, id: &str, what: Stored, bytes: &[u8]) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(self.path(id, what)?).map_err(|error| error.error)?;
        Ok(())
    }

    pub fn read(&self, id: &str, what: Stored) -> io::Result<Vec<u8>> {
        std::fs::read(self.path(id, what)?)
    }

    pub fn remove(&self, id: &str) {
        for what in Stored::ALL {
            if let Ok(path) = self.path(id, what) {
                let _ = std::fs::remove_file(path);
            }
        }
    }

    pub fn bytes(&self, id: &str) -> u64 {
        Stored::ALL.into_iter().map(|what| self.length(id, what)).sum()
    }

    pub fn length(&self, id: &str, what: Stored) -> u64 {
        let facts = self.path(id, what).and_then(|path| path.symlink_metadata());
        facts.map_or(0, |facts| facts.len())
    }

    fn path(&self, id: &str, what: Stored) -> io::Result<PathBuf> {
        match is_id(id) {
            true => Ok(self.folder.join(format!("{id}.{}", what.ending()))),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not the id of a job")),
        }
    }
}

/// Ids are 32 hexadecimal digits; nothing else becomes a file name.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
}
