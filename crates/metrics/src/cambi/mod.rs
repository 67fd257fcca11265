//! CAMBI: how strongly a picture shows banding.
//!
//! The metric looks at luma alone, as 10-bit samples of limited range. Pixels in a flat surrounding are searched for
//! neighbourhoods that hold two or more close luma values in large numbers, at five scales, and the mean over the most
//! conspicuous pixels is the score. With `full_ref` the source is scored as well.
//!
//! Described in P. Tandon et al., "CAMBI: Contrast-aware Multiscale Banding Index", PCS 2021.
//!
//! The path of a picture: [`loader`] converts it and finds the mask, [`filter`] makes runs of equal pixels and the next
//! scale of it, [`measure`] finds the strength of banding with the kernels in [`scalar`], [`pooling`] makes one number of
//! each scale. [`scorer`] goes through the scales, or [`shared`] where a picture has several threads. [`luminance`] and
//! [`steps`] say what can be seen, [`geometry`] what the options and the picture's size ask for.
//!
//! Where libvmaf leaves the picture, the result here is the one that its definition gives. Windows more than twice as
//! high or wide as a scale (sides in a ratio of more than 10 to 1): libvmaf crashes or counts columns that an earlier
//! scale left behind. A luminance threshold above every visible step: it crashes; the score is 0. 10-bit pictures with a
//! source size larger than the picture: its rows are shifted.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod device;
mod filter;
mod geometry;
mod loader;
mod luminance;
mod measure;
mod pooling;
mod scalar;
mod scorer;
mod shared;
mod steps;
#[cfg(test)]
mod tests;

use visus_video::{Format, PlaneSet};

use crate::device::DeviceTask;
use crate::simd::Target;
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, OptionSpec, Options, PlanesRead, Spread,
    Window,
};

use geometry::{Geometries, Geometry};
use loader::{AbovePeak, Loader};
use luminance::Eotf;
use scorer::Scorer;
use steps::Steps;

pub use device::{CambiSums, CambiTask, cambi_reciprocals};

const NAME: &str = "cambi";
const DEFAULT_EOTF: &str = "bt1886";
const DEFAULT_SHARE: f64 = 0.6;

/// An option that shows in names under its own name.
const fn shown(spec: OptionSpec) -> OptionSpec {
    OptionSpec { in_name: true, ..spec }
}

static OPTIONS: &[OptionSpec] = &[
    OptionSpec::double("cambi_max_val", 1000.0, 0.0, 1000.0, "largest score; higher ones are clipped to it")
        .named("cmxv"),
    OptionSpec::int("enc_width", 0, 180, 7680, "width of the encode, if it was scaled up after decoding")
        .named("encw"),
    OptionSpec::int("enc_height", 0, 150, 7680, "height of the encode, if it was scaled up after decoding")
        .named("ench"),
    OptionSpec::int("enc_bitdepth", 0, 6, 16, "bit depth of the encode, if it differs from the input's")
        .named("encbd"),
    OptionSpec::int("src_width", 0, 320, 7680, "width to score the source at, with full_ref").named("srcw"),
    OptionSpec::int("src_height", 0, 200, 4320, "height to score the source at, with full_ref").named("srch"),
    OptionSpec::int(
        "window_size",
        65,
        15,
        127,
        "side of the window at 3840x2160, where 65 is about 1 degree",
    )
    .named("ws"),
    shown(OptionSpec::double("topk", DEFAULT_SHARE, 0.0001, 1.0, "share of the pixels that is pooled")),
    OptionSpec::double(
        "cambi_topk",
        DEFAULT_SHARE,
        0.0001,
        1.0,
        "the same; topk wins if it is not the default",
    )
    .named("ctpk"),
    OptionSpec::double("tvi_threshold", 0.019, 0.0001, 1.0, "visible step as a fraction of luminance")
        .named("tvit"),
    OptionSpec::double(
        "cambi_vis_lum_threshold",
        0.0,
        0.0,
        300.0,
        "luminance below which nothing is visible",
    )
    .named("vlt"),
    OptionSpec::int(
        "max_log_contrast",
        2,
        0,
        5,
        "log2 of the largest step between bands, in 10-bit luma values",
    )
    .named("mlc"),
    OptionSpec::text("heatmaps_path", "", "folder for heatmaps (not supported yet)"),
    OptionSpec::bool(
        "full_ref",
        false,
        "score the source too, and by how much the distorted picture exceeds it",
    ),
    shown(OptionSpec::text("eotf", DEFAULT_EOTF, "transfer function for luminance: bt1886 or pq")),
    OptionSpec::text("cambi_eotf", DEFAULT_EOTF, "the same; it wins over eotf if it is not the default")
        .named("ceot"),
    OptionSpec::int(
        "cambi_high_res_speedup",
        0,
        0,
        2160,
        "halve pictures of at least this size first: 1080, 1440 or 2160; 0 for never",
    )
    .named("hrs"),
];

