//! A folder that one run owns: encodes are made in it, finished files leave it by rename, and it is gone afterwards.
//!
//! Three things see to that: dropping it removes it; where a launcher is configured, a janitor process removes it when we
//! die however suddenly (see [`visus_child::sweep`]); and whoever opens a workspace beside it later removes folders
//! whose owner is gone, as their lock shows. Only folders that are surely ours are touched: by name, mode, owner, and a
//! lock file with our own words in it.

#![expect(
    clippy::disallowed_methods,
    reason = "works in folders of its own, or on files that the command line named"
)]

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use visus_child::sweep::Janitor;

use crate::TuneError;

const PREFIX: &str = ".visus-";
const LOCK: &str = "lock";
/// What stands in a lock file.
const MAGIC: &[u8] = b"visus workspace 1\n";

/// An owned folder.
#[derive(Debug)]
pub struct Workspace {
    folder: Option<TempDir>,
    path: PathBuf,
    // Held while we live; its file is the sign for others.
    _lock: File,
    janitor: Option<Janitor>,
}

impl Workspace {
    /// Makes a fresh folder inside `parent`, and clears away those whose owners are gone.
    pub fn new(parent: &Path, launcher: Option<&Path>) -> Result<Self, TuneError> {
        let fail = |error| TuneError::io(parent, error);
        std::fs::create_dir_all(parent).map_err(fail)?;
        sweep(parent);
        let folder = private_folder(PREFIX, parent).map_err(fail)?;
        let path = folder.path().to_owned();
        let lock = take_lock(&path).map_err(fail)?;
        let janitor = launcher.map(|launcher| Janitor::start(launcher, &path)).transpose().map_err(fail)?;
        Ok(Self { folder: Some(folder), path, _lock: lock, janitor })
    }

    #[cfg(test)]
    fn path(&self) -> &Path {
        &self.path
    }

    /// A file in the folder. Nothing is made.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // The janitor comes last: should removing be interrupted, it goes on.
        drop(self.folder.take());
        drop(self.janitor.take());
    }
}

/// The lock appears under its name only when it is held.
fn take_lock(folder: &Path) -> std::io::Result<File> {
    let fresh = folder.join("lock.new");
    let mut file = File::create(&fresh)?;
    file.write_all(MAGIC)?;
    file.lock()?;
    std::fs::rename(fresh, folder.join(LOCK))?;
    Ok(file)
}

/// Removes folders whose owner is gone.
fn sweep(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_abandoned(&path) {
            // Another sweeper may be faster.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    let ours = folder.symlink_metadata().is_ok_and(|facts| facts.is_dir() && is_private(&facts));
    ours && File::open(folder.join(LOCK)).is_ok_and(|lock| {
        let mut start = Vec::new();
        let read = (&lock).take(MAGIC.len() as u64 + 1).read_to_end(&mut start);
        read.is_ok() && start == MAGIC && lock.try_lock().is_ok()
    })
}

/// A fresh folder that nobody else may look into.
pub(crate) fn private_folder(prefix: &str, parent: &Path) -> std::io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(parent)
}

/// Whether it belongs to this user, and to nobody else.
#[cfg(unix)]
pub(crate) fn is_private(facts: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    facts.uid() == rustix::process::geteuid().as_raw() && facts.mode() & 0o777 == 0o700
}

#[cfg(not(unix))]
pub(crate) fn is_private(_facts: &std::fs::Metadata) -> bool {
    true
}

/// Puts a finished file where it was asked for: by rename, or by a copy that is renamed where the places are on
/// different devices.
pub(crate) fn move_into_place(from: &Path, to: &Path) -> Result<(), TuneError> {
    if std::fs::rename(from, to).is_ok() {
        return Ok(());
    }
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fail = |error| TuneError::io(to, error);
    let mut copy = tempfile::Builder::new().prefix(PREFIX).tempfile_in(parent).map_err(fail)?;
    std::io::copy(&mut File::open(from).map_err(fail)?, copy.as_file_mut()).map_err(fail)?;
    copy.persist(to).map_err(|error| fail(error.error))?;
    let _ = std::fs::remove_file(from);
    Ok(())
}

/// Writes a small file so that it appears complete.
pub fn write_atomically(path: &Path, text: &str) -> Result<(), TuneError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fail = |error| TuneError::io(path, error);
    let mut file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(parent).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    set_usual_mode(file.as_file());
    file.persist(path).map(drop).map_err(|error| fail(error.error))
}

/// Temporary files are for the owner alone; a result is for whoever may read the folder.
#[cfg(unix)]
fn set_usual_mode(file: &File) {
    use std::os::unix::fs::PermissionsExt;
    let _ = file.set_permissions(std::fs::Permissions::from_mode(0o644));
}

#[cfg(not(unix))]
fn set_usual_mode(_file: &File) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like one of ours.
    fn folder(parent: &Path, name: &str, mode: u32, lock: Option<&[u8]>) -> PathBuf {
        let path = parent.join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("half.mp4"), "x").unwrap();
        if let Some(lock) = lock {
            std::fs::write(path.join(LOCK), lock).unwrap();
        }
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        path
    }

    #[cfg(unix)]
    #[test]
    fn what_is_left_behind_is_swept_and_what_is_used_or_foreign_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let used = Workspace::new(parent.path(), None).unwrap();
        assert!(is_private(&used.path().metadata().unwrap()));
        std::fs::write(used.file("half.mp4"), "x").unwrap();
        let dead = folder(parent.path(), ".visus-dead", 0o700, Some(MAGIC));
        let foreign = [
            folder(parent.path(), ".visus-notes", 0o755, None),
            folder(parent.path(), ".visus-mine", 0o700, None),
            folder(parent.path(), ".visus-lock", 0o700, Some(b"")),
            folder(parent.path(), ".visus-open", 0o755, Some(MAGIC)),
            folder(parent.path(), "other", 0o700, Some(MAGIC)),
        ];
        std::os::unix::fs::symlink(&foreign[4], parent.path().join(".visus-link")).unwrap();
        let second = Workspace::new(parent.path(), None).unwrap();
        assert!(!dead.exists() && used.file("half.mp4").exists());
        assert!(foreign.iter().all(|folder| folder.join("half.mp4").exists()), "{foreign:?}");
        let paths = [used.path().to_owned(), second.path().to_owned()];
        drop((used, second));
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn files_appear_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_atomically(&path, "abc").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abc");
        move_into_place(&path, &folder.path().join("b.txt")).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_atomically(&folder.path().join("no/such"), "x").is_err());
    }
}
