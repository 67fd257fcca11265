//! What a front end answered, in a form that can be compared.

use std::collections::BTreeMap;

use serde_json::Value;

/// Whose fault a refusal is; `visus_scoring::ErrorClass` as it can be seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Scored,
    Request,
    NotComparable,
    Video,
    Failed,
}

/// The scores of a column by frame.
type Column = BTreeMap<u64, f64>;

/// An answer.
#[derive(Debug)]
pub enum Answer {
    Scored(Scores),
    /// Refused, as far as the front end says why: some classes look the same in some of them.
    Refused(Vec<Class>),
}

/// Scores by what they are of: a model by its version, anything else by its name.
#[derive(Debug, Default)]
pub struct Scores {
    pub columns: BTreeMap<String, Column>,
    /// Only some of the columns or frames are shown.
    pub is_partial: bool,
    /// Scores are shown with six decimals.
    pub is_rounded: bool,
}

impl Answer {
    pub fn class(&self) -> Class {
        match self {
            Self::Scored(_) => Class::Scored,
            Self::Refused(classes) => classes[0],
        }
    }

    /// Why it differs from what `visus score` answers, if it does.
    pub fn check(&self, expected: &Self) -> Result<(), String> {
        match (self, expected) {
            (Self::Scored(found), Self::Scored(expected)) => found.check(expected),
            (Self::Refused(classes), Self::Refused(expected)) if classes.contains(&expected[0]) => Ok(()),
            (found, expected) => Err(format!("answers {found:?}, visus score {expected:?}")),
        }
    }
}

impl Scores {
    /// Both have the columns that `visus score` shows; a front end may show more (libvmaf's columns).
    fn check(&self, expected: &Self) -> Result<(), String> {
        let mut compared = 0;
        for (name, column) in &expected.columns {
            let Some(found) = self.columns.get(name) else {
                if self.is_partial {
                    continue;
                }
                return Err(format!("has no {name}, only {:?}", self.columns.keys()));
            };
            compared += found.len();
            for (frame, score) in found {
                let wanted = column.get(frame).copied();
                let rounded = |score: f64| (score * 1e6).round() / 1e6;
                let wanted = if self.is_rounded { wanted.map(rounded) } else { wanted };
                if wanted.is_none_or(|wanted| wanted.to_bits() != score.to_bits()) {
                    return Err(format!("{name} of frame {frame} is {score}, visus score says {wanted:?}"));
                }
            }
        }
        if compared == 0 { Err(format!("nothing to compare in {:?}", self.columns)) } else { Ok(()) }
    }

    /// The frames of a report, visus' or libvmaf's layout.
    pub fn of_report(report: &Value) -> Self {
        let mut versions = BTreeMap::new();
        for model in report["provenance"]["models"].as_array().into_iter().flatten() {
            let text = |name: &str| model[name].as_str().unwrap_or_default().to_owned();
            versions.insert(text("name"), format!("model {}", base_name(&text("model"))));
        }
        let mut scores = Self::default();
        for frame in report["frames"].as_array().into_iter().flatten() {
            let number = frame["frameNum"].as_u64().expect("a frame has a number");
            for (name, score) in frame["metrics"].as_object().into_iter().flatten() {
                if let Some(score) = score.as_f64() {
                    scores.put(&by_model(name, &versions), number, score);
                }
            }
        }
        scores
    }

    pub fn put(&mut self, name: &str, frame: u64, score: f64) {
        self.columns.entry(name.to_owned()).or_default().insert(frame, score);
    }
}

/// The name of a score by its model, where it is one: `vmaf` and `vmaf_bagging` are those of whichever model that is.
fn by_model(name: &str, versions: &BTreeMap<String, String>) -> String {
    const BOOTSTRAP: [&str; 4] = ["_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi"];
    let is_part = |rest: &str| {
        let number =
            rest.strip_prefix('_').is_some_and(|digits| digits.len() == 4 && digits.parse::<u16>().is_ok());
        rest.is_empty() || number || BOOTSTRAP.contains(&rest)
    };
    let found = versions.iter().find_map(|(own, version)| {
        let rest = name.strip_prefix(own.as_str()).filter(|rest| is_part(rest))?;
        Some(format!("{version}{rest}"))
    });
    found.unwrap_or_else(|| name.to_owned())
}

/// Servers name model files by their whole path.
pub fn base_name(label: &str) -> &str {
    label.rsplit('/').next().unwrap_or(label)
}
