//! Linear RGB to XYB, the colour space of JPEG XL: cube roots of what three kinds of cones absorb.
//!
//! The operations, and which of them are fused, are those of the published tool.

use super::fused::Fused;

/// What the cones absorb of linear red, green and blue.
const ABSORBANCE: [[f32; 3]; 3] = [
    [0.30, 1.0 - 0.078 - 0.30, 0.078],
    [0.23, 1.0 - 0.078 - 0.23, 0.078],
    [0.24342268924547819, 0.20476744424496821, 1.0 - 0.24342268924547819 - 0.20476744424496821],
];
/// What they absorb in the dark.
const BIAS: f32 = 0.0037930732552754493;
/// Its cube root.
const BIAS_ROOT: f32 = 0.155954197;

/// Makes X, Y and B - Y out of linear RGB, each shifted and stretched to lie within 0 to 1.
#[inline(always)]
pub fn convert_row<F: Fused>([red, green, blue]: [&[f32]; 3], [out_x, out_y, out_b]: [&mut [f32]; 3]) {
    let width = red.len();
    let (green, blue) = (&green[..width], &blue[..width]);
    let (out_x, out_y, out_b) = (&mut out_x[..width], &mut out_y[..width], &mut out_b[..width]);
    if F::BY_DOUBLE {
        for first in (0..width).step_by(GROUP) {
            let group = first..width.min(first + GROUP);
            let colours = [&red[group.clone()], &green[group.clone()], &blue[group.clone()]];
            let out = [&mut out_x[group.clone()], &mut out_y[group.clone()], &mut out_b[group]];
            convert_group::<F>(colours, out);
        }
        return;
    }
    for at in 0..width {
        let colour = [red[at], green[at], blue[at]];
        // Not a `map`: that would stay a call, which is not compiled for the level.
        let long = cube_root::<F>(absorbed::<F>(ABSORBANCE[0], colour));
        let medium = cube_root::<F>(absorbed::<F>(ABSORBANCE[1], colour));
        let short = cube_root::<F>(absorbed::<F>(ABSORBANCE[2], colour));
        [out_x[at], out_y[at], out_b[at]] = mixed([long, medium, short]);
    }
}

/// Pixels that are converted at once where a multiply-add is watched.
const GROUP: usize = 64;

/// The same for at most [`GROUP`] pixels.
#[inline(always)]
fn convert_group<F: Fused>([red, green, blue]: [&[f32]; 3], [out_x, out_y, out_b]: [&mut [f32]; 3]) {
    let width = red.len().min(GROUP);
    let (green, blue) = (&green[..width], &blue[..width]);
    let mut cones = [[BIAS; GROUP]; 3];
    for (cone, absorbance) in cones.iter_mut().zip(ABSORBANCE) {
        let mut spoilt = 0;
        for at in 0..width {
            let [for_red, for_green, for_blue] = absorbance;
            let dark_and_blue = F::watched(for_blue, blue[at], BIAS, &mut spoilt);
            let without_red = F::watched(for_green, green[at], dark_and_blue, &mut spoilt);
            cone[at] = F::watched(for_red, red[at], without_red, &mut spoilt);
        }
        if spoilt != 0 {
            for at in 0..width {
                cone[at] = absorbed::<F>(absorbance, [red[at], green[at], blue[at]]);
            }
        }
        for value in cone {
            *value = cube_root::<F>(*value);
        }
    }
    let (out_x, out_y, out_b) = (&mut out_x[..width], &mut out_y[..width], &mut out_b[..width]);
    for at in 0..width {
        [out_x[at], out_y[at], out_b[at]] = mixed([cones[0][at], cones[1][at], cones[2][at]]);
    }
}

#[inline(always)]
fn mixed([long, medium, short]: [f32; 3]) -> [f32; 3] {
    let (x, y) = (0.5 * (long - medium), 0.5 * (long + medium));
    [x * 14.0 + 0.42, y + 0.01, (short - y) + 0.55]
}

/// What one kind of cones absorbs.
#[inline(always)]
fn absorbed<F: Fused>([for_red, for_green, for_blue]: [f32; 3], [red, green, blue]: [f32; 3]) -> f32 {
    let dark_and_blue = F::fused(for_blue, blue, BIAS);
    F::fused(for_red, red, F::fused(for_green, green, dark_and_blue))
}

