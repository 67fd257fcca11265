//! Along the rows: variances from moments, and the next scale's picture.
//!
//! # What is computed
//!
//! The horizontal half of libvmaf's `vif_statistic`: the five moments of a row, which `vertical` left, are filtered along it;
//! then `σ₁² = E[x²] - μ₁²`, `σ₂² = E[y²] - μ₂²` and `σ₁₂ = E[xy] - μ₁μ₂` per pixel (`sigma1_sq`, `sigma2_sq`, `sigma12`).
//! And the horizontal half of `vif_subsample_rd`, which keeps every second column.
//!
//! # Why it is exact
//!
//! A product's moment has up to 32 bits. It lies in two planes of words, high and low, each less 2^15 so that it is a signed
//! word for the dot product. Both are filtered alone in 32 bits; taps sum to 2^16, so the bias adds up to 2^31, which the start
//! value takes off again. The sum of the low words, rounded and shifted by 16, is the carry into the sum of the high words:
//! together they are the 48-bit sum shifted by 16, as libvmaf has it.
//!
//! A product of means has 64 bits, of which the upper half is wanted, rounded (`mul_scaled32`). The differences are taken
//! modulo 2^32, and the results fit.
//!
//! # Registers
//!
//! A lane holds two neighbouring columns, so that even and odd columns are separate sums over the same loads. Four planes
//! at a time have eight sums; with the taps and a load that is a dozen registers, and it leaves room for the division of an
//! earlier block, which has nothing to do with this one and keeps other units busy ([`turn`]). It begins after a few turns of
//! the filter and is pinned there ([`Sharing`]): the compiler would do it between two filters, where the processor has to look
//! further ahead to do both at the same time (on Zen 4 the loop then takes a tenth longer). AVX2 does not gain by that even where
//! registers suffice: there the division follows when the row is finished ([`moments_of`]).

use super::buffers::Rows;
use super::kind::SURPLUS;
use super::statistic::{Before, LAG, Pixels, Shares, share_row};
use super::window::{MAX_PAIRS, Window, two_words};
use crate::simd::{Splats, Vector};

/// What takes the bias off a sum of high words: all planes are biased by -2^15, and taps sum to 2^16.
const HIGH_BIAS: i32 = i32::MIN.wrapping_sub(SURPLUS);

/// Work between the turns of a filter.
trait Meanwhile<S: Vector> {
    fn after(&mut self, s: S, turn: usize, turns: usize);
}

impl<S: Vector> Meanwhile<S> for () {
    #[inline(always)]
    fn after(&mut self, _: S, _: usize, _: usize) {}
}

/// Shares one half of an earlier block out, quarter by quarter.
struct Sharing<'a, 'b, S: Vector> {
    before: &'a mut Before<'b>,
    half: usize,
    gain_limit: f64,
    first_quarter: Option<Shares<S>>,
}

impl<'a, 'b, S: Vector> Sharing<'a, 'b, S> {
    fn new(before: &'a mut Before<'b>, half: usize, gain_limit: f64) -> Self {
        Self { before, half, gain_limit, first_quarter: None }
    }
}

impl<S: Vector> Meanwhile<S> for Sharing<'_, '_, S> {
    #[inline(always)]
    fn after(&mut self, s: S, turn: usize, turns: usize) {
        if turn == 1 {
            self.first_quarter = Some(self.before.share(s, 2 * self.half, self.gain_limit));
        }
        if turn == 3.min(turns - 1) {
            let second = self.before.share(s, 2 * self.half + 1, self.gain_limit);
            if let Some(first) = self.first_quarter {
                self.before.keep(s, self.half, [first, second]);
            }
        }
    }
}

