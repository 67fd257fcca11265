//! From numerators and denominators of the scales to the scores of a frame.

use super::extractor::Part;
use super::geometry::SCALES;
use super::settings::Settings;

/// Fills a row of raw numbers, in the order of the keys. `area` is the picture's, in pixels.
pub fn write(settings: &Settings, area: usize, parts: &[Part; SCALES], raw: &mut [f64]) {
    let total =
        |pick: fn(&Part) -> f32| parts.iter().map(|part| f64::from(pick(part))).fold(0.0, |a, b| a + b);
    // What is this small is a rounding error of nothing.
    let limit = 1e-10 * area as f64 / (1920.0 * 1080.0);
    let floored = |value: f64| if value < limit { 0.0 } else { value };
    let kept = floored(total(|part| part.kept));
    let reference = floored(total(|part| part.reference));
    // Without any detail in the reference nothing can be lost. libvmaf leaves aim undefined there; nothing is added.
    let (adm2, aim) = match reference {
        0.0 => (1.0, 0.0),
        _ => (kept / reference, total(|part| part.added) / reference),
    };
    let adm3 = adm2 * settings.lost_weight + (1.0 - aim) * (1.0 - settings.lost_weight);
    let adm3 = if adm3 > settings.min_value { adm3 } else { settings.min_value };
    raw[..3].copy_from_slice(&[adm2, aim, adm3]);
    for (raw, part) in raw[3..].iter_mut().zip(parts) {
        *raw = ratio(part.kept, part.reference);
    }
    if settings.debug {
        raw[7..10].copy_from_slice(&[adm2, kept, reference]);
        for (raw, part) in raw[10..].chunks_exact_mut(2).zip(parts) {
            raw.copy_from_slice(&[f64::from(part.kept), f64::from(part.reference)]);
        }
    }
}

/// Nothing out of nothing is not a number, with the minus sign that libvmaf's processor gives it in reports.
fn ratio(kept: f32, reference: f32) -> f64 {
    if kept == 0.0 && reference == 0.0 {
        return f64::NAN.copysign(-1.0);
    }
    f64::from(kept) / f64::from(reference)
}
