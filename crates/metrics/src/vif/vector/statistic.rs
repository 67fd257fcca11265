//! From variances to information: the division, then the logarithms.
//!
//! # What is computed
//!
//! The end of libvmaf's `vif_statistic`. The distorted picture is taken for the reference with a gain g plus noise of
//! variance σᵥ²:
//!
//! ```text
//! g = σ₁₂ / (σ₁² + ε)      σᵥ² = σ₂² - g·σ₁₂      (g limited afterwards)
//! numerator   log2(1 + g²·σ₁² / (σᵥ² + σₙ²))
//! denominator log2(1 + σ₁² / σₙ²)
//! ```
//!
//! in units of 1/2048, over all pixels with σ₁² ≥ σₙ² (`accum_num_log`, `accum_den_log`). Others are flat: they are counted,
//! and their σ₂² is summed (`accum_den_non_log`, `accum_num_non_log`).
//!
//! # Why it is exact
//!
//! The division is in double precision, each operation rounded on its own ([`Vector::regress`]), and its results are cut to
//! integers ([`Vector::store_doubles`]); that is libvmaf's arithmetic, and no multiply-add is fused. A noise below zero counts as
//! zero, so that it does not matter in which direction it is cut.
//!
//! A logarithm depends on the 16 leading bits of a number alone. Converting to `f32` puts them, behind the leading one, at the
//! top of the mantissa, provided that nothing is carried into them: [`Vector::leading_bits`] cuts instead of rounding. The
//! table's value is then computed from the mantissa ([`Log`]), and the exponent is the shift. log2(a / b) is a difference of
//! two logarithms; the origin that [`Log`] adds to each cancels in the numerator and is taken off the denominator's sum once.
//!
//! Pixels that have nothing to add must not branch: the signal is added to the noise only where the mask says so
//! (`add_where`), and elsewhere the two logarithms are equal and cancel. Pixels beyond the right edge are made flat, and their
//! number is subtracted at the end.
//!
//! Sums over a row fit 32 bits: a lane gets less than 2^12 per pixel.

use super::buffers::MAX_WORDS;
use crate::simd::{Lines, Vector};
use crate::vif::log::{Log, ORIGIN};
use crate::vif::scalar::{EPSILON, SIGMA_NSQ};
use crate::vif::score::VifSums;

/// Pixels are shared this many blocks after their moments: both can then be done at the same time, as neither waits for
/// the other.
pub const LAG: usize = 2;

/// The pixels of one row on their way to the sums, block by block.
#[derive(Debug)]
pub struct Pixels {
    /// Variance of the reference, variance of the distorted picture, covariance. Each has the pixels at even columns
    /// first, then those at odd ones.
    moments: Lines<i32>,
    /// The noise that the reference does not explain, and the signal that it does.
    shares: Lines<i32>,
}

impl Pixels {
    /// Room for a row, and for blocks without meaning before and behind it.
    pub fn new(width: usize) -> Self {
        let columns = width.next_multiple_of(MAX_WORDS) + 2 * LAG * MAX_WORDS;
        Self { moments: Lines::new(3 * columns), shares: Lines::new(2 * columns) }
    }

    /// Makes the pixels right of the picture flat: such pixels add nothing to the sums.
    pub fn flatten_beyond<S: Vector>(&mut self, width: usize) {
        for column in width..width.next_multiple_of(S::WORDS) {
            let (block, column) = (LAG + column / S::WORDS, column % S::WORDS);
            for number in 0..3 {
                let row = (3 * block + number) * S::WORDS;
                self.moments[row + column % 2 * S::LANES + column / 2] = 0;
            }
        }
    }

    /// A block's moments to be written, and the block `LAG` before it to be shared.
    #[inline(always)]
    pub fn turn<S: Vector>(&mut self, block: usize) -> (&mut [i32], Before<'_>) {
        let moments = &mut self.moments[block * 3 * S::WORDS..][..(LAG + 1) * 3 * S::WORDS];
        let shares = &mut self.shares[block * 2 * S::WORDS..][..2 * S::WORDS];
        let (before, moments) = moments.split_at_mut(LAG * 3 * S::WORDS);
        (moments, Before { moments: &before[..3 * S::WORDS], shares })
    }
}

