//! The Python that knows scipy and onnxruntime, and what it made for the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format};

/// A folder of tables, models and expected figures.
pub struct Made {
    _dir: tempfile::TempDir,
    pub folder: PathBuf,
    pub expected: Value,
}

impl Made {
    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }
}

/// Made once for all tests.
pub fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(make)
}

fn make() -> Made {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    write_clips(&folder);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/eval/peer.py");
    let output = Command::new(python()).arg(script).arg(&folder).output().unwrap();
    assert!(output.status.success(), "peer.py: {}", String::from_utf8_lossy(&output.stderr));
    let expected = std::fs::read(folder.join("expected.json")).unwrap();
    Made { _dir: dir, folder, expected: serde_json::from_slice(&expected).unwrap() }
}

/// The interpreter that `cargo xtask test` sets up, or the one that is named.
fn python() -> PathBuf {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    let python = std::env::var_os("VISUS_PYTHON").map_or(usual, PathBuf::from);
    assert!(
        python.is_file(),
        "{} is missing: run `cargo xtask python` (or `cargo xtask test`), which installs onnx, onnxruntime, scipy, pandas and \
         pyarrow there; or let VISUS_PYTHON name a Python that has them",
        python.display()
    );
    python
}

fn write_clips(folder: &Path) {
    let format = Format::new(96, 64, Chroma::C420, 8).unwrap();
    let reference = Clip::scene(format, 5, 3);
    crate::common::y4m(folder, "ref.y4m", &reference);
    crate::common::y4m(folder, "dis.y4m", &reference.distorted(Distortion::Blocking { step: 30 }));
}
