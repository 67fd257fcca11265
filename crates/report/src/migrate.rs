//! From one model to another: how the scores of the same encodes correspond, how surely, and where the two disagree.
//!
//! A straight line is fitted to the mean scores of all encodes by least squares. A threshold of the old model corresponds to
//! the line's value there, and the interval is the one in which the new score of a further encode with exactly that old
//! score would lie in 95 of 100 cases: the scatter of the encodes around the line, and the uncertainty of the line itself.

use schemars::JsonSchema;
use serde::Serialize;

/// Scores of one encode by both models.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MigratedEncode {
    /// The reference.
    pub reference: String,
    /// The encode.
    pub distorted: String,
    /// The mean of the old model.
    pub from: f64,
    /// The mean of the new model.
    pub to: f64,
    /// The 5th percentile of the old model.
    pub from_p5: f64,
    /// The 5th percentile of the new model.
    pub to_p5: f64,
}

/// How the scores of two models correspond.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MigrationReport {
    /// Version of the program.
    pub version: String,
    /// The old model.
    pub from_model: String,
    /// The new model.
    pub to_model: String,
    /// The line: new = intercept + slope · old.
    pub mapping: Mapping,
    /// Scores of the old model and what corresponds to them.
    pub thresholds: Vec<Threshold>,
    /// Encodes that lie far from the line.
    pub outliers: Vec<Outlier>,
    /// Pairs of encodes of one reference that the models put in opposite order.
    pub disagreements: Vec<Disagreement>,
    /// Every encode.
    pub encodes: Vec<MigratedEncode>,
    /// Encodes that could not be scored, and why.
    pub failures: Vec<MigrationFailure>,
}

/// An encode that could not be scored.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MigrationFailure {
    /// The encode.
    pub distorted: String,
    /// Why it could not be scored.
    pub error: String,
}

/// A straight line through the scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mapping {
    /// Encodes that it was fitted to.
    pub encodes: usize,
    /// The new score where the old one is 0.
    pub intercept: f64,
    /// Points of the new score for one of the old.
    pub slope: f64,
    /// Half of the 95 % interval of the slope.
    pub slope_half: f64,
    /// How far encodes scatter around the line, as a standard deviation in points of the new score.
    pub scatter: f64,
    /// Pearson's correlation of the two scores.
    pub correlation: f64,
    /// The lowest old score that was seen.
    pub lowest: f64,
    /// The highest old score that was seen.
    pub highest: f64,
    /// The mean of the old scores.
    #[serde(skip)]
    centre: f64,
    /// The sum of the squares of their distances from it.
    #[serde(skip)]
    spread: f64,
}

/// What a score of the old model corresponds to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Threshold {
    /// A score of the old model.
    pub from: f64,
    /// The score of the new model that corresponds to it.
    pub to: f64,
    /// The lower end of the 95 % interval for a further encode.
    pub low: f64,
    /// The upper end of the 95 % interval for a further encode.
    pub high: f64,
    /// No encode had a score so low or so high: the line is continued beyond what was seen.
    pub extrapolated: bool,
}

/// An encode far from the line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outlier {
    /// The encode.
    pub distorted: String,
    /// Its old score.
    pub from: f64,
    /// Its new score.
    pub to: f64,
    /// What the line would make of the old score.
    pub expected: f64,
    /// The new score minus what is expected.
    pub residual: f64,
}

/// Two encodes in opposite order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Disagreement {
    /// The encode that the old model prefers.
    pub old_prefers: String,
    /// The encode that the new model prefers.
    pub new_prefers: String,
    /// By how many points the old model prefers it.
    pub old_difference: f64,
    /// By how many points the new model prefers the other one.
    pub new_difference: f64,
}

/// The fewest encodes that a line with an interval can be fitted to.
pub const FEWEST: usize = 4;
/// Encodes with larger residuals, in units of the scatter, are listed.
const FAR: f64 = 2.0;
/// Differences below this are no preference.
const PREFERENCE: f64 = 0.5;
/// Disagreements that are listed, the largest first.
const MOST_LISTED: usize = 50;

