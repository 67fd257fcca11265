//! Where programs are.

use std::path::{Path, PathBuf};

/// Where a program is that was named without a folder. Only absolute folders of `PATH` are searched: an empty element or a
/// relative one would run whatever lies in the current folder, which may be a client's.
pub fn on_path(name: &str) -> Option<PathBuf> {
    found_in(&std::env::var_os("PATH")?, name)
}

fn found_in(folders: &std::ffi::OsStr, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(folders).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|path| is_program(path))
}

/// Whether there is a regular file, which is executable where the system has such a mark.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && is_executable(&metadata))
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &std::fs::Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_folders_are_searched() {
        for folders in ["", ":", ".", "::/nonexistent", "bin:./bin"] {
            // Every name is there, seen from the current folder.
            assert_eq!(found_in(folders.as_ref(), "Cargo.toml"), None, "{folders}");
            assert_eq!(found_in(folders.as_ref(), "sh"), None, "{folders}");
        }
        assert_eq!(found_in("/nonexistent::/bin".as_ref(), "sh"), Some(PathBuf::from("/bin/sh")));
        assert!(!is_program(Path::new("Cargo.toml")));
    }
}
