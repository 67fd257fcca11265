//! SSIM: structural similarity of luma (Wang et al., 2004), in single precision.
//!
//! Luma is brought to the 8-bit scale, shrunk by a box filter (automatically so that the shorter side has about 256
//! rows), and compared in all positions of an 11x11 Gaussian window. Nothing is fused, and sums keep the order of the
//! pixels.
//!
//! Where the shrunk picture is smaller than the window libvmaf answers 0 or NaN instead of refusing; so does this.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod decibel;
pub mod scalar;
mod shrink;
mod source;
mod sums;
#[cfg(test)]
mod tests;
mod window;

use visus_video::Format;

use crate::picture::FloatPlane;
use crate::simd::Target;
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, OptionSpec, Options, Pair, PlanesRead,
    Spread, Window,
};
pub(crate) use decibel::{CLIP_OPTION, Decibels};
pub(crate) use source::{Row, Source};
pub(crate) use sums::{Luminance, Means};
pub(crate) use window::{Comparison, Statistic};

pub static INFO: Info = Info {
    name: "float_ssim",
    help: "Structural similarity of luma at one scale",
    options: OPTIONS,
    features: &["float_ssim"],
    build: |info, options| Ok(Box::new(Ssim::new(info, options))),
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::bool("enable_lcs", false, "enable luminance, contrast and structure intermediate output"),
    OptionSpec::bool("enable_db", false, "write SSIM values as dB"),
    CLIP_OPTION,
    OptionSpec::int("scale", 0, 0, 10, "decimation scale factor (0=auto, 1=no downscaling, 2-10=explicit)"),
];

struct Ssim {
    info: &'static Info,
    options: Options,
    keys: Vec<Key>,
}

impl Ssim {
    fn new(info: &'static Info, options: &Options) -> Self {
        let names = ["float_ssim", "float_ssim_l", "float_ssim_c", "float_ssim_s"];
        let count = if options.flag("enable_lcs") { 4 } else { 1 };
        let keys = names.into_iter().take(count).map(|name| Key::new(name, name, options)).collect();
        Self { info, options: options.clone(), keys }
    }
}

impl Metric for Ssim {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn planes_read(&self) -> PlanesRead {
        PlanesRead::LUMA
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        let factor = match self.options.int("scale") {
            0 => automatic_factor(format),
            scale => scale as usize,
        };
        if let Some(reason) = without_windows(format, factor) {
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        Ok(Box::new(SsimExtractor::new(
            format,
            Target::new(level),
            factor,
            Decibels::new(&self.options, format),
        )))
    }
}

/// Why a picture so small is refused, if it is. Below 11 samples there is no window: libvmaf then says 0, which is kept
/// for pictures from 8x8 on, or at exactly 10 divides by nothing.
fn without_windows(format: &Format, factor: usize) -> Option<String> {
    let shrunk = |side: usize| if factor == 1 { side } else { side / factor + (side & 1) };
    let sides = [format.width(), format.height()].map(shrunk);
    let hopeless = sides.iter().any(|side| *side < 8 || *side == 10);
    hopeless.then(|| format!("shrunk by {factor}, each side must be at least 11"))
}

/// The shorter side over 256, rounded, at least 1.
fn automatic_factor(format: &Format) -> usize {
    ((format.width().min(format.height()) + 128) / 256).max(1)
}

struct SsimExtractor {
    factor: usize,
    decibels: Decibels,
    reference: FloatPlane,
    distorted: FloatPlane,
    columns: Vec<f64>,
    statistic: Statistic,
    target: Target,
}

impl SsimExtractor {
    fn new(format: &Format, target: Target, factor: usize, decibels: Decibels) -> Self {
        let width = shrink::shrunk(format.width(), factor);
        let height = shrink::shrunk(format.height(), factor);
        // A picture of its full size is read from the frame.
        let plane = || if factor == 1 { FloatPlane::default() } else { FloatPlane::new(width, height) };
        Self {
            factor,
            decibels,
            reference: plane(),
            distorted: plane(),
            columns: vec![0.0; format.width()],
            statistic: Statistic::new(width, target),
            target,
        }
    }

    /// Below the window's size no sample counts, and the box filter's mirror would leave the picture.
    fn shrink(&mut self, pair: Pair<'_>, spread: &dyn Spread) {
        if self.reference.width() < scalar::TAPS || self.reference.height() < scalar::TAPS {
            return;
        }
        for (plane, frame) in [(&mut self.reference, pair.reference), (&mut self.distorted, pair.distorted)] {
            let depth = frame.format().depth();
            let (target, from, factor) = (self.target, frame.plane(0), self.factor);
            if spread.width() > 1 {
                shrink::shrink_spread(target, from, depth, factor, plane, spread);
            } else {
                shrink::shrink(target, from, depth, factor, &mut self.columns, plane);
            }
        }
    }
}

impl Extractor for SsimExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let Pair { reference, distorted } = window.current;
        let (reference, distorted) = if self.factor == 1 {
            (Source::luma(reference), Source::luma(distorted))
        } else {
            self.shrink(window.current, spread);
            (Source::Floats(&self.reference), Source::Floats(&self.distorted))
        };
        let comparison = Comparison { reference, distorted, luminance: Luminance::Wanted };
        let [means] = self.statistic.measure([comparison], spread);
        let Means { ssim, luminance, contrast, structure } = means;
        let scores = [self.decibels.apply(ssim), luminance, contrast, structure];
        raw.copy_from_slice(&scores[..raw.len()]);
        Ok(())
    }
}
