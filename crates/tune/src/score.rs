//! Scores of an encode against its source, by the engine in this process.

use std::path::Path;

use visus_engine::{Cancel, Event, Flow, Plan};
use visus_scoring::names::{self, RequestedModel};
use visus_scoring::{Columns, ErrorClass, Resolved, RunOptions, Selection, run_sources};
use visus_video::{Format, chain};

use crate::TuneError;
use crate::decode;
use crate::goal::{Goal, GoalMetric};
use crate::source::{Source, Window};
use crate::tools::Tools;

/// The model that measures.
#[derive(Debug)]
pub struct Judge {
    plan: Plan,
    /// The columns that are read: the model's, if there is one, then those of further metrics.
    columns: Vec<String>,
    has_model: bool,
    /// Version or path.
    pub label: String,
    pub sha256: String,
    /// The highest score it gives, where it has one.
    pub ceiling: Option<f64>,
    flags: String,
}

/// The metrics that goals are about, each once.
fn goal_metrics(goals: &[Goal]) -> Vec<GoalMetric> {
    let mut metrics: Vec<GoalMetric> = Vec::new();
    for metric in goals.iter().filter_map(|goal| goal.metric) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics
}

/// What has to be computed for goals: their metrics, and the model of a selection where one of them is about it.
pub fn goal_selection(model: Selection, goals: &[Goal]) -> Result<Selection, TuneError> {
    let metrics = goal_metrics(goals);
    let is_judged = metrics.is_empty() || goals.iter().any(|goal| goal.metric.is_none());
    let named: Result<_, _> = metrics.iter().map(|metric| names::metric(metric.name)).collect();
    let models = if is_judged { model.models } else { vec![RequestedModel::None] };
    Ok(Selection { models, metrics: named.map_err(wrong_model)?, ..model })
}

impl Judge {
    /// A model by any of the names that `visus score` takes: a built-in version, a JSON file, libvmaf's grammar, or `auto`.
    pub fn new(model: &str, format: &Format, rate: (u32, u32)) -> Result<Self, TuneError> {
        let selection = Selection::parse([model], [], Columns::Libvmaf).map_err(wrong_model)?;
        Self::of(&selection, format, rate)
    }

    /// The model, where a goal asks for it, and the metrics of the goals.
    pub fn for_goals(
        model: &str,
        goals: &[Goal],
        format: &Format,
        rate: (u32, u32),
    ) -> Result<Self, TuneError> {
        let selection = Selection::parse([model], [], Columns::Libvmaf).map_err(wrong_model)?;
        Self::of_goals(&goal_selection(selection, goals)?, goals, format, rate)
    }

    /// The same for a selection of [`goal_selection`].
    pub fn of_goals(
        selection: &Selection,
        goals: &[Goal],
        format: &Format,
        rate: (u32, u32),
    ) -> Result<Self, TuneError> {
        let mut judge = Self::of(selection, format, rate)?;
        for metric in goal_metrics(goals) {
            if !judge.columns.iter().any(|column| column == metric.column) {
                judge.columns.push(metric.column.to_owned());
            }
        }
        if !judge.has_model {
            judge.label = judge.columns.join(", ");
        }
        Ok(judge)
    }

    /// The first model of a selection.
    pub fn of(selection: &Selection, format: &Format, rate: (u32, u32)) -> Result<Self, TuneError> {
        let Resolved { plan, asked, .. } = selection.resolve_clip(format, Some(rate)).map_err(wrong_model)?;
        let Some((model, spec)) = plan.models().next().zip(asked.models.first()) else {
            if selection.metrics.is_empty() {
                return Err(TuneError::Model("there is none".to_owned()));
            }
            let (columns, label) = (Vec::new(), String::new());
            return Ok(Self {
                plan,
                columns,
                has_model: false,
                label,
                sha256: String::new(),
                ceiling: None,
                flags: String::new(),
            });
        };
        let (columns, label, sha256) = (vec![model.name.clone()], model.label.clone(), model.sha256.clone());
        let ceiling = model.model.clip.map(|clip| clip.max);
        let flags = format!("{:?} {:?}", spec.flags, spec.overloads);
        Ok(Self { plan, columns, has_model: true, label, sha256, ceiling, flags })
    }

    /// Which of the columns a goal is about.
    pub(crate) fn place(&self, goal: &Goal) -> usize {
        let metric = goal.metric.map(|metric| metric.column);
        let found = |name: &str| self.columns.iter().position(|column| column == name);
        metric.and_then(found).unwrap_or(0)
    }

    /// What identifies it in the cache.
    pub(crate) fn facts(&self) -> serde_json::Value {
        let further = &self.columns[usize::from(self.has_model).min(self.columns.len())..];
        if further.is_empty() {
            return serde_json::json!([self.sha256, self.flags]);
        }
        serde_json::json!([self.sha256, self.flags, further])
    }

    /// Scores every frame of an encode of a window of the source: a list for each column.
    pub(crate) fn score(
        &self,
        source: &Source,
        window: Window,
        encode: &Path,
        scaled: bool,
        threads: usize,
        tools: &Tools,
        cancel: &Cancel,
        mut frames: impl FnMut(u64),
    ) -> Result<Vec<Vec<f64>>, TuneError> {
        let reference = decode::source(source, window, tools, cancel)?;
        let distorted = decode::encode(encode, source, scaled, tools, cancel)?;
        let options = RunOptions::from_environment().map_err(wrong_model)?;
        let options = RunOptions { threads: Some(threads), ..options };
        let mut sink = |event: Event<'_>| {
            if let Event::Progress { done } = event {
                frames(done);
            }
            Flow::Continue
        };
        let failed =
            |reason: String| TuneError::Score { what: format!("scoring {}", source.path.display()), reason };
        let outcome = run_sources(&self.plan, reference, distorted, &options, cancel, &mut sink);
        let outcome = outcome.map_err(|error| match error.class() {
            ErrorClass::Cancelled => TuneError::Cancelled,
            _ if cancel.is_fired() => TuneError::Cancelled,
            _ => failed(chain(&error)),
        })?;
        if let Some(side) = outcome.shorter {
            return Err(failed(format!(
                "the {side} video ended after {} frames, the other one went on",
                outcome.frames
            )));
        }
        let scores = |name: &String| -> Option<Vec<f64>> {
            let scores: Vec<f64> = outcome.scores.column(name)?.iter().map(|(_, score)| score).collect();
            let whole = scores.len() as u64 == outcome.frames && scores.iter().all(|score| score.is_finite());
            whole.then_some(scores)
        };
        let columns: Option<Vec<Vec<f64>>> = self.columns.iter().map(scores).collect();
        columns.ok_or_else(|| failed("some frames have no score".to_owned()))
    }
}

fn wrong_model(error: impl std::error::Error) -> TuneError {
    TuneError::Model(chain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_by_any_name() {
        let format = Format::new(1920, 1080, visus_video::Chroma::C420, 8).unwrap();
        for name in ["vmaf_v0.6.1", "v0.6.1", "version=vmaf_v0.6.1"] {
            assert_eq!(Judge::new(name, &format, (25, 1)).unwrap().label, "vmaf_v0.6.1");
        }
        assert!(Judge::new("auto", &format, (25, 1)).unwrap().label.contains("v1.0"));
        assert!(matches!(Judge::new("nonsense", &format, (25, 1)), Err(TuneError::Model(_))));
    }
}
