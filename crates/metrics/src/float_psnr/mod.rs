//! PSNR of luma, on the 8-bit scale in single precision.

#[cfg(test)]
mod tests;

use visus_video::Format;

use crate::math::log10;
use crate::simd::Target;
use crate::squares::sum_of_squared_differences;
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, Options, PlanesRead, Spread, Window,
};

pub static INFO: Info = Info {
    name: "float_psnr",
    help: "Peak signal to noise ratio of luma, in single precision",
    options: &[],
    features: &["float_psnr"],
    build: |info, options| Ok(Box::new(FloatPsnr::new(info, options))),
};

/// The figures of a bit depth on the 8-bit scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    /// The largest sample: 255 and a fraction.
    pub peak: f64,
    /// The largest score: 6 dB per bit and 12 more.
    pub best: f64,
}

impl Ceiling {
    pub fn new(format: &Format) -> Self {
        let steps = f64::from(1u32 << (format.depth() - 8));
        Self { peak: f64::from(format.peak()) / steps, best: f64::from(6 * u32::from(format.depth()) + 12) }
    }
}

struct FloatPsnr {
    info: &'static Info,
    keys: [Key; 1],
}

impl FloatPsnr {
    fn new(info: &'static Info, options: &Options) -> Self {
        Self { info, keys: [Key::new("float_psnr", "float_psnr", options)] }
    }
}

impl Metric for FloatPsnr {
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
        Ok(Box::new(FloatPsnrExtractor { format: *format, target: Target::new(level) }))
    }
}

struct FloatPsnrExtractor {
    format: Format,
    target: Target,
}

impl Extractor for FloatPsnrExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let Ceiling { peak, best } = Ceiling::new(&self.format);
        let steps = f64::from(1u32 << (self.format.depth() - 8));
        let pair = window.current;
        let (reference, distorted) = (pair.reference.plane(0), pair.distorted.plane(0));
        let squares = sum_of_squared_differences(self.target, reference, distorted, spread);
        let pixels = (self.format.width() * self.format.height()) as f64;
        let noise = squares / (steps * steps) / pixels;
        raw[0] = (10.0 * log10(peak * peak / noise.max(1e-10))).min(best);
        Ok(())
    }
}