/// Noise and signal.
pub type Shares<S> = [<S as Vector>::Doubles; 2];

/// A block of pixels whose moments are there.
#[derive(Debug)]
pub struct Before<'a> {
    moments: &'a [i32],
    shares: &'a mut [i32],
}

impl Before<'_> {
    /// Splits a quarter of the block's pixels into noise and signal. Pixels for which that has no meaning get some
    /// numbers; the tally does not use them, whatever they are.
    #[inline(always)]
    pub fn share<S: Vector>(&self, s: S, quarter: usize, gain_limit: f64) -> Shares<S> {
        let at = quarter * S::LANES / 2;
        let variance = s.load_doubles(self.moments, at);
        let other = s.load_doubles(self.moments, S::WORDS + at);
        let covariance = s.load_doubles(self.moments, 2 * S::WORDS + at);
        let [noise, signal] = s.regress(variance, other, covariance, EPSILON, gain_limit);
        [s.pin_doubles(noise), s.pin_doubles(signal)]
    }

    /// Keeps the shares of one half of the block, given by its quarters.
    #[inline(always)]
    pub fn keep<S: Vector>(&mut self, s: S, half: usize, [first, second]: [Shares<S>; 2]) {
        for which in 0..2 {
            s.store_doubles(self.shares, which * S::WORDS + half * S::LANES, [first[which], second[which]]);
        }
    }

    /// Shares a half of the block's pixels, and keeps what comes of it.
    #[inline(always)]
    pub fn share_half<S: Vector>(&mut self, s: S, half: usize, gain_limit: f64) {
        let first = self.share(s, 2 * half, gain_limit);
        let second = self.share(s, 2 * half + 1, gain_limit);
        self.keep(s, half, [first, second]);
    }
}

/// Splits a whole row's pixels into noise and signal once more, under another limit of the gain.
#[inline(always)]
pub fn share_row<S: Vector>(s: S, pixels: &mut Pixels, width: usize, gain_limit: f64) {
    let moments = pixels.moments.chunks_exact(3 * S::WORDS);
    let shares = pixels.shares.chunks_exact_mut(2 * S::WORDS);
    for (moments, shares) in moments.zip(shares).skip(LAG).take(width.div_ceil(S::WORDS)) {
        let mut block = Before { moments, shares };
        block.share_half(s, 0, gain_limit);
        block.share_half(s, 1, gain_limit);
    }
}

/// Adds a row's information to the sums.
#[inline(always)]
pub fn add_row<S: Vector>(s: S, pixels: &Pixels, width: usize, sums: &mut VifSums) {
    let blocks = width.div_ceil(S::WORDS);
    let mut tally = Tally::new(s);
    let moments = pixels.moments.chunks_exact(3 * S::WORDS);
    let shares = pixels.shares.chunks_exact(2 * S::WORDS);
    for (moments, shares) in moments.zip(shares).skip(LAG).take(blocks) {
        if S::MANY_REGISTERS {
            tally.add::<2, 6>(s, moments, shares, 0);
        } else {
            tally.add::<1, 3>(s, moments, shares, 0);
            tally.add::<1, 3>(s, moments, shares, 1);
        }
    }
    tally.finish(s, blocks, width, sums);
}

/// Sums over the pixels of a row. 32 bits suffice: a lane gets less than 2^12 per pixel.
#[derive(Clone, Copy)]
struct Tally<S: Vector> {
    log: Log<S>,
    /// The logarithms of the numerator and of the denominator, in the parts that they come in.
    num: [S::Int; 2],
    den: [S::Int; 2],
    /// Number of pixels that have no logarithm.
    flat: S::Int,
    /// Sum of the distorted picture's variance there; in 64 bits.
    flat_variance: S::Int,
}

impl<S: Vector> Tally<S> {
    #[inline(always)]
    fn new(s: S) -> Self {
        let zero = s.zero();
        Self { log: Log::new(s), num: [zero; 2], den: [zero; 2], flat: zero, flat_variance: zero }
    }

