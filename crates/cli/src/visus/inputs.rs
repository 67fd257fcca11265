//! Opening the two videos of a pair.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use visus_media::{Control, Input, OpenPair, PairOptions, Probed, Verdict};
use visus_video::{Format, Source};

use super::args::{PixFmt, ScoreArgs, Size};
use super::media::{self, NotComparable};

/// The two videos of a pair.
pub struct Inputs {
    pub reference: Box<dyn Source>,
    pub distorted: Box<dyn Source>,
    pub about: About,
}

/// What is known about a pair besides its frames.
pub enum About {
    /// Files that are read as they are.
    Plain(visus_media::Comparability),
    /// Decoded, converted, paired.
    Media(Box<Control>),
}

impl About {
    pub fn comparability(&self) -> visus_media::Comparability {
        match self {
            Self::Plain(comparability) => comparability.clone(),
            Self::Media(control) => control.comparability(),
        }
    }

    /// Sections of the report.
    pub fn sections(&self) -> Vec<(String, Value)> {
        match self {
            Self::Plain(comparability) => vec![("comparability".to_owned(), comparability.json())],
            Self::Media(control) => control.report(),
        }
    }

    /// Whether frames were left out by the source already.
    pub fn skips(&self) -> bool {
        matches!(self, Self::Media(_))
    }

    /// Refuses what a score would mean nothing for.
    pub fn check(&self, force: bool) -> Result<()> {
        let comparability = self.comparability();
        if force || comparability.verdict() != Verdict::No {
            return Ok(());
        }
        let reasons = comparability.reasons.into_iter().filter(|reason| reason.weight == Verdict::No);
        Err(NotComparable { reasons: reasons.map(|reason| reason.text).collect() }.into())
    }
}

/// Opens both, and checks what can be checked before a frame is read.
pub fn open(args: &ScoreArgs) -> Result<Inputs> {
    if args.reference == Path::new("-") && args.distorted == Path::new("-") {
        bail!("only one of the two videos can come from standard input");
    }
    let raw = raw_format(args.size, args.pix_fmt)?;
    let inputs = [&args.reference, &args.distorted].map(|path| Input::detect(path, raw));
    if inputs.iter().any(Input::is_encoded) || args.media.asked() {
        return open_media(args, inputs);
    }
    let (reference, distorted) = crate::open_both(&args.reference, &args.distorted, raw);
    let reference = with_warnings(reference).context("the reference")?;
    let distorted = with_warnings(distorted).context("the distorted video")?;
    plain(reference, distorted)
}

/// Two videos that are scored as they are.
pub fn plain(reference: Box<dyn Source>, distorted: Box<dyn Source>) -> Result<Inputs> {
    check_comparable(reference.format(), distorted.format())?;
    let about = About::Plain(visus_media::judge(&*reference, &*distorted));
    Ok(Inputs { reference, distorted, about })
}

fn open_media(args: &ScoreArgs, inputs: [Input; 2]) -> Result<Inputs> {
    let mut options = args.media.options([args.skip_ref, args.skip_dis], &inputs);
    let probed = Probed::new(inputs, &options)?;
    options.display = media::display(&args.models, &probed.facts[0])?;
    paired(probed, &options, args.media.force)
}

/// Decodes and pairs; what cannot be compared is refused.
pub fn paired(probed: Probed, options: &PairOptions, force: bool) -> Result<Inputs> {
    let OpenPair { reference, distorted, control } = probed.open(options)?;
    let about = About::Media(Box::new(control));
    about.check(force)?;
    Ok(Inputs { reference, distorted, about })
}

/// Opens one video by itself.
pub fn open_one(path: &Path, raw: Option<Format>) -> Result<Box<dyn Source>> {
    Ok(visus_media::open_one(&Input::detect(path, raw), media::launch(), "encoded video")?)
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
