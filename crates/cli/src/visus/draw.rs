//! What people see: the progress bar and the summary.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use visus_engine::{Column, Event, Flow, NamedModel, Outcome, Plan, Side, Sink};
use visus_report::{score, spark, stats};
use visus_scoring::ErrorClass;

/// Frames, speed and time left, on standard error if that is a terminal.
pub struct Bar(ProgressBar);

impl Bar {
    pub fn new(quiet: bool) -> Self {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        Self(ProgressBar::with_draw_target(None, target))
    }

    pub fn start(&self, total: Option<u64>) {
        let template = if total.is_some() {
            "{bar:30} {pos}/{len} frames  {per_sec:.1}  {eta} left"
        } else {
            "{spinner} {pos} frames  {per_sec:.1}  {elapsed}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style.with_key("per_sec", frames_per_second));
        }
        if let Some(total) = total {
            self.0.set_length(total);
        }
        self.0.enable_steady_tick(Duration::from_millis(200));
    }

    /// So many frames more.
    pub fn add(&self, frames: u64) {
        self.0.inc(frames);
    }

    /// A line that stays above the bar.
    pub fn say(&self, text: &str) {
        self.0.suspend(|| eprintln!("{text}"));
    }

    /// Takes the bar off the screen.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn frames_per_second(state: &indicatif::ProgressState, out: &mut dyn Write) {
    let _ = write!(out, "{:.1} fps", state.per_sec());
}

impl Sink for Bar {
    fn event(&mut self, event: Event<'_>) -> Flow {
        match event {
            Event::Started { total, .. } => self.start(total),
            Event::Progress { done } => self.0.set_position(done),
            _ => {}
        }
        Flow::Continue
    }
}

/// How many bars a curve has at most.
const CURVE_WIDTH: usize = 60;

/// The result in a few lines.
pub fn summary(plan: &Plan, outcome: &Outcome, threads: usize) -> String {
    let mut text = String::new();
    for model in plan.models() {
        if let Some(column) = outcome.scores.column(&model.name) {
            model_lines(&mut text, model, column, outcome);
        }
    }
    feature_lines(&mut text, plan, outcome);
    let _ = writeln!(
        text,
        "{} frames of {}, {:.1} fps with {threads} thread{} ({})",
        outcome.frames,
        outcome.format,
        outcome.fps(),
        if threads == 1 { "" } else { "s" },
        outcome.backend.cpu,
    );
    if outcome.identical {
        let _ = writeln!(text, "{}", score::IDENTICAL);
    }
    text
}

fn model_lines(text: &mut String, model: &NamedModel, column: &Column, outcome: &Outcome) {
    let Some(summary) = stats::summary(column, outcome.frames, outcome.subsample) else { return };
    let pooled = summary.pooled;
    let _ = writeln!(text, "{}  {:.2}", model.name, pooled.mean);
    let _ = writeln!(
        text,
        "  mean {:.4}   harmonic mean {:.4}   min {:.2} at frame {}   max {:.2}",
        pooled.mean,
        pooled.harmonic_mean,
        pooled.min,
        outcome.first_frame + summary.worst_frame,
        pooled.max
    );
    let _ = writeln!(
        text,
        "  p1 {:.2}   p5 {:.2}   p10 {:.2}   p25 {:.2}   median {:.2}",
        summary.p1, summary.p5, summary.p10, summary.p25, summary.median
    );
    if let Some(interval) = interval(model, outcome) {
        let _ = writeln!(text, "  {interval}");
    }
    let values: Vec<f64> = column.iter().map(|(_, value)| value).collect();
    if values.len() > 1 {
        let (low, high) = curve_range(pooled.min, model);
        let curve = spark::line(&values, CURVE_WIDTH, low, high);
        let _ = writeln!(text, "  {curve}  from {low:.0} to {high:.0}");
    }
}

/// The curve begins at a round number below the lowest score and ends at the model's highest.
fn curve_range(min: f64, model: &NamedModel) -> (f64, f64) {
    let high = model.model.clip.map_or(100.0, |clip| clip.max);
    let low = (min / 10.0).floor() * 10.0;
    (low.min(high - 10.0), high)
}

fn interval(model: &NamedModel, outcome: &Outcome) -> Option<String> {
    if model.siblings.is_empty() {
        return None;
    }
    let mean = |suffix: &str| {
        let column = outcome.scores.column(&format!("{}{suffix}", model.name))?;
        Some(visus_engine::pool(column, outcome.frames, outcome.subsample)?.mean)
    };
    Some(format!(
        "95 % confidence interval of the mean over {} bootstrap models: {:.2} to {:.2} (standard deviation {:.2})",
        model.siblings.len(),
        mean("_ci_p95_lo")?,
        mean("_ci_p95_hi")?,
        mean("_stddev")?,
    ))
}

/// Metrics that were asked for beside the models: those whose columns no model reads.
fn feature_lines(text: &mut String, plan: &Plan, outcome: &Outcome) {
    for column in plan.extra_columns().filter_map(|name| outcome.scores.column(name)) {
        if let Some(summary) = stats::summary(column, outcome.frames, outcome.subsample) {
            let pooled = summary.pooled;
            let (mean, min, max) = (pooled.mean, pooled.min, pooled.max);
            let _ = writeln!(text, "{}  mean {mean:.4}   min {min:.4}   max {max:.4}", column.name());
        }
    }
    for (name, value) in outcome.scores.aggregates() {
        let _ = writeln!(text, "{name}  {value:.4} over the whole clip");
    }
}

/// What to say if one input ended before the other.
pub fn shorter_warning(outcome: &Outcome, total: [Option<u64>; 2]) -> Option<String> {
    let shorter = outcome.shorter?;
    let (name, longer) = match shorter {
        Side::Reference => ("reference", total[1]),
        Side::Distorted => ("distorted video", total[0]),
    };
    let longer = longer.map_or(String::new(), |total| format!(", the other one has {total}"));
    Some(format!(
        "the {name} ended after {} frames{longer}; only the common frames are scored",
        outcome.first_frame + outcome.frames
    ))
}

/// What machines read of an error: whose fault it is.
pub fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Request => "request",
        ErrorClass::NotComparable => "not_comparable",
        ErrorClass::Video => "video",
        ErrorClass::TimedOut => "timed_out",
        ErrorClass::Cancelled => "cancelled",
        ErrorClass::Failed => "failed",
    }
}
