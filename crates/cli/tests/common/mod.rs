//! What the tests of the binaries share: the golden folder, temporary clips, running a binary.
#![allow(dead_code)]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of golden clips and figures, if the environment names it. The figures of a run without it come from
/// clips that the tests make themselves.
pub fn golden() -> Option<PathBuf> {
    let folder = std::env::var_os("VISUS_GOLDEN").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("VISUS_GOLDEN is not set: the golden figures are not compared");
    }
    folder
}

/// The `vmaf` binary.
pub fn vmaf() -> Command {
    Command::new(env!("CARGO_BIN_EXE_vmaf"))
}

/// The `visus` binary.
pub fn visus() -> Command {
    Command::new(env!("CARGO_BIN_EXE_visus"))
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The bytes of a golden file, unpacked.
pub fn unpacked(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_none_or(|extension| extension != "zst") {
        return bytes;
    }
    let mut out = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(&bytes[..]).expect("zstd frame");
    decoder.read_to_end(&mut out).expect("zstd data");
    out
}

/// Writes a golden clip into `folder`, unpacked and under its plain name; returns its path.
pub fn clip(golden: &Path, file: &str, folder: &Path) -> PathBuf {
    let name = Path::new(file).file_name().and_then(|name| name.to_str()).expect("clip name");
    let path = folder.join(name.trim_end_matches(".zst"));
    if !path.exists() {
        std::fs::write(&path, unpacked(&golden.join(file))).expect("temporary clip");
    }
    path
}
