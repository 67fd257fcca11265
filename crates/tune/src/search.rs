//! The search for a quality setting, as a pure function over whoever measures.
//!
//! Positions count from the finest setting (0) to the coarsest; the answer is the coarsest one whose score meets the target.
//! Each measurement halves what is left at least so fast that eight are always enough for 255 settings; within that
//! limit the next guess is where a line through the nearest measurements crosses the target.

/// The largest number of measurements.
pub const MAX_ENCODES: usize = 8;
/// A finer setting that scores lower than a coarser one by more than this contradicts it.
pub const CONTRADICTION: f64 = 0.5;
/// A miss by less than this is looked past once, because curves are not smooth at this scale.
const NEAR_MISS: f64 = 0.1;

/// A measurement: the setting's place, its score, and what else the measurer wants to remember.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured<T> {
    pub position: u32,
    pub score: f64,
    pub detail: T,
}

/// Two measurements that do not agree with "finer is better".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contradiction {
    pub finer: u32,
    pub finer_score: f64,
    pub coarser: u32,
    pub coarser_score: f64,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// The place of the answer in `samples`; `None` if no setting meets the target.
    pub best: Option<usize>,
    /// Everything that was measured, in order of measurement.
    pub samples: Vec<Measured<T>>,
    pub contradictions: Vec<Contradiction>,
    /// The setting after the answer was measured and misses the target (or there is none).
    pub proven: bool,
}

impl<T> Found<T> {
    pub fn best(&self) -> Option<&Measured<T>> {
        self.best.and_then(|index| self.samples.get(index))
    }

    pub fn at(&self, position: u32) -> Option<&Measured<T>> {
        self.samples.iter().find(|sample| sample.position == position)
    }
}

/// What is looked for, and where.
#[derive(Clone, Debug)]
pub struct Quest<T> {
    pub target: f64,
    /// The finest position that may be asked for, and the coarsest.
    pub first: u32,
    pub last: u32,
    /// Where to begin if nothing is known, and what a step is then worth, in points of the score.
    pub start: u32,
    pub slope: f64,
    /// What is known already; it costs nothing.
    pub known: Vec<Measured<T>>,
}

/// Finds the coarsest setting that meets the target. `measure` is asked at most [`MAX_ENCODES`] times.
pub fn search<T, E>(
    quest: Quest<T>,
    mut measure: impl FnMut(u32) -> Result<(f64, T), E>,
) -> Result<Found<T>, E> {
    let mut state = State {
        target: quest.target,
        first: quest.first,
        last: quest.last,
        slope: quest.slope,
        samples: quest.known,
    };
    let mut left = MAX_ENCODES;
    let mut looked_past = false;
    while left > 0 {
        let next = match state.next(quest.start, left) {
            Some(next) => next,
            None if !looked_past => match state.past_a_near_miss() {
                Some(next) => {
                    looked_past = true;
                    next
                }
                None => break,
            },
            None => break,
        };
        let (score, detail) = measure(next)?;
        state.samples.push(Measured { position: next, score, detail });
        left -= 1;
    }
    Ok(state.finish())
}

struct State<T> {
    target: f64,
    first: u32,
    last: u32,
    slope: f64,
    samples: Vec<Measured<T>>,
}

impl<T> State<T> {
    /// The coarsest measurement that meets the target.
    fn good(&self) -> Option<&Measured<T>> {
        let meets = self.samples.iter().filter(|sample| sample.score >= self.target);
        meets.max_by_key(|sample| sample.position)
    }

    /// The finest measurement beyond it that does not.
    fn bad(&self) -> Option<&Measured<T>> {
        let after = self.good().map_or(0, |good| i64::from(good.position) + 1);
        let misses = self.samples.iter().filter(|sample| sample.score < self.target);
        misses.filter(|sample| i64::from(sample.position) >= after).min_by_key(|sample| sample.position)
    }

    /// Where to measure next; `None` when the answer stands.
    fn next(&self, start: u32, left: usize) -> Option<u32> {
        let low = self.good().map_or(i64::from(self.first) - 1, |good| i64::from(good.position));
        let high = self.bad().map_or(i64::from(self.last) + 1, |bad| i64::from(bad.position));
        if low + 1 >= high {
            return None;
        }
        // Whatever the answer here is, what is left must be solvable by halving with one measurement fewer.
        let room = (1i64 << (left - 1)) - 1;
        let (least, most) = ((high - 1 - room).max(low + 1), (low + 1 + room).min(high - 1));
        let guess = self.guess(start).clamp(low + 1, high - 1);
        u32::try_from(guess.clamp(least.min(most), most)).ok()
    }