#[inline(always)]
fn cube_root<F: Fused>(absorbed: f32) -> f32 {
    cube_root_above::<F>(absorbed, -BIAS_ROOT)
}

/// The cube root of a positive number, plus `add`.
///
/// Newton's method for the inverse cube root needs no division. Its first guess is a power of two: a third of the
/// exponent, negated.
///
/// By way of `f64` the result is the same for every number that cones can absorb, from the bias to a little above 1: a test
/// goes through all of them. (The one difference of nearly equal numbers, `rest`, has no rounding in `f64`.)
#[inline(always)]
fn cube_root_above<F: Fused>(x: f32, add: f32) -> f32 {
    const THIRD: f32 = 1.0 / 3.0;
    const FOUR_THIRDS: f32 = 4.0 / 3.0;
    // A third of an exponent's unit, and the bits of a number so that the guess for 1 is near 1.
    const EXPONENT_THIRD: u32 = 0x002a_aaaa;
    const GUESS: u32 = 0x5480_0000;
    let minus_third = -(THIRD * x);
    let mut inverse = f32::from_bits(GUESS.wrapping_sub((x.to_bits() >> 23).wrapping_mul(EXPONENT_THIRD)));
    for _ in 0..3 {
        let square = inverse * inverse;
        inverse = F::known(minus_third, square * square, FOUR_THIRDS * inverse);
    }
    let square = inverse * inverse;
    let rest = F::known(-x, square * square, inverse);
    inverse = F::known(THIRD, rest, inverse);
    F::known(inverse * inverse, x, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssimulacra2::fused::{Instruction, Portable};

    #[test]
    fn cube_roots_are_close() {
        let mut worst = 0.0f64;
        for step in 0..500_000u32 {
            let x = BIAS + step as f32 / 500_000.0 * 1.01;
            let exact = f64::from(x).cbrt();
            worst = worst.max(((f64::from(cube_root_above::<Portable>(x, 0.0)) - exact) / exact).abs());
        }
        assert!(worst < 7e-7, "{worst}");
        assert!((f64::from(BIAS_ROOT) - f64::from(BIAS).cbrt()).abs() < 1e-8);
    }

    /// Linear colours are at most 1, and what cones absorb of them is at most that and the bias, give or take roundings.
    #[test]
    fn cube_roots_need_no_look_at_their_sums() {
        let (first, last) = (BIAS.to_bits(), 1.01f32.to_bits());
        assert!(first < last);
        for bits in first..=last {
            let x = f32::from_bits(bits);
            let (fused, portable) = (cube_root::<Instruction>(x), cube_root::<Portable>(x));
            assert!(fused.to_bits() == portable.to_bits(), "{x:e}");
        }
    }

    fn convert(colour: [f32; 3]) -> [f32; 3] {
        let [mut x, mut y, mut b] = [[0.0f32]; 3];
        let [red, green, blue] = colour.map(|value| [value]);
        convert_row::<Portable>([&red, &green, &blue], [&mut x, &mut y, &mut b]);
        [x[0], y[0], b[0]]
    }

    /// The colours at the corners of RGB, by the definition in double precision.
    #[test]
    fn corners_of_rgb() {
        for corner in 0..8 {
            let colour = [0, 1, 2].map(|bit| f64::from(corner >> bit & 1));
            let cone = |[r, g, b]: [f64; 3]| {
                let bias = 0.0037930732552754493f64;
                (r * colour[0] + g * colour[1] + b * colour[2] + bias).cbrt() - bias.cbrt()
            };
            let long = cone([0.30, 0.622, 0.078]);
            let medium = cone([0.23, 0.692, 0.078]);
            let short = cone([0.24342268924547819, 0.20476744424496821, 0.5518098665095536]);
            let y = 0.5 * (long + medium);
            let expected = [0.5 * (long - medium) * 14.0 + 0.42, y + 0.01, short - y + 0.55];
            for (got, expected) in convert(colour.map(|value| value as f32)).iter().zip(expected) {
                assert!((f64::from(*got) - expected).abs() < 1e-5, "corner {corner}: {got} and {expected}");
                assert!((0.0..=1.0).contains(got));
            }
        }
    }
}
