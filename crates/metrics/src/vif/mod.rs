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
mod table;
#[cfg(test)]
mod tests;
mod vector;

use std::any::Any;

use visus_video::{Format, PlaneView};

use crate::{
    Alone, Extractor, GroupExtractor, Info, Key, Level, Metric, MetricError, OptionSpec, Options, Pair,
    Spread, Window,
    vif::scalar::{Residuals, Sums},
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
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    gain_limit: f64,
    skip_scale0: bool,
    debug: bool,
}

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let settings = Settings {
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

    fn luma_only(&self) -> bool {
        true
    }

    fn extractor(&self, format: &Format, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        Ok(Box::new(self.joint(vec![self.settings], format, level)?))
    }

    /// Metrics that differ in the gain's limit share everything up to the moments of a pixel.
    fn group_extractor(
        &self,
        group: &[&dyn Metric],
        format: &Format,
        level: Level,
    ) -> Option<Result<Box<dyn GroupExtractor>, MetricError>> {
        let settings = |metric: &&dyn Metric| {
            let any: &dyn Any = *metric;
            any.downcast_ref::<Self>().map(|metric| metric.settings)
        };
        let settings: Option<Vec<Settings>> = group.iter().map(settings).collect();
        let same = |all: &Vec<Settings>| all.iter().all(|one| one.skip_scale0 == self.settings.skip_scale0);
        let joint = self.joint(settings.filter(same)?, format, level);
        Some(joint.map(|joint| Box::new(joint) as Box<dyn GroupExtractor>))
    }
}

impl Vif {
    fn joint(
        &self,
        settings: Vec<Settings>,
        format: &Format,
        level: Level,
    ) -> Result<VifExtractor, MetricError> {
        if format.width() < SMALLEST_SIDE || format.height() < SMALLEST_SIDE {
            let reason = format!("it needs at least {SMALLEST_SIDE}x{SMALLEST_SIDE}");
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        let depth = u32::from(format.depth());
        let kernels = dispatch::kernels(level, format.width(), format.height(), depth);
        let gains = settings.iter().map(|settings| settings.gain_limit).collect();
        Ok(VifExtractor { settings, gains, sums: Sums::new(), kernels })
    }
}

/// One or more sets of settings that differ in the gain's limit and in what is written.
struct VifExtractor {
    settings: Vec<Settings>,
    gains: Vec<f64>,
    sums: Sums,
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
    fn extract(&mut self, window: &Window<'_>, raw: &mut [f64]) -> Result<(), MetricError> {
        self.extract_spread(window, raw, &Alone)
    }

    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        self.sum_up(window.current, spread);
        write_scores(&self.sums[0], self.settings[0], raw);
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
            write_scores(sums, *settings, row);
        }
        Ok(())
    }
}

/// Numerator and denominator of one scale, rounded to single precision as libvmaf keeps them.
#[derive(Clone, Copy, Debug, Default)]
struct Ratio {
    num: f32,
    den: f32,
}

impl From<Residuals> for Ratio {
    fn from(sums: Residuals) -> Self {
        let plain = sums.den_plain as f64;
        let num = sums.num_log as f64 / 2048.0 + (plain - (sums.num_plain as f64 / 16384.0) / 65025.0);
        let den = sums.den_log as f64 / 2048.0 + plain;
        Self { num: num as f32, den: den as f32 }
    }
}

fn write_scores(scales: &[Residuals; SCALES], settings: Settings, raw: &mut [f64]) {
    let mut ratios = scales.map(Ratio::from);
    let first = usize::from(settings.skip_scale0);
    for (scale, ratio) in ratios.iter().enumerate() {
        raw[scale] = if scale < first { 0.0 } else { f64::from(ratio.num / ratio.den) };
    }
    if !settings.debug {
        return;
    }
    let num: f64 = sum(ratios[first..].iter().map(|ratio| ratio.num));
    let den: f64 = sum(ratios[first..].iter().map(|ratio| ratio.den));
    raw[4] = if den == 0.0 { 1.0 } else { num / den };
    raw[5] = num;
    raw[6] = den;
    if settings.skip_scale0 {
        ratios[0] = Ratio { num: 0.0, den: -1.0 };
    }
    for (scale, ratio) in ratios.iter().enumerate() {
        raw[7 + 2 * scale] = f64::from(ratio.num);
        raw[8 + 2 * scale] = f64::from(ratio.den);
    }
}

/// Single precision values summed in double precision, in order and from the first one on.
fn sum(values: impl Iterator<Item = f32>) -> f64 {
    values.map(f64::from).reduce(|sum, value| sum + value).unwrap_or(0.0)
}