/// The window over planes of a block, at even and at odd columns: `[plane][parity]`. Planes that are filtered together share
/// what is loaded of the taps.
#[inline(always)]
fn filtered<S: Vector, const SCALE: usize, const PLANES: usize>(
    s: S,
    planes: [&[i16]; PLANES],
    start: [S::Int; PLANES],
    mut meanwhile: impl Meanwhile<S>,
) -> [[S::Int; 2]; PLANES] {
    let mut sums = [[start[0]; 2]; PLANES];
    for plane in 0..PLANES {
        sums[plane] = [start[plane]; 2];
    }
    // The compiler keeps a loop of nine turns for AVX2, which takes 2 % longer.
    macro_rules! unrolled {
        ($($i:literal)*) => {$(
            if $i < Window::<SCALE>::PAIRS {
                let even = s.splat32(Window::<SCALE>::EVEN[$i]);
                let odd = s.splat32(Window::<SCALE>::ODD[$i]);
                for plane in 0..PLANES {
                    let words = s.load(planes[plane], 2 * $i);
                    sums[plane][0] = s.dot_pinned(sums[plane][0], words, even);
                    sums[plane][1] = s.dot_pinned(sums[plane][1], words, odd);
                }
                meanwhile.after(s, $i, Window::<SCALE>::PAIRS);
            }
        )*};
    }
    const { assert!(MAX_PAIRS == 9) };
    unrolled!(0 1 2 3 4 5 6 7 8);
    if let Some(half) = Window::<SCALE>::HALF_CENTRE {
        let (even, odd) = (s.splat32(two_words(half, 0)), s.splat32(two_words(0, half)));
        for plane in 0..PLANES {
            let centre = s.load(planes[plane], 2 * Window::<SCALE>::REACH);
            sums[plane][0] = s.dot(sums[plane][0], centre, even);
            sums[plane][1] = s.dot(sums[plane][1], centre, odd);
        }
    }
    sums
}

/// Finishes the moments of one of the four rows, and shares its pixels out.
#[inline(always)]
pub fn horizontal<S: Vector, const SCALE: usize>(
    s: S,
    rows: &Rows,
    row: usize,
    width: usize,
    gain_limit: f64,
    pixels: &mut Pixels,
) {
    let reach = 2 * Window::<SCALE>::REACH;
    let rows = rows.windows::<8>(8 * row, reach);
    let blocks = width.div_ceil(S::WORDS);
    for block in 0..blocks {
        // All memory is checked here; what follows is free of branches.
        let planes = rows.at(block * S::WORDS, S::WORDS + 2 * reach);
        let (moments, mut before) = pixels.turn::<S>(block);
        if S::MANY_REGISTERS {
            turn::<S, SCALE>(s, planes, moments, &mut before, gain_limit);
        } else {
            moments_of::<S, SCALE>(s, planes, moments);
        }
    }
    pixels.flatten_beyond::<S>(width);
    if !S::MANY_REGISTERS {
        share_row(s, pixels, width, gain_limit);
        return;
    }
    for block in blocks..blocks + LAG {
        let (_, mut before) = pixels.turn::<S>(block);
        before.share_half(s, 0, gain_limit);
        before.share_half(s, 1, gain_limit);
    }
}

/// Variances and covariance of a block. Meanwhile an earlier block is shared out: that work is
/// independent, and other units of the processor do it.
#[inline(always)]
fn turn<S: Vector, const SCALE: usize>(
    s: S,
    planes: [&[i16]; 8],
    out: &mut [i32],
    before: &mut Before<'_>,
    gain_limit: f64,
) {
    // All planes are biased by -2^15, and taps sum to 2^16.
    let bias = s.splat32(i32::MIN);
    let high_bias = s.splat32(HIGH_BIAS);
    let rounded = s.splat32(i32::MIN + (1 << 15));
    let [m0, m1, r0, r1, d0, d1, p0, p1] = planes;
    let sharing = Sharing::new(before, 0, gain_limit);
    let [mean_ref, mean_dis, high, low] =
        filtered::<S, SCALE, 4>(s, [m0, m1, r0, r1], [bias, bias, high_bias, rounded], sharing);
    store_central(s, [high, low], mean_ref, mean_ref, &mut out[..S::WORDS]);
    let sharing = Sharing::new(before, 1, gain_limit);
    let [high, low, both_high, both_low] =
        filtered::<S, SCALE, 4>(s, [d0, d1, p0, p1], [high_bias, rounded, high_bias, rounded], sharing);
    store_central(s, [high, low], mean_dis, mean_dis, &mut out[S::WORDS..2 * S::WORDS]);
    store_central(s, [both_high, both_low], mean_ref, mean_dis, &mut out[2 * S::WORDS..3 * S::WORDS]);
}

