//! A gate: figures against limits, in words, as JUnit and as GitHub annotations.

use std::fmt::Write;

use crate::escape::escape;
use crate::record::{Curve, ModelFact, Record};
use crate::stats::Figures;

/// A figure that can be held to a limit.
pub use visus_engine::Pooling as Figure;

/// What it is called in a sentence.
fn figure_name(figure: Figure) -> &'static str {
    if figure == Figure::Harmonic { "harmonic mean" } else { figure.name() }
}

/// What a score must hold.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Figures that must not be below a number.
    pub least: Vec<(Figure, f64)>,
    /// By how much the mean and the 5th percentile may be below the baseline's.
    pub max_drop: Option<f64>,
    pub max_drop_p5: Option<f64>,
}

/// One limit and how it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub name: String,
    pub passed: bool,
    /// In a sentence, with both numbers.
    pub text: String,
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("the report has no scores of a model '{0}' for all frames")]
    NoScores(String),
    #[error("the report has no model; the gate needs one")]
    NoModel,
    #[error("the baseline has no scores of '{0}' for all frames; it has {1}")]
    NoBaseline(String, String),
    #[error("the baseline was measured with another model: {baseline}, now {now}")]
    OtherModel { baseline: String, now: String },
}

/// Holds the first model of a report to limits.
pub fn check(record: &Record, baseline: Option<&Record>, limits: &Limits) -> Result<Vec<Check>, GateError> {
    let model = record.models.first().ok_or(GateError::NoModel)?;
    let figures = record.curve(&model.name).and_then(Curve::figures);
    let figures = figures.ok_or_else(|| GateError::NoScores(model.name.clone()))?;
    let mut checks: Vec<Check> = limits
        .least
        .iter()
        .map(|(figure, least)| least_check(&model.name, *figure, &figures, *least))
        .collect();
    if let Some(baseline) = baseline {
        let before = baseline_figures(model, baseline)?;
        let drops = [(Figure::Mean, limits.max_drop), (Figure::P5, limits.max_drop_p5)];
        for (figure, most) in drops.into_iter().filter_map(|(figure, most)| Some((figure, most?))) {
            checks.push(drop_check(&model.name, figure, &before, &figures, most));
        }
    }
    Ok(checks)
}

fn least_check(model: &str, figure: Figure, figures: &Figures, least: f64) -> Check {
    let (value, name) = (figures.get(figure), figure_name(figure));
    let passed = value >= least;
    let relation = if passed { "is at least" } else { "is below" };
    Check {
        name: format!("{model} {name} >= {least}"),
        passed,
        text: format!("{model} {name} {value:.4} {relation} {least}"),
    }
}

fn drop_check(model: &str, figure: Figure, before: &Figures, now: &Figures, most: f64) -> Check {
    let (before, now, name) = (before.get(figure), now.get(figure), figure_name(figure));
    let drop = before - now;
    let passed = drop <= most;
    let relation = if passed { "within" } else { "more than" };
    Check {
        name: format!("{model} {name} drop <= {most}"),
        passed,
        text: format!(
            "{model} {name} went from {before:.4} to {now:.4} ({:+.4}): {relation} the allowed drop of {most}",
            -drop
        ),
    }
}

/// The same model's figures in the baseline. A report of libvmaf does not say its model's hash; then names must do.
fn baseline_figures(model: &ModelFact, baseline: &Record) -> Result<Figures, GateError> {
    let known = || baseline.models.iter().map(|other| other.name.clone()).collect::<Vec<_>>().join(", ");
    let by_hash = baseline.models.iter().find(|other| other.sha256.is_some() && other.sha256 == model.sha256);
    let by_name = baseline.models.iter().find(|other| other.name == model.name);
    let only = baseline.models.first().filter(|_| baseline.models.len() == 1);
    let other =
        by_hash.or(by_name).or(only).ok_or_else(|| GateError::NoBaseline(model.name.clone(), known()))?;
    if let (Some(before), Some(now)) = (&other.sha256, &model.sha256)
        && before != now
    {
        let shown =
            |fact: &ModelFact, hash: &str| format!("{} ({})", fact.model, hash.get(..12).unwrap_or(hash));
        return Err(GateError::OtherModel { baseline: shown(other, before), now: shown(model, now) });
    }
    let figures = baseline.curve(&other.name).and_then(Curve::figures);
    figures.ok_or_else(|| GateError::NoBaseline(other.name.clone(), known()))
}

/// Why nothing could be measured.
#[derive(Clone, Copy, Debug)]
pub struct NotMeasured<'a> {
    /// The class of the refusal, as in a batch's lines.
    pub class: &'a str,
    pub text: &'a str,
}

