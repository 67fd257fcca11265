//! PSNR-HVS-M (Ponomarenko et al., 2007), as Xiph made it for the Daala codec.
//!
//! Overlapping 8x8 blocks are transformed; errors below what the block's own detail masks do not count, the others are
//! weighted with the eye's contrast sensitivity. Scores are decibels per plane, and 0.8 Y + 0.1 (Cb + Cr) of the errors.
//!
//! A plane with a side below 8 has no block: its score, and the combined one, is NaN. Pictures without chroma and those
//! with more than 12 bits are refused, as in libvmaf.

mod blocks;
mod dct;
mod ordered;
pub mod scalar;
mod tables;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use visus_video::{Chroma, PlaneView};

use crate::bands::{Spares, lock};
use crate::math::log10;
use crate::simd::Target;
use crate::{ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, Options, Pair, Spread, Window};
use ordered::RowErrors;
use tables::Weights;

pub static INFO: Info = Info {
    name: "psnr_hvs",
    help: "PSNR weighted by the eye's contrast sensitivity and masking, of luma and chroma",
    options: &[],
    features: &KEYS,
    build: |info, options| Ok(Box::new(PsnrHvs::new(info, options))),
};

const KEYS: [&str; 4] = ["psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"];

const DEEPEST: u8 = 12;

struct PsnrHvs {
    info: &'static Info,
    keys: Vec<Key>,
}

impl PsnrHvs {
    fn new(info: &'static Info, options: &Options) -> Self {
        Self { info, keys: KEYS.into_iter().map(|name| Key::new(name, name, options)).collect() }
    }
}

impl Metric for PsnrHvs {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        let refuse = |reason| Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        if format.depth() > DEEPEST {
            let depth = format.depth();
            return refuse(format!(
                "invalid bitdepth ({depth}), bpc must be less than or equal to {DEEPEST}"
            ));
        }
        if format.chroma() == Chroma::C400 {
            return refuse("it needs chroma planes".to_owned());
        }
        // Chroma planes without a block give NaN, as in libvmaf; luma without one leaves nothing to say.
        if format.width() < 8 || format.height() < 8 {
            return refuse("it needs at least one block of 8x8".to_owned());
        }
        Ok(Box::new(PsnrHvsExtractor {
            peak: format.peak(),
            weights: [0, 1, 2].map(Weights::of_plane),
            target: Target::new(level),
            rows: Spares::default(),
        }))
    }
}

struct PsnrHvsExtractor {
    peak: u32,
    weights: [Weights; 3],
    target: Target,
    /// Errors of rows of blocks, where several threads share a frame.
    rows: Spares<RowErrors>,
}

impl Extractor for PsnrHvsExtractor {
    /// Planes side by side, and rows of blocks within each.
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let errors: [Mutex<f64>; 3] = std::array::from_fn(|_| Mutex::new(0.0));
        spread.each(3, &|plane| *lock(&errors[plane]) = self.mean_error(window.current, plane, spread));
        let errors = errors.each_ref().map(|error| *lock(error));
        for (score, error) in raw.iter_mut().zip(errors) {
            *score = decibels(error);
        }
        raw[3] = decibels(errors[0] * 0.8 + 0.1 * (errors[1] + errors[2]));
        Ok(())
    }
}

impl PsnrHvsExtractor {
    /// The mean weighted squared error, relative to the squared peak.
    fn mean_error(&self, pair: Pair<'_>, plane: usize, spread: &dyn Spread) -> f64 {
        let weights = &self.weights[plane];
        let (reference, distorted) = (pair.reference.plane(plane), pair.distorted.plane(plane));
        let blocks = scalar::blocks_along(reference.width()) * scalar::blocks_along(reference.height());
        if blocks == 0 {
            return f64::NAN;
        }
        let sum = match (reference, distorted) {
            (PlaneView::U8(reference), PlaneView::U8(distorted)) => {
                scalar::sum_errors(self.target, reference, distorted, weights, &self.rows, spread)
            }
            (PlaneView::U16(reference), PlaneView::U16(distorted)) => {
                scalar::sum_errors(self.target, reference, distorted, weights, &self.rows, spread)
            }
            _ => panic!("planes of one sample type"),
        };
        f64::from(sum / (64 * blocks) as f32 / (self.peak * self.peak) as f32)
    }
}

/// NaN stays the positive one, which is what the reference reports.
fn decibels(error: f64) -> f64 {
    if error.is_nan() { f64::NAN } else { 10.0 * -log10(error) }
}
