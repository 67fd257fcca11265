//! `float_vif`: visual information fidelity in floating point, on four scales.
//!
//! Per scale, local means and (co)variances under a Gaussian window give, for each pixel, the information that the
//! reference holds and the part of it that the distorted picture kept (Sheikh and Bovik, "Image information and visual
//! quality", in the pixel domain). Planes and sums are `f32`; only the two quotients under the logarithms are formed in
//! `f64`, because the noise variance is. No multiply-add is fused, and sums have libvmaf's order.

mod extract;
mod scalar;
#[cfg(test)]
mod tests;

use crate::resize::{self, Method};
use crate::simd::Target;
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, OptionSpec, Options, PlanesRead, gaussian,
    math,
};

pub static INFO: Info = Info {
    name: "float_vif",
    help: "visual information fidelity on four scales, floating point (used by the float models)",
    options: OPTIONS,
    features: &[
        "VMAF_feature_vif_scale0_score",
        "VMAF_feature_vif_scale1_score",
        "VMAF_feature_vif_scale2_score",
        "VMAF_feature_vif_scale3_score",
        "vif",
        "vif_num",
        "vif_den",
        "vif_num_scale0",
        "vif_den_scale0",
        "vif_num_scale1",
        "vif_den_scale1",
        "vif_num_scale2",
        "vif_den_scale2",
        "vif_num_scale3",
        "vif_den_scale3",
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
    OptionSpec::double("vif_kernelscale", 1.0, 0.1, 4.0, "factor of the window's size; certain values only")
        .named("ks"),
    OptionSpec::double("vif_prescale", 1.0, 0.1, 4.0, "factor by which pictures are scaled first")
        .named("ps"),
    OptionSpec::double("vif_scale1_min_val", 0.0, 0.0, 1.0, "smaller scores of scale 1 become this")
        .named("s1miv"),
    OptionSpec::double("vif_scale2_min_val", 0.0, 0.0, 1.0, "smaller scores of scale 2 become this")
        .named("s2miv"),
    OptionSpec::double("vif_scale3_min_val", 0.0, 0.0, 1.0, "smaller scores of scale 3 become this")
        .named("s3miv"),
    OptionSpec::text(
        "vif_prescale_method",
        "nearest",
        "how pictures are scaled: nearest, bilinear, bicubic or lanczos4",
    )
    .named("pm"),
    OptionSpec::double("vif_sigma_nsq", 2.0, 0.0, 5.0, "variance of the noise in the eye").named("snsq"),
    OptionSpec::bool("vif_skip_scale0", false, "leave the finest scale out").named("ssclz"),
];

const SCALES: usize = 4;

/// Taps of the window per scale, at kernel scale 1.
const WINDOW_TAPS: [usize; SCALES] = [17, 9, 5, 3];

/// How a pixel is judged.
#[derive(Clone, Copy, Debug)]
struct Model {
    gain_limit: f32,
    /// Variance of the noise.
    noise: f64,
    /// What the variance of the distorted picture costs where the reference is flat.
    flat_penalty: f32,
}

impl Model {
    fn new(gain_limit: f64, noise: f64) -> Self {
        let flat_penalty = f64::from(math::powf(noise as f32, 2.0)) / (255.0 * 255.0);
        Self { gain_limit: gain_limit as f32, noise, flat_penalty: flat_penalty as f32 }
    }
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    model: Model,
    kernel_scale: f32,
    prescale: f64,
    method: Method,
    /// Lower limits of the scores from scale 1 on.
    min_values: [f64; SCALES - 1],
    skip_scale0: bool,
    debug: bool,
}

impl Settings {
    fn new(options: &Options) -> Result<Self, MetricError> {
        let min_values = ["vif_scale1_min_val", "vif_scale2_min_val", "vif_scale3_min_val"];
        Ok(Self {
            model: Model::new(options.double("vif_enhn_gain_limit"), options.double("vif_sigma_nsq")),
            kernel_scale: kernel_scale(options.double("vif_kernelscale"))?,
            prescale: options.double("vif_prescale"),
            method: method(options.text("vif_prescale_method"))?,
            min_values: min_values.map(|name| options.double(name)),
            skip_scale0: options.flag("vif_skip_scale0"),
            debug: options.flag("debug"),
        })
    }

    fn window_length(&self, scale: usize) -> usize {
        gaussian::scaled_length(WINDOW_TAPS[scale], self.kernel_scale)
    }

    fn window(&self, scale: usize) -> Vec<f32> {
        gaussian::kernel(self.window_length(scale))
    }

    /// The shortest side of a frame for which mirroring covers the window at every scale. libvmaf reads outside of its
    /// planes below that.
    fn smallest_side(&self) -> usize {
        let needed = |scale: usize| (self.window_length(scale) / 2 + 1) << scale;
        let scaled = (usize::from(self.skip_scale0)..SCALES).map(needed).max().unwrap_or(1);
        let fits = |side: &usize| {
            let resized = resize::scaled(*side, self.prescale);
            resized >= scaled && (resized == *side || *side >= self.method.smallest_side())
        };
        (1..).find(fits).unwrap_or(usize::MAX)
    }
}

fn kernel_scale(value: f64) -> Result<f32, MetricError> {
    if gaussian::is_kernel_scale(value as f32) {
        return Ok(value as f32);
    }
    let known = gaussian::known_kernel_scales();
    let reason = format!("vif_kernelscale={value} is refused: it must be one of {known}");
    Err(MetricError::Setting { metric: INFO.name, reason })
}

fn method(name: &str) -> Result<Method, MetricError> {
    Method::by_name(name).ok_or_else(|| {
        let known = Method::ALL.map(Method::name).join(", ");
        let reason = format!("vif_prescale_method={name} is refused: it must be one of {known}");
        MetricError::Setting { metric: INFO.name, reason }
    })
}

#[derive(Debug)]
struct FloatVif {
    info: &'static Info,
    keys: Vec<Key>,
    settings: Settings,
}

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let settings = Settings::new(options)?;
    let shown = if settings.debug { info.features.len() } else { SCALES };
    let keys =
        info.features[..shown].iter().map(|feature| Key::new(feature, short(feature), options)).collect();
    Ok(Box::new(FloatVif { info, keys, settings }))
}

fn short(feature: &str) -> &str {
    match feature {
        "VMAF_feature_vif_scale0_score" => "vif_scale0",
        "VMAF_feature_vif_scale1_score" => "vif_scale1",
        "VMAF_feature_vif_scale2_score" => "vif_scale2",
        "VMAF_feature_vif_scale3_score" => "vif_scale3",
        other => other,
    }
}

impl Metric for FloatVif {
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
        let smallest = self.settings.smallest_side();
        if format.width() < smallest || format.height() < smallest {
            let reason = format!("with these options it needs at least {smallest}x{smallest}");
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        let size = (format.width(), format.height());
        Ok(Box::new(extract::FloatVifExtractor::new(self.settings, size, Target::new(level))))
    }
}
