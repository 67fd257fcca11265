//! What can be measured, as arguments of `visus` and of a `vmaf` tool.

/// A set of models or a metric.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    pub name: &'static str,
    models: &'static [&'static str],
    feature: Option<&'static str>,
    /// Whether a `vmaf` tool has it.
    pub at_peer: bool,
}

const fn models(name: &'static str, models: &'static [&'static str]) -> Subject {
    Subject { name, models, feature: None, at_peer: true }
}

const fn metric(name: &'static str, feature: &'static str) -> Subject {
    Subject { name, models: &[], feature: Some(feature), at_peer: true }
}

const fn own_metric(name: &'static str) -> Subject {
    Subject { name, models: &[], feature: Some(name), at_peer: false }
}

const V1: &[&str] = &[
    "vmaf_v1.0.16_3d0h",
    "vmaf_v1.0.16_5d0h",
    "vmaf_v1.0.16_1d5h_2160",
    "vmaf_v1.0.16_3d0h_2160",
    "vmaf_v1.0.16_hfr_3d0h",
    "vmaf_v1.0.16_hfr_5d0h",
    "vmaf_v1.0.16_hfr_1d5h_2160",
    "vmaf_v1.0.16_hfr_3d0h_2160",
    "vmaf_v0.6.1",
    "vmaf_v0.6.1neg",
    "vmaf_4k_v0.6.1",
    "vmaf_b_v0.6.3",
];

/// Everything, models first.
pub static ALL: &[Subject] = &[
    models("v0.6.1", &["vmaf_v0.6.1"]),
    models("v0.6.1+neg+4k", &["vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1"]),
    models("b_v0.6.3", &["vmaf_b_v0.6.3"]),
    models("v1-3h", &["vmaf_v1.0.16_3d0h"]),
    models("twelve", V1),
    metric("vif", "vif"),
    metric("adm", "adm"),
    metric("motion", "motion"),
    metric("cambi", "cambi"),
    metric("speed_chroma", "speed_chroma"),
    metric("speed_temporal", "speed_temporal"),
    metric("psnr", "psnr"),
    metric("ssim", "float_ssim"),
    metric("ms_ssim", "float_ms_ssim"),
    metric("psnr_hvs", "psnr_hvs"),
    metric("ciede", "ciede"),
    metric("float_vif", "float_vif"),
    metric("float_adm", "float_adm"),
    metric("float_motion", "float_motion"),
    metric("float_psnr", "float_psnr"),
    metric("float_moment", "float_moment"),
    metric("float_ansnr", "float_ansnr"),
    own_metric("xpsnr"),
    own_metric("ssimulacra2"),
];

impl Subject {
    /// Arguments of `visus score`.
    pub fn ours(&self) -> Vec<String> {
        let models = if self.models.is_empty() { &["none"] } else { self.models };
        let mut args: Vec<String> =
            models.iter().flat_map(|model| ["-m".to_owned(), (*model).to_owned()]).collect();
        args.extend(self.feature.iter().flat_map(|feature| ["-f".to_owned(), (*feature).to_owned()]));
        args
    }

    /// Arguments of a `vmaf` tool.
    pub fn peers(&self) -> Vec<String> {
        let model = |model: &&str| ["-m".to_owned(), format!("version={model}:name={model}")];
        let mut args: Vec<String> = self.models.iter().flat_map(model).collect();
        if let Some(feature) = self.feature {
            args.extend(["-n".to_owned(), "--feature".to_owned(), feature.to_owned()]);
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_can_be_measured_and_every_name_is_unique() {
        let mut names: Vec<&str> = ALL.iter().map(|subject| subject.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        for info in visus_metrics::registry::METRICS.iter().filter(|info| info.name != "null") {
            assert!(ALL.iter().any(|subject| subject.feature == Some(info.name)), "{}", info.name);
        }
    }
}
