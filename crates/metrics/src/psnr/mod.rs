//! PSNR: the ratio of the largest sample value to the mean squared error, in decibels, for each plane.
//!
//! Per frame PSNR (and MSE, if asked for) are scores; APSNR, from the sums over the whole clip, is an aggregate. The
//! sums of squares are whole numbers, so the parallel half gives exactly those, and the fold does the rest.
//!
//! A picture without chroma is scored in `psnr_y` alone. Bit depths between libvmaf's (8, 10, 12, 16) follow the same
//! formulas.

mod fold;
pub mod scalar;
#[cfg(test)]
mod tests;

use visus_video::Format;

use crate::device::DeviceTask;
use crate::simd::Target;
use crate::{
    ClipInfo, Extractor, Fold, Info, Key, Level, Metric, MetricError, Needs, OptionSpec, Options, PlanesRead,
    Spread, Window,
};
use fold::PsnrFold;

pub static INFO: Info = Info {
    name: "psnr",
    help: "Peak signal to noise ratio of luma and chroma, from integer sums",
    options: OPTIONS,
    features: &["psnr_y", "psnr_cb", "psnr_cr"],
    build: |info, options| Ok(Box::new(Psnr::new(info, options))),
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::bool("enable_chroma", true, "enable calculation for chroma channels"),
    OptionSpec::bool("enable_mse", false, "enable MSE calculation"),
    OptionSpec::bool("enable_apsnr", false, "enable APSNR calculation"),
    OptionSpec::bool("reduced_hbd_peak", false, "reduce hbd peak value to align with scaled 8-bit content"),
    OptionSpec::double("min_sse", 0.0, 0.0, f64::MAX, "constrain the minimum possible sse"),
];

const PSNR_KEYS: [&str; 3] = ["psnr_y", "psnr_cb", "psnr_cr"];
const MSE_KEYS: [&str; 3] = ["mse_y", "mse_cb", "mse_cr"];

#[derive(Clone, Copy, Debug)]
struct Settings {
    chroma: bool,
    mse: bool,
    apsnr: bool,
    reduced_peak: bool,
    min_sse: f64,
}

impl Settings {
    fn read(options: &Options) -> Self {
        Self {
            chroma: options.flag("enable_chroma"),
            mse: options.flag("enable_mse"),
            apsnr: options.flag("enable_apsnr"),
            reduced_peak: options.flag("reduced_hbd_peak"),
            min_sse: options.double("min_sse"),
        }
    }

    /// How many planes are measured in pictures that have chroma.
    fn most_planes(&self) -> usize {
        if self.chroma { 3 } else { 1 }
    }

    fn planes(&self, format: &Format) -> usize {
        self.most_planes().min(format.planes())
    }

    fn columns_per_plane(&self) -> usize {
        1 + usize::from(self.mse)
    }

    fn peak(&self, format: &Format) -> u32 {
        if self.reduced_peak { 255 << (format.depth() - 8) } else { format.peak() }
    }
}

struct Psnr {
    info: &'static Info,
    settings: Settings,
    keys: Vec<Key>,
}

impl Psnr {
    fn new(info: &'static Info, options: &Options) -> Self {
        let settings = Settings::read(options);
        let key = |name| Key::new(name, name, options);
        let names = PSNR_KEYS.into_iter().zip(MSE_KEYS).take(settings.most_planes());
        let keys = names
            .flat_map(|(psnr, mse)| [key(psnr), key(mse)].into_iter().take(settings.columns_per_plane()));
        Self { info, settings, keys: keys.collect() }
    }
}

impl Metric for Psnr {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn needs(&self) -> Needs {
        Needs { every_frame: true, ..Needs::default() }
    }

    fn planes_read(&self) -> PlanesRead {
        if self.settings.chroma { PlanesRead::ALL } else { PlanesRead::LUMA }
    }

    fn raw_len(&self) -> usize {
        2 * self.settings.most_planes()
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        Ok(Box::new(Squares { planes: self.settings.planes(format), target: Target::new(level) }))
    }

    fn device_task(&self, clip: &ClipInfo) -> Option<DeviceTask> {
        Some(DeviceTask::Psnr(PsnrTask { planes: self.settings.planes(&clip.format) }))
    }

    fn fold(&self, format: &Format) -> Box<dyn Fold> {
        Box::new(PsnrFold::new(self.settings, format))
    }
}

/// PSNR as a device computes it: the sum of squared differences of each plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PsnrTask {
    /// How many planes are measured.
    pub planes: usize,
}

impl PsnrTask {
    /// The row of raw numbers, from the sums of all planes.
    pub fn finish(&self, sums: &[u64], raw: &mut [f64]) {
        for (halves, sum) in raw.chunks_exact_mut(2).zip(sums).take(self.planes) {
            halves.copy_from_slice(&fold::split(*sum));
        }
    }
}

/// Gives the sum of squared differences of each plane, in two halves.
struct Squares {
    planes: usize,
    target: Target,
}

impl Extractor for Squares {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let pair = window.current;
        for (plane, halves) in raw.chunks_exact_mut(2).enumerate().take(self.planes) {
            let (reference, distorted) = (pair.reference.plane(plane), pair.distorted.plane(plane));
            let sum = scalar::sum_squared_error_spread(self.target, reference, distorted, spread);
            halves.copy_from_slice(&fold::split(sum));
        }
        Ok(())
    }
}