pub static INFO: Info = Info {
    name: NAME,
    help: "banding in luma (CAMBI), of the distorted picture alone or compared with the source",
    options: OPTIONS,
    features: &["Cambi_feature_cambi_score"],
    build,
};

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    if !options.text("heatmaps_path").is_empty() {
        let reason = "heatmaps_path is not supported yet".to_owned();
        return Err(MetricError::Setting { metric: NAME, reason });
    }
    let steps = Steps::new(
        options.int("max_log_contrast") as u32,
        options.double("tvi_threshold"),
        options.double("cambi_vis_lum_threshold"),
        eotf(options)?,
    );
    let full_reference = options.flag("full_ref");
    let keys = keys(options, full_reference);
    Ok(Box::new(Cambi { info, options: options.clone(), keys, steps, full_reference }))
}

/// Only the first name carries options.
fn keys(options: &Options, full_reference: bool) -> Vec<Key> {
    let plain =
        |name: &'static str| Key { feature: name, name: name.to_owned(), appears: crate::Appears::Frame(0) };
    let mut keys = vec![Key::new(INFO.features[0], NAME, options)];
    if full_reference {
        keys.extend([plain("cambi_source"), plain("cambi_full_reference")]);
    }
    keys
}

fn eotf(options: &Options) -> Result<Eotf, MetricError> {
    let (general, own) = (options.text("eotf"), options.text("cambi_eotf"));
    let name = if own == DEFAULT_EOTF { general } else { own };
    Eotf::named(name).ok_or_else(|| {
        let reason = format!("there is no EOTF '{name}': it must be bt1886 or pq");
        MetricError::Setting { metric: NAME, reason }
    })
}

#[derive(Debug)]
struct Cambi {
    info: &'static Info,
    options: Options,
    keys: Vec<Key>,
    steps: Steps,
    full_reference: bool,
}

impl Cambi {
    fn share(&self) -> f64 {
        let own = self.options.double("topk");
        if own != DEFAULT_SHARE { own } else { self.options.double("cambi_topk") }
    }

    fn scorer(&self, geometry: Geometry, format: &Format, level: Level) -> Scorer {
        let size = (format.width(), format.height());
        let target = Target::new(level);
        let loader = Loader::new(geometry, size, format.depth(), self.undithers(format), target);
        Scorer::new(geometry, loader, self.steps.clone(), self.share(), target)
    }

    /// Whether the picture was encoded with fewer than 10 bits.
    fn undithers(&self, format: &Format) -> bool {
        let encoded = match self.options.int("enc_bitdepth") {
            0 => i32::from(format.depth()),
            given => given,
        };
        encoded < 10
    }
}

impl Metric for Cambi {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The source is looked at with `full_ref` alone.
    fn planes_read(&self) -> PlanesRead {
        let reference = if self.full_reference { PlaneSet::LUMA } else { PlaneSet::NONE };
        PlanesRead { reference, ..PlanesRead::LUMA }
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        let geometries = Geometries::new(&self.options, format)?;
        let distorted = self.scorer(geometries.encode, format, level);
        let source = self.full_reference.then(|| self.scorer(geometries.source, format, level));
        Ok(Box::new(CambiExtractor { distorted, source, max: self.options.double("cambi_max_val") }))
    }

    /// Of the distorted picture alone.
    fn device_task(&self, clip: &ClipInfo) -> Option<DeviceTask> {
        let format = &clip.format;
        let geometry = Geometries::new(&self.options, format).ok()?.encode;
        let max = self.options.double("cambi_max_val");
        let task = CambiTask::new(&geometry, &self.steps, format, self.undithers(format), self.share(), max)?;
        (!self.full_reference).then(|| DeviceTask::Cambi(Box::new(task)))
    }
}

#[derive(Debug)]
struct CambiExtractor {
    distorted: Scorer,
    source: Option<Scorer>,
    max: f64,
}

impl Extractor for CambiExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let failed = |error| above_peak(window.index, error);
        let distorted = self.distorted.score(window.current.distorted.plane(0), spread).map_err(failed)?;
        raw[0] = distorted.min(self.max);
        if let Some(scorer) = &mut self.source {
            let source = scorer.score(window.current.reference.plane(0), spread).map_err(failed)?;
            raw[1] = source.min(self.max);
            raw[2] = (distorted - source).max(0.0).min(self.max);
        }
        Ok(())
    }
}

impl CambiTask {
    /// What a sample above [`peak`](CambiTask::peak) is refused with.
    pub fn above_peak(&self, index: u64) -> MetricError {
        above_peak(index, AbovePeak { peak: self.peak().unwrap_or(u32::MAX), depth: self.depth as u8 })
    }
}

fn above_peak(index: u64, AbovePeak { peak, depth }: AbovePeak) -> MetricError {
    let reason = format!(
        "Invalid input. The input contains values greater than {peak}, which exceeds the maximum value for a {depth}-bit depth format."
    );
    MetricError::Frame { metric: NAME, index, reason }
}
