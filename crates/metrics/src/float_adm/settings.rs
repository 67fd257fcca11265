//! The options of the metric and what follows from them alone.

use crate::csf::{self, Direction, Viewing};
use crate::math;
use crate::{OptionSpec, Options};

/// How many times the picture is halved.
pub const SCALES: usize = 4;

#[rustfmt::skip]
pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec::bool("debug", false, "also write numerators and denominators"),
    OptionSpec::double("adm_enhn_gain_limit", 100.0, 1.0, 100.0,
        "largest gain by enhancement that counts; 1 disables it").named("egl"),
    OptionSpec::double("adm_norm_view_dist", 3.0, 0.75, 24.0,
        "viewing distance in heights of the reference display").named("nvd"),
    OptionSpec::double("adm_noise_weight", 0.03125, 0.0, 1500.0,
        "weight of the noise floor").named("nw"),
    OptionSpec::double("adm_csf_scale", 1.0, 0.0, 50.0,
        "factor on contrast sensitivity (mode 1)").named("scf"),
    OptionSpec::double("adm_csf_diag_scale", 1.0, 0.0, 50.0,
        "factor on diagonal contrast sensitivity (mode 1)").named("scfd"),
    OptionSpec::int("adm_ref_display_height", 1080, 1, 4320,
        "height of the reference display in pixels").named("rdf"),
    OptionSpec::int("adm_csf_mode", 0, 0, 9,
        "contrast sensitivity function: 1 Barten, 2 of ADM's paper, else Watson 1997").named("csf"),
    OptionSpec::int("adm_bypass_cm", 0, 0, 1,
        "1 leaves contrast masking out").named("bcm"),
    OptionSpec::bool("adm_adm3_apply_hm", false,
        "combine detail loss and additive impairment by their harmonic mean").named("aah"),
    OptionSpec::double("adm_p_norm", 3.0, 1.0, 20.0,
        "exponent of the norm that pools coefficients").named("apn"),
    OptionSpec::double("adm_dlm_weight", 0.5, 0.0, 1.0,
        "weight of detail loss against additive impairment; 1 is detail loss alone").named("dlmw"),
    OptionSpec::double("adm_min_val", 0.0, 0.0, 1.0,
        "smallest adm3").named("min"),
    OptionSpec::double("adm_f1s0", -1.0, -1.0, 10.0, "weight of straight bands at scale 0").named("f1s0"),
    OptionSpec::double("adm_f1s1", -1.0, -1.0, 10.0, "weight of straight bands at scale 1").named("f1s1"),
    OptionSpec::double("adm_f1s2", -1.0, -1.0, 10.0, "weight of straight bands at scale 2").named("f1s2"),
    OptionSpec::double("adm_f1s3", -1.0, -1.0, 10.0, "weight of straight bands at scale 3").named("f1s3"),
    OptionSpec::double("adm_f2s0", -1.0, -1.0, 10.0, "weight of the diagonal band at scale 0").named("f2s0"),
    OptionSpec::double("adm_f2s1", -1.0, -1.0, 10.0, "weight of the diagonal band at scale 1").named("f2s1"),
    OptionSpec::double("adm_f2s2", -1.0, -1.0, 10.0, "weight of the diagonal band at scale 2").named("f2s2"),
    OptionSpec::double("adm_f2s3", -1.0, -1.0, 10.0, "weight of the diagonal band at scale 3").named("f2s3"),
    OptionSpec::int("adm_skip_aim_scale", -1, 0, 3,
        "scale that does not count for additive impairment").named("sasc"),
    OptionSpec::bool("adm_skip_scale0", false,
        "leave scale 0 out").named("ssz"),
];

const STRAIGHT_WEIGHTS: [&str; SCALES] = ["adm_f1s0", "adm_f1s1", "adm_f1s2", "adm_f1s3"];
const DIAGONAL_WEIGHTS: [&str; SCALES] = ["adm_f2s0", "adm_f2s1", "adm_f2s2", "adm_f2s3"];

/// Read options.
#[derive(Clone, Debug)]
pub struct Settings {
    pub debug: bool,
    pub gain_limit: f64,
    pub noise_weight: f64,
    pub masking: bool,
    pub norm: Norm,
    pub harmonic: bool,
    pub detail_weight: f64,
    pub smallest: f64,
    pub scale_without_additive: Option<usize>,
    pub skip_scale0: bool,
    /// The weights of the horizontal, vertical and diagonal bands of each scale.
    pub weights: [[f32; 3]; SCALES],
}

impl Settings {
    pub fn new(options: &Options) -> Self {
        Self {
            debug: options.flag("debug"),
            gain_limit: options.double("adm_enhn_gain_limit"),
            noise_weight: options.double("adm_noise_weight"),
            masking: options.int("adm_bypass_cm") == 0,
            norm: Norm::new(options.double("adm_p_norm")),
            harmonic: options.flag("adm_adm3_apply_hm"),
            detail_weight: options.double("adm_dlm_weight"),
            smallest: options.double("adm_min_val"),
            scale_without_additive: usize::try_from(options.int("adm_skip_aim_scale")).ok(),
            skip_scale0: options.flag("adm_skip_scale0"),
            weights: std::array::from_fn(|scale| band_weights(options, scale)),
        }
    }
}

fn band_weights(options: &Options, scale: usize) -> [f32; 3] {
    let choose = |name, direction| {
        let given = options.double(name);
        if given >= 0.0 { given as f32 } else { sensitivity(options, scale as u32, direction) }
    };
    let straight = choose(STRAIGHT_WEIGHTS[scale], Direction::Straight);
    let diagonal = choose(DIAGONAL_WEIGHTS[scale], Direction::Diagonal);
    [straight, straight, diagonal]
}

fn sensitivity(options: &Options, scale: u32, direction: Direction) -> f32 {
    let viewing = Viewing {
        distance: options.double("adm_norm_view_dist"),
        display_height: options.int("adm_ref_display_height"),
    };
    let gain = options.double(match direction {
        Direction::Straight => "adm_csf_scale",
        Direction::Diagonal => "adm_csf_diag_scale",
    });
    match options.int("adm_csf_mode") {
        1 => csf::barten(&viewing, scale, gain),
        2 => csf::native(&viewing, scale, direction),
        _ => csf::watson(&viewing, scale, direction),
    }
}

/// The norm that pools coefficients.
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    /// `None` for the usual exponent of three, whose powers are products.
    pub exponent: Option<f32>,
    root: f32,
}

impl Norm {
    pub fn new(exponent: f64) -> Self {
        let cubic = exponent == 3.0;
        Self { exponent: (!cubic).then_some(exponent as f32), root: (1.0 / exponent) as f32 }
    }

    pub fn root(&self, sum: f32) -> f32 {
        math::powf(sum, self.root)
    }

    /// What noise adds to a band of this many scored coefficients.
    pub fn noise_floor(&self, area: usize, weight: f64) -> f32 {
        self.root((area as f64 * weight) as f32)
    }
}
