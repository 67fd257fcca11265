//! From two sets of block statistics to one score.

use super::geometry::CELLS;
use super::stats::{Stats, UNIT_ENTROPY};
use crate::math;

/// Whose variances weigh the entropies of reference and distorted blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// Each side by its own.
    Own,
    /// Both by the reference's.
    Reference,
    /// Both by the distorted's.
    Distorted,
    /// Both by the mean of the two.
    Mean,
    /// The reference by its own, the distorted by the mean.
    OwnAndMean,
    /// The reference by its own, the distorted by a mixture of 3/4 reference and 1/4 distorted.
    OwnAndMostlyReference,
    /// The reference by its own, the distorted by a mixture of 1/4 reference and 3/4 distorted.
    OwnAndMostlyDistorted,
}

impl Weighting {
    /// By the number that the option takes.
    pub const MODES: [Self; 7] = [
        Self::Own,
        Self::Reference,
        Self::Distorted,
        Self::Mean,
        Self::OwnAndMean,
        Self::OwnAndMostlyReference,
        Self::OwnAndMostlyDistorted,
    ];

    /// The weights of the reference's and the distorted's entropy, from their variances.
    fn weights(self, reference: f32, distorted: f32) -> (f64, f64) {
        // A single variance is added to one in `f32`, a mixture in `f64`.
        let single = |variance: f32| math::log2(f64::from(1.0 + variance));
        let mean = || math::log2(1.0 + f64::from(reference + distorted) / 2.0);
        let mixed = |share: f64| {
            math::log2(1.0 + (share * f64::from(reference) + (1.0 - share) * f64::from(distorted)))
        };
        match self {
            Self::Own => (single(reference), single(distorted)),
            Self::Reference => twice(single(reference)),
            Self::Distorted => twice(single(distorted)),
            Self::Mean => twice(mean()),
            Self::OwnAndMean => (single(reference), mean()),
            Self::OwnAndMostlyReference => (single(reference), mixed(0.75)),
            Self::OwnAndMostlyDistorted => (single(reference), mixed(0.25)),
        }
    }
}

fn twice(weight: f64) -> (f64, f64) {
    (weight, weight)
}

/// How two sets of statistics are compared.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    weighting: Weighting,
    /// Entropy below which a block shows nothing.
    base_entropy: f32,
}

impl Comparison {
    /// `noise` is the neural noise, `floor` the part of it by which a block must rise above it.
    pub fn new(weighting: Weighting, noise: f32, floor: f32) -> Self {
        let base = math::log2(f64::from((1.0 + floor) * noise)) + UNIT_ENTROPY;
        Self { weighting, base_entropy: (CELLS as f64 * base) as f32 }
    }

    /// The mean, over all blocks, of the difference of weighted entropies.
    pub fn score(&self, reference: &Stats, distorted: &Stats) -> f32 {
        let mut sum = 0.0f32;
        for block in 0..reference.entropies.len() {
            let entropies = [reference.entropies[block], distorted.entropies[block]];
            if entropies.iter().all(|entropy| *entropy < self.base_entropy) {
                continue;
            }
            let weights = self.weighting.weights(reference.variances[block], distorted.variances[block]);
            let weighted = |entropy: f32, weight: f64| (f64::from(entropy) * weight) as f32;
            sum += (weighted(entropies[0], weights.0) - weighted(entropies[1], weights.1)).abs();
        }
        sum / reference.entropies.len() as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights by the mode's number, each written out.
    fn naive_weights(mode: usize, r: f32, d: f32) -> (f64, f64) {
        let log = math::log2;
        let own = |variance: f32| log(f64::from(1.0 + variance));
        let (wide_r, wide_d) = (f64::from(r), f64::from(d));
        match mode {
            0 => (own(r), own(d)),
            1 => (own(r), own(r)),
            2 => (own(d), own(d)),
            3 => (log(1.0 + f64::from(r + d) / 2.0), log(1.0 + f64::from(r + d) / 2.0)),
            4 => (own(r), log(1.0 + f64::from(r + d) / 2.0)),
            5 => (own(r), log(1.0 + (0.75 * wide_r + 0.25 * wide_d))),
            _ => (own(r), log(1.0 + (0.25 * wide_r + 0.75 * wide_d))),
        }
    }

    fn stats(entropies: &[f32], variances: &[f32]) -> Stats {
        Stats { entropies: entropies.to_vec(), variances: variances.to_vec() }
    }

    #[test]
    fn every_mode_weighs_as_its_number_says() {
        let reference = stats(&[90.0, 120.5, 100.0, 80.0], &[0.3, 2.7, 0.0, 0.01]);
        let distorted = stats(&[85.0, 130.25, 100.0, 70.0], &[0.7, 1.1, 0.5, 0.02]);
        for (mode, weighting) in Weighting::MODES.into_iter().enumerate() {
            let mut expected = 0.0f32;
            // The last block is below the floor: 25 * log2(0.3 * 2 pi e) is 58.9, of 0.6 it is 83.9.
            for block in 0..3 {
                let weights = naive_weights(mode, reference.variances[block], distorted.variances[block]);
                let one = (f64::from(reference.entropies[block]) * weights.0) as f32;
                let other = (f64::from(distorted.entropies[block]) * weights.1) as f32;
                expected += (one - other).abs();
            }
            let got = Comparison::new(weighting, 0.3, 1.0).score(&reference, &distorted);
            assert_eq!(got.to_bits(), (expected / 4.0).to_bits(), "mode {mode}");
        }
    }

    #[test]
    fn blocks_below_the_noise_floor_are_equal() {
        let [quiet, loud] = [80.0, 90.0].map(|entropy| stats(&[entropy], &[1.0]));
        let quieter = stats(&[70.0], &[1.0]);
        let score = |floor, a, b| Comparison::new(Weighting::Own, 0.3, floor).score(a, b);
        assert_eq!(score(1.0, &quiet, &quieter), 0.0);
        assert_eq!(score(0.0, &quiet, &quieter), 10.0);
        assert_eq!(score(1.0, &loud, &quieter), 20.0);
        assert_eq!(score(1.0, &quieter, &loud), 20.0);
    }

    #[test]
    fn no_number_stays_no_number() {
        let broken = stats(&[f32::NAN], &[f32::NAN]);
        assert!(Comparison::new(Weighting::Own, 0.3, 0.0).score(&broken, &broken).is_nan());
    }
}
