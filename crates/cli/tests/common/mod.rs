//! What the tests of the binaries share: the golden folder, temporary clips, running a binary.
#![allow(dead_code)]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of golden clips and figures, if the environment names it. The figures of a run without it come from
/// clips that the tests make themselves.
pub fn golden() -> Option<PathBuf> {
    let folder = std::env::var_os("VISUS_GOLDEN").map(PathBuf::from);
    let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|word| word.trim() == "golden");
    assert!(folder.is_some() || !is_required, "VISUS_REQUIRE names golden, and VISUS_GOLDEN is not set");
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

/// A made clip as a Y4M file.
pub fn y4m(folder: &Path, name: &str, clip: &visus_video::synthetic::Clip) -> PathBuf {
    let path = folder.join(name);
    let file = std::fs::File::create(&path).expect("temporary clip");
    visus_video::write_y4m(file, visus_video::Source::format(clip), (25, 1), clip.frames())
        .expect("clip is written");
    path
}

/// A reference and a distorted clip in a fresh folder.
pub struct Pair {
    pub folder: tempfile::TempDir,
    pub reference: PathBuf,
    pub distorted: PathBuf,
}

impl Pair {
    pub fn new(format: visus_video::Format, frames: (u64, u64)) -> Self {
        use visus_video::synthetic::{Clip, Distortion};
        let folder = tempfile::tempdir().expect("temporary folder");
        let reference = y4m(folder.path(), "ref.y4m", &Clip::scene(format, frames.0, 3));
        let damage = Distortion::Blocking { step: 30 };
        let distorted = y4m(folder.path(), "dis.y4m", &Clip::scene(format, frames.1, 3).distorted(damage));
        Self { folder, reference, distorted }
    }

    /// A small pair in 4:2:0 with 8 bits.
    pub fn small(frames: u64) -> Self {
        let format = visus_video::Format::new(96, 64, visus_video::Chroma::C420, 8).expect("format");
        Self::new(format, (frames, frames))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `vmaf -r ref -d dis -o out.json --json` with more arguments, run in the folder.
    pub fn vmaf(&self, more: &[&str]) -> Output {
        let mut command = vmaf();
        command
            .current_dir(self.folder.path())
            .args(["-r", "ref.y4m", "-d", "dis.y4m", "-o", "out.json", "--json"]);
        command.args(more).output().expect("vmaf runs")
    }

    /// Cuts bytes off the end of a file.
    pub fn truncate(&self, name: &str, bytes: u64) {
        let file = std::fs::OpenOptions::new().write(true).open(self.path(name)).expect("file");
        let length = file.metadata().expect("length").len();
        file.set_len(length - bytes).expect("file is cut");
    }
}
