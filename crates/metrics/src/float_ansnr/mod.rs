//! ANSNR: signal to noise ratio of luma after both pictures have passed an anti-noise filter, in single precision.
//!
//! The distorted picture is smoothed more than the reference, so that noise of the reference is not missed.
//! `float_anpsnr` puts the same noise in relation to the peak.
//!
//! Both sides must be 3 or more: below that libvmaf's mirror reads outside the picture.

mod filter;
pub mod scalar;
#[cfg(test)]
mod tests;

use visus_video::Format;

use crate::float_psnr::Ceiling;
use crate::math::log10;
use crate::simd::Target;
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, Options, PlanesRead, Spread, Window,
};
use filter::Filters;
use scalar::Energy;

pub static INFO: Info = Info {
    name: "float_ansnr",
    help: "Anti-noise signal to noise ratio of luma",
    options: &[],
    features: &["float_ansnr"],
    build: |info, options| Ok(Box::new(Ansnr::new(info, options))),
};

const SMALLEST_SIDE: usize = 3;

struct Ansnr {
    info: &'static Info,
    keys: [Key; 2],
}

impl Ansnr {
    fn new(info: &'static Info, options: &Options) -> Self {
        Self { info, keys: ["float_ansnr", "float_anpsnr"].map(|name| Key::new(name, name, options)) }
    }
}

impl Metric for Ansnr {
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
        if format.width().min(format.height()) < SMALLEST_SIDE {
            let reason =
                format!("both sides must be {SMALLEST_SIDE} or more, for the filter's mirrored edges");
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        Ok(Box::new(AnsnrExtractor {
            format: *format,
            target: Target::new(level),
            filters: Filters::new(format.width()),
        }))
    }
}

struct AnsnrExtractor {
    format: Format,
    target: Target,
    filters: Filters,
}

impl Extractor for AnsnrExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let pair = window.current;
        let (planes, depth) = ([pair.reference.plane(0), pair.distorted.plane(0)], self.format.depth());
        let energy = if spread.width() > 1 {
            self.filters.shared_energy(self.target, planes, depth, spread)
        } else {
            self.filters.energy(self.target, planes[0], planes[1], depth)
        };
        raw.copy_from_slice(&scores(energy, &self.format));
        Ok(())
    }
}

fn scores(energy: Energy, format: &Format) -> [f64; 2] {
    let Ceiling { peak, best } = Ceiling::new(format);
    let ansnr =
        if energy.noise == 0.0 { best } else { 10.0 * log10(f64::from(energy.signal / energy.noise)) };
    let most = peak * peak * format.width() as f64 * format.height() as f64;
    let anpsnr = 10.0 * log10(most / f64::from(energy.noise).max(1e-10));
    [ansnr, anpsnr.min(best)]
}