    /// Adds one half of a block or both. Where a pixel has nothing to add, logarithms are taken of numbers that cancel.
    #[inline(always)]
    fn add<const HALVES: usize, const LOGS: usize>(
        &mut self,
        s: S,
        moments: &[i32],
        shares: &[i32],
        first: usize,
    ) {
        let floor = s.splat32(SIGMA_NSQ);
        let mut lowest = s.load(moments, first * S::LANES);
        if HALVES == 2 {
            lowest = s.min32(lowest, s.load(moments, (first + 1) * S::LANES));
        }
        // Most blocks have no flat pixels.
        if s.is_any(s.greater32(floor, lowest)) {
            self.add_logs::<HALVES, LOGS, true>(s, moments, shares, first);
            self.add_flat::<HALVES>(s, moments, first);
        } else {
            self.add_logs::<HALVES, LOGS, false>(s, moments, shares, first);
        }
    }

    /// The logarithms. Unless some pixels may be `FLAT`, the reference's variance needs no mask.
    #[inline(always)]
    fn add_logs<const HALVES: usize, const LOGS: usize, const FLAT: bool>(
        &mut self,
        s: S,
        moments: &[i32],
        shares: &[i32],
        first: usize,
    ) {
        let (zero, floor) = (s.zero(), s.splat32(SIGMA_NSQ));
        let mut floats = [zero; LOGS];
        for half in 0..HALVES {
            let at = (first + half) * S::LANES;
            let variance_ref = s.load(moments, at);
            let variance_dis = s.load(moments, S::WORDS + at);
            let covariance = s.load(moments, 2 * S::WORDS + at);
            let mut related = s.greater32(s.min32(covariance, variance_dis), zero);
            let mut information = s.add32(floor, variance_ref);
            if FLAT {
                let textured = s.greater32(variance_ref, s.splat32(SIGMA_NSQ - 1));
                related = s.both(textured, related);
                information = s.add_where(floor, textured, variance_ref);
            }
            let noise = s.add32(s.max32(s.load(shares, at), zero), floor);
            let signal = s.load(shares, S::WORDS + at);
            floats[3 * half] = s.pin(s.leading_bits(information));
            floats[3 * half + 1] = s.pin(s.leading_bits(s.add_where(noise, related, signal)));
            floats[3 * half + 2] = s.pin(s.leading_bits(noise));
        }
        let logs = self.log.parts(s, floats);
        for half in 0..HALVES {
            for part in 0..2 {
                let logs = &logs[part][3 * half..];
                self.den[part] = s.add32(self.den[part], logs[0]);
                self.num[part] = s.add32(self.num[part], s.sub32(logs[1], logs[2]));
            }
        }
    }

    /// What pixels without logarithms add.
    #[inline(always)]
    fn add_flat<const HALVES: usize>(&mut self, s: S, moments: &[i32], first: usize) {
        let (zero, floor) = (s.zero(), s.splat32(SIGMA_NSQ));
        for half in 0..HALVES {
            let at = (first + half) * S::LANES;
            let flat = s.greater32(floor, s.load(moments, at));
            let variance_dis = s.load(moments, S::WORDS + at);
            self.flat = s.add_where(self.flat, flat, s.splat32(1));
            self.flat_variance = s.add_wide(self.flat_variance, s.keep(flat, s.max32(variance_dis, zero)));
        }
    }

    /// Hands the sums over, `blocks` having been added, of which `pixels` pixels count.
    #[inline(always)]
    fn finish(self, s: S, blocks: usize, pixels: usize, sums: &mut VifSums) {
        let vectors = 2 * blocks as i64;
        let origins = s.splat32((vectors as i32).wrapping_mul(ORIGIN));
        let interval = Log::<S>::INTERVAL;
        sums.num_log += interval * s.sum32(self.num[0]) + s.sum32(self.num[1]);
        sums.den_log += interval * s.sum32(self.den[0]) + s.sum32(s.sub32(self.den[1], origins));
        // Exponents are biased by 127, and the noise floor's 17 are taken off.
        sums.den_log -= 2048 * (127 + 17) * vectors * S::LANES as i64;
        sums.num_non_log += s.sum64(self.flat_variance);
        // The pixels beyond the picture are flat as well, and do not count.
        sums.den_non_log += s.sum32(self.flat) - (vectors * S::LANES as i64 - pixels as i64);
    }
}
