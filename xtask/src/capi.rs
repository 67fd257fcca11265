//! `cargo xtask capi --prefix DIR`: the drop-in for libvmaf, installed as libvmaf itself would be. And, for tests, the real
//! library to compare with.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::python;
use crate::steps::{cargo, root};

/// The version of libvmaf's API.
const API_VERSION: &str = "3.2.0";

/// Names a wheel that brings the real libvmaf of that version as a file of its own.
const WHEEL: &str = "tests/python/libvmaf.txt";

/// Builds and installs.
pub fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let prefix = match &words[..] {
        [flag, prefix] if flag == "--prefix" => std::path::absolute(prefix)?,
        _ => bail!("usage: cargo xtask capi --prefix DIR"),
    };
    let libraries = "cdylib,staticlib";
    cargo(&["rustc", "--profile", "dist", "--package", "visus-capi", "--lib", "--crate-type", libraries])?;
    install(&built(), &prefix)?;
    println!("installed under {}; try: LD_LIBRARY_PATH={}", prefix.display(), prefix.join("lib").display());
    Ok(())
}

fn built() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join("dist")
}

fn install(built: &Path, prefix: &Path) -> Result<()> {
    let (lib, include) = (prefix.join("lib"), prefix.join("include/libvmaf"));
    let pkgconfig = lib.join("pkgconfig");
    for folder in [&lib, &include, &pkgconfig] {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    if cfg!(target_os = "macos") {
        copy(&built.join("libvmaf.dylib"), &lib.join("libvmaf.3.dylib"))?;
        link("libvmaf.3.dylib", &lib.join("libvmaf.dylib"))?;
    } else if cfg!(windows) {
        copy(&built.join("vmaf.dll"), &lib.join("libvmaf.dll"))?;
    } else {
        copy(&built.join("libvmaf.so"), &lib.join(format!("libvmaf.so.{API_VERSION}")))?;
        link(&format!("libvmaf.so.{API_VERSION}"), &lib.join("libvmaf.so.3"))?;
        link("libvmaf.so.3", &lib.join("libvmaf.so"))?;
    }
    let archive = if cfg!(windows) { "vmaf.lib" } else { "libvmaf.a" };
    copy(&built.join(archive), &lib.join(archive))?;
    for header in std::fs::read_dir(root().join("crates/capi/include/libvmaf"))? {
        let header = header?;
        copy(&header.path(), &include.join(header.file_name()))?;
    }
    std::fs::write(pkgconfig.join("libvmaf.pc"), pc(prefix))?;
    Ok(())
}

/// What `pkg-config` reads. The static library needs what Rust's runtime needs.
fn pc(prefix: &Path) -> String {
    format!(
        "prefix={}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: libvmaf\nDescription: VMAF, computed by Visus through libvmaf's C API\nVersion: {API_VERSION}\n\
         Libs: -L${{libdir}} -lvmaf\nLibs.private: -lm -lpthread -ldl -lgcc_s\nCflags: -I${{includedir}}\n",
        prefix.display()
    )
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    // A running program may have the old file mapped: it keeps it.
    let _ = std::fs::remove_file(to);
    std::fs::copy(from, to).with_context(|| format!("{} to {}", from.display(), to.display()))?;
    Ok(())
}

#[cfg(unix)]
fn link(to: &str, at: &Path) -> Result<()> {
    let _ = std::fs::remove_file(at);
    std::os::unix::fs::symlink(to, at).with_context(|| at.display().to_string())
}

#[cfg(not(unix))]
fn link(to: &str, at: &Path) -> Result<()> {
    copy(&at.with_file_name(to), at)
}

/// The real libvmaf under `target/peers/libvmaf`, for the differential test, where pip can bring it. The pip is that of
/// [`python::prepare`]: a system's Python may have none.
pub fn bring_peer() -> Result<()> {
    let folder = root().join("target/peers/libvmaf");
    if peer(&folder).is_some() {
        return Ok(());
    }
    std::fs::create_dir_all(&folder)?;
    let python = |args: &[&str]| {
        let status = python::tool(&root(), "python").args(args).current_dir(&folder).status();
        status.is_ok_and(|status| status.success())
    };
    let list = root().join(WHEEL);
    let list = list.to_str().context("the path of this folder is not UTF-8")?;
    let options = ["--quiet", "--no-deps", "--python-version", "3.12", "--only-binary=:all:"];
    let pinned = ["--require-hashes", "--requirement", list];
    let download =
        [&["-m", "pip", "download", "--disable-pip-version-check"][..], &options, &pinned].concat();
    let brought = python(&download) && unpack(&folder, &python);
    if !brought || peer(&folder).is_none() {
        eprintln!(
            "!!! the wheel of {WHEEL} could not be brought: our libvmaf is NOT compared with the real one"
        );
    }
    Ok(())
}

fn unpack(folder: &Path, python: &dyn Fn(&[&str]) -> bool) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let wheels = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let wheels: Vec<String> = wheels.filter(|name| name.ends_with(".whl")).collect();
    wheels.iter().all(|wheel| python(&["-m", "zipfile", "-e", wheel, "."]))
}

fn peer(folder: &Path) -> Option<PathBuf> {
    let libraries = std::fs::read_dir(folder.join("av.libs")).ok()?;
    let paths = libraries.flatten().map(|entry| entry.path());
    paths.into_iter().find(|path| path.to_string_lossy().contains("libvmaf-"))
}
