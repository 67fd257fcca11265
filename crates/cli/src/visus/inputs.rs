//! Opening the two videos of a pair.

use std::path::Path;

use anyhow::{Context, Result, bail};
use visus_video::{Format, Source};

use super::args::{PixFmt, ScoreArgs, Size};

/// The two videos of a pair.
pub struct Inputs {
    pub reference: Box<dyn Source>,
    pub distorted: Box<dyn Source>,
}

/// Opens both, and checks what can be checked before a frame is read.
pub fn open(args: &ScoreArgs) -> Result<Inputs> {
    if args.reference == Path::new("-") && args.distorted == Path::new("-") {
        bail!("only one of the two videos can come from standard input");
    }
    let raw = raw_format(args.size, args.pix_fmt)?;
    let (reference, distorted) = crate::open_both(&args.reference, &args.distorted, raw);
    let reference = with_warnings(reference).context("the reference")?;
    let distorted = with_warnings(distorted).context("the distorted video")?;
    check_comparable(reference.format(), distorted.format())?;
    Ok(Inputs { reference, distorted })
}

/// Opens one video by itself.
pub fn open_one(path: &Path, raw: Option<Format>) -> Result<Box<dyn Source>> {
    Ok(visus_video::open(path, raw)?)
}

pub fn raw_format(size: Option<Size>, pix_fmt: Option<PixFmt>) -> Result<Option<Format>> {
    let (Some(size), Some(pix_fmt)) = (size, pix_fmt) else { return Ok(None) };
    Ok(Some(Format::new(size.width, size.height, pix_fmt.chroma, pix_fmt.depth)?))
}

fn with_warnings(opened: crate::Opened) -> Result<Box<dyn Source>> {
    let source = opened?;
    for warning in &source.info().warnings {
        eprintln!("visus: warning: {}: {warning}", source.name());
    }
    Ok(source)
}

fn check_comparable(reference: &Format, distorted: &Format) -> Result<()> {
    if reference == distorted {
        return Ok(());
    }
    bail!(
        "the two videos cannot be compared: the reference is {reference}, the distorted video {distorted}; scale or convert \
         one of them first"
    );
}
