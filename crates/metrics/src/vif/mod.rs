//! `vif`: visual information fidelity in integer arithmetic, on four scales.
//!
//! Per scale, local means and (co)variances under a Gaussian window give, for each pixel, the information that the
//! reference holds and the part of it that the distorted picture still holds. Logarithms come from a table of 16-bit
//! values, so everything up to the final division is exact. No multiply-add is fused.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;
mod log;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod score;
mod table;
#[cfg(test)]
mod tests;
mod vector;

use visus_video::{Format, PlaneView};

pub use scalar::TAPS;
pub use score::{VifSettings, VifSums};
pub use table::log2_table;

use crate::device::DeviceTask;
use crate::{
    ClipInfo, Extractor, GroupExtractor, Info, Key, Level, Metric, MetricError, OptionSpec, Options, Pair,
    PlanesRead, Spread, Window, group_settings,
};

pub static INFO: Info = Info {
    name: "vif",
    help: "visual information fidelity on four scales, integer arithmetic (used by the v0 models)",
    options: OPTIONS,
    features: &[
        "VMAF_integer_feature_vif_scale0_score",
        "VMAF_integer_feature_vif_scale1_score",
        "VMAF_integer_feature_vif_scale2_score",
        "VMAF_integer_feature_vif_scale3_score",
        "integer_vif",
        "integer_vif_num",
        "integer_vif_den",
        "integer_vif_num_scale0",
        "integer_vif_den_scale0",
        "integer_vif_num_scale1",
        "integer_vif_den_scale1",
        "integer_vif_num_scale2",
        "integer_vif_den_scale2",
        "integer_vif_num_scale3",
        "integer_vif_den_scale3",
    ],
    build,
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::bool("debug", false, "also write the numerators and denominators"),
    OptionSpec::double(
        "vif_enhn_gain_limit",
        100.0,
        1.0,
        100.0,
        "upper limit of the enhancement gain; 1 does not reward enhancement at all",
    )
    .named("egl"),
    OptionSpec::bool("vif_skip_scale0", false, "leave the finest scale out").named("ssclz"),
];

/// The shortest side that four scales can be computed on.
const SMALLEST_SIDE: usize = 8;

const SCALES: usize = 4;

#[derive(Debug)]
struct Vif {
    info: &'static Info,
    keys: Vec<Key>,
    settings: VifSettings,
}

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let settings = VifSettings {
        gain_limit: options.double("vif_enhn_gain_limit"),
        skip_scale0: options.flag("vif_skip_scale0"),
        debug: options.flag("debug"),
    };
    let shown = if settings.debug { info.features.len() } else { SCALES };
    let keys =
        info.features[..shown].iter().map(|feature| Key::new(feature, short(feature), options)).collect();
    Ok(Box::new(Vif { info, keys, settings }))
}

fn short(feature: &str) -> &str {
    match feature {
        "VMAF_integer_feature_vif_scale0_score" => "integer_vif_scale0",
        "VMAF_integer_feature_vif_scale1_score" => "integer_vif_scale1",
        "VMAF_integer_feature_vif_scale2_score" => "integer_vif_scale2",
        "VMAF_integer_feature_vif_scale3_score" => "integer_vif_scale3",
        other => other,
    }
}

impl Metric for Vif {
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
        Ok(Box::new(self.joint(vec![self.settings], &clip.format, level)?))
    }

    fn device_task(&self, clip: &ClipInfo) -> Option<DeviceTask> {
        (!is_too_small(&clip.format)).then_some(DeviceTask::Vif(self.settings))
    }

    /// Metrics that differ in the gain's limit share everything up to the moments of a pixel.
    fn group_extractor(
        &self,
        group: &[&dyn Metric],
        clip: &ClipInfo,
        level: Level,
    ) -> Option<Result<Box<dyn GroupExtractor>, MetricError>> {
        let settings = group_settings(group, |metric: &Self| metric.settings)?;
        if settings.iter().any(|one| one.skip_scale0 != self.settings.skip_scale0) {
            return None;
        }
        let joint = self.joint(settings, &clip.format, level);
        Some(joint.map(|joint| Box::new(joint) as Box<dyn GroupExtractor>))
    }
}

impl Vif {
    fn joint(
        &self,
        settings: Vec<VifSettings>,
        format: &Format,
        level: Level,
    ) -> Result<VifExtractor, MetricError> {
        if is_too_small(format) {
            let reason = format!("it needs at least {SMALLEST_SIDE}x{SMALLEST_SIDE}");
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        let depth = u32::from(format.depth());
        let kernels = dispatch::kernels(level, format.width(), format.height(), depth);
        let gains = settings.iter().map(|settings| settings.gain_limit).collect();
        Ok(VifExtractor { settings, gains, sums: scalar::Sums::new(), kernels })
    }
}

fn is_too_small(format: &Format) -> bool {
    format.width().min(format.height()) < SMALLEST_SIDE
}

/// One or more sets of settings that differ in the gain's limit and in what is written.
struct VifExtractor {
    settings: Vec<VifSettings>,
    gains: Vec<f64>,
    sums: scalar::Sums,
    kernels: Box<dyn dispatch::Kernels>,
}

impl VifExtractor {
    fn sum_up(&mut self, pair: Pair<'_>, spread: &dyn Spread) {
        let limits = scalar::Limits { gains: &self.gains, skip_scale0: self.settings[0].skip_scale0 };
        match (pair.reference.plane(0), pair.distorted.plane(0)) {
            (PlaneView::U8(reference), PlaneView::U8(distorted)) => {
                self.kernels.bytes(reference, distorted, limits, spread, &mut self.sums);
            }
            (PlaneView::U16(reference), PlaneView::U16(distorted)) => {
                self.kernels.words(reference, distorted, limits, spread, &mut self.sums);
            }
            _ => unreachable!("a pair has one format"),
        }
    }
}

impl Extractor for VifExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        self.sum_up(window.current, spread);
        self.settings[0].finish(&self.sums[0], raw);
        Ok(())
    }
}

impl GroupExtractor for VifExtractor {
    fn extract(
        &mut self,
        window: &Window<'_>,
        rows: &mut [&mut [f64]],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        self.sum_up(window.current, spread);
        for ((row, sums), settings) in rows.iter_mut().zip(&self.sums).zip(&self.settings) {
            settings.finish(sums, row);
        }
        Ok(())
    }
}
