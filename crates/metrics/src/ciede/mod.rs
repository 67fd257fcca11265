//! CIEDE2000: the mean colour difference of the pixels, as `45 - 20 log10` of it.
//!
//! Identical pictures score infinity. Pictures without chroma are refused. How chroma is read, and where that differs
//! from libvmaf (odd sizes in 4:2:0, which are undefined there), is told in `chroma`.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod chroma;
mod colours;
mod difference;
mod estimate;
mod group;
mod lab;
mod labs;
mod memo;
mod rows;
pub mod scalar;
mod shared;
#[cfg(test)]
mod tests;

use visus_video::Chroma;

use crate::math::log10;
use crate::simd::Target;
use crate::{ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, Options, Spread, Window};
use rows::Differences;
use shared::SharedDifferences;

pub static INFO: Info = Info {
    name: "ciede",
    help: "Colour difference by CIEDE2000",
    options: &[],
    features: &["ciede2000"],
    build: |info, options| Ok(Box::new(Ciede::new(info, options))),
};

struct Ciede {
    info: &'static Info,
    keys: [Key; 1],
}

impl Ciede {
    fn new(info: &'static Info, options: &Options) -> Self {
        Self { info, keys: [Key::new("ciede2000", "ciede2000", options)] }
    }
}

impl Metric for Ciede {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        if format.chroma() == Chroma::C400 {
            let reason = "it needs chroma planes".to_owned();
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        let target = Target::new(level);
        Ok(Box::new(CiedeExtractor {
            differences: Differences::new(format, target),
            shared: SharedDifferences::new(format, target),
        }))
    }
}

struct CiedeExtractor {
    differences: Differences,
    /// For frames that several threads share.
    shared: SharedDifferences,
}

impl Extractor for CiedeExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let (reference, distorted) = (window.current.reference, window.current.distorted);
        let pixels = reference.format().width() * reference.format().height();
        let sum = if spread.width() > 1 {
            self.shared.sum(window.current, spread)
        } else {
            self.differences.sum(reference, distorted)
        };
        raw[0] = 45.0 - 20.0 * log10(sum / pixels as f64);
        Ok(())
    }
}
