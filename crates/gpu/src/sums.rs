//! What a device delivers for a pair.

use std::collections::BTreeMap;

use visus_metrics::device::{AdmSums, CambiSums, SpeedPlane, VifSums};

use crate::arguments::{BAND_SUMS, CAMBI_SCALES, MAX_GAINS, SPEED_COVARIANCES, SPEED_PLANES, VIF_SCALE_SUMS};
use crate::work::Work;

const SCALES: usize = 4;
/// A sum and its smallest value for every scale, and a flag.
const CAMBI_WORDS: usize = 2 * CAMBI_SCALES + 1;

/// Where the sums of a pair stand, in 64-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumsLayout {
    adm: usize,
    motion: usize,
    cambi: usize,
    speed: usize,
    /// Floats of a plane of SpEED, an even number.
    speed_plane: usize,
    speed_field: usize,
    /// All of a pair.
    pub total: usize,
}

impl SumsLayout {
    pub fn new(work: &Work) -> Self {
        let adm = work.gain_groups() * SCALES * VIF_SCALE_SUMS;
        let motion = adm + work.adm.len() * SCALES * BAND_SUMS;
        let cambi = motion + 2;
        let speed = cambi + work.cambi.len() * CAMBI_WORDS;
        let speed_field = work.speed.first().map_or(0, |speed| speed.field[0] * speed.field[1]);
        let speed_plane = (SPEED_COVARIANCES + speed_field).next_multiple_of(2);
        let total = speed + work.speed.len() * SPEED_PLANES * speed_plane / 2;
        Self { adm, motion, cambi, speed, speed_plane, speed_field, total }
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

    /// The sums of a variant of CAMBI; whether a sample is above the peak stands behind them.
    pub fn cambi(&self, variant: usize) -> usize {
        self.cambi + variant * CAMBI_WORDS
    }

    /// The planes of a variant of SpEED.
    pub fn speed(&self, variant: usize) -> usize {
        self.speed + variant * SPEED_PLANES * self.speed_plane / 2
    }

    /// Floats from one plane of SpEED to the next.
    pub fn speed_plane(&self) -> usize {
        self.speed_plane
    }
}

/// The sums of one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSums {
    pub(crate) layout: SumsLayout,
    pub(crate) words: Box<[u64]>,
    /// How many earlier pairs there were to compare with.
    pub(crate) history: usize,
    /// By variant and scale: strengths of CAMBI whose sums need their order.
    pub(crate) strengths: BTreeMap<(usize, usize), Vec<f32>>,
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

    /// Of all scales, for a set of options.
    pub fn cambi(&self, variant: usize) -> [CambiSums; CAMBI_SCALES] {
        let words = &self.words[self.layout.cambi(variant)..];
        std::array::from_fn(|scale| CambiSums {
            total: words[2 * scale],
            smallest: words[2 * scale + 1] as u32,
        })
    }

    /// How many sums of CAMBI depend on the order of their strengths.
    pub fn ordered_sums(&self) -> usize {
        self.strengths.len()
    }

    /// Whether a sample is above the peak of its depth.
    pub fn is_above_peak(&self, variant: usize) -> bool {
        self.words[self.layout.cambi(variant) + 2 * CAMBI_SCALES] != 0
    }

    /// U and V of the reference, U and V of the distorted picture.
    pub fn speed(&self, variant: usize) -> [SpeedPlane<'_>; SPEED_PLANES] {
        let words = &self.words[self.layout.speed(variant)..];
        let floats: &[f32] = bytemuck::cast_slice(words);
        std::array::from_fn(|plane| {
            let (covariance, field) = floats[plane * self.layout.speed_plane..].split_at(SPEED_COVARIANCES);
            SpeedPlane { covariance, field: &field[..self.layout.speed_field] }
        })
    }
}
