//! Every metric by name.

use crate::{Info, Metric, MetricError, Options};

/// All metrics, in the order in which features are looked up.
pub static METRICS: &[&Info] = &[
    &crate::float_psnr::INFO,
    &crate::float_ansnr::INFO,
    &crate::float_adm::INFO,
    &crate::float_vif::INFO,
    &crate::float_motion::INFO,
    &crate::float_moment::INFO,
    &crate::speed::CHROMA,
    &crate::speed::TEMPORAL,
    &crate::float_ms_ssim::INFO,
    &crate::float_ssim::INFO,
    &crate::ciede::INFO,
    &crate::psnr::INFO,
    &crate::psnr_hvs::INFO,
    &crate::adm::INFO,
    &crate::motion::INFO,
    &crate::vif::INFO,
    &crate::cambi::INFO,
    &crate::null::INFO,
    &crate::xpsnr::INFO,
    &crate::ssimulacra2::INFO,
];

/// The metric with this name.
pub fn by_name(name: &str) -> Option<&'static Info> {
    METRICS.iter().copied().find(|info| info.name == name)
}

/// The metric that provides this feature.
pub fn by_feature(feature: &str) -> Option<&'static Info> {
    METRICS.iter().copied().find(|info| info.features.contains(&feature))
}

/// Sets a metric's options from text.
pub fn build(info: &'static Info, given: &[(String, String)]) -> Result<Box<dyn Metric>, MetricError> {
    let options = Options::parse(info.options, given)
        .map_err(|source| MetricError::Option { metric: info.name, source })?;
    (info.build)(info, &options)
}
