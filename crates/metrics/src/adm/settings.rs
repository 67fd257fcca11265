//! What the options say: the viewing condition and the weight of each band under it.

use super::geometry::SCALES;
use crate::csf::{self, Direction, Viewing};
use crate::{MetricError, OptionSpec, Options};

/// The options of libvmaf's integer ADM.
pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec::bool("debug", false, "also report numerators and denominators"),
    OptionSpec::double("adm_csf_scale", 1.0, 0.0, 50.0, "factor on the weight of straight detail in mode 1")
        .named("scf"),
    OptionSpec::double(
        "adm_csf_diag_scale",
        1.0,
        0.0,
        50.0,
        "factor on the weight of diagonal detail in mode 1",
    )
    .named("scfd"),
    OptionSpec::double(
        "adm_dlm_weight",
        0.5,
        0.0,
        1.0,
        "weight of lost detail against additive detail in adm3",
    )
    .named("dlmw"),
    OptionSpec::double("adm_enhn_gain_limit", 100.0, 1.0, 100.0, "largest enhancement gain; 1 allows none")
        .named("egl"),
    OptionSpec::double("adm_norm_view_dist", 3.0, 0.75, 24.0, "viewing distance in heights of the display")
        .named("nvd"),
    OptionSpec::int("adm_ref_display_height", 1080, 1, 4320, "height of the display in pixels").named("rdh"),
    OptionSpec::int(
        "adm_csf_mode",
        0,
        0,
        3,
        "contrast sensitivity: 0 Watson, 1 Barten, 2 blend, 3 newer blend",
    )
    .named("csf"),
    OptionSpec::double("adm_noise_weight", 0.03125, 0.0, 1500.0, "weight of the noise floor").named("nw"),
    OptionSpec::bool("adm_skip_aim", false, "leave out the measure of additive detail"),
    OptionSpec::bool("adm_skip_scale0", false, "leave out the finest scale").named("ssz"),
    OptionSpec::double("adm_min_val", 0.0, 0.0, 1.0, "smallest value of adm3").named("min"),
];

/// Three times the height of 1080 lines, the finest viewing condition that 16-bit arithmetic can hold.
const NEAREST: f64 = 3.0 * 1080.0;

/// The weights of straight and diagonal bands.
pub type Weights = [f32; 2];

/// Checked options.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub debug: bool,
    pub gain_limit: f64,
    pub noise_weight: f64,
    pub dlm_weight: f64,
    pub min_value: f64,
    pub aim: bool,
    pub first_scale: bool,
    /// For each scale.
    pub weights: [Weights; SCALES],
    /// The first scale's weights in units of 2^-21, diagonal 2^-23.
    pub first_fixed: [u16; 2],
}

impl Settings {
    pub fn new(metric: &'static str, options: &Options) -> Result<Self, MetricError> {
        let weights = weights(options).map_err(|reason| MetricError::Setting { metric, reason })?;
        Ok(Self {
            debug: options.flag("debug"),
            gain_limit: options.double("adm_enhn_gain_limit"),
            noise_weight: options.double("adm_noise_weight"),
            dlm_weight: options.double("adm_dlm_weight"),
            min_value: options.double("adm_min_val"),
            aim: !options.flag("adm_skip_aim"),
            first_scale: !options.flag("adm_skip_scale0"),
            weights,
            first_fixed: first_fixed(options, weights[0]),
        })
    }

    /// A later scale's weights in units of 2^-32.
    pub fn fixed(&self, scale: usize) -> [u32; 2] {
        self.weights[scale].map(|weight| (f64::from(weight) * 4_294_967_296.0) as i64 as u32)
    }
}

fn viewing(options: &Options) -> Viewing {
    Viewing {
        distance: options.double("adm_norm_view_dist"),
        display_height: options.int("adm_ref_display_height"),
    }
}

fn weights(options: &Options) -> Result<[Weights; SCALES], String> {
    let viewing = viewing(options);
    let pixels = viewing.distance * f64::from(viewing.display_height);
    if pixels < NEAREST {
        return Err(format!(
            "adm_norm_view_dist x adm_ref_display_height is {pixels}: it must be at least {NEAREST}"
        ));
    }
    let mut weights = [[0.0; 2]; SCALES];
    for (scale, pair) in weights.iter_mut().enumerate() {
        for (weight, direction) in pair.iter_mut().zip([Direction::Straight, Direction::Diagonal]) {
            *weight = band_weight(options, &viewing, scale as u32, direction).ok_or_else(|| {
                let mode = options.int("adm_csf_mode");
                format!(
                    "adm_csf_mode {mode} is defined for these pairs of adm_norm_view_dist and \
                     adm_ref_display_height only: 3 and 1080, 5 and 1080, 1.5 and 2160, 3 and 2160, 5 and 2160, \
                     5 and 720"
                )
            })?;
        }
    }
    Ok(weights)
}

fn band_weight(options: &Options, viewing: &Viewing, scale: u32, direction: Direction) -> Option<f32> {
    match options.int("adm_csf_mode") {
        1 => {
            let factor = match direction {
                Direction::Straight => options.double("adm_csf_scale"),
                Direction::Diagonal => options.double("adm_csf_diag_scale"),
            };
            Some(csf::barten(viewing, scale, factor))
        }
        2 => csf::blend(viewing, scale, direction),
        3 => csf::blend_mae(viewing, scale, direction),
        _ => Some(csf::watson(viewing, scale, direction)),
    }
}

/// Weights above 1/32 (diagonal 1/128), as Barten's are, do not fit; libvmaf keeps their lower 16 bits.
fn first_fixed(options: &Options, [straight, diagonal]: Weights) -> [u16; 2] {
    let viewing = viewing(options);
    let usual = (viewing.distance * f64::from(viewing.display_height) - NEAREST).abs() < 1e-8;
    if usual && options.int("adm_csf_mode") == 0 {
        return [36453, 49417];
    }
    let fixed = |weight: f32, bits: u32| (f64::from(weight) * f64::from(1u32 << bits)) as i64 as u16;
    [fixed(straight, 21), fixed(diagonal, 23)]
}
