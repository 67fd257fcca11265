//! The differences of many pairs of pixels, in plain Rust.

use super::difference::difference;
use super::lab::{Converter, Lab, Yuv};
use super::memo::Memo;

/// Two pixels at one place.
pub type PixelPair = (Yuv, Yuv);

/// `out[n]` is the difference of `pairs[n]`. A colour costs six powers, and pictures repeat their colours, so those are
/// remembered.
pub fn differences(
    pairs: &[PixelPair],
    converter: &Converter,
    colours: &mut Memo<Yuv, Lab>,
    out: &mut [f32],
) {
    for ((one, two), out) in pairs.iter().zip(out) {
        let mut lab = |pixel: Yuv| colours.find_or_make(pixel, || converter.lab(pixel));
        *out = difference(lab(*one), lab(*two));
    }
}
