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
    for at in 0..width {
        let colour = [red[at], green[at], blue[at]];
        let long = cone::<F>(ABSORBANCE[0], colour);
        let medium = cone::<F>(ABSORBANCE[1], colour);
        let short = cone::<F>(ABSORBANCE[2], colour);
        let (x, y) = (0.5 * (long - medium), 0.5 * (long + medium));
        out_x[at] = x * 14.0 + 0.42;
        out_y[at] = y + 0.01;
        out_b[at] = (short - y) + 0.55;
    }
}

/// The cube root of what one kind of cones absorbs.
#[inline(always)]
fn cone<F: Fused>([for_red, for_green, for_blue]: [f32; 3], [red, green, blue]: [f32; 3]) -> f32 {
    let dark_and_blue = F::fused(for_blue, blue, BIAS);
    let absorbed = F::fused(for_red, red, F::fused(for_green, green, dark_and_blue));
    cube_root_above::<F>(absorbed, -BIAS_ROOT)
}

/// The cube root of a positive number, plus `add`.
///
/// Newton's method for the inverse cube root needs no division. Its first guess is a power of two: a third of the
/// exponent, negated.
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
        inverse = F::fused(minus_third, square * square, FOUR_THIRDS * inverse);
    }
    let square = inverse * inverse;
    let rest = F::fused(-x, square * square, inverse);
    inverse = F::fused(THIRD, rest, inverse);
    F::fused(inverse * inverse, x, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssimulacra2::fused::Portable;

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