/// Fits the line; `None` with fewer than [`FEWEST`] encodes, or where all have the same old score.
pub fn fit(encodes: &[MigratedEncode]) -> Option<Mapping> {
    let count = encodes.len() as f64;
    let mean = |pick: fn(&MigratedEncode) -> f64| encodes.iter().map(pick).sum::<f64>() / count;
    let (x, y) = (mean(|encode| encode.from), mean(|encode| encode.to));
    let sum = |product: &dyn Fn(&MigratedEncode) -> f64| encodes.iter().map(product).sum::<f64>();
    let (xx, yy) = (sum(&|encode| (encode.from - x).powi(2)), sum(&|encode| (encode.to - y).powi(2)));
    let xy = sum(&|encode| (encode.from - x) * (encode.to - y));
    if encodes.len() < FEWEST || xx < 1e-9 {
        return None;
    }
    let (slope, intercept) = (xy / xx, y - xy / xx * x);
    let left = sum(&|encode| (encode.to - intercept - slope * encode.from).powi(2));
    let scatter = (left / (count - 2.0)).sqrt();
    let ends = encodes.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), encode| {
        (low.min(encode.from), high.max(encode.from))
    });
    Some(Mapping {
        encodes: encodes.len(),
        intercept,
        slope,
        slope_half: student(encodes.len() - 2) * scatter / xx.sqrt(),
        scatter,
        correlation: if yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 },
        lowest: ends.0,
        highest: ends.1,
        centre: x,
        spread: xx,
    })
}

impl Mapping {
    /// What a score of the old model corresponds to.
    pub fn threshold(&self, from: f64) -> Threshold {
        let to = self.intercept + self.slope * from;
        let count = self.encodes as f64;
        let uncertain = 1.0 + 1.0 / count + (from - self.centre).powi(2) / self.spread;
        let half = student(self.encodes - 2) * self.scatter * uncertain.sqrt();
        let extrapolated = !(self.lowest..=self.highest).contains(&from);
        Threshold { from, to, low: to - half, high: to + half, extrapolated }
    }
}

/// Encodes far from the line, the farthest first.
pub fn outliers(encodes: &[MigratedEncode], mapping: &Mapping) -> Vec<Outlier> {
    let outlier = |encode: &MigratedEncode| {
        let expected = mapping.intercept + mapping.slope * encode.from;
        let residual = encode.to - expected;
        let far = residual.abs() > (FAR * mapping.scatter).max(PREFERENCE);
        far.then(|| Outlier {
            distorted: encode.distorted.clone(),
            from: encode.from,
            to: encode.to,
            expected,
            residual,
        })
    };
    let mut found: Vec<Outlier> = encodes.iter().filter_map(outlier).collect();
    found.sort_by(|a, b| b.residual.abs().total_cmp(&a.residual.abs()));
    found
}

/// Pairs of encodes of one reference that the models put in opposite order, the gravest first.
pub fn disagreements(encodes: &[MigratedEncode]) -> Vec<Disagreement> {
    let mut found = Vec::new();
    for (place, first) in encodes.iter().enumerate() {
        for second in encodes[place + 1..].iter().filter(|second| second.reference == first.reference) {
            let (better, worse) = if first.from >= second.from { (first, second) } else { (second, first) };
            let (old, new) = (better.from - worse.from, worse.to - better.to);
            if old > PREFERENCE && new > PREFERENCE {
                found.push(Disagreement {
                    old_prefers: better.distorted.clone(),
                    new_prefers: worse.distorted.clone(),
                    old_difference: old,
                    new_difference: new,
                });
            }
        }
    }
    let weight = |pair: &Disagreement| pair.old_difference.min(pair.new_difference);
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    found.truncate(MOST_LISTED);
    found
}

