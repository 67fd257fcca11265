//! XPSNR: PSNR whose errors are weighted by how well they hide. Not a metric of libvmaf.
//!
//! Luma is divided into blocks. A block's activity is the mean absolute high-pass value of the source plus twice the
//! mean absolute change to the pictures before it; its squared errors count with the inverse of that, in chroma too.
//!
//! Described in C. R. Helmrich et al., "XPSNR: A Low-Complexity Extension of the Perceptually Weighted Peak
//! Signal-to-Noise Ratio for High-Resolution Video Quality Assessment", ICASSP 2020, and "A Study of the Extended
//! Perceptually Weighted Peak Signal-to-Noise Ratio (XPSNR) for Video Compression with Different Resolutions and Bit
//! Depths", ITU Journal: ICT Discoveries 3 (1), 2020.
//!
//! Figures are those of FFmpeg's filter `xpsnr` (7.1 and later), also where it goes its own way: before the first
//! picture there is a black one, so that errors in the first picture hide well; blocks of a few columns at the right
//! edge have no spatial activity above HD. Unlike the filter, samples of 16 bits are not taken for signed ones, rows of
//! any length are read correctly, pictures below 2025 pixels get their unweighted PSNR, and chroma planes of odd sizes
//! are rounded down. Reading over an odd edge above HD gives the last row or column again.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bytes;
mod groups;
mod layout;
mod measure;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod shared;
mod simd_passes;
mod strips;
#[cfg(test)]
mod tests;
mod vectors;
mod weights;

use visus_video::{Format, Frame, PlaneView};

use crate::math::log10;
use crate::simd::Target;
use crate::{
    Appears, ClipInfo, Emit, Extractor, Fold, Info, Key, Level, Metric, MetricError, Needs, OptionSpec,
    Options, Pair, Spread, Window,
};

use measure::{History, Measure};
use shared::Hands;

const NAME: &str = "xpsnr";
const KEYS: [&str; 3] = ["xpsnr_y", "xpsnr_cb", "xpsnr_cr"];
const AVERAGES: [&str; 3] = ["axpsnr_y", "axpsnr_cb", "axpsnr_cr"];
const MINIMUM: &str = "axpsnr_min";

/// From this frame rate on, change is measured by second differences.
const FAST: f64 = 32.0;
/// The frame rate of clips that do not say theirs.
const ASSUMED_RATE: f64 = 25.0;

static OPTIONS: &[OptionSpec] = &[OptionSpec::double(
    "frame_rate",
    ASSUMED_RATE,
    0.001,
    100000.0,
    "frames per second, if not the clip's own; from 32 on, motion is measured by second differences",
)];

pub static INFO: Info = Info {
    name: NAME,
    help: "perceptually weighted PSNR (XPSNR); not a metric of libvmaf",
    options: OPTIONS,
    features: &KEYS,
    build,
};

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let key = |name: &'static str| Key { feature: name, name: name.to_owned(), appears: Appears::Frame(0) };
    let frame_rate = options.is_given("frame_rate").then(|| options.double("frame_rate"));
    Ok(Box::new(Xpsnr { info, keys: KEYS.map(key), frame_rate }))
}

#[derive(Debug)]
struct Xpsnr {
    info: &'static Info,
    keys: [Key; 3],
    /// Overrides that of the clip.
    frame_rate: Option<f64>,
}

impl Xpsnr {
    fn second_differences(&self, clip: &ClipInfo) -> bool {
        self.frame_rate.or(clip.frames_per_second()).unwrap_or(ASSUMED_RATE) >= FAST
    }
}

