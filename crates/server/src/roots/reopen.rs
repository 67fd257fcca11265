//! Opening a resolved path where folders cannot be opened one from another: open, then look whether the path still
//! leads where it did.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use super::{PathError, resolve, shown};

pub fn open_regular(path: &Path) -> Result<File, PathError> {
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => PathError::Absent(shown(path)),
        kind => PathError::Unreadable { path: shown(path), reason: kind.to_string() },
    };
    if !std::fs::symlink_metadata(path).map_err(fail)?.is_file() {
        return Err(PathError::NotRegular(shown(path)));
    }
    let file = File::open(path).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() || resolve::resolve(path) != path {
        return Err(PathError::NotRegular(shown(path)));
    }
    Ok(file)
}
