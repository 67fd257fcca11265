//! Whether the headers that the feature `libav` is built from are there.
//!
//! Every other feature builds with nothing but Rust. This one is checked and tested where FFmpeg's headers and libclang are there or
//! can be installed, and left out with a loud line where not; `VISUS_REQUIRE=libav` makes a failure of that.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Result, ensure};

use crate::steps::{install, is_required};

/// Libraries by pkg-config's names.
const LIBRARIES: [&str; 3] = ["libavformat", "libavcodec", "libavutil"];
/// Debian's packages of their headers, and of what reads them.
const PACKAGES: [&str; 5] =
    ["pkg-config", "libavformat-dev", "libavcodec-dev", "libavutil-dev", "libclang-dev"];

/// These features, and `libav` where it can be built.
pub fn with_libav(features: &str) -> String {
    if is_there() { format!("{features},visus/libav") } else { features.to_owned() }
}

/// Installs what is missing, where that is possible.
pub fn bring() -> Result<()> {
    if !headers_are_there() {
        println!("--- the headers of FFmpeg's libraries are not there");
        // One by one: on other systems some names may be missing.
        for package in PACKAGES {
            install(package);
        }
    }
    if is_there() {
        return Ok(());
    }
    leave_out(is_required("libav"))
}

fn leave_out(required: bool) -> Result<()> {
    let packages = PACKAGES.join(" ");
    let text = format!("the headers of FFmpeg's libraries could not be installed ({packages})");
    ensure!(!required, "{text}, and VISUS_REQUIRE names libav");
    eprintln!("!!! {text}: THE FEATURE libav IS NEITHER BUILT NOR TESTED");
    Ok(())
}

/// Found out once, after what can be installed is.
fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(headers_are_there)
}

fn headers_are_there() -> bool {
    let found = Command::new("pkg-config").arg("--exists").args(LIBRARIES).status();
    found.is_ok_and(|status| status.success()) && has_libclang()
}

/// libclang has no file for pkg-config: it lies in LLVM's own folders, or where a variable says.
fn has_libclang() -> bool {
    let entries = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        std::env::var_os("LIBCLANG_PATH").map(PathBuf::from).into_iter().collect();
    let versions = entries("/usr/lib".into()).map(|entry| entry.path());
    folders
        .extend(versions.filter(|path| path.to_string_lossy().contains("llvm")).map(|path| path.join("lib")));
    folders.push("/usr/lib64".into());
    let is_libclang = |name: &str| name.starts_with("libclang.so") || name.starts_with("libclang-");
    folders.into_iter().flat_map(entries).any(|entry| is_libclang(&entry.file_name().to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_left_out_unless_it_is_required() {
        assert!(leave_out(false).is_ok());
        let error = leave_out(true).unwrap_err().to_string();
        assert!(error.contains("libavcodec-dev") && error.ends_with("VISUS_REQUIRE names libav"), "{error}");
    }
}
