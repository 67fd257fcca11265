//! Is a change in score real? A paired block bootstrap.
//!
//! Scores of neighbouring frames are alike, so frames are no independent samples and the usual formulas promise far too
//! narrow intervals. Here whole blocks of frames are drawn with replacement (the circular block bootstrap of Politis and
//! Romano, 1992), as long as the differences remember each other; the length is chosen from their autocorrelation
//! (Politis and White 2004, with the correction of Patton, Politis and White 2009). Both reports are drawn with the same
//! blocks, since they show the same pictures.

use visus_engine::percentile;

/// A change between two paired columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The mean of the differences, second minus first.
    pub mean: f64,
    /// 95 % of the redrawn means lie within.
    pub interval: (f64, f64),
    /// How often chance alone makes a mean at least so far from zero.
    pub p: f64,
    /// Frames per block.
    pub block: usize,
    pub frames: usize,
}

/// A change is called real if chance makes the like of it in fewer cases.
pub const LEVEL: f64 = 0.05;

/// Redrawn samples: the smallest p is the inverse of one more.
const DRAWS: usize = 4999;

/// Where everything starts, so that the same reports always get the same answer.
pub const SEED: u64 = 2026;

/// The mean difference between paired scores. `None` without frames.
pub fn mean_change(first: &[f64], second: &[f64], seed: u64) -> Option<Change> {
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| second - first).collect();
    let frames = differences.len();
    if frames == 0 || differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / frames as f64;
    let block = block_length(&differences);
    let sums = BlockSums::new(&differences);
    let mut chance = SplitMix(seed);
    let mut means: Vec<f64> = (0..DRAWS).map(|_| sums.drawn_mean(block, &mut chance)).collect();
    // Centred on zero, the redrawn means show what chance makes of no change at all.
    let as_far = means.iter().filter(|drawn| (**drawn - mean).abs() >= mean.abs()).count();
    means.sort_by(f64::total_cmp);
    let p = if mean == 0.0 { 1.0 } else { (as_far + 1) as f64 / (DRAWS + 1) as f64 };
    Some(Change { mean, interval: middle(&means), p, block, frames })
}

/// The change of any figure, with the interval that holds 95 % of its redrawn values.
pub fn figure_change(
    first: &[f64],
    second: &[f64],
    seed: u64,
    figure: impl Fn(&mut [f64]) -> f64,
) -> Option<(f64, (f64, f64))> {
    let frames = first.len().min(second.len());
    if frames == 0 {
        return None;
    }
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| second - first).collect();
    let block = block_length(&differences);
    let whole: Vec<usize> = (0..frames).collect();
    let change = |places: &[usize]| {
        let take =
            |column: &[f64]| figure(&mut places.iter().map(|place| column[*place]).collect::<Vec<_>>());
        take(second) - take(first)
    };
    let mut chance = SplitMix(seed);
    // A figure costs a pass over the frames, so long clips get fewer draws.
    let draws = (20_000_000 / frames).clamp(200, 2000);
    let mut drawn: Vec<f64> = (0..draws).map(|_| change(&drawn_places(frames, block, &mut chance))).collect();
    drawn.sort_by(f64::total_cmp);
    Some((change(&whole), middle(&drawn)))
}

/// Holm's correction: p values that can be read one by one although there are many.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![0.0; p.len()];
    let mut largest = 0.0f64;
    for (rank, place) in order.into_iter().enumerate() {
        largest = largest.max((p[place] * (p.len() - rank) as f64).min(1.0));
        corrected[place] = largest;
    }
    corrected
}

/// The 2.5th and the 97.5th percentile of sorted values.
fn middle(sorted: &[f64]) -> (f64, f64) {
    (percentile(sorted, 2.5), percentile(sorted, 97.5))
}

fn drawn_places(frames: usize, block: usize, chance: &mut SplitMix) -> Vec<usize> {
    let mut places = Vec::with_capacity(frames + block);
    while places.len() < frames {
        let start = chance.below(frames);
        places.extend((start..start + block).map(|place| place % frames));
    }
    places.truncate(frames);
    places
}

/// Sums of any run of differences around the circle, in constant time.
struct BlockSums {
    /// Sum of the first n differences, twice around.
    before: Vec<f64>,
    frames: usize,
}

impl BlockSums {
    fn new(differences: &[f64]) -> Self {
        let mut before = Vec::with_capacity(2 * differences.len() + 1);
        let mut sum = 0.0;
        before.push(sum);
        for difference in differences.iter().chain(differences) {
            sum += difference;
            before.push(sum);
        }
        Self { before, frames: differences.len() }
    }

    fn drawn_mean(&self, block: usize, chance: &mut SplitMix) -> f64 {
        let (mut left, mut sum) = (self.frames, 0.0);
        while left > 0 {
            let (start, length) = (chance.below(self.frames), block.min(left));
            sum += self.before[start + length] - self.before[start];
            left -= length;
        }
        sum / self.frames as f64
    }
}

/// How many frames a block should have.
pub fn block_length(values: &[f64]) -> usize {
    let frames = values.len();
    let mean = values.iter().sum::<f64>() / frames.max(1) as f64;
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let variance = covariance(&centred, 0);
    if frames < 4 || variance <= 1e-12 {
        return 1;
    }
    let window = memory(&centred, variance);
    let weight = |lag: usize| {
        let place = lag as f64 / window as f64;
        if place <= 0.5 { 1.0 } else { 2.0 * (1.0 - place) }
    };
    let (mut spread, mut slope) = (variance, 0.0);
    for lag in 1..=window {
        let part = 2.0 * weight(lag) * covariance(&centred, lag);
        spread += part;
        slope += part * lag as f64;
    }
    let length = (2.0 * slope * slope / (4.0 / 3.0 * spread * spread) * frames as f64).cbrt();
    let most = (3.0 * (frames as f64).sqrt()).min(frames as f64 / 3.0).ceil();
    if length.is_finite() { length.ceil().clamp(1.0, most) as usize } else { most as usize }
}