/// The same for few registers, without the sharing, which is done later: doing two things at the same time costs more than it
/// brings.
#[inline(always)]
fn moments_of<S: Vector, const SCALE: usize>(s: S, planes: [&[i16]; 8], out: &mut [i32]) {
    let bias = s.splat32(i32::MIN);
    let rounded = s.splat32(i32::MIN + (1 << 15));
    let [m0, m1, r0, r1, d0, d1, p0, p1] = planes;
    let [mut mean_ref, mut mean_dis, high, low] = with_bias::<S, SCALE>(s, [m0, m1, r0, r1]);
    for parity in 0..2 {
        mean_ref[parity] = s.add32(mean_ref[parity], bias);
        mean_dis[parity] = s.add32(mean_dis[parity], bias);
    }
    store_biased(s, [high, low], mean_ref, mean_ref, rounded, &mut out[..S::WORDS]);
    let [high, low, both_high, both_low] = with_bias::<S, SCALE>(s, [d0, d1, p0, p1]);
    store_biased(s, [high, low], mean_dis, mean_dis, rounded, &mut out[S::WORDS..2 * S::WORDS]);
    let both = [both_high, both_low];
    store_biased(s, both, mean_ref, mean_dis, rounded, &mut out[2 * S::WORDS..3 * S::WORDS]);
}

/// The window over four planes, with the bias that they have: sums begin with the first products instead of a start value, which
/// would have to be copied into their registers.
#[inline(always)]
fn with_bias<S: Vector, const SCALE: usize>(s: S, planes: [&[i16]; 4]) -> [[S::Int; 2]; 4] {
    let mut sums = [[s.zero(); 2]; 4];
    let taps = const { [&Splats::new(Window::<SCALE>::EVEN), &Splats::new(Window::<SCALE>::ODD)] };
    for plane in 0..4 {
        let words = s.load(planes[plane], 0);
        sums[plane][0] = s.first_dot(words, s.splat32(Window::<SCALE>::EVEN[0]));
        sums[plane][1] = s.first_dot(words, s.splat32(Window::<SCALE>::ODD[0]));
    }
    macro_rules! unrolled {
        ($($i:literal)*) => {$(
            if $i < Window::<SCALE>::PAIRS {
                s.dot_planes::<$i, MAX_PAIRS>(&mut sums, planes, taps);
            }
        )*};
    }
    const { assert!(MAX_PAIRS == 9) };
    unrolled!(1 2 3 4 5 6 7 8);
    if let Some(half) = Window::<SCALE>::HALF_CENTRE {
        let (even, odd) = (s.splat32(two_words(half, 0)), s.splat32(two_words(0, half)));
        for plane in 0..4 {
            let centre = s.load(planes[plane], 2 * Window::<SCALE>::REACH);
            sums[plane][0] = s.dot(sums[plane][0], centre, even);
            sums[plane][1] = s.dot(sums[plane][1], centre, odd);
        }
    }
    sums
}

/// The same as [`store_central`] of biased words. The high words' bias is taken off together with the product of the means.
#[inline(always)]
fn store_biased<S: Vector>(
    s: S,
    [high, low]: [[S::Int; 2]; 2],
    a: [S::Int; 2],
    b: [S::Int; 2],
    rounded: S::Int,
    out: &mut [i32],
) {
    for parity in 0..2 {
        let moment = s.add32(high[parity], s.shr32(s.add32(low[parity], rounded), 16));
        let means = s.mul_scaled32_less(a[parity], b[parity], HIGH_BIAS);
        s.store(out, parity * S::LANES, s.sub32(moment, means));
    }
}

/// A central moment: the high and low words of a product's mean, less the product of the means.
#[inline(always)]
fn store_central<S: Vector>(s: S, words: [[S::Int; 2]; 2], a: [S::Int; 2], b: [S::Int; 2], out: &mut [i32]) {
    for parity in 0..2 {
        let moment = s.add32(words[0][parity], s.shr32(words[1][parity], 16));
        s.store(out, parity * S::LANES, s.sub32(moment, s.mul_scaled32(a[parity], b[parity])));
    }
}

/// Filters a row for the next scale and keeps its even columns.
#[inline(always)]
pub fn thin<S: Vector, const NEXT: usize>(s: S, rows: &Rows, row: usize, blocks: usize, out: &mut [u16]) {
    let reach = 2 * Window::<NEXT>::REACH;
    let rows = rows.windows::<1>(row, reach);
    for block in 0..blocks {
        let [window] = rows.at(block * S::WORDS, S::WORDS + 2 * reach);
        let mut sum = s.splat32(i32::MIN + (1 << 15));
        for i in 0..Window::<NEXT>::PAIRS {
            sum = s.dot(sum, s.load(window, 2 * i), s.splat32(Window::<NEXT>::EVEN[i]));
        }
        if let Some(half) = Window::<NEXT>::HALF_CENTRE {
            sum = s.dot(sum, s.load(window, reach), s.splat32(two_words(half, 0)));
        }
        s.store_words(out, block * S::LANES, s.shr32(sum, 16));
    }
}
