//! The integers that a device delivers for a pair.

use visus_metrics::device::{AdmSums, VifSums};

use crate::arguments::{BAND_SUMS, MAX_GAINS, VIF_SCALE_SUMS};
use crate::work::Work;

const SCALES: usize = 4;

/// Where the sums of a pair stand, in 64-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumsLayout {
    adm: usize,
    motion: usize,
    /// All of a pair.
    pub total: usize,
}

impl SumsLayout {
    pub fn new(work: &Work) -> Self {
        let adm = work.gain_groups() * SCALES * VIF_SCALE_SUMS;
        let motion = adm + work.adm.len() * SCALES * BAND_SUMS;
        Self { adm, motion, total: motion + 2 }
    }

    /// Sums of a VIF scale, for a group of gain limits.
    pub fn vif(&self, group: usize, scale: usize) -> usize {
        (group * SCALES + scale) * VIF_SCALE_SUMS
    }

    /// All sums of an ADM variant.
    pub fn adm(&self, variant: usize) -> usize {
        self.adm + variant * SCALES * BAND_SUMS
    }

    /// The sum of absolute differences at a distance of 1 or 2 frames.
    pub fn motion(&self, distance: usize) -> usize {
        self.motion + distance - 1
    }
}

/// The sums of one pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairSums {
    pub(crate) layout: SumsLayout,
    pub(crate) words: Box<[u64]>,
    /// How many earlier pairs there were to compare with.
    pub(crate) history: usize,
}

impl PairSums {
    /// Of all scales, for a limit of the gain.
    pub fn vif(&self, gain: usize) -> [VifSums; SCALES] {
        std::array::from_fn(|scale| {
            let words = &self.words[self.layout.vif(gain / MAX_GAINS, scale)..][..VIF_SCALE_SUMS];
            VifSums {
                den_log: words[0] as i64,
                num_non_log: words[1] as i64,
                den_non_log: words[2] as i64,
                num_log: words[3 + gain % MAX_GAINS] as i64,
            }
        })
    }

    /// Of all scales, for a set of options.
    pub fn adm(&self, variant: usize) -> [AdmSums; SCALES] {
        std::array::from_fn(|scale| {
            let words = &self.words[self.layout.adm(variant) + scale * BAND_SUMS..][..BAND_SUMS];
            let bands = |first: usize| std::array::from_fn(|band| words[first + band]);
            AdmSums {
                restored: bands(0).map(|word: u64| word as i64),
                additive: bands(3).map(|word| word as i64),
                reference: bands(6),
            }
        })
    }

    /// To the reference `distance` frames before; `None` where there is no such frame.
    pub fn motion(&self, distance: usize) -> Option<u64> {
        (distance <= self.history).then(|| self.words[self.layout.motion(distance)])
    }
}
