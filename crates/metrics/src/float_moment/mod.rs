//! The mean of luma and of its square, for each picture, on the 8-bit scale in single precision.

#[cfg(test)]
mod tests;

use visus_video::Frame;

use crate::simd::Target;
use crate::squares::{sum, sum_of_squares};
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, Options, PlanesRead, Spread, Window,
};

pub static INFO: Info = Info {
    name: "float_moment",
    help: "Mean and mean square of luma of both pictures",
    options: &[],
    features: &["float_moment"],
    build: |info, options| Ok(Box::new(FloatMoment::new(info, options))),
};

const KEYS: [&str; 4] =
    ["float_moment_ref1st", "float_moment_dis1st", "float_moment_ref2nd", "float_moment_dis2nd"];

struct FloatMoment {
    info: &'static Info,
    keys: [Key; 4],
}

impl FloatMoment {
    fn new(info: &'static Info, options: &Options) -> Self {
        Self { info, keys: KEYS.map(|name| Key::new(name, name, options)) }
    }
}

impl Metric for FloatMoment {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn planes_read(&self) -> PlanesRead {
        PlanesRead::LUMA
    }

    fn extractor(&self, _clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        Ok(Box::new(Moments { target: Target::new(level) }))
    }
}

struct Moments {
    target: Target,
}

impl Extractor for Moments {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let frames = [window.current.reference, window.current.distorted];
        let [reference, distorted] = frames.map(|frame| moments(self.target, frame, spread));
        raw.copy_from_slice(&[reference.0, distorted.0, reference.1, distorted.1]);
        Ok(())
    }
}

/// First and second moment.
fn moments(target: Target, frame: &Frame, spread: &dyn Spread) -> (f64, f64) {
    let format = frame.format();
    let steps = f64::from(1u32 << (format.depth() - 8));
    let pixels = (format.width() * format.height()) as f64;
    let luma = frame.plane(0);
    let (sum, squares) = (sum(target, luma, spread), sum_of_squares(target, luma, spread));
    (sum / steps / pixels, squares / (steps * steps) / pixels)
}
