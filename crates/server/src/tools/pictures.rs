//! Where pictures of results lie: a folder for each, all in one that goes with the server, however the server goes.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;
use visus_child::sweep::Janitor;

/// The place of all folders, made when the first is wanted.
#[derive(Debug, Default)]
pub struct Pictures(Mutex<Option<Arc<Home>>>);

#[derive(Debug)]
struct Home {
    folder: TempDir,
    /// Removes the place should we be killed; there is none without a launcher.
    _janitor: Option<Janitor>,
}

/// A folder that lasts as long as this.
#[derive(Debug)]
pub struct Folder {
    folder: TempDir,
    /// After the folder inside it.
    _home: Arc<Home>,
}

impl Pictures {
    pub fn folder(&self, launcher: Option<&Path>) -> io::Result<Folder> {
        let home = self.home(launcher)?;
        Ok(Folder { folder: private("").tempdir_in(home.folder.path())?, _home: home })
    }

    fn home(&self, launcher: Option<&Path>) -> io::Result<Arc<Home>> {
        let mut home = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = &*home {
            return Ok(Arc::clone(home));
        }
        let folder = private("visus-pictures-").tempdir()?;
        let janitor = launcher.map(|launcher| Janitor::start(launcher, folder.path())).transpose()?;
        let made = Arc::new(Home { folder, _janitor: janitor });
        *home = Some(Arc::clone(&made));
        Ok(made)
    }
}

impl Folder {
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a new file that only we can read, and says where it is.
    #[expect(clippy::disallowed_methods, reason = "a new file in a folder of our own")]
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?.write_all(content)?;
        Ok(path)
    }
}

/// A folder that only we can look into.
fn private(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn pictures_are_their_owners_alone_and_go_with_the_last_of_them() {
        use std::os::unix::fs::PermissionsExt;
        let pictures = Pictures::default();
        let folder = pictures.folder(None).unwrap();
        let file = folder.write("frame.png", b"x").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let home = folder.path().parent().unwrap().to_path_buf();
        assert_eq!([mode(&file), mode(folder.path()), mode(&home)], [0o600, 0o700, 0o700]);
        assert!(folder.write("frame.png", b"y").is_err(), "nothing is written over");
        drop(folder);
        assert!(!file.exists() && home.exists());
        drop(pictures);
        assert!(!home.exists());
    }
}
