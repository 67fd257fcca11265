//! Two reports side by side: what differs, and whether the change in score is real.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use visus_engine::percentile_of;

use crate::bootstrap::{self, Change};
use crate::record::{Curve, InputFact, ModelFact, Record};
use crate::score;
use crate::shots::Shot;

/// Something the two reports say differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub what: String,
    pub first: String,
    pub second: String,
    /// Scores with this difference are not on the same scale or not of the same pictures.
    pub breaks: bool,
}

/// The change of one score, as a whole or in a shot.
#[derive(Clone, Copy, Debug)]
pub struct Changed {
    pub means: (f64, f64),
    pub change: Change,
    /// The chance, corrected where there are many.
    pub p: f64,
}

impl Changed {
    pub fn is_real(&self) -> bool {
        self.p < bootstrap::LEVEL
    }
}

/// A model's scores in both reports.
#[derive(Clone, Debug)]
pub struct ModelChange {
    pub names: (String, String),
    pub whole: Changed,
    /// The change of the 5th percentile, and its interval.
    pub p5: (f64, (f64, f64)),
    pub shots: Vec<(Shot, Changed)>,
}

/// Two reports side by side.
#[derive(Clone, Debug)]
pub struct Diff {
    pub differences: Vec<Difference>,
    pub models: Vec<ModelChange>,
    /// Frames that both reports have.
    pub common_frames: usize,
}

/// Compares two reports.
pub fn diff(first: &Record, second: &Record, seed: u64) -> Diff {
    let places = common_places(&first.frames, &second.frames);
    let pairs = paired_models(first, second);
    let change = |(a, b): (&Curve, &Curve)| model_change(first, (a, b), &places, seed);
    Diff {
        differences: differences(first, second),
        models: pairs.into_iter().filter_map(change).collect(),
        common_frames: places.len(),
    }
}

/// Places of the frames that both list.
fn common_places(first: &[u64], second: &[u64]) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let mut other = 0;
    for (place, frame) in first.iter().enumerate() {
        while second.get(other).is_some_and(|next| next < frame) {
            other += 1;
        }
        if second.get(other) == Some(frame) {
            places.push((place, other));
        }
    }
    places
}

/// Models of the same name; if each report has just one, those two whatever they are called.
fn paired_models<'a>(first: &'a Record, second: &'a Record) -> Vec<(&'a Curve, &'a Curve)> {
    let (a, b) = (first.shown(), second.shown());
    let same = a.iter().filter_map(|curve| Some((*curve, *b.iter().find(|other| other.name == curve.name)?)));
    let pairs: Vec<_> = same.collect();
    match (&a[..], &b[..]) {
        ([a], [b]) if pairs.is_empty() => vec![(a, b)],
        _ => pairs,
    }
}

fn model_change(
    record: &Record,
    (first, second): (&Curve, &Curve),
    places: &[(usize, usize)],
    seed: u64,
) -> Option<ModelChange> {
    let scored =
        places.iter().filter_map(|(a, b)| Some((record.frames[*a], first.values[*a]?, second.values[*b]?)));
    let rows: Vec<(u64, f64, f64)> = scored.collect();
    let whole = changed(&rows, seed)?;
    let (a, b): (Vec<f64>, Vec<f64>) = rows.iter().map(|(_, a, b)| (*a, *b)).unzip();
    let p5 = bootstrap::figure_change(&a, &b, seed, |values| percentile_of(values, 5.0))?;
    let names = (first.name.clone(), second.name.clone());
    Some(ModelChange { names, whole, p5, shots: shot_changes(&record.shots, &rows, seed) })
}

fn changed(rows: &[(u64, f64, f64)], seed: u64) -> Option<Changed> {
    let (a, b): (Vec<f64>, Vec<f64>) = rows.iter().map(|(_, a, b)| (*a, *b)).unzip();
    let change = bootstrap::mean_change(&a, &b, seed)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Some(Changed { means: (mean(&a), mean(&b)), change, p: change.p })
}

/// A single shot is the whole clip and needs no row of its own.
fn shot_changes(shots: &[Shot], rows: &[(u64, f64, f64)], seed: u64) -> Vec<(Shot, Changed)> {
    if shots.len() < 2 {
        return Vec::new();
    }
    let within = |shot: &Shot| {
        let start = rows.partition_point(|(frame, ..)| *frame < shot.start);
        let end = rows.partition_point(|(frame, ..)| *frame < shot.end);
        changed(&rows[start..end], seed).map(|changed| (*shot, changed))
    };
    let mut found: Vec<(Shot, Changed)> = shots.iter().filter_map(within).collect();
    let p: Vec<f64> = found.iter().map(|(_, changed)| changed.p).collect();
    for ((_, changed), p) in found.iter_mut().zip(bootstrap::holm(&p)) {
        changed.p = p;
    }
    found
}