/// The quantile of Student's distribution that leaves 2.5 % above it (Abramowitz and Stegun, 26.7.5; exact for few degrees
/// of freedom).
fn student(degrees: usize) -> f64 {
    const FEW: [f64; 5] = [12.706, 4.303, 3.182, 2.776, 2.571];
    if let Some(exact) = degrees.checked_sub(1).and_then(|place| FEW.get(place)) {
        return *exact;
    }
    let (z, n) = (1.959_964_f64, degrees.max(1) as f64);
    z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(reference: &str, distorted: &str, from: f64, to: f64) -> MigratedEncode {
        MigratedEncode {
            reference: reference.into(),
            distorted: distorted.into(),
            from,
            to,
            from_p5: from,
            to_p5: to,
        }
    }

    #[test]
    fn a_line_is_found_again() {
        let encodes: Vec<_> = (0..20)
            .map(|n| encode("r", &n.to_string(), 50.0 + f64::from(n), 10.0 + 0.9 * (50.0 + f64::from(n))))
            .collect();
        let mapping = fit(&encodes).unwrap();
        assert!((mapping.slope - 0.9).abs() < 1e-9 && (mapping.intercept - 10.0).abs() < 1e-6);
        assert!(mapping.scatter < 1e-6 && mapping.correlation > 0.999_999);
        let threshold = mapping.threshold(60.0);
        assert!((threshold.to - 64.0).abs() < 1e-6 && !threshold.extrapolated);
        assert!(mapping.threshold(95.0).extrapolated);
        assert_eq!((outliers(&encodes, &mapping), disagreements(&encodes)), (vec![], vec![]));
        assert_eq!(fit(&encodes[..3]), None);
        assert_eq!(fit(&vec![encode("r", "d", 5.0, 5.0); 9]), None);
    }

    /// In 95 of 100 cases a further encode lies within the interval.
    #[test]
    fn the_interval_holds_further_encodes() {
        let mut chance = crate::bootstrap::SplitMix(3);
        let mut normal = move || {
            let uniform =
                |chance: &mut crate::bootstrap::SplitMix| (chance.next() >> 11) as f64 / (1u64 << 53) as f64;
            (0..12).map(|_| uniform(&mut chance)).sum::<f64>() - 6.0
        };
        let (mut held, mut all) = (0, 0);
        for _ in 0..400 {
            let mut draw = |from: f64| 5.0 + 0.92 * from + 1.5 * normal();
            let encodes: Vec<_> = (0..10)
                .map(|n| {
                    let from = 60.0 + 4.0 * f64::from(n);
                    encode("r", "d", from, draw(from))
                })
                .collect();
            let threshold = fit(&encodes).unwrap().threshold(85.0);
            held += u32::from((threshold.low..=threshold.high).contains(&draw(85.0)));
            all += 1;
        }
        let share = f64::from(held) / f64::from(all);
        assert!((0.92..=0.98).contains(&share), "{share}");
    }

    #[test]
    fn what_disagrees_is_listed() {
        let mut encodes: Vec<_> =
            (0..9).map(|n| encode("r", &n.to_string(), 80.0 + f64::from(n), 80.0 + f64::from(n))).collect();
        encodes.push(encode("r", "odd", 90.0, 82.0));
        encodes.push(encode("other", "far", 95.0, 70.0));
        let along = |n: i32| encode("r", &n.to_string(), f64::from(70 + n), f64::from(70 + n));
        let mut many: Vec<_> = (0..30).map(along).collect();
        many.push(encode("r", "far", 85.0, 70.0));
        assert_eq!(outliers(&many, &fit(&many).unwrap())[0].distorted, "far");
        let found = disagreements(&encodes);
        assert!(
            found.iter().all(|pair| pair.old_prefers == "odd"),
            "other references are not compared: {found:?}"
        );
        assert_eq!((found[0].new_prefers.as_str(), found.len()), ("6", 6));
        assert_eq!((student(1), student(5)), (12.706, 2.571));
        assert!((student(10) - 2.228).abs() < 0.01 && (student(1000) - 1.962).abs() < 0.001);
    }
}
