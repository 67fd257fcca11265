//! Every metric by name.

use std::fmt;

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

/// Names that people use for what libvmaf calls otherwise.
pub static ALIASES: &[(&str, &str)] = &[("ssim", "float_ssim"), ("ms_ssim", "float_ms_ssim")];

/// No metric has the requested name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMetric {
    pub name: String,
    /// The name that was probably meant.
    pub suggestion: Option<&'static str>,
}

impl std::error::Error for UnknownMetric {}

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no metric '{}'", self.name)?;
        if let Some(suggestion) = self.suggestion {
            write!(f, " (did you mean '{suggestion}'?)")?;
        }
        let known: Vec<&str> = METRICS.iter().map(|info| info.name).collect();
        write!(f, "; known metrics: {}", known.join(", "))
    }
}

/// The metric that people mean by this name: its own or one of its [`ALIASES`].
pub fn find(name: &str) -> Result<&'static Info, UnknownMetric> {
    let aliased = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, metric)| metric);
    by_name(aliased).ok_or_else(|| UnknownMetric { name: name.to_owned(), suggestion: nearest(name) })
}

/// The name that differs least from this one, if no more than a third of its letters differ.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let limit = (name.chars().count() / 3).max(1);
    let names = METRICS.iter().map(|info| info.name).chain(ALIASES.iter().map(|(alias, _)| *alias));
    names
        .map(|known| (strsim::damerau_levenshtein(&name, known), known))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// The metric that libvmaf knows by this name. Aliases are not resolved: see [`find`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_lead_to_metrics() {
        for (alias, metric) in ALIASES {
            assert_eq!(find(alias).unwrap().name, *metric);
            assert!(by_name(alias).is_none(), "{alias} is not libvmaf's name");
        }
        for info in METRICS {
            assert_eq!(find(info.name).unwrap().name, info.name);
        }
    }

    #[test]
    fn unknown_names_get_a_suggestion() {
        let suggestion = |name: &str| find(name).unwrap_err().suggestion;
        assert_eq!(suggestion("vfi"), Some("vif"));
        assert_eq!(suggestion("psnrhvs"), Some("psnr_hvs"));
        assert_eq!(suggestion("MS-SSIM"), Some("ms_ssim"));
        assert_eq!(suggestion("ssimulacra"), Some("ssimulacra2"));
        assert_eq!(suggestion("butteraugli"), None);
        assert_eq!(suggestion(""), None);
    }

    #[test]
    fn the_refusal_names_what_there_is() {
        let text = find("vfi").unwrap_err().to_string();
        assert!(
            text.starts_with("there is no metric 'vfi' (did you mean 'vif'?); known metrics: float_psnr, "),
            "{text}"
        );
        assert!(
            find("butteraugli")
                .unwrap_err()
                .to_string()
                .starts_with("there is no metric 'butteraugli'; known")
        );
    }
}
