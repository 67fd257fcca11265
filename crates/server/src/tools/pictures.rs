//! Where pictures of results lie: a folder for each, all in one that goes with the server, however the server goes.

use std::io;
use std::path::Path;
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
        Ok(Folder { folder: TempDir::new_in(home.folder.path())?, _home: home })
    }

    fn home(&self, launcher: Option<&Path>) -> io::Result<Arc<Home>> {
        let mut home = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = &*home {
            return Ok(Arc::clone(home));
        }
        let folder = tempfile::Builder::new().prefix("visus-pictures-").tempdir()?;
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
}