    /// Where the target probably lies.
    fn guess(&self, start: u32) -> i64 {
        match (self.good(), self.bad()) {
            (None, None) => i64::from(start),
            (Some(good), Some(bad)) => self.crossing(good, bad).floor() as i64,
            (Some(good), None) => {
                let steps = (good.score - self.target) / self.slope_near(good);
                i64::from(good.position) + (steps.floor() as i64).max(1)
            }
            (None, Some(bad)) => {
                let steps = (self.target - bad.score) / self.slope_near(bad);
                i64::from(bad.position) - (steps.ceil() as i64).max(1)
            }
        }
    }

    /// Where the curve through the two, bent as the nearest third measurement says, meets the target.
    fn crossing(&self, good: &Measured<T>, bad: &Measured<T>) -> f64 {
        let (from, to) = (f64::from(good.position), f64::from(bad.position));
        let slope = (bad.score - good.score) / (to - from);
        let bend = self.bend(good, bad, slope);
        let at = |x: f64| good.score + (x - from) * (slope + bend * (x - to));
        // The curve begins above the target and ends below it, so halving finds a place between.
        let (mut low, mut high) = (from, to);
        for _ in 0..30 {
            let middle = (low + high) / 2.0;
            if at(middle) >= self.target { low = middle } else { high = middle }
        }
        low + 1e-6
    }

    /// The second difference through the nearest other measurement; 0 without one.
    fn bend(&self, good: &Measured<T>, bad: &Measured<T>, slope: f64) -> f64 {
        let other =
            |sample: &&Measured<T>| sample.position != good.position && sample.position != bad.position;
        let distance = |sample: &&Measured<T>| {
            sample.position.abs_diff(good.position).min(sample.position.abs_diff(bad.position))
        };
        let Some(third) = self.samples.iter().filter(other).min_by_key(distance) else { return 0.0 };
        let x = f64::from(third.position);
        let (from, to) = (f64::from(good.position), f64::from(bad.position));
        (third.score - good.score - slope * (x - from)) / ((x - from) * (x - to))
    }

    /// Points of score per step, from the nearest other measurement; never so flat that a guess would leap to the end.
    fn slope_near(&self, sample: &Measured<T>) -> f64 {
        let others = self.samples.iter().filter(|other| other.position != sample.position);
        let nearest = others.min_by_key(|other| other.position.abs_diff(sample.position));
        let slope = nearest.map_or(self.slope, |other| {
            (other.score - sample.score) / (f64::from(sample.position) - f64::from(other.position))
        });
        slope.clamp(0.2, 10.0)
    }

    /// The setting after the one that just missed, if it is not known.
    fn past_a_near_miss(&self) -> Option<u32> {
        let bad = self.bad()?;
        let next = bad.position + 1;
        let unknown = self.samples.iter().all(|sample| sample.position != next);
        (self.target - bad.score < NEAR_MISS && next <= self.last && unknown).then_some(next)
    }

    fn finish(self) -> Found<T> {
        let best = self.good().map(|good| good.position);
        let proven = match (best, self.bad()) {
            (Some(good), Some(bad)) => bad.position == good + 1,
            (Some(good), None) => good == self.last,
            (None, bad) => bad.is_some_and(|bad| bad.position <= self.first),
        };
        let best = self.samples.iter().position(|sample| Some(sample.position) == best);
        Found { best, proven, contradictions: contradictions(&self.samples), samples: self.samples }
    }
}