/// Twice the lag behind which no correlation stands out any more.
fn memory(centred: &[f64], variance: f64) -> usize {
    let frames = centred.len();
    let run = (frames as f64).log10().ceil().max(5.0) as usize;
    let most = ((frames as f64).sqrt().ceil() as usize + run).min(frames - 1);
    let noise = 2.0 * ((frames as f64).log10() / frames as f64).sqrt();
    let stands_out = |lag: usize| (covariance(centred, lag) / variance).abs() >= noise;
    let loud: Vec<bool> = (1..=most).map(stands_out).collect();
    let quiet_from = (0..most).find(|lag| loud[*lag..(lag + run).min(most)].iter().all(|loud| !loud));
    let last = quiet_from.unwrap_or_else(|| loud.iter().rposition(|loud| *loud).map_or(1, |place| place + 1));
    (2 * last.max(1)).min(most).max(1)
}

fn covariance(centred: &[f64], lag: usize) -> f64 {
    let products = centred.iter().zip(&centred[lag.min(centred.len())..]).map(|(a, b)| a * b);
    products.sum::<f64>() / centred.len().max(1) as f64
}

/// SplitMix64 (Steele, Lea and Flood 2014): small, and good enough to draw blocks and rows.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// Any number.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and nobody needs an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl SplitMix {
        /// Nearly normal: the sum of twelve uniform numbers.
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
        }

        /// A series that remembers: each value is `memory` times the one before, and noise.
        fn series(&mut self, frames: usize, memory: f64) -> Vec<f64> {
            let mut value = 0.0;
            let mut next = || {
                value = memory * value + self.normal();
                value
            };
            (0..frames + 50).map(|_| next()).skip(50).collect()
        }
    }

    #[test]
    fn the_generator_is_splitmix64() {
        let mut chance = SplitMix(1234567);
        assert_eq!(chance.next(), 6457827717110365317);
        assert_eq!(chance.next(), 3203168211198807973);
    }

    #[test]
    fn constant_changes_are_certain() {
        let first = [50.0, 60.0, 70.0, 80.0];
        let second = first.map(|value| value + 0.5);
        let change = mean_change(&first, &second, SEED).unwrap();
        assert_eq!((change.mean, change.interval, change.block), (0.5, (0.5, 0.5), 1));
        assert!(change.p < 0.001);
        let none = mean_change(&first, &first, SEED).unwrap();
        assert_eq!((none.mean, none.interval, none.p), (0.0, (0.0, 0.0), 1.0));
        assert_eq!(mean_change(&[], &[], SEED), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_answer() {
        let (a, b) = (SplitMix(1).series(300, 0.5), SplitMix(2).series(300, 0.5));
        assert_eq!(mean_change(&a, &b, SEED), mean_change(&a, &b, SEED));
        assert_ne!(mean_change(&a, &b, SEED).unwrap().interval, mean_change(&a, &b, 7).unwrap().interval);
    }

    #[test]
    fn blocks_are_as_long_as_the_memory() {
        let length = |memory: f64| block_length(&SplitMix(5).series(2000, memory));
        assert!(length(0.0) <= 4, "{}", length(0.0));
        let (some, much) = (length(0.5), length(0.9));
        assert!((5..20).contains(&some) && (20..90).contains(&much), "{some} {much}");
        assert_eq!(block_length(&[3.0; 100]), 1);
    }

    /// Of 95 % intervals around the mean of a series that remembers, about 95 of 100 hold the true mean. Intervals that
    /// take frames for independent hold it in about half of the cases.
    #[test]
    fn intervals_hold_what_they_promise() {
        let (mut held, mut held_naively) = (0, 0);
        let rounds = 200;
        for round in 0..rounds {
            let series = SplitMix(1000 + round).series(400, 0.8);
            let zeros = vec![0.0; series.len()];
            let (low, high) = mean_change(&zeros, &series, round).unwrap().interval;
            held += u32::from(low <= 0.0 && 0.0 <= high);
            let mean = series.iter().sum::<f64>() / 400.0;
            let variance = series.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 399.0;
            held_naively += u32::from(mean.abs() <= 1.96 * (variance / 400.0).sqrt());
        }
        assert!((170..=198).contains(&held), "{held} of {rounds}");
        assert!(held_naively < 130, "{held_naively} of {rounds}");
    }

    #[test]
    fn a_real_change_is_found_and_noise_is_not() {
        let first = SplitMix(3).series(500, 0.8);
        let noise = SplitMix(4).series(500, 0.8);
        let same: Vec<f64> = first.iter().zip(&noise).map(|(value, noise)| value + 0.1 * noise).collect();
        let better: Vec<f64> = same.iter().map(|value| value + 0.3).collect();
        assert!(mean_change(&first, &same, SEED).unwrap().p > LEVEL);
        assert!(mean_change(&first, &better, SEED).unwrap().p < 0.01);
        let (change, (low, high)) = figure_change(&first, &better, SEED, |values| values[0]).unwrap();
        assert!(change.is_finite() && low <= high);
    }

    #[test]
    fn many_p_values_are_corrected() {
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(&holm(&[0.01, 0.04, 0.03]), &[0.03, 0.06, 0.06]));
        assert!(close(&holm(&[0.9, 0.8]), &[1.0, 1.0]));
        assert!(holm(&[]).is_empty());
    }
}
