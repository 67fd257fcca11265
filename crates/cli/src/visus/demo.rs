//! `visus demo`: a clip pair with a known flaw, scored and shown.

use std::fs::File;
use std::io::{BufWriter, Cursor};
use std::path::Path;

use anyhow::{Context, Result};
use visus_engine::{Cancel, Settings};
use visus_scoring::{Columns, RunOptions, Selection, run_sources};
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, Frame, Info, ReadError, Source, write_y4m, y4m_seekable};

use super::args::DemoArgs;
use super::draw;
use super::score::{print_all, under_bar};

const FRAMES: u64 = 60;
/// The frames that a burst of damage hits.
const FLAW: std::ops::Range<u64> = 36..42;
const SEED: u32 = 2026;
const RATE: (u32, u32) = (25, 1);
const MODELS: [&str; 2] = ["vmaf_v0.6.1", "vmaf_v0.6.1neg"];

pub fn run(args: &DemoArgs) -> Result<()> {
    let format = Format::new(640, 360, Chroma::C420, 8)?;
    let reference = Clip::scene(format, FRAMES, SEED).named("reference.y4m");
    let distorted = Flawed::new(&reference);
    if let Some(folder) = &args.keep {
        keep(folder, &reference, &distorted)?;
    }
    let resolved = Selection::parse(MODELS, [], Columns::ByModel)?.resolve(&reference)?;
    let options = RunOptions::from_environment()?;
    let (reference, distorted) = (made(reference)?, made(distorted)?);
    let outcome = under_bar(args.quiet, |bar| {
        run_sources(&resolved.plan, reference, distorted, &options, &Cancel::new(), bar)
    })?;
    let summary = draw::summary(&resolved.plan, &outcome, Settings::default().threads);
    print_all(&format!("{INTRODUCTION}\n{summary}\n{NEXT}"))
}

const INTRODUCTION: &str = "\
A made-up scene of 60 frames, lightly compressed (8x8 blocks), and badly blurred in frames 36 to 41.
The mean hides that burst; the lowest percentiles, the worst frame and the curve show it.
";

const NEXT: &str = "\
Next: visus score REFERENCE.y4m DISTORTED.y4m    your own clips
      visus models                               which model fits which screen
      visus selftest                             are the scores of this machine libvmaf's?
";

/// The clip in memory, as a Y4M file would be: scoring it then takes the time of scoring alone.
pub(super) fn made(mut clip: impl Source + 'static) -> Result<Box<dyn Source>> {
    let mut bytes = Vec::new();
    let format = *clip.format();
    let mut frame = Frame::new(format);
    let frames = std::iter::from_fn(|| clip.read(&mut frame).is_ok_and(|more| more).then(|| frame.clone()));
    write_y4m(&mut bytes, &format, RATE, frames)?;
    Ok(Box::new(y4m_seekable(clip.name(), Cursor::new(bytes))?))
}

fn keep(folder: &Path, reference: &Clip, distorted: &Flawed) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    write_clip(&folder.join("reference.y4m"), reference.format(), reference.frames())?;
    write_clip(
        &folder.join("distorted.y4m"),
        reference.format(),
        (0..FRAMES).map(|index| distorted.frame(index)),
    )
}

fn write_clip(path: &Path, format: &Format, frames: impl Iterator<Item = Frame>) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    write_y4m(BufWriter::new(file), format, RATE, frames)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The reference, lightly damaged throughout and badly in a few frames.
struct Flawed {
    light: Clip,
    bad: Clip,
    next: u64,
}

impl Flawed {
    fn new(reference: &Clip) -> Self {
        let light = reference.clone().distorted(Distortion::Blocking { step: 14 }).named("distorted.y4m");
        let bad = light.clone().distorted(Distortion::Blur { radius: 1 });
        Self { light, bad, next: 0 }
    }

    fn frame(&self, index: u64) -> Frame {
        if FLAW.contains(&index) { self.bad.frame(index) } else { self.light.frame(index) }
    }
}

impl Source for Flawed {
    fn format(&self) -> &Format {
        self.light.format()
    }

    fn name(&self) -> &str {
        self.light.name()
    }

    fn info(&self) -> &Info {
        self.light.info()
    }

    fn frames_read(&self) -> u64 {
        self.next
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        let more = self.next < FRAMES;
        if more {
            *frame = self.frame(self.next);
            self.next += 1;
        }
        Ok(more)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        let skipped = count.min(FRAMES - self.next);
        self.next += skipped;
        Ok(skipped)
    }

    fn total_frames(&self) -> Option<u64> {
        Some(FRAMES)
    }
}
