//! What lies in an allowed folder, for people who choose files with a pointer.

use std::path::PathBuf;
use std::time::SystemTime;

use super::{PathError, Roots, shown, walk};

/// Entries of one folder that are listed, at most.
pub const MOST_LISTED: usize = 5000;

/// A folder or a regular file in an allowed folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name, as text; what is no Unicode cannot be named in a request and is not listed.
    pub name: String,
    pub is_folder: bool,
    pub bytes: u64,
    pub modified: Option<SystemTime>,
}

impl Roots {
    /// The allowed roots that exist, with whether each is a folder.
    #[expect(clippy::disallowed_methods, reason = "the operator names the roots")]
    pub fn existing(&self) -> Vec<(PathBuf, bool)> {
        let kind = |root: &PathBuf| {
            let facts = std::fs::symlink_metadata(root).ok()?;
            (facts.is_dir() || facts.is_file()).then(|| (root.clone(), facts.is_dir()))
        };
        self.roots.iter().filter_map(kind).collect()
    }

    /// The folder and the entries in it, by name. Links and hidden entries are left out. Blocks.
    pub fn list(&self, name: &str) -> Result<(PathBuf, Vec<Listed>), PathError> {
        let path = self.resolve(name)?;
        let mut listed = walk::list(&path, MOST_LISTED)?;
        listed.retain(|entry| !entry.name.starts_with('.'));
        listed.sort_by(|a, b| (!a.is_folder, &a.name).cmp(&(!b.is_folder, &b.name)));
        Ok((path, listed))
    }

    /// Whether a path is a root itself: there is no way up from it.
    pub fn is_root(&self, path: &std::path::Path) -> bool {
        self.roots.iter().any(|root| root == path)
    }
}

/// What is said of a folder that cannot be read.
pub fn not_a_folder(path: &std::path::Path) -> PathError {
    PathError::Absent(format!("{} is no folder", shown(path)))
}