fn contradictions<T>(samples: &[Measured<T>]) -> Vec<Contradiction> {
    let mut sorted: Vec<&Measured<T>> = samples.iter().collect();
    sorted.sort_by_key(|sample| sample.position);
    let mut found = Vec::new();
    for (index, coarser) in sorted.iter().enumerate() {
        let before = sorted[..index].iter().filter(|finer| coarser.score - finer.score > CONTRADICTION);
        found.extend(before.map(|finer| Contradiction {
            finer: finer.position,
            finer_score: finer.score,
            coarser: coarser.position,
            coarser_score: coarser.score,
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(target: f64, last: u32, start: u32, curve: impl Fn(u32) -> f64) -> (Found<()>, usize) {
        let mut asked = 0;
        let quest = Quest { target, first: 0, last, start, slope: 0.9, known: Vec::new() };
        let found = search(quest, |position| {
            asked += 1;
            Ok::<_, ()>((curve(position), ()))
        });
        (found.unwrap(), asked)
    }

    fn sweep(target: f64, last: u32, curve: impl Fn(u32) -> f64) -> Option<u32> {
        (0..=last).rev().find(|position| curve(*position) >= target)
    }

    /// Curves as encoders have them: saturated, then bent, then steep; with every target.
    #[test]
    fn equals_an_exhaustive_sweep_for_every_monotone_curve() {
        for (last, start) in [(51, 28), (63, 35), (33, 15), (99, 50), (254, 120), (3, 1), (0, 0)] {
            for bend in [0.5, 1.0, 2.0, 4.0] {
                for reach in [0.3, 1.0, 3.0] {
                    let curve = |position: u32| {
                        (103.0 - 100.0 * reach * (f64::from(position) / f64::from(last.max(1))).powf(bend))
                            .min(100.0)
                    };
                    for tenth in 0..105 {
                        let target = f64::from(tenth);
                        let (found, asked) = run(target, last, start, curve);
                        let best = found.best().map(|best| best.position);
                        assert_eq!(
                            best,
                            sweep(target, last, curve),
                            "target {target}, {last}, {bend}, {reach}"
                        );
                        assert!(asked <= MAX_ENCODES, "{asked} encodes for target {target}");
                        assert!(found.proven, "target {target}");
                    }
                }
            }
        }
    }

    /// Several limits at once: the smallest of several falling margins falls too, and quarters of a setting are 204 places.
    #[test]
    fn several_limits_equal_a_sweep_in_quarters() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 31)
        };
        for _ in 0..2000 {
            let curves: Vec<(f64, f64, f64)> = (0..1 + (random() * 4.0) as usize)
                .map(|_| (random() * 20.0, 1.0 + 60.0 * random(), 0.5 + 3.0 * random()))
                .collect();
            let margin = |position: u32| {
                let place = f64::from(position) / 204.0;
                curves
                    .iter()
                    .map(|(top, fall, bend)| top - fall * place.powf(*bend))
                    .fold(f64::INFINITY, f64::min)
            };
            let (found, asked) = run(0.0, 204, 100, margin);
            assert_eq!(found.best().map(|best| best.position), sweep(0.0, 204, margin), "{curves:?}");
            assert!(asked <= MAX_ENCODES && found.proven);
        }
    }

    #[test]
    fn usual_questions_need_few_encodes() {
        let curve = |position: u32| 100.0 - 0.02 * f64::from(position).powf(1.9);
        let asked: usize = (85..98).map(|target| run(f64::from(target), 51, 26, curve).1).sum();
        assert!(asked <= 13 * 4, "{asked} encodes for 13 targets");
    }

    #[test]
    fn what_contradicts_is_told() {
        let curve = |position: u32| if position == 25 { 94.1 } else { 100.0 - f64::from(position) * 0.2 };
        let (found, _) = run(94.0, 51, 25, curve);
        assert!(found.contradictions.iter().any(|pair| pair.finer == 25), "{:?}", found.contradictions);
        let smooth = run(94.0, 51, 25, |position| 100.0 - f64::from(position) * 0.2).0;
        assert_eq!(smooth.contradictions, []);
        assert_eq!(smooth.best().unwrap().position, 30);
    }

    #[test]
    fn a_near_miss_is_looked_past_once() {
        let curve = |position: u32| if position == 30 { 94.95 } else { 100.0 - f64::from(position) * 0.16 };
        let (found, _) = run(95.0, 51, 28, curve);
        assert_eq!(found.best().unwrap().position, 31);
    }

    #[test]
    fn out_of_reach_is_known_after_the_finest() {
        let (found, asked) = run(99.0, 51, 28, |position| 90.0 - f64::from(position));
        assert!(found.best().is_none() && found.proven && asked <= MAX_ENCODES);
        assert!(found.at(0).is_some());
    }

    #[test]
    fn what_is_known_costs_nothing() {
        let curve = |position: u32| 100.0 - f64::from(position);
        let known =
            (0..=51).map(|position| Measured { position, score: curve(position), detail: () }).collect();
        let quest = Quest { target: 90.0, first: 0, last: 51, start: 20, slope: 0.9, known };
        let found = search(quest, |_| Err("nothing is to be measured")).unwrap();
        assert_eq!(found.best().unwrap().position, 10);
    }
}