/// A JUnit report: a test case per limit. `error` is why nothing could be measured.
pub fn junit(suite: &str, checks: &[Check], seconds: f64, error: Option<NotMeasured<'_>>) -> String {
    let failures = checks.iter().filter(|check| !check.passed).count();
    let errors = usize::from(error.is_some());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" \
         failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds:.3}\">\n",
        escape(suite),
        checks.len() + errors,
    );
    for check in checks {
        let _ = write!(text, "    <testcase classname=\"visus.gate\" name=\"{}\"", escape(&check.name));
        let _ = if check.passed {
            writeln!(text, "><system-out>{}</system-out></testcase>", escape(&check.text))
        } else {
            writeln!(text, "><failure message=\"{}\"/></testcase>", escape(&check.text))
        };
    }
    if let Some(NotMeasured { class, text: words }) = error {
        let _ = writeln!(
            text,
            "    <testcase classname=\"visus.gate\" name=\"measure\"><error type=\"{}\" message=\"{}\"/></testcase>",
            escape(class),
            escape(words)
        );
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// GitHub's workflow commands, a line each: errors for limits that do not hold, a notice for those that do.
pub fn annotations(subject: &str, checks: &[Check], error: Option<&str>) -> String {
    let mut text = String::new();
    for check in checks {
        let kind = if check.passed { "notice" } else { "error" };
        let message = format!("{subject}: {}", check.text);
        let _ = writeln!(text, "::{kind} title=visus gate::{}", command_data(&message));
    }
    if let Some(error) = error {
        let _ = writeln!(text, "::error title=visus gate::{}", command_data(&format!("{subject}: {error}")));
    }
    text
}

/// A workflow command ends with its line, so line ends and the escape itself are written as codes.
fn command_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(model: &str, hash: Option<&str>, values: &[f64]) -> Record {
        Record {
            frames: (0..values.len() as u64).collect(),
            curves: vec![Curve { name: model.into(), values: values.iter().copied().map(Some).collect() }],
            models: vec![ModelFact {
                name: model.into(),
                model: model.into(),
                sha256: hash.map(str::to_owned),
            }],
            ..Record::default()
        }
    }

    #[test]
    fn limits_hold_or_do_not() {
        let now = record("vmaf", Some("aa"), &[90.0, 94.0]);
        let limits = Limits {
            least: vec![(Figure::Mean, 92.0), (Figure::Min, 90.5)],
            max_drop: Some(0.5),
            max_drop_p5: Some(10.0),
        };
        let baseline = record("vmaf", Some("aa"), &[92.0, 94.0]);
        let checks = check(&now, Some(&baseline), &limits).unwrap();
        assert_eq!(checks.iter().map(|check| check.passed).collect::<Vec<_>>(), [true, false, false, true]);
        assert_eq!(checks[1].text, "vmaf min 90.0000 is below 90.5");
        assert_eq!(checks[2].name, "vmaf mean drop <= 0.5");
        assert!(
            checks[2].text.contains("from 93.0000 to 92.0000 (-1.0000): more than"),
            "{}",
            checks[2].text
        );
    }

    #[test]
    fn another_ruler_is_refused() {
        let now = record("vmaf", Some("aa"), &[90.0]);
        let limits = Limits { max_drop: Some(1.0), ..Limits::default() };
        let error = check(&now, Some(&record("vmaf", Some("bb"), &[90.0])), &limits).unwrap_err();
        assert!(error.to_string().contains("another model"), "{error}");
        assert!(check(&now, Some(&record("other", None, &[90.0])), &limits).is_ok());
        assert!(check(&Record::default(), None, &limits).is_err());
    }

    #[test]
    fn junit_and_annotations_survive_hostile_names() {
        let checks = [Check { name: "a<b".into(), passed: false, text: "x\n::error::\"y\"\u{1}".into() }];
        let error = NotMeasured { class: "video", text: "e'" };
        let xml = junit("s&\"", &checks, 1.5, Some(error));
        assert!(xml.contains("<error type=\"video\" message=\""), "{xml}");
        assert!(
            xml.contains("name=\"s&amp;&quot;\" tests=\"2\" failures=\"1\" errors=\"1\" time=\"1.500\""),
            "{xml}"
        );
        assert!(
            xml.contains("name=\"a&lt;b\"") && xml.contains("x&#10;::error::&quot;y&quot;\u{fffd}"),
            "{xml}"
        );
        let lines = annotations("f%\n", &checks, None);
        assert_eq!(lines, "::error title=visus gate::f%25%0A: x%0A::error::\"y\"\u{1}\n");
    }
}
