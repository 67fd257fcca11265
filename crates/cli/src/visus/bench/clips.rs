//! Clips to measure on.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, Source, write_y4m};

/// A pair on disk, gone when dropped.
#[derive(Debug)]
pub struct Clips {
    pub name: String,
    pub frames: u64,
    folder: tempfile::TempDir,
}

/// The sizes that have a name, and frames enough to time.
const SIZES: [(&str, usize, usize, u64); 5] = [
    ("576x324", 576, 324, 48),
    ("720p", 1280, 720, 24),
    ("1080p", 1920, 1080, 16),
    ("2160p", 3840, 2160, 6),
    ("4320p", 7680, 4320, 3),
];

impl Clips {
    /// A scene with texture at all scales, and the same after coarse quantisation.
    ///
    /// As many frames as are asked for: more than are made here are repetitions.
    pub fn make(size: &str, depth: u8, frames: Option<u64>) -> Result<Self> {
        let named = |(name, width, height, _): &&(&str, usize, usize, u64)| {
            *name == size || format!("{width}x{height}") == size
        };
        let Some((name, width, height, usual)) = SIZES.iter().find(named).copied() else {
            let known: Vec<&str> = SIZES.iter().map(|(name, ..)| *name).collect();
            bail!("there is no size '{size}'; known: {}", known.join(", "));
        };
        let frames = frames.unwrap_or(usual);
        let format = Format::new(width, height, Chroma::C420, depth)?;
        let folder = tempfile::tempdir().context("no temporary folder")?;
        let reference =
            Clip::scene(format, frames.min(usual), 77).distorted(Distortion::Noise { amplitude: 8, seed: 5 });
        let distorted = reference.clone().distorted(Distortion::Blocking { step: 20 });
        eprintln!("visus: making {frames} frames of {format}");
        write(&folder.path().join("ref.y4m"), &reference, frames)?;
        write(&folder.path().join("dis.y4m"), &distorted, frames)?;
        Ok(Self { name: format!("{name} {depth}-bit"), frames, folder })
    }

    pub fn reference(&self) -> PathBuf {
        self.folder.path().join("ref.y4m")
    }

    pub fn distorted(&self) -> PathBuf {
        self.folder.path().join("dis.y4m")
    }

    /// Where a program may write its report.
    pub fn report(&self) -> PathBuf {
        self.folder.path().join("report.json")
    }
}

fn write(path: &Path, clip: &Clip, frames: u64) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let made: Vec<_> = clip.frames().collect();
    let repeated = (0..frames).zip(made.iter().cycle()).map(|(_, frame)| frame);
    write_y4m(BufWriter::new(file), clip.format(), (25, 1), repeated).context("writing a clip")
}
