//! The features and models of common test conditions.

use crate::{FeatureSpec, ModelSpec};

/// A preset's share of the settings.
#[derive(Debug)]
pub struct Preset {
    pub models: Vec<ModelSpec>,
    pub features: Vec<FeatureSpec>,
}

/// The AOM common test conditions of a version, if it is known.
pub fn aom(version: &str) -> Option<Preset> {
    let mut features = vec![
        "psnr=reduced_hbd_peak=true:enable_apsnr=true:min_sse=0.5",
        "ciede",
        "float_ssim=enable_db=true:clip_db=true",
        "float_ms_ssim=enable_db=true:clip_db=true",
        "psnr_hvs",
    ];
    match version {
        "v1.0" | "v2.0" => {}
        "v3.0" | "v4.0" | "v5.0" | "v6.0" => features.push("cambi"),
        "v7.0" => {
            features[2] = "float_ssim=scale=1:enable_db=true:clip_db=true";
            features.push("cambi");
        }
        _ => return None,
    }
    Some(preset("vmaf_v0.6.1", "vmaf_v0.6.1neg", &features))
}

/// The Netflix common test conditions of a version, if it is known.
pub fn nflx(version: &str) -> Option<Preset> {
    let features =
        ["psnr=enable_chroma=true:enable_apsnr=true", "float_ssim=enable_db=true:clip_db=true", "cambi"];
    (version == "v1.0").then(|| preset("vmaf_4k_v0.6.1", "vmaf_4k_v0.6.1neg", &features))
}

fn preset(model: &str, neg: &str, features: &[&str]) -> Preset {
    let parse = |text: &&str| text.parse().expect("preset features are well formed");
    Preset {
        models: vec![ModelSpec::version(model), ModelSpec::version(neg).named("vmaf_neg")],
        features: features.iter().map(parse).collect(),
    }
}
