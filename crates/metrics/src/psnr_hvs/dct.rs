//! The integer 8x8 transform of the Daala codec, for several blocks side by side.
//!
//! It is built of lifting steps: a coefficient is changed by a rounded multiple of another one, so that every step
//! could be undone exactly. Sums wrap; with up to 12 bits per sample they stay in range.

/// Numbers of 8x8 places, row by row, each for `LANES` blocks.
pub type Block<T, const LANES: usize> = [[T; LANES]; 64];

/// Lines that a block is transformed in.
pub const LINES: usize = 16;

/// A whole number whose sums wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Int(i32);

impl Int {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }

    /// Half of it, rounded towards zero.
    #[inline(always)]
    fn half(self) -> Self {
        Self(self.0.wrapping_add(((self.0 as u32) >> 31) as i32) >> 1)
    }

    /// `self * factor / 2^shift`, rounded.
    #[inline(always)]
    fn times(self, factor: i32, shift: u32) -> Self {
        Self(self.0.wrapping_mul(factor).wrapping_add(1 << (shift - 1)) >> shift)
    }
}

/// The 2-dimensional transform: columns first, then rows. `between` is called after each line.
#[inline(always)]
pub fn transform_block<const LANES: usize>(block: &mut Block<i32, LANES>, mut between: impl FnMut(usize)) {
    for column in 0..8 {
        transform_line(block, column, 8);
        between(column);
    }
    for row in 0..8 {
        transform_line(block, 8 * row, 1);
        between(8 + row);
    }
}

/// Transforms eight places of a block, from `first` on, `step` apart.
#[inline(always)]
fn transform_line<const LANES: usize>(block: &mut Block<i32, LANES>, first: usize, step: usize) {
    for lane in 0..LANES {
        let line = transform(std::array::from_fn(|n| Int(block[first + step * n][lane])));
        for n in 0..8 {
            block[first + step * n][lane] = line[n].0;
        }
    }
}

/// An 8-point DCT of type II. Sums and differences of mirrored samples go to a 4-point DCT and a 4-point DST.
#[inline(always)]
fn transform(x: [Int; 8]) -> [Int; 8] {
    let d0 = x[0].minus(x[7]);
    let s0 = x[0].minus(d0.half());
    let s1 = x[1].plus(x[6]);
    let d1 = x[6].minus(s1.half());
    let d2 = x[2].minus(x[5]);
    let s2 = x[2].minus(d2.half());
    let s3 = x[3].plus(x[4]);
    let d3 = s3.half().minus(x[4]);
    let [y0, y2, y4, y6] = even_half(s0, s1, s2, s3);
    let [y1, y3, y5, y7] = odd_half(d0, d1, d2, d3);
    [y0, y1, y2, y3, y4, y5, y6, y7]
}

/// A 4-point DCT. The inner sums arrive at twice the scale of the outer ones.
#[inline(always)]
fn even_half(s0: Int, s1: Int, s2: Int, s3: Int) -> [Int; 4] {
    let mut y0 = s0.plus(s3.half());
    let mut y6 = y0.minus(s3);
    let mut y2 = s1.half().minus(s2);
    let mut y4 = y2.minus(s1);
    // sqrt(2) - 1, sqrt(1/2)
    y0 = y0.minus(y4.times(13_573, 15));
    y4 = y4.plus(y0.times(11_585, 14));
    y0 = y0.minus(y4.times(13_573, 15));
    // tan(3 pi / 16), sin(3 pi / 8)
    y6 = y6.minus(y2.times(21_895, 15));
    y2 = y2.plus(y6.times(15_137, 14));
    y6 = y6.minus(y2.times(21_895, 15));
    [y0, y2, y4, y6]
}

