//! Which frame of the reference is due at a frame of the distorted video, by frame rates or timestamps alone.
//!
//! From 60 to 30 frames per second every second frame is left out, from 24 to 30 every fourth is shown twice. Which one that is
//! depends on how times were rounded: on the phase. A [`Cadence`] is a ratio with its phase; the content decides between phases.
//! Where frames are unevenly spaced in time, the timestamps of both files say which frames belong together.

use std::sync::Arc;

/// The expected place of every frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// Frame `j` of the distorted video shows frame `⌊(j · above + phase) / below⌋` of the reference.
    Even { above: u64, below: u64, phase: u64 },
    /// Frame `j` shows this frame, by its timestamp.
    Timed(Arc<[u32]>),
}

/// Ratios beyond this are taken in steps of an eighth of a frame.
const LARGEST: u64 = 30;
/// Rates that differ by less than this part are one rate: 24 and 24000/1001 are.
const SAME_RATE: f64 = 0.002;

impl Cadence {
    /// Every frame once.
    pub const PLAIN: Self = Self::Even { above: 1, below: 1, phase: 0 };

    /// All phases that the ratio of two frame rates allows; none for equal rates.
    pub fn of_rates(reference: f64, distorted: f64) -> Vec<Self> {
        let ratio = reference / distorted;
        if !(1.0 / 16.0..=16.0).contains(&ratio) || (ratio - 1.0).abs() < SAME_RATE {
            return Vec::new();
        }
        let (above, below) = simple(ratio).unwrap_or_else(|| ((ratio * 1e6).round() as u64, 1_000_000));
        let phases = if below <= LARGEST { below } else { 8 };
        (0..phases).map(|at| Self::Even { above, below, phase: at * below / phases }).collect()
    }

    pub fn due(&self, distorted: usize) -> usize {
        match self {
            Self::Even { above, below, phase } => ((distorted as u64 * above + phase) / below) as usize,
            Self::Timed(places) => {
                let known = places.get(distorted).or(places.last());
                known.map_or(distorted, |place| *place as usize + distorted.saturating_sub(places.len() - 1))
            }
        }
    }

    /// After how many frames of the distorted video the pattern repeats itself; `None` where there is none.
    pub fn period(&self) -> Option<usize> {
        match self {
            Self::Even { above, below, .. } if above != below && *below <= LARGEST => Some(*below as usize),
            _ => None,
        }
    }
}

/// The ratio in small numbers, if it is one.
fn simple(value: f64) -> Option<(u64, u64)> {
    (1..=LARGEST).find_map(|below| {
        let above = (value * below as f64).round();
        let near = (above / below as f64 / value - 1.0).abs() < SAME_RATE / 2.0;
        (near && above >= 1.0 && above <= LARGEST as f64).then_some((above as u64, below))
    })
}
