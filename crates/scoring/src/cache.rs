//! The folder for what is worth keeping between runs.

use std::path::PathBuf;

/// `VISUS_CACHE_DIR`, else `visus` in the user's cache folder.
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let system = || {
        if cfg!(windows) {
            return variable("LOCALAPPDATA");
        }
        let home = variable("HOME");
        let folder = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        variable("XDG_CACHE_HOME").or_else(|| home.map(|home| home.join(folder)))
    };
    variable("VISUS_CACHE_DIR").or_else(|| system().map(|folder| folder.join("visus")))
}
