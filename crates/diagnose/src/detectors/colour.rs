//! Colour: missing or exchanged chroma planes, hue, saturation, casts, and the matrix of another standard.
//!
//! VMAF does not look at chroma at all. Each explanation (a constant added, a rotation and a factor about grey, planes
//! exchanged, a matrix) is fitted to the chroma of the cells, and the one that leaves least is taken, if it explains most of
//! a difference that an encoder would not make.

use super::{Clip, Sign, median, sign};
use crate::finding::Kind;
use crate::fit::ChromaFit;
use crate::look::FrameFacts;

/// Root mean square difference of chroma in levels from which on colour is judged.
const DIFFERENCE: f32 = 1.4;
/// Distance from grey (root mean square, in levels) that a reference needs for "missing".
const COLOURFUL: f32 = 2.0;
const TURN: f32 = 7.0;
const FACTOR: f32 = 0.16;

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let fit = clip.facts[at].chroma.as_ref()?;
    // In a fade, a coarse encode may show the colours of some frames before.
    let faded = clip.facts[at.saturating_sub(1)..=at].iter().map(|facts| facts.motion.faded.abs());
    let late = 0.5 * faded.fold(0.0, f32::max);
    if fit.strength[0] > COLOURFUL && fit.strength[1] < 0.22 * fit.strength[0] {
        return sign(Kind::MissingChroma, fit.before, 0.8 * COLOURFUL + late);
    }
    let matrix = fit.matrix_left[0].min(fit.matrix_left[1]);
    if fit.before < DIFFERENCE + late && !(matrix_explains(fit, matrix) && fit.before > 0.7) {
        return None;
    }
    let least = fit.cast_left.min(fit.turn_left);
    // An even colour can be turned into any other; one that becomes just the exchanged one was hardly turned.
    let exchanged = fit.swapped_left < 0.15 * fit.before && fit.turn.abs() > 40.0;
    if exchanged || (fit.swapped_left < 0.5 * least && fit.swapped_left < 0.4 * fit.before) {
        return sign(Kind::SwappedChroma, fit.before, DIFFERENCE);
    }
    if matrix_explains(fit, matrix) && matrix < 0.7 * fit.turn_left.max(fit.cast_left) {
        return sign(Kind::ColourMatrix, fit.matrix_before, 1.2);
    }
    if least > 0.65 * fit.before {
        return None;
    }
    if fit.cast_left <= fit.turn_left {
        let size = (fit.cast[0].powi(2) + fit.cast[1].powi(2)).sqrt();
        return sign(Kind::ColourCast, size, 2.2);
    }
    let hue = sign(Kind::Hue, fit.turn.abs(), TURN);
    let saturation = sign(Kind::Saturation, (fit.factor - 1.0).abs(), FACTOR);
    // The larger part of the difference names it.
    let by_turn = 2.0 * (fit.turn.to_radians() / 2.0).sin().abs();
    if by_turn >= (fit.factor - 1.0).abs() { hue.or(saturation) } else { saturation.or(hue) }
}

fn matrix_explains(fit: &ChromaFit, left: f32) -> bool {
    fit.matrix_before > 1.2 && left < 0.45 * fit.matrix_before
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    let figure = |of: fn(&ChromaFit) -> f32| median(frames, |facts| facts.chroma.as_ref().map_or(0.0, of));
    let factor = figure(|fit| fit.factor);
    match kind {
        Kind::MissingChroma => {
            "chroma is missing: the picture is grey where the reference has colour".to_owned()
        }
        Kind::SwappedChroma => "chroma planes are swapped: Cb and Cr are exchanged".to_owned(),
        Kind::Hue => format!("hue is rotated by {:.0} degrees", figure(|fit| fit.turn)),
        Kind::Saturation => {
            let how = if factor < 1.0 { "weaker" } else { "stronger" };
            format!("saturation differs: colours are {how}, chroma is scaled by {factor:.2}")
        }
        Kind::ColourMatrix => {
            let first = figure(|fit| fit.matrix_left[0]) < figure(|fit| fit.matrix_left[1]);
            let (from, to) = if first { ("BT.601", "BT.709") } else { ("BT.709", "BT.601") };
            format!(
                "colour matrix mismatch: samples were converted from {from} to {to}, or are tagged with the wrong one"
            )
        }
        _ => {
            let (cb, cr) = (figure(|fit| fit.cast[0]), figure(|fit| fit.cast[1]));
            format!("colour cast ({}): Cb {cb:+.1}, Cr {cr:+.1} levels of 255", tint(cb, cr))
        }
    }
}

/// What a cast looks like.
fn tint(cb: f32, cr: f32) -> &'static str {
    let angle = cr.atan2(cb).to_degrees();
    match angle {
        -22.0..22.0 => "blue",
        22.0..68.0 => "magenta",
        68.0..112.0 => "red",
        112.0..158.0 => "orange",
        -68.0..-22.0 => "cyan",
        -112.0..-68.0 => "cyan-green",
        -158.0..-112.0 => "green",
        _ => "yellow",
    }
}
