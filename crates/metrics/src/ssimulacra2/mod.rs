//! SSIMULACRA 2 (version 2.1), a perceptual metric for still pictures by Jon Sneyers; not one of libvmaf's.
//!
//! Pictures are compared in XYB, at up to six scales, by three maps of errors: of structure (SSIM without its second
//! gamma correction), of new edges (ringing, blocks) and of lost edges (blur). Mean and 4-norm of each map, weighted as
//! published, make the score: 100 is equal, 90 cannot be told apart, 70 is good, 50 medium, 30 low; it may be negative.
//!
//! The published tool (of the JPEG XL project, version of April 2023) reads RGB pictures; how frames become such is said
//! in `colour.rs`. Frames stand for themselves, there is no notion of time. From linear RGB on, the operations are the
//! tool's, including which multiply-adds are fused, so that scores are the same on every machine, and the same as the
//! tool's where it runs on a processor with fused multiply-add.

mod blur;
mod colour;
mod fused;
mod maps;
mod scale;
mod score;
mod shared;
#[cfg(test)]
mod tests;
mod xyb;

use crate::simd::Target;
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, OptionSpec, Options, Spread, Window,
};
use colour::{Converter, Matrix, Range};
use fused::{Fused, Instruction, Portable};
use scale::{OwnedRows, SIDES, Scale};
use score::{COMPONENTS, MAX_SCALES, NORMS, SMALLEST_SIDE};
use shared::Shared;

const NAME: &str = "ssimulacra2";

pub static INFO: Info = Info {
    name: NAME,
    help: "SSIMULACRA 2.1 of each frame (not libvmaf's): 100 equal, 90 visually lossless, 70 high, 50 medium, 30 low",
    options: &[
        OptionSpec::text("matrix", "bt709", "how YUV is made into RGB: bt601, bt709 or bt2020")
            .named("matrix"),
        OptionSpec::text("range", "limited", "which samples are black and white: limited or full")
            .named("range"),
    ],
    features: &[NAME],
    build,
};

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    Ok(Box::new(Ssimulacra2 {
        keys: [Key::new(info.features[0], NAME, options)],
        matrix: chosen("matrix", options, &Matrix::ALL, Matrix::name)?,
        range: chosen("range", options, &Range::ALL, Range::name)?,
    }))
}

/// The value of a text option that has a few names to choose from.
fn chosen<T: Copy>(
    option: &'static str,
    options: &Options,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, MetricError> {
    let text = options.text(option);
    all.iter().copied().find(|value| name(*value) == text).ok_or_else(|| {
        let known = all.iter().map(|value| name(*value)).collect::<Vec<_>>().join(", ");
        let reason = format!("{option}={text} is refused: it must be one of {known}");
        MetricError::Setting { metric: NAME, reason }
    })
}

#[derive(Debug)]
struct Ssimulacra2 {
    keys: [Key; 1],
    matrix: Matrix,
    range: Range,
}

impl Metric for Ssimulacra2 {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        if format.width() < SMALLEST_SIDE || format.height() < SMALLEST_SIDE {
            let reason = format!("the picture must be at least {SMALLEST_SIDE}x{SMALLEST_SIDE}");
            return Err(MetricError::Format { metric: NAME, format: *format, reason });
        }
        Ok(Box::new(FrameExtractor {
            target: Target::new(level),
            converter: Converter::new(format, self.matrix, self.range),
            rows: [(); SIDES].map(|()| scale::owned_rows(format.width())),
            pyramid: Pyramid::new(format.width(), format.height()),
            shared: None,
        }))
    }
}

/// All scales of a picture pair, fed with rows of linear RGB.
#[derive(Debug)]
struct Pyramid {
    scales: Vec<Scale>,
}

impl Pyramid {
    fn new(mut width: usize, mut height: usize) -> Self {
        let count = score::scale_count(width, height);
        let mut scales = Vec::with_capacity(count);
        for index in 0..count {
            scales.push(Scale::new(width, height, index, count));
            (width, height) = (width.div_ceil(2), height.div_ceil(2));
        }
        Self { scales }
    }

    fn reset(&mut self) {
        self.scales.iter_mut().for_each(Scale::reset);
    }

    /// Takes the next row.
    #[inline(always)]
    fn push<F: Fused>(&mut self, rows: &[OwnedRows; SIDES]) {
        scale::push::<F>(&mut self.scales, scale::borrowed(rows));
    }

    /// The score, after the last row.
    #[inline(always)]
    fn score<F: Fused>(&mut self) -> f64 {
        scale::finish::<F>(&mut self.scales);
        let mut norms = [[[0.0; NORMS]; COMPONENTS]; MAX_SCALES];
        for (norms, scale) in norms.iter_mut().zip(&self.scales) {
            *norms = scale.norms();
        }
        score::score(&norms[..self.scales.len()])
    }
}

struct FrameExtractor {
    target: Target,
    converter: Converter,
    rows: [OwnedRows; SIDES],
    pyramid: Pyramid,
    /// For frames that several threads share: made with the first of them.
    shared: Option<Shared>,
}

impl FrameExtractor {
    #[inline(always)]
    fn score<F: Fused>(&mut self, window: &Window<'_>) -> f64 {
        self.pyramid.reset();
        for y in 0..window.current.reference.format().height() {
            let frames = [window.current.reference, window.current.distorted];
            for (frame, rows) in frames.into_iter().zip(&mut self.rows) {
                self.converter.row::<F>(frame, y, rows);
            }
            self.pyramid.push::<F>(&self.rows);
        }
        self.pyramid.score::<F>()
    }
}

impl Extractor for FrameExtractor {
    fn extract(&mut self, window: &Window<'_>, raw: &mut [f64]) -> Result<(), MetricError> {
        raw[0] = if self.target.is_wide() {
            self.target.run(
                #[inline(always)]
                || self.score::<Instruction>(window),
            )
        } else {
            self.score::<Portable>(window)
        };
        Ok(())
    }

    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        if spread.width() <= 1 {
            return self.extract(window, raw);
        }
        let format = window.current.reference.format();
        let (target, converter) = (self.target, &self.converter);
        let make = || Shared::new(target, converter, (format.width(), format.height()), spread);
        raw[0] = self.shared.get_or_insert_with(make).score(window.current, spread);
        Ok(())
    }
}
