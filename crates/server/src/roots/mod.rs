//! Allowed paths: which files a request may name, and how they are opened.
//!
//! A name is resolved first and must lie under an allowed root by whole components; only then does anybody look
//! whether it exists. The resolved path is then opened component by component without following symbolic links, so
//! that a link swapped in between gains nothing: what is handed on is the opened file, not its name.

mod list;
mod resolve;
#[cfg(unix)]
mod walk;
#[cfg(not(unix))]
#[path = "reopen.rs"]
mod walk;

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::cleaned;
pub use list::Listed;

/// Why a path cannot be used. The texts are part of the interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("media path must not contain null bytes")]
    Null,
    #[error("media path must not be empty")]
    Empty,
    #[error("media path is longer than {MAX_LENGTH} bytes")]
    TooLong,
    #[error("media path scheme '{0}://' is not permitted; only local file paths are accepted.")]
    Scheme(String),
    #[error("path {0} not under an allowlisted root; set VMAF_MCP_ALLOW to extend.")]
    Outside(String),
    #[error("file not found: {0}")]
    Absent(String),
    #[error("path {0} is not a regular file")]
    NotRegular(String),
    #[error("path {path} cannot be opened: {reason}")]
    Unreadable { path: String, reason: String },
    /// Not the request's fault.
    #[error("the server has too many files open; try again later")]
    Exhausted,
    #[error(
        "path {0} may not be written: start the server with --allow-write FOLDER to let clients write there"
    )]
    NotWritable(String),
    #[error("file {0} exists; pass overwrite=true to replace it")]
    Exists(String),
    #[error("path {0} is the source itself, which is never overwritten")]
    IsSource(String),
}

/// As long as a path can be on Linux.
const MAX_LENGTH: usize = 4096;

/// A file that was checked and opened. The name is for people; the content comes from the file.
#[derive(Debug)]
pub struct Opened {
    /// The resolved path.
    pub path: PathBuf,
    pub file: File,
}

/// The trees under which files may be named.
#[derive(Clone, Debug)]
pub struct Roots {
    roots: Vec<PathBuf>,
    /// Where files may be written. The default is nowhere.
    writable: Vec<PathBuf>,
}

/// A file that may be written: its name, in a folder that is open.
#[derive(Debug)]
pub struct Output {
    /// The resolved path.
    pub path: PathBuf,
    pub folder: walk::Folder,
    pub overwrite: bool,
}

impl Roots {
    /// Resolves the roots; one that does not exist yet counts as it is written.
    pub fn new(roots: &[PathBuf]) -> Self {
        let mut resolved: Vec<PathBuf> = Vec::new();
        for root in roots.iter().map(|root| resolve::resolve(root)) {
            if !resolved.contains(&root) {
                resolved.push(root);
            }
        }
        Self { roots: resolved, writable: Vec::new() }
    }

    /// The same, with folders in which clients may have files written.
    pub fn with_writable(self, folders: &[PathBuf]) -> Self {
        Self { writable: folders.iter().map(|folder| resolve::resolve(folder)).collect(), ..self }
    }

    pub fn paths(&self) -> &[PathBuf] {
        &self.roots
    }

    fn allows(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// The resolved path of a name, if it lies under a root. Says nothing about whether it exists.
    pub fn resolve(&self, name: &str) -> Result<PathBuf, PathError> {
        check_text(name)?;
        let path = Path::new(name);
        let resolved = resolve::resolve(path);
        if self.allows(&resolved) {
            return Ok(resolved);
        }
        Err(outside(path))
    }

    /// Opens an existing regular file under a root.
    pub fn open(&self, name: &str) -> Result<Opened, PathError> {
        let path = self.resolve(name)?;
        let file = walk::open_regular(&path)?;
        Ok(Opened { path, file })
    }

    /// Opens a folder of numbered pictures under a root: the folder itself, or that of a pattern such as `%04d.png`.
    pub fn open_pictures(&self, name: &str) -> Result<(PathBuf, File), PathError> {
        let path = self.resolve(name)?;
        let pattern = path.file_name().is_some_and(|name| name.to_string_lossy().contains('%'));
        let inside = if pattern { path.clone() } else { path.join("picture") };
        let (folder, _) = walk::open_parent(&inside)?;
        Ok((path, File::from(folder)))
    }

    /// The same with the folder that the file lies in, opened, where the folder lies under a root too.
    pub fn open_beside(&self, name: &str) -> Result<(Opened, Option<walk::Folder>), PathError> {
        let path = self.resolve(name)?;
        let (file, folder) = walk::open_with_folder(&path)?;
        let allowed = path.parent().is_some_and(|folder| self.allows(folder));
        Ok((Opened { path, file }, allowed.then_some(folder)))
    }

    /// The names in a folder under a root, at most so many. Says nothing about what they stand for.
    pub fn names(&self, folder: &str, most: usize) -> Result<(PathBuf, Vec<String>), PathError> {
        let path = self.resolve(folder)?;
        let names = walk::names(&path, most)?;
        Ok((path, names))
    }

    /// A file to be written, in an opened folder that the operator allowed. What exists is refused unless it may be
    /// overwritten, and a source always.
    pub fn create(&self, name: &str, overwrite: bool, source: &File) -> Result<Output, PathError> {
        check_text(name)?;
        let path = resolve::resolve(Path::new(name));
        let Some(folder) = path.parent().filter(|_| path.file_name().is_some()) else {
            return Err(PathError::NotWritable(shown(&path)));
        };
        if !self.writable.iter().any(|root| folder.starts_with(root)) {
            let known = self.allows(folder);
            return Err(if known { PathError::NotWritable(shown(&path)) } else { outside(Path::new(name)) });
        }
        let (folder, existing) = walk::open_parent(&path)?;
        match existing {
            walk::Entry::Same(entry) if walk::is_same(&entry, source) => {
                Err(PathError::IsSource(shown(&path)))
            }
            walk::Entry::Same(_) if !overwrite => Err(PathError::Exists(shown(&path))),
            walk::Entry::Other => Err(PathError::NotRegular(shown(&path))),
            walk::Entry::Same(_) | walk::Entry::Absent => Ok(Output { path, folder, overwrite }),
        }
    }

    /// The resolved path of a file to be written: its folder must lie under a root.
    pub fn output(&self, name: &str) -> Result<PathBuf, PathError> {
        check_text(name)?;
        let path = resolve::resolve(Path::new(name));
        match path.parent() {
            Some(folder) if self.allows(folder) => Ok(path),
            _ => Err(outside(Path::new(name))),
        }
    }
}

/// Names the path as it was written: nobody learns where a link leads, wherever it lies.
fn outside(path: &Path) -> PathError {
    PathError::Outside(shown(&resolve::lexical(path)))
}

/// A path as it may stand in a message.
pub(crate) fn shown(path: &Path) -> String {
    cleaned(&path.to_string_lossy())
}

fn check_text(name: &str) -> Result<(), PathError> {
    if name.contains('\0') {
        return Err(PathError::Null);
    }
    if name.is_empty() {
        return Err(PathError::Empty);
    }
    if name.len() > MAX_LENGTH {
        return Err(PathError::TooLong);
    }
    scheme(name).map_or(Ok(()), |scheme| Err(PathError::Scheme(scheme.to_owned())))
}

/// The scheme of a text that looks like a URL.
fn scheme(name: &str) -> Option<&str> {
    let (scheme, _) = name.split_once("://")?;
    let mut letters = scheme.chars();
    let valid = letters.next()?.is_ascii_alphabetic()
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    valid.then_some(scheme)
}

#[cfg(test)]
mod tests;
