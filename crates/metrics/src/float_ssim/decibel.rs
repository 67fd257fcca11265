//! SSIM scores on a scale of decibels.

use visus_video::Format;

use crate::math::log10;
use crate::{OptionSpec, Options};

pub const CLIP_OPTION: OptionSpec = OptionSpec::bool("clip_db", false, "clip dB scores");

/// How a score is written: plain, or as `-10 log10(1 - score)` up to a limit.
#[derive(Clone, Copy, Debug)]
pub struct Decibels {
    wanted: bool,
    limit: f64,
}

impl Decibels {
    /// With `clip_db` the limit is the PSNR of half a squared step in one pixel of the picture.
    pub fn new(options: &Options, format: &Format) -> Self {
        let limit = if options.flag("clip_db") { clip_limit(format) } else { f64::INFINITY };
        Self { wanted: options.flag("enable_db"), limit }
    }

    pub fn apply(&self, score: f64) -> f64 {
        if !self.wanted {
            return score;
        }
        // A score above 1, or none, has no logarithm: `min` then takes the limit.
        (-10.0 * log10(1.0 - score)).min(self.limit)
    }
}

fn clip_limit(format: &Format) -> f64 {
    let mse = 0.5 / (format.width() * format.height()) as f64;
    (10.0 * log10(f64::from(format.peak() * format.peak()) / mse)).ceil()
}
