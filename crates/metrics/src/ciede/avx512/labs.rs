//! From samples to L*a*b*.

use std::arch::x86_64::*;

use super::super::lab::{CURVE_KNEE, Converter, LIGHTNESS_KNEE};
use super::super::labs::{Doubles, GROUP, LabsMut, Pixels};
use super::lanes::*;
use super::tables::{
    CUBE_ROOT, INVERSES, MANTISSAS_12_5, MANTISSAS_ROOT, POWER_12_5, SCALES_12_5, SCALES_ROOT,
};
use crate::simd::x86;

type Vector = Wides<1>;

/// Red, green and blue, then X, Y and Z, then their lightnesses.
#[derive(Debug)]
pub struct Parts([Doubles; 3]);

impl Parts {
    pub const ZERO: Self = Self([[0.0; GROUP]; 3]);
}

vector_functions! {
    /// Whether no sample has more bits than that. The tables of powers, and those of known colours, end there.
    pub fn are_within(pixels: Pixels<'_>, depth: u8) -> bool {
        let mut seen = _mm512_setzero_si512();
        for at in (0..GROUP).step_by(32) {
            for plane in [pixels.y, pixels.u, pixels.v] {
                seen = _mm512_or_si512(seen, x86::load512(plane, at));
            }
        }
        let peak = u16::MAX >> (16 - depth);
        let words = u64::from(!peak) * 0x0001_0001_0001_0001;
        _mm512_test_epi64_mask(seen, _mm512_set1_epi64(words as i64)) == 0
    }

    /// The same as [`Converter::lab`] of each pixel that ends up beyond doubt, for so many vectors. The samples must be
    /// [within](are_within) their depth.
    pub fn make_labs(
        parts: &mut Parts,
        converter: &Converter,
        pixels: Pixels<'_>,
        out: &mut LabsMut<'_>,
        distances: &mut Distances,
        steps: usize,
    ) {
        let Parts(parts) = parts;
        make_rgb(parts, converter, pixels, steps);
        for part in &mut *parts {
            for step in 0..steps {
                store(part, step, linear(load(part, step)));
            }
        }
        make_xyz(parts, steps);
        distances.fill(FAR);
        for part in &mut *parts {
            for step in 0..steps {
                let mut nearest = load_nearest(distances, step);
                store(part, step, lightness(load(part, step), &mut nearest));
                store_nearest(distances, step, nearest);
            }
        }
        let [x, y, z] = parts;
        for step in 0..steps {
            let [x, y, z]: [Vector; 3] = [load(x, step), load(y, step), load(z, step)];
            store_singles(out.l, step, narrow(sub(mul(all(116.0), y), all(16.0))));
            store_singles(out.a, step, narrow(mul(all(500.0), sub(x, y))));
            store_singles(out.b, step, narrow(mul(all(200.0), sub(y, z))));
        }
    }

    /// As [`Converter::rgb`], to the last bit: what lies on which side of the curve's knee is not in doubt.
    fn make_rgb(parts: &mut [Doubles; 3], converter: &Converter, pixels: Pixels<'_>, steps: usize) {
        let Converter { black, centre, luma, chroma } = *converter;
        let [red, green, blue] = parts;
        for step in 0..steps {
            let y: Vector = mul(sub(load_samples(pixels.y, step), all(black)), all(luma));
            let u: Vector = mul(sub(load_samples(pixels.u, step), all(centre)), all(chroma));
            let v: Vector = mul(sub(load_samples(pixels.v, step), all(centre)), all(chroma));
            store(red, step, add(y, mul(all(1.28033), v)));
            store(green, step, sub(sub(y, mul(all(0.21482), u)), mul(all(0.38059), v)));
            store(blue, step, add(y, mul(all(2.12798), u)));
        }
    }

    /// The sRGB curve, to 2^-47.
    fn linear(value: Vector) -> Vector {
        let base = mul(add(value, all(0.055)), all(1.0 / 1.055));
        let bits = bits(base);
        let scale = look_up_8(&SCALES_12_5, exponent_bits(bits));
        let power = power(base, scale, &MANTISSAS_12_5, &POWER_12_5);
        let above = is_above(value, all(CURVE_KNEE));
        choose(above, mul(value, all(1.0 / 12.92)), power)
    }

    /// A power of a positive normal number: that of its power of two, `scale`, times that of its mantissa, which is one
    /// of 16 table values times `1 + t`, `|t| < 1/32`.
    fn power(x: Vector, scale: Vector, mantissas: &[f64; 16], series: &[f64; 6]) -> Vector {
        let bits = bits(x);
        let sixteenth = sixteenths(bits);
        let t = fmsub(mantissa(x), look_up(&INVERSES, sixteenth), all(1.0));
        let scale = mul(scale, look_up(mantissas, sixteenth));
        fmadd(mul(scale, t), polynomial(series, t), scale)
    }

    /// As [`xyz`](super::super::lab::xyz).
    fn make_xyz(parts: &mut [Doubles; 3], steps: usize) {
        const X: [f64; 3] = [0.4124564390896921, 0.357576077643909, 0.18043748326639894];
        const Y: [f64; 3] = [0.21267285140562248, 0.715152155287818, 0.07217499330655958];
        const Z: [f64; 3] = [0.019333895582329317, 0.119192025881303, 0.9503040785363677];
        let [first, second, third] = parts;
        for step in 0..steps {
            let rgb = [load(first, step), load(second, step), load(third, step)];
            store(first, step, weighted(X.map(|weight| weight * (1.0 / 0.95047)), rgb));
            store(second, step, weighted(Y, rgb));
            store(third, step, weighted(Z.map(|weight| weight * (1.0 / 1.08883)), rgb));
        }
    }

    fn weighted(weights: [f64; 3], rgb: [Vector; 3]) -> Vector {
        let ([wr, wg, wb], [r, g, b]) = (weights, rgb);
        fmadd(b, all(wb), fmadd(g, all(wg), mul(r, all(wr))))
    }

    /// CIE's lightness curve, rounded to `f32` precision.
    ///
    /// Beside the middle of two floats, there is one place where an error of the value counts more: where the foot nears
    /// zero. There the magnitudes of the value's parts sum up to less than 1/8, as none can be below -1/8: powers are
    /// good to 2^-47, so the value is good to 2^-50 and the foot, 7.8 times as steep, to 2^-47: 2^-41 of it, from 1/64 on.
    /// At the knee both parts of the curve have the same value and slope, so that it does not matter which one is taken
    /// very near to it.
    fn lightness(value: Vector, nearest: &mut Wholes<1>) -> Vector {
        let scale = look_up(&SCALES_ROOT, exponent_bits(bits(value)));
        let root = power(value, scale, &MANTISSAS_ROOT, &CUBE_ROOT);
        let foot = fmadd(value, all(24389.0 / 27.0 / 116.0), all(16.0 / 116.0));
        let above = is_above(value, all(LIGHTNESS_KNEE));
        let light = choose(above, foot, root);
        *nearest = keep_whole(is_above(abs(light), all(1.0 / 64.0)), *nearest);
        rounded(light, nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, with_avx512};
    use super::*;
    use crate::math::pow;

    vector_functions! {
        fn first(values: Vector) -> f64 {
            std::arch::x86_64::_mm512_cvtsd_f64(values[0])
        }

        fn linear_of(x: f64) -> f64 {
            first(linear(all(x)))
        }

        fn cube_root_of(x: f64) -> f64 {
            let scale = look_up(&SCALES_ROOT, exponent_bits(bits(all(x))));
            first(power(all(x), scale, &MANTISSAS_ROOT, &CUBE_ROOT))
        }
    }

    #[test]
    fn powers() {
        let curve = |x: f64| pow((x + 0.055) * (1.0 / 1.055), 2.4);
        // SAFETY: the machine was found to have the features.
        with_avx512(|_| unsafe {
            check(47, CURVE_KNEE + 1e-9, 2.3, |x| linear_of(x), curve);
            check(45, LIGHTNESS_KNEE, 16.0, |x| cube_root_of(x), |x| pow(x, 1.0 / 3.0));
        });
    }
}
