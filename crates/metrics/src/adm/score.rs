//! From the integer sums of the four scales to a row of raw numbers.
//!
//! Everything before is integer arithmetic, or double precision whose results are integers again, so an extractor and a
//! device that compute the same sums get the same bits from [`AdmFinish::finish`].

use super::geometry::SCALES;
use super::masking::{Long, Masking, Short};
use super::plan::Plan;
use super::settings::Settings;
use crate::math;

/// Sums of cubes over one scale, for the horizontal, vertical and diagonal band: of each scored row the sum over its
/// scored columns, rounded and shifted as [`AdmScale`](super::AdmScale) says, added up over the rows. 64-bit sums wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmSums {
    /// The restored image, contrast-masked by the additive one: libvmaf's `adm_cm`, which makes the numerator.
    pub restored: [i64; 3],
    /// The additive image, contrast-masked by the restored one: the same for AIM.
    pub additive: [i64; 3],
    /// The reference: libvmaf's `adm_csf_den_scale`, which makes the denominator.
    pub reference: [u64; 3],
}

/// What one scale adds to the scores: libvmaf's `num_scale`, the same for AIM, and `den_scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    restored: f32,
    additive: f32,
    reference: f32,
}

/// What a scale that is left out adds.
const SKIPPED: Part = Part { restored: 0.0, additive: 0.0, reference: 1e-10 };

/// Turns sums into raw numbers, for one set of options and one format.
#[derive(Clone, Debug)]
pub struct AdmFinish {
    settings: Settings,
    /// The picture's, in pixels.
    area: usize,
    /// The noise floor of each scale.
    noise: [f32; SCALES],
    short: Short,
    long: [Long; SCALES - 1],
}

impl AdmFinish {
    pub(super) fn new(settings: &Settings, plan: &Plan) -> Self {
        let noise = std::array::from_fn(|scale| {
            let area = plan.columns[scale].scored.len() * plan.rows[scale].scored.len();
            cube_root((area as f64 * settings.noise_weight) as f32)
        });
        let area = plan.columns[0].input * plan.rows[0].input;
        Self { settings: *settings, area, noise, short: plan.short, long: plan.long }
    }

    /// Fills a row of raw numbers, in the order of the metric's keys, from the sums of the scales, finest first.
    pub fn finish(&self, sums: &[AdmSums; SCALES], raw: &mut [f64]) {
        let first = if self.settings.first_scale { self.part(0, &self.short, &sums[0]) } else { SKIPPED };
        let long = |scale: usize| self.part(scale, &self.long[scale - 1], &sums[scale]);
        self.write(&[first, long(1), long(2), long(3)], raw);
    }

    fn part(&self, scale: usize, masking: &impl Masking, sums: &AdmSums) -> Part {
        let noise = self.noise[scale];
        Part {
            restored: roots(masking.masked_total(sums.restored), noise),
            additive: if self.settings.aim { roots(masking.masked_total(sums.additive), 0.0) } else { 0.0 },
            reference: roots(masking.csf_den_total(sums.reference), noise),
        }
    }

    fn write(&self, parts: &[Part; SCALES], raw: &mut [f64]) {
        let settings = &self.settings;
        let total =
            |pick: fn(&Part) -> f32| parts.iter().map(|part| f64::from(pick(part))).fold(0.0, |a, b| a + b);
        // What is this small is a rounding error of nothing.
        let limit = 1e-10 * self.area as f64 / (1920.0 * 1080.0);
        let floored = |value: f64| if value < limit { 0.0 } else { value };
        let restored = floored(total(|part| part.restored));
        let reference = floored(total(|part| part.reference));
        // Without any detail in the reference nothing can be lost. libvmaf leaves aim undefined there; nothing is added.
        let (adm2, aim) = match reference {
            0.0 => (1.0, 0.0),
            _ => (restored / reference, total(|part| part.additive) / reference),
        };
        let adm3 = adm2 * settings.dlm_weight + (1.0 - aim) * (1.0 - settings.dlm_weight);
        let adm3 = if adm3 > settings.min_value { adm3 } else { settings.min_value };
        raw[..3].copy_from_slice(&[adm2, aim, adm3]);
        for (raw, part) in raw[3..].iter_mut().zip(parts) {
            *raw = ratio(part.restored, part.reference);
        }
        if settings.debug {
            raw[7..10].copy_from_slice(&[adm2, restored, reference]);
            for (raw, part) in raw[10..].chunks_exact_mut(2).zip(parts) {
                raw.copy_from_slice(&[f64::from(part.restored), f64::from(part.reference)]);
            }
        }
    }
}

/// A sum that has wrapped to below zero (weights of mode 1 are too large for the arithmetic) has no root. libvmaf reports
/// the NaN of its processor there, which has a minus sign that shows in reports.
fn cube_root(value: f32) -> f32 {
    if value < 0.0 { f32::NAN.copysign(-1.0) } else { math::powf(value, 1.0 / 3.0) }
}

fn roots([horizontal, vertical, diagonal]: [f32; 3], noise: f32) -> f32 {
    let root = |sum: f32| cube_root(sum) + noise;
    root(horizontal) + root(vertical) + root(diagonal)
}

/// Nothing out of nothing is not a number, with the minus sign that libvmaf's processor gives it in reports.
fn ratio(restored: f32, reference: f32) -> f64 {
    if restored == 0.0 && reference == 0.0 {
        return f64::NAN.copysign(-1.0);
    }
    f64::from(restored) / f64::from(reference)
}