impl Metric for Xpsnr {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Two earlier pairs unless the frame rate is known to be low: the clip is not known here.
    fn needs(&self) -> Needs {
        let slow = self.frame_rate.is_some_and(|rate| rate < FAST);
        Needs { history: if slow { 1 } else { 2 }, every_frame: false }
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        let (width, height) = format.plane_size(format.planes() - 1);
        if width == 0 || height == 0 {
            let reason = "its chroma planes would be empty".to_owned();
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        Ok(Box::new(XpsnrExtractor {
            target: Target::new(level),
            measure: Measure::new(format, level),
            black: Frame::new(*format),
            second_differences: self.second_differences(clip),
        }))
    }

    fn fold(&self, format: &Format) -> Box<dyn Fold> {
        Box::new(Average::new(format))
    }
}

/// Gives the root of the weighted squared errors of each plane.
#[derive(Debug)]
struct XpsnrExtractor {
    target: Target,
    measure: Measure,
    /// Stands for the pictures before the first one.
    black: Frame,
    second_differences: bool,
}

impl Extractor for XpsnrExtractor {
    fn extract(&mut self, window: &Window<'_>, raw: &mut [f64]) -> Result<(), MetricError> {
        self.target.run(
            #[inline(always)]
            || self.measure(window, raw),
        );
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
        self.measure_shared(window, raw, Hands { target: self.target, spread });
        Ok(())
    }
}

impl XpsnrExtractor {
    #[inline(always)]
    fn measure(&mut self, window: &Window<'_>, raw: &mut [f64]) {
        let before = source_luma(window.previous, &self.black);
        let earlier = source_luma(window.before_previous, &self.black);
        let (source, distorted) = (window.current.reference, window.current.distorted);
        raw[0] = match (source.plane(0), distorted.plane(0), before, earlier) {
            (
                PlaneView::U8(luma),
                PlaneView::U8(distorted),
                PlaneView::U8(before),
                PlaneView::U8(earlier),
            ) => {
                let earlier = self.second_differences.then_some(earlier);
                self.measure.weigh(luma, distorted, &History { before, earlier })
            }
            (
                PlaneView::U16(luma),
                PlaneView::U16(distorted),
                PlaneView::U16(before),
                PlaneView::U16(earlier),
            ) => {
                let earlier = self.second_differences.then_some(earlier);
                self.measure.weigh(luma, distorted, &History { before, earlier })
            }
            _ => unreachable!("the pictures of a run have one format"),
        };
        for (plane, raw) in raw.iter_mut().enumerate().take(source.format().planes()).skip(1) {
            *raw = match (source.plane(plane), distorted.plane(plane)) {
                (PlaneView::U8(source), PlaneView::U8(distorted)) => {
                    self.measure.error(plane, source, distorted)
                }
                (PlaneView::U16(source), PlaneView::U16(distorted)) => {
                    self.measure.error(plane, source, distorted)
                }
                _ => unreachable!("the pictures of a run have one format"),
            };
        }
    }
}

impl XpsnrExtractor {
    fn measure_shared(&mut self, window: &Window<'_>, raw: &mut [f64], hands: Hands<'_>) {
        let before = source_luma(window.previous, &self.black);
        let earlier = source_luma(window.before_previous, &self.black);
        let (source, distorted) = (window.current.reference, window.current.distorted);
        raw[0] = match (source.plane(0), distorted.plane(0), before, earlier) {
            (
                PlaneView::U8(luma),
                PlaneView::U8(distorted),
                PlaneView::U8(before),
                PlaneView::U8(earlier),
            ) => {
                let earlier = self.second_differences.then_some(earlier);
                self.measure.weigh_shared(luma, distorted, &History { before, earlier }, hands)
            }
            (
                PlaneView::U16(luma),
                PlaneView::U16(distorted),
                PlaneView::U16(before),
                PlaneView::U16(earlier),
            ) => {
                let earlier = self.second_differences.then_some(earlier);
                self.measure.weigh_shared(luma, distorted, &History { before, earlier }, hands)
            }
            _ => unreachable!("the pictures of a run have one format"),
        };
        for (plane, raw) in raw.iter_mut().enumerate().take(source.format().planes()).skip(1) {
            *raw = match (source.plane(plane), distorted.plane(plane)) {
                (PlaneView::U8(source), PlaneView::U8(distorted)) => {
                    self.measure.error_shared(plane, source, distorted, hands)
                }
                (PlaneView::U16(source), PlaneView::U16(distorted)) => {
                    self.measure.error_shared(plane, source, distorted, hands)
                }
                _ => unreachable!("the pictures of a run have one format"),
            };
        }
    }
}

fn source_luma<'a>(pair: Option<Pair<'a>>, otherwise: &'a Frame) -> PlaneView<'a> {
    pair.map_or(otherwise, |pair| pair.reference).plane(0)
}

/// Turns errors into decibels, and averages them as the filter does: by the mean of their roots.
#[derive(Clone, Debug)]
struct Average {
    /// The largest possible sum of squared errors of each plane.
    limits: Vec<f64>,
    errors: [f64; 3],
    scores: [f64; 3],
    frames: u64,
}

impl Average {
    fn new(format: &Format) -> Self {
        let peak = u64::from(format.peak());
        let limit = |plane| {
            let (width, height) = format.plane_size(plane);
            (width as u64 * height as u64 * peak * peak) as f64
        };
        let limits = (0..format.planes()).map(limit).collect();
        Self { limits, errors: [0.0; 3], scores: [0.0; 3], frames: 0 }
    }
}

impl Fold for Average {
    fn push(&mut self, index: u64, raw: &[f64], out: &mut dyn Emit) {
        for (plane, limit) in self.limits.iter().enumerate() {
            let score = decibels(*limit, raw[plane], f64::INFINITY, 1.0);
            self.errors[plane] += raw[plane];
            self.scores[plane] += score;
            out.score(plane, index, score);
        }
        self.frames += 1;
    }

    fn finish(&mut self, out: &mut dyn Emit) {
        if self.frames == 0 {
            return;
        }
        let mut least = f64::INFINITY;
        for (plane, limit) in self.limits.iter().enumerate() {
            let average = decibels(*limit, self.errors[plane], self.scores[plane], self.frames as f64);
            least = least.min(average);
            out.aggregate(AVERAGES[plane], average);
        }
        if self.limits.len() > 1 {
            out.aggregate(MINIMUM, least);
        }
    }
}

/// The level of the mean error. If that is below 1, the mean of the levels, `levels` being their sum.
fn decibels(limit: f64, errors: f64, levels: f64, frames: f64) -> f64 {
    if errors < frames {
        return levels / frames;
    }
    let mean = errors / frames;
    10.0 * log10(limit / (mean * mean))
}
