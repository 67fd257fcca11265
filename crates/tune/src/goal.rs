//! What an encode must reach: a score of the model or of another metric, pooled over its frames, at least or at most.
//!
//! Several goals are one question: the coarsest setting at which all of them hold. Each goal has a margin, how far it is
//! over-fulfilled, in what a point of VMAF is usually worth; the smallest margin is what the search looks at. A margin falls
//! from finer to coarser settings as every score does, so the smallest of several falls too.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use visus_engine::Pooling;

/// A metric that a goal may name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalMetric {
    /// As users call it, and what `--feature` takes.
    pub name: &'static str,
    /// The column that counts.
    pub column: &'static str,
    /// Points of VMAF that a unit is usually worth.
    worth: f64,
    /// Less is better.
    lower_is_better: bool,
}

const METRICS: [GoalMetric; 7] = [
    GoalMetric { name: "ssimulacra2", column: "ssimulacra2", worth: 0.6, lower_is_better: false },
    GoalMetric { name: "xpsnr", column: "xpsnr_y", worth: 3.0, lower_is_better: false },
    GoalMetric { name: "psnr", column: "psnr_y", worth: 3.0, lower_is_better: false },
    GoalMetric { name: "psnr_hvs", column: "psnr_hvs_y", worth: 3.0, lower_is_better: false },
    GoalMetric { name: "ssim", column: "float_ssim", worth: 200.0, lower_is_better: false },
    GoalMetric { name: "ms_ssim", column: "float_ms_ssim", worth: 200.0, lower_is_better: false },
    GoalMetric { name: "cambi", column: "cambi", worth: 2.0, lower_is_better: true },
];

/// One thing that an encode must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// `None` is the model.
    pub metric: Option<GoalMetric>,
    pub pooling: Pooling,
    pub at_most: bool,
    pub value: f64,
}

impl Goal {
    /// The model's score, at least.
    pub fn model(pooling: Pooling, value: f64) -> Self {
        Self { metric: None, pooling, at_most: false, value }
    }

    /// The pooled score of the frames.
    pub(crate) fn pooled(&self, scores: &[f64]) -> f64 {
        self.pooling.pool(scores)
    }

    pub fn holds(&self, pooled: f64) -> bool {
        if self.at_most { pooled <= self.value } else { pooled >= self.value }
    }

    /// By how much it is over-fulfilled, in points of VMAF; negative where it is missed.
    pub(crate) fn margin(&self, pooled: f64) -> f64 {
        let away = if self.at_most { self.value - pooled } else { pooled - self.value };
        away * self.metric.map_or(1.0, |metric| metric.worth)
    }

    /// A text such as `95`, `p5=90`, `cambi<5` or `psnr.p5=38`; `pooling` counts where none is named.
    pub fn parse(text: &str, pooling: Pooling) -> Result<Self, String> {
        let wrong = || {
            let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            format!(
                "'{text}' is no target; it is a score (95), or WHAT=SCORE or WHAT<SCORE, where WHAT is a pooling ({}), a metric \
                 ({}), or both as in psnr.p5",
                Pooling::NAMES.join(", "),
                names.join(", ")
            )
        };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        if let Some(value) = number(text) {
            return Ok(Self::model(pooling, value));
        }
        let at = text.find(['<', '>', '=']).ok_or_else(wrong)?;
        let (what, rest) = text.split_at(at);
        let at_most = rest.starts_with('<');
        let value = number(rest.trim_start_matches(['<', '>', '='])).ok_or_else(wrong)?;
        let what = what.trim();
        let (metric, pool) = match what.split_once('.') {
            Some((metric, pool)) => (Some(metric), Some(pool)),
            None if what == "vmaf" => (None, None),
            None if what.parse::<Pooling>().is_ok() => (None, Some(what)),
            None => (Some(what), None),
        };
        let named = |name: &str| METRICS.iter().find(|metric| metric.name == name).copied();
        let metric = match metric {
            None | Some("vmaf") => None,
            Some(name) => Some(named(name).ok_or_else(wrong)?),
        };
        let pooling = pool.map_or(Ok(pooling), str::parse).map_err(|_| wrong())?;
        let lower_is_better = metric.is_some_and(|metric| metric.lower_is_better);
        if lower_is_better && !at_most {
            return Err(format!("'{text}': {what} is better the lower it is; write {what}<{value}"));
        }
        if at_most && !lower_is_better {
            return Err(format!("'{text}': {what} is better the higher it is; write {what}={value}"));
        }
        Ok(Self { metric, pooling, at_most, value })
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, Pooling::Mean)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.at_most { '<' } else { '=' };
        match self.metric {
            None => write!(f, "{}{sign}{}", self.pooling.name(), self.value),
            Some(metric) => write!(f, "{}.{}{sign}{}", metric.name, self.pooling.name(), self.value),
        }
    }
}

/// What became of a goal.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GoalOutcome {
    /// The goal, as `p5=90` or `cambi.mean<5`.
    pub goal: String,
    /// What the whole encode reached.
    pub achieved: f64,
    /// Whether that is enough.
    pub met: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read() {
        let shown = |text: &str| Goal::parse(text, Pooling::Harmonic).map(|goal| goal.to_string());
        for (text, expected) in [
            ("95", "harmonic=95"),
            ("mean=95", "mean=95"),
            ("p5 >= 90", "p5=90"),
            ("vmaf=93", "harmonic=93"),
            ("vmaf.min=70", "min=70"),
            ("cambi<5", "cambi.harmonic<5"),
            ("psnr.p5=38.5", "psnr.p5=38.5"),
            ("ssimulacra2=80", "ssimulacra2.harmonic=80"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        for text in
            ["", "good", "p7=3", "psnr", "psnr=x", "cambi=5", "psnr<40", "foo=1", "psnr.p7=3", "mean=nan"]
        {
            assert!(shown(text).is_err(), "{text}");
        }
    }

    #[test]
    fn margins_point_upwards_where_a_goal_holds() {
        for (text, good, bad) in [("mean=95", 96.0, 94.0), ("cambi<5", 4.0, 6.0), ("psnr=40", 41.0, 39.0)] {
            let goal: Goal = text.parse().unwrap();
            assert!(goal.holds(good) && goal.margin(good) > 0.0, "{text}");
            assert!(!goal.holds(bad) && goal.margin(bad) < 0.0, "{text}");
            assert_eq!(goal.margin(goal.value), 0.0);
        }
    }
}