/// What the two reports say of themselves, where it is not the same.
fn differences(first: &Record, second: &Record) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut note = |what: &str, first: String, second: String, breaks: bool| {
        if first != second {
            found.push(Difference { what: what.to_owned(), first, second, breaks });
        }
    };
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    note("engine", first.version.clone(), second.version.clone(), false);
    note("CPU level", or_unknown(&first.cpu_level), or_unknown(&second.cpu_level), false);
    note("models", model_names(first), model_names(second), true);
    let file = |input: &InputFact| input.file.clone();
    let format = |input: &InputFact| input.format.clone();
    note("reference", file(&first.reference), file(&second.reference), false);
    note("format of the reference", format(&first.reference), format(&second.reference), true);
    note("distorted video", file(&first.distorted), file(&second.distorted), false);
    note("frames", frames(first), frames(second), false);
    let verdict = |record: &Record| {
        record.comparable.as_ref().map_or("not stated".to_owned(), |comparable| comparable.verdict.clone())
    };
    note("comparable", verdict(first), verdict(second), false);
    found
}

fn model_names(record: &Record) -> String {
    let name = |model: &ModelFact| {
        let hash = model.sha256.as_deref().and_then(|hash| hash.get(..12));
        format!("{}{}", model.model, hash.map_or(String::new(), |hash| format!(" ({hash})")))
    };
    let names: Vec<String> = record.models.iter().map(name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn frames(record: &Record) -> String {
    match (record.frames.first(), record.frames.last()) {
        (Some(first), Some(last)) => format!("{} ({first} to {last})", record.frames.len()),
        _ => "0".to_owned(),
    }
}

impl Diff {
    /// For programs.
    pub fn json(&self) -> Value {
        let difference = |difference: &Difference| DifferenceEntry {
            what: difference.what.clone(),
            a: difference.first.clone(),
            b: difference.second.clone(),
            breaks_comparison: difference.breaks,
        };
        score::json(&DiffReport {
            common_frames: self.common_frames,
            differences: self.differences.iter().map(difference).collect(),
            models: self.models.iter().map(ModelChange::entry).collect(),
            level: bootstrap::LEVEL,
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for difference in &self.differences {
            let _ = writeln!(text, "{}: {} -> {}", difference.what, difference.first, difference.second);
        }
        if self.differences.is_empty() {
            text.push_str("The two reports agree in engine, models, inputs and frames.\n");
        }
        if self.differences.iter().any(|difference| difference.breaks) {
            text.push_str("These scores are not on one scale: a change may come from how they were measured, not from the picture.\n");
        }
        for model in &self.models {
            text.push_str(&model.text());
        }
        if self.models.is_empty() {
            text.push_str("There is no score that both reports have for a common frame.\n");
        }
        text
    }
}

/// Two reports side by side.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffReport {
    /// Frames that both reports have.
    common_frames: usize,
    /// What the two reports say differently of themselves.
    differences: Vec<DifferenceEntry>,
    /// The change of every score that both have.
    models: Vec<ModelEntry>,
    /// Below this chance a change is called real.
    level: f64,
}

/// Something that the two reports say differently.
#[derive(Debug, Serialize, JsonSchema)]
struct DifferenceEntry {
    /// What it is about.
    what: String,
    /// What the first report says.
    a: String,
    /// What the second report says.
    b: String,
    /// Scores with this difference are not on one scale, or not of the same pictures.
    breaks_comparison: bool,
}

/// The change of one score.
#[derive(Debug, Serialize, JsonSchema)]
struct ModelEntry {
    #[serde(flatten)]
    whole: ChangeEntry,
    /// The score's name in the first report.
    a: String,
    /// The score's name in the second report.
    b: String,
    /// Change of the 5th percentile.
    p5_change: f64,
    /// Its 95 % interval.
    p5_interval: (f64, f64),
    /// The change within every shot, where there are several.
    shots: Vec<ShotEntry>,
}

/// The change within a shot.
#[derive(Debug, Serialize, JsonSchema)]
struct ShotEntry {
    #[serde(flatten)]
    change: ChangeEntry,
    /// First frame of the shot.
    start_frame: u64,
    /// The frame after its last.
    end_frame: u64,
}

/// A change of the mean.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangeEntry {
    /// Mean in the first report.
    mean_a: f64,
    /// Mean in the second report.
    mean_b: f64,
    /// The second less the first.
    change: f64,
    /// Its 95 % interval.
    interval: (f64, f64),
    /// The chance of such a change if there is none; per shot corrected for the number of shots.
    p: f64,
    /// Whether p is below the level.
    real: bool,
    /// Frames that were compared.
    frames: usize,
    /// Frames of a block that is drawn as a whole.
    block: usize,
}

impl ModelChange {
    fn entry(&self) -> ModelEntry {
        let shot = |(shot, changed): &(Shot, Changed)| ShotEntry {
            change: changed.entry(),
            start_frame: shot.start,
            end_frame: shot.end,
        };
        ModelEntry {
            whole: self.whole.entry(),
            a: self.names.0.clone(),
            b: self.names.1.clone(),
            p5_change: self.p5.0,
            p5_interval: self.p5.1,
            shots: self.shots.iter().map(shot).collect(),
        }
    }

    fn text(&self) -> String {
        let (a, b) = &self.names;
        let name = if a == b { a.clone() } else { format!("{a} -> {b}") };
        let mut text = format!("\n{name}  {}\n", self.whole.text());
        let (change, (low, high)) = self.p5;
        let _ = writeln!(text, "  p5 {change:+.3} (95 %: {low:+.3} to {high:+.3})");
        let _ = writeln!(
            text,
            "  {} paired frames, blocks of {}, p {}",
            self.whole.change.frames,
            self.whole.change.block,
            chance(self.whole.p)
        );
        for (shot, changed) in &self.shots {
            let _ = writeln!(text, "  frames {:>6}-{:<6} {}", shot.start, shot.end - 1, changed.text());
        }
        text
    }
}

impl Changed {
    fn entry(&self) -> ChangeEntry {
        ChangeEntry {
            mean_a: self.means.0,
            mean_b: self.means.1,
            change: self.change.mean,
            interval: self.change.interval,
            p: self.p,
            real: self.is_real(),
            frames: self.change.frames,
            block: self.change.block,
        }
    }

    fn text(&self) -> String {
        let (low, high) = self.change.interval;
        format!(
            "{:.3} -> {:.3}  {:+.3} (95 %: {low:+.3} to {high:+.3})  {}",
            self.means.0,
            self.means.1,
            self.change.mean,
            self.verdict()
        )
    }

    fn verdict(&self) -> &'static str {
        match (self.is_real(), self.change.mean > 0.0) {
            _ if self.change.mean == 0.0 && self.change.interval == (0.0, 0.0) => "no change at all",
            (true, true) => "better, and not by chance",
            (true, false) => "worse, and not by chance",
            (false, _) => "may be chance",
        }
    }
}

fn chance(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, frames: std::ops::Range<u64>, score: impl Fn(u64) -> f64) -> Record {
        let values = frames.clone().map(|frame| Some(score(frame))).collect();
        Record {
            version: "v".into(),
            frames: frames.collect(),
            curves: vec![Curve { name: name.into(), values }],
            models: vec![ModelFact { name: name.into(), model: name.into(), sha256: None }],
            ..Record::default()
        }
    }

    /// Something without order, between 0 and 1.
    fn wobble(frame: u64) -> f64 {
        (frame.wrapping_mul(2654435761) >> 7 & 1023) as f64 / 1023.0
    }

    #[test]
    fn a_better_second_half_is_found_in_its_shot() {
        let mut first = record("vmaf", 0..200, |frame| 80.0 + wobble(frame));
        let second =
            record("vmaf", 0..200, |frame| 80.0 + wobble(frame + 999) + if frame < 100 { 0.0 } else { 2.0 });
        first.shots = vec![Shot { start: 0, end: 100 }, Shot { start: 100, end: 200 }];
        let diff = diff(&first, &second, 1);
        let model = &diff.models[0];
        assert!(model.whole.is_real() && (model.whole.change.mean - 1.0).abs() < 0.2);
        let real: Vec<bool> = model.shots.iter().map(|(_, changed)| changed.is_real()).collect();
        assert_eq!(real, [false, true]);
        assert!(diff.differences.is_empty());
        assert!(diff.text().contains("better, and not by chance"), "{}", diff.text());
        assert_eq!(diff.json()["models"][0]["shots"][1]["real"], true);
    }

    #[test]
    fn only_common_frames_are_compared_and_other_rulers_told() {
        let first = record("a", 0..50, |_| 90.0);
        let second = record("b", 40..80, |_| 90.0);
        let diff = diff(&first, &second, 1);
        assert_eq!(diff.common_frames, 10);
        assert!(diff.text().contains("not on one scale"), "{}", diff.text());
        assert!(diff.text().contains("no change at all"), "{}", diff.text());
        let none = super::diff(&first, &record("a", 60..80, |_| 1.0), 1);
        assert!(none.text().contains("no score that both reports have"));
    }
}