/// A 4-point DST of type IV.
#[inline(always)]
fn odd_half(d0: Int, d1: Int, d2: Int, d3: Int) -> [Int; 4] {
    // 2 - sqrt(2), sqrt(1/2), sqrt(2) - 1/2
    let mut y3 = d2.plus(d1.times(19_195, 15));
    let mut y5 = d1.plus(y3.times(11_585, 14));
    y3 = y3.minus(y5.times(7_489, 13));
    let mut y7 = y5.half().minus(d3);
    y5 = y5.minus(y7);
    y3 = d0.half().minus(y3);
    let mut y1 = d0.minus(y3);
    // tan(pi / 32), sin(pi / 16)
    y7 = y7.plus(y1.times(3_227, 15));
    y1 = y1.minus(y7.times(6_393, 15));
    y7 = y7.plus(y1.times(3_227, 15));
    // tan(3 pi / 32), sin(3 pi / 16)
    y5 = y5.plus(y3.times(2_485, 13));
    y3 = y3.minus(y5.times(18_205, 15));
    y5 = y5.plus(y3.times(2_485, 13));
    [y1, y3, y5, y7]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    const LANES: usize = 4;

    /// The transform that the lifting steps approximate: orthonormal, so that a flat block gives 8 times its value.
    fn ideal(block: &[f64; 64]) -> [f64; 64] {
        let basis = |k: usize, n: usize| {
            let scale = if k == 0 { (1.0f64 / 8.0).sqrt() } else { 0.5 };
            scale * (std::f64::consts::PI * (2 * n + 1) as f64 * k as f64 / 16.0).cos()
        };
        std::array::from_fn(|at| {
            let (v, u) = (at / 8, at % 8);
            (0..64).map(|n| block[n] * basis(v, n / 8) * basis(u, n % 8)).sum()
        })
    }

    #[test]
    fn stays_close_to_the_ideal_transform() {
        let mut noise = Noise::new(3);
        for peak in [1u32, 255, 1023, 4095] {
            let mut block: Block<i32, LANES> =
                std::array::from_fn(|_| std::array::from_fn(|_| noise.below(peak + 1) as i32));
            let lanes: [[f64; 64]; LANES] =
                std::array::from_fn(|lane| block.map(|ints| f64::from(ints[lane])));
            transform_block(&mut block, |_| ());
            for (lane, samples) in lanes.iter().enumerate() {
                for (at, expected) in ideal(samples).into_iter().enumerate() {
                    let got = f64::from(block[at][lane]);
                    assert!((got - expected).abs() < 4.0, "peak {peak}, {at}: {got} for {expected}");
                }
            }
        }
    }

    #[test]
    fn halves_round_towards_zero() {
        for (value, half) in
            [(-3, -1), (-2, -1), (-1, 0), (0, 0), (1, 0), (2, 1), (3, 1), (i32::MIN, i32::MIN / 2)]
        {
            assert_eq!(Int(value).half(), Int(half));
        }
    }

    /// Figures of the reference's transform, for one block of a rule.
    #[test]
    fn equals_the_reference_on_a_block() {
        let mut block: Block<i32, LANES> =
            std::array::from_fn(|at| [((at * at * 37 + at * 11) % 256) as i32; LANES]);
        let mut lines = Vec::new();
        transform_block(&mut block, |line| lines.push(line));
        assert_eq!(lines, Vec::from_iter(0..LINES));
        for lane in 0..LANES {
            assert_eq!(block.map(|ints| ints[lane]), EXPECTED);
        }
    }

    #[rustfmt::skip]
    const EXPECTED: [i32; 64] = [
        1072, -33, -142, 28, -89, 99, 77, 80, 79, -47, -108, 8, -72, 82, 25, -106,
        -94, -89, -32, -18, 25, 90, 76, 17, -50, -15, 88, 15, -96, -104, -15, 38,
        -65, 22, -119, -30, 64, -152, 49, -14, -138, -92, 51, -61, -79, -26, 10, -7,
        109, 77, 14, 76, 59, -52, -32, 51, -27, -59, 20, -72, 63, -50, -97, -36,
    ];
}
