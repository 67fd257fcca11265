//! The table of logarithms, computed instead of looked up.
//!
//! A vector has no cheap way to read a table of 2^15 entries, but it can look up a handful. The leading bits of the
//! mantissa choose an interval; `x = mantissa · inverse - 1` is small there, `inverse` being close to 2^(-base/2048),
//! and `base + 2048·log2(1 + x)` is a short polynomial away. Its last multiplication adds 1.5 · 2^23 as well, which rounds
//! the sum to an integer in the low bits.
//!
//! The table's logarithms were rounded to single precision before they were scaled, which lifts those that lie less than
//! 2^-10 below a half. The inverses are larger than 2^(-base/2048) by as much, so that the lift costs no operation. The constants
//! were searched so that all 2^15 results are equal to the table's; a test looks at each of them.

use crate::simd::Vector;

/// Added to a small float, it leaves the float's nearest integer in the low bits.
const ROUND: f32 = 12_582_912.0;

/// What the second part holds beside the logarithm.
pub const ORIGIN: i32 = ROUND.to_bits() as i32;

struct Fit {
    /// Bits of the mantissa that choose the interval.
    bits: u32,
    inverses: &'static [u32],
    bases: &'static [u16],
    /// Factors of x, x², ….
    factors: &'static [f32],
}

const SIXTEEN: Fit = Fit {
    bits: 4,
    inverses: &[
        0x3f781158, 0x3f6a0a04, 0x3f5d670b, 0x3f51cd8e, 0x3f47d2aa, 0x3f3e82d3, 0x3f36105c, 0x3f2e4938,
        0x3f272df5, 0x3f20a269, 0x3f1a8dfd, 0x3f14f4f2, 0x3f0fb525, 0x3f0ad4ca, 0x3f064d4c, 0x3f020d6d,
    ],
    bases: &[93, 265, 429, 588, 732, 873, 1007, 1136, 1259, 1377, 1491, 1600, 1706, 1808, 1906, 2001],
    factors: &[f32::from_bits(0x4538aa3b), f32::from_bits(0xc4b8bc8c), f32::from_bits(0x4475a631)],
};

const EIGHT: Fit = Fit {
    bits: 3,
    inverses: &[
        0x3f70f38d, 0x3f578faa, 0x3f431414, 0x3f321a34, 0x3f23d19f, 0x3f17a725, 0x3f0d3f95, 0x3f042344,
    ],
    bases: &[179, 508, 803, 1072, 1319, 1547, 1757, 1954],
    factors: &[
        f32::from_bits(0x4538aa35),
        f32::from_bits(0xc4b8a990),
        f32::from_bits(0x4476e526),
        f32::from_bits(0xc438d002),
    ],
};

const fn fit(entries: usize) -> &'static Fit {
    if entries == 16 { &SIXTEEN } else { &EIGHT }
}

/// The constants in registers.
#[derive(Clone, Copy)]
pub struct Log<S: Vector> {
    inverses: S::Table,
    rounders: S::Table,
}

impl<S: Vector> Log<S> {
    /// What a step from one interval to the next stands for: all of an octave make 2048.
    pub const INTERVAL: i64 = 2048 >> fit(S::ENTRIES).bits;

    #[inline(always)]
    pub fn new(s: S) -> Self {
        let fit = fit(S::ENTRIES);
        let (mut inverses, mut rounders) = ([0.0; 16], [0.0; 16]);
        let step = Self::INTERVAL;
        for (entry, (inverse, base)) in fit.inverses.iter().zip(fit.bases).enumerate() {
            inverses[entry] = f32::from_bits(*inverse);
            rounders[entry] = ROUND + (f32::from(*base) - (entry as i64 * step) as f32);
        }
        Self { inverses: s.table(&inverses), rounders: s.table(&rounders) }
    }

    /// What to add up for the logarithms of positive floats, given by their bits, of which the 15 leading mantissa bits
    /// are looked at. 2048 · log2 is the first part · [`INTERVAL`](Self::INTERVAL) plus the second part, less [`ORIGIN`].
    ///
    /// All of them take each step before any takes the next: a processor that meets the steps of one logarithm in a row fills
    /// its queues with operations that wait for each other.
    #[inline(always)]
    pub fn parts<const COUNT: usize>(&self, s: S, floats: [S::Int; COUNT]) -> [[S::Int; COUNT]; 2] {
        let fit = fit(S::ENTRIES);
        let (mut intervals, mut x, mut sums) = (floats, floats, floats);
        for i in 0..COUNT {
            let mantissa = s.or(s.and(floats[i], s.splat32(0x007f_ff00)), s.splat32(0x3f80_0000));
            x[i] = s.pin(mantissa);
            intervals[i] = s.pin(s.shr32(floats[i], 23 - fit.bits));
        }
        for i in 0..COUNT {
            let inverse = s.look_up(self.inverses, intervals[i]);
            x[i] = s.pin(s.bits(s.fused(s.float(x[i]), inverse, s.splat_float(-1.0))));
        }
        let (last, factors) = (fit.factors.len() - 1, fit.factors);
        for i in 0..COUNT {
            let sum = s.fused(s.float(x[i]), s.splat_float(factors[last]), s.splat_float(factors[last - 1]));
            sums[i] = s.pin(s.bits(sum));
        }
        for factor in factors[..last - 1].iter().rev() {
            for i in 0..COUNT {
                sums[i] = s.pin(s.bits(s.fused(s.float(x[i]), s.float(sums[i]), s.splat_float(*factor))));
            }
        }
        for i in 0..COUNT {
            let rounder = s.look_up(self.rounders, intervals[i]);
            sums[i] = s.pin(s.bits(s.fused(s.float(x[i]), s.float(sums[i]), rounder)));
        }
        [intervals, sums]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vif::log2_table;

    /// The steps of [`Log::parts`], one number at a time: a fused operation rounds once on every machine.
    fn logarithm(fit: &Fit, float: f32) -> i64 {
        let step = 2048i64 >> fit.bits;
        let interval = float.to_bits() >> (23 - fit.bits);
        let entry = interval as usize & (fit.bases.len() - 1);
        let mantissa = f32::from_bits(float.to_bits() & 0x007f_ff00 | 0x3f80_0000);
        let x = mantissa.mul_add(f32::from_bits(fit.inverses[entry]), -1.0);
        let sum = fit.factors.iter().rev().copied().reduce(|sum, factor| x.mul_add(sum, factor)).unwrap();
        let rounder = ROUND + (f32::from(fit.bases[entry]) - (entry as i64 * step) as f32);
        let rounded = x.mul_add(sum, rounder).to_bits() as i32 - ORIGIN;
        i64::from(interval) * step + i64::from(rounded) - 127 * 2048
    }

    #[test]
    fn every_logarithm_is_the_tables() {
        for fit in [&SIXTEEN, &EIGHT] {
            for (n, expected) in (1u32 << 15..).zip(log2_table()) {
                assert_eq!(logarithm(fit, n as f32), i64::from(*expected), "{n} with {} bits", fit.bits);
            }
        }
    }
}
