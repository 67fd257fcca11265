//! What the tests with real encodes share: clips made on the spot, and a lab.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use visus_engine::Cancel;
use visus_tune::cache::{Cache, DEFAULT_LIMIT};
use visus_tune::{Event, Judge, Lab, Source, Tools};

/// The local ffmpeg. Without it these tests cannot be made.
pub fn tools() -> Tools {
    let found = Tools::find(None, Duration::from_secs(300));
    found
        .expect("these tests need ffmpeg with x264, x265, SVT-AV1, libvpx and libaom: apt-get install ffmpeg")
}

/// A folder with a cache of its own.
pub struct Place {
    pub folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn cache(&self) -> Cache {
        Cache::open(&self.path("cache"), DEFAULT_LIMIT).unwrap()
    }

    pub fn lab(&self) -> Lab {
        Lab::new(tools(), self.cache(), Cancel::new(), None).unwrap()
    }

    /// A clip from ffmpeg's own pictures, as lossless video.
    pub fn clip(&self, name: &str, filters: &str) -> PathBuf {
        let path = self.path(name);
        let made = Command::new(tools().media.ffmpeg)
            .args(["-v", "error", "-y", "-filter_complex", filters, "-c:v", "ffv1", "-pix_fmt", "yuv420p"])
            .arg(&path)
            .status()
            .expect("ffmpeg runs");
        assert!(made.success(), "{filters}");
        path
    }

    pub fn source(&self, lab: &Lab, path: &Path) -> Source {
        Source::open(path, None, &lab.tools, &lab.cache, &lab.cancel).unwrap()
    }
}

/// Pictures that are hard enough: a moving test card with noise, 256x144.
pub fn noisy(seconds: f64) -> String {
    format!("testsrc2=s=256x144:r=25:d={seconds},noise=alls=12:allf=t,format=yuv420p")
}

/// Soft pictures that move.
pub fn soft(seconds: f64) -> String {
    format!("mandelbrot=s=256x144:r=25:end_scale=0.03:end_pts=120,trim=duration={seconds},format=yuv420p")
}

pub fn judge(source: &Source) -> Judge {
    Judge::new("vmaf_v0.6.1", &source.format, source.rate).unwrap()
}

pub fn silent(_: Event) {}

/// An answer is what its schema says, key by key.
pub fn fits(name: &str, answer: &impl serde::Serialize) {
    let output = visus_tune::schema::OUTPUTS.iter().find(|output| output.name == name).unwrap();
    let answer = serde_json::to_value(answer).unwrap();
    if let Err(fault) = output.check(&answer) {
        panic!("{name}: {fault}\n{answer:#}");
    }
}
