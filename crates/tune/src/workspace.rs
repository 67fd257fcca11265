//! A folder that one run owns: encodes are made in it, finished files leave it by rename, and it is gone afterwards.
//!
//! Three things see to that: dropping it removes it; where a launcher is configured, a janitor process removes it when we
//! die however suddenly (see [`visus_child::sweep`]); and whoever opens a workspace beside it later removes folders
//! whose owner is gone, as their lock shows.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use visus_child::sweep::Janitor;

use crate::TuneError;

const PREFIX: &str = ".visus-";
const LOCK: &str = "lock";
/// A folder without a lock this old was never finished.
const UNFINISHED: Duration = Duration::from_secs(60);

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
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).map_err(fail)?;
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
    let file = File::create(&fresh)?;
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
    match File::open(folder.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(_) => {
            let made = folder.metadata().and_then(|metadata| metadata.modified());
            made.is_ok_and(|made| SystemTime::now().duration_since(made).is_ok_and(|age| age > UNFINISHED))
        }
    }
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
    use std::io::Write;
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

    #[test]
    fn what_is_left_behind_is_swept_and_what_is_used_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let used = Workspace::new(parent.path(), None).unwrap();
        std::fs::write(used.file("half.mp4"), "x").unwrap();
        let dead = parent.path().join(".visus-dead");
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(LOCK), "").unwrap();
        std::fs::write(dead.join("half.mp4"), "x").unwrap();
        let starting = parent.path().join(".visus-starting");
        std::fs::create_dir(&starting).unwrap();
        let second = Workspace::new(parent.path(), None).unwrap();
        assert!(!dead.exists() && starting.exists() && used.file("half.mp4").exists());
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
