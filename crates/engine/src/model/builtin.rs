//! The models that are built in, from the files in `models/`.

use std::borrow::Cow;

/// A model that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    pub version: &'static str,
    /// What it is for, for people.
    pub about: &'static str,
    json: &'static str,
    /// The float models are the integer ones with other features: their text follows from the same file.
    float: bool,
}

impl Builtin {
    /// The model's JSON text.
    pub fn text(&self) -> Cow<'static, str> {
        if self.float {
            self.json.replace("VMAF_integer_feature", "VMAF_feature").into()
        } else {
            self.json.into()
        }
    }
}

macro_rules! model {
    ($version:literal, $file:literal, $float:literal, $about:literal) => {
        Builtin {
            version: $version,
            about: $about,
            json: include_str!(concat!("../../../../models/", $file, ".json")),
            float: $float,
        }
    };
}

/// Every built-in model.
pub static BUILTIN: &[Builtin] = &[
    model!("vmaf_v0.6.1", "vmaf_v0.6.1", false, "1080p TV at 3 screen heights; the default"),
    model!(
        "vmaf_v0.6.1neg",
        "vmaf_v0.6.1neg",
        false,
        "as vmaf_v0.6.1, gives no credit for sharpening and contrast"
    ),
    model!("vmaf_4k_v0.6.1", "vmaf_4k_v0.6.1", false, "4K TV at 1.5 screen heights"),
    model!(
        "vmaf_4k_v0.6.1neg",
        "vmaf_4k_v0.6.1neg",
        false,
        "as vmaf_4k_v0.6.1, gives no credit for enhancement"
    ),
    model!(
        "vmaf_b_v0.6.3",
        "vmaf_b_v0.6.3",
        false,
        "as vmaf_v0.6.1, with a confidence interval from 20 bootstrap models"
    ),
    model!("vmaf_float_v0.6.1", "vmaf_v0.6.1", true, "vmaf_v0.6.1 on floating point features"),
    model!("vmaf_float_v0.6.1neg", "vmaf_v0.6.1neg", true, "vmaf_v0.6.1neg on floating point features"),
    model!("vmaf_float_4k_v0.6.1", "vmaf_4k_v0.6.1", true, "vmaf_4k_v0.6.1 on floating point features"),
    model!("vmaf_float_b_v0.6.3", "vmaf_b_v0.6.3", true, "vmaf_b_v0.6.3 on floating point features"),
    model!("vmaf_v1.0.16_3d0h", "vmaf_v1.0.16_3d0h", false, "VMAF v1: 1080p TV at 3 screen heights"),
    model!("vmaf_v1.0.16_5d0h", "vmaf_v1.0.16_5d0h", false, "VMAF v1: phone, 1080p at 5 screen heights"),
    model!("vmaf_v1.0.16_1d5h_2160", "vmaf_v1.0.16_1d5h_2160", false, "VMAF v1: 4K TV at 1.5 screen heights"),
    model!(
        "vmaf_v1.0.16_3d0h_2160",
        "vmaf_v1.0.16_3d0h_2160",
        false,
        "VMAF v1: 4K TV at 3 screen heights, scores up to 110"
    ),
    model!(
        "vmaf_v1.0.16_hfr_3d0h",
        "vmaf_v1.0.16_hfr_3d0h",
        false,
        "VMAF v1, high frame rate: 1080p TV at 3 screen heights"
    ),
    model!(
        "vmaf_v1.0.16_hfr_5d0h",
        "vmaf_v1.0.16_hfr_5d0h",
        false,
        "VMAF v1, high frame rate: phone, 1080p at 5 screen heights"
    ),
    model!(
        "vmaf_v1.0.16_hfr_1d5h_2160",
        "vmaf_v1.0.16_hfr_1d5h_2160",
        false,
        "VMAF v1, high frame rate: 4K TV at 1.5 screen heights"
    ),
    model!(
        "vmaf_v1.0.16_hfr_3d0h_2160",
        "vmaf_v1.0.16_hfr_3d0h_2160",
        false,
        "VMAF v1, high frame rate: 4K TV at 3 screen heights, scores up to 110"
    ),
];

/// The built-in model of this version.
pub fn builtin(version: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|model| model.version == version)
}
