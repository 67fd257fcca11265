//! A clip in parts: each scored by itself, on any machine, and joined to the very result of one run.
//!
//! A part reads the pairs around it that metrics and folds look at, so its scores are those of the whole run. What only a
//! whole clip can tell (sums over it, the order of columns) needs the raw rows: a part brings them along, and
//! joining sends them through the same folds and models that a single run uses.

use std::sync::Arc;
use std::time::Duration;

use crate::backend::BackendUsed;
use crate::collect::Collector;
use crate::lane::Ticket;
use crate::span::Span;
use crate::{Outcome, Plan, Silent};

/// A pair's raw numbers: an entry per metric of the plan, empty where the metric skipped the pair.
pub type Row = Vec<Vec<f64>>;

/// A scored part of a clip.
#[derive(Clone, Debug)]
pub struct Part {
    pub outcome: Outcome,
    /// The clip ends with this part.
    pub ended: bool,
    /// A row for each pair.
    pub rows: Vec<Row>,
}

impl Part {
    /// The first frame behind it.
    pub fn end(&self) -> u64 {
        self.outcome.first_frame + self.outcome.frames
    }
}

/// Why parts do not make a clip.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error("there is no part")]
    Nothing,
    #[error("the first part begins with frame {0}, not with 0")]
    NoStart(u64),
    #[error("a part ends before frame {end}, the next one begins with frame {next}")]
    Gap { end: u64, next: u64 },
    #[error("a part ends with the clip, before frame {end}, and another one begins with frame {next}")]
    AfterTheEnd { end: u64, next: u64 },
    #[error("the parts differ in {what}: {first} and {other}")]
    Different { what: &'static str, first: String, other: String },
    #[error("the part from frame {from} has {got} rows for {frames} frames")]
    RowCount { from: u64, frames: u64, got: usize },
    #[error("row {row} of the part from frame {from} does not fit the metrics")]
    RowShape { from: u64, row: usize },
}

/// Joins parts, given in order, to the outcome that one run over all their frames has. The time is the sum of theirs.
pub fn join(plan: &Plan, parts: &[Part]) -> Result<Outcome, JoinError> {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Err(JoinError::Nothing) };
    check_order(parts)?;
    for part in parts {
        check_alike(&first.outcome, &part.outcome)?;
        check_rows(plan, part)?;
    }
    let (format, subsample) = (first.outcome.format, first.outcome.subsample);
    let (plan, places) = (Arc::new(plan.clone()), plan.all_places());
    let mut collector = Collector::new(&plan, &format, subsample, Span::first(None));
    for part in parts {
        for (index, values) in (part.outcome.first_frame..).zip(&part.rows) {
            let listed = index.is_multiple_of(subsample.max(1));
            let ticket = Ticket { index, listed, context: false, places: Arc::clone(&places) };
            let _ = collector.take(ticket.row(values.clone()), &mut Silent);
        }
    }
    Ok(Outcome {
        format,
        first_frame: 0,
        frames: last.end(),
        subsample,
        shorter: last.outcome.shorter,
        identical: parts.iter().all(|part| part.outcome.identical),
        scores: collector.finish(&mut Silent),
        elapsed: parts.iter().map(|part| part.outcome.elapsed).sum::<Duration>(),
        backend: joined_backend(first, parts),
    })
}

/// What the first part used; a fallback in any part is a fallback of the whole.
fn joined_backend(first: &Part, parts: &[Part]) -> BackendUsed {
    let fallback = parts.iter().find_map(|part| part.outcome.backend.fallback.clone());
    BackendUsed { fallback, ..first.outcome.backend.clone() }
}

fn check_order(parts: &[Part]) -> Result<(), JoinError> {
    match parts.first().map(|part| part.outcome.first_frame) {
        Some(0) | None => {}
        Some(first) => return Err(JoinError::NoStart(first)),
    }
    for neighbours in parts.windows(2) {
        let (end, next) = (neighbours[0].end(), neighbours[1].outcome.first_frame);
        if end != next {
            return Err(JoinError::Gap { end, next });
        }
        if neighbours[0].ended {
            return Err(JoinError::AfterTheEnd { end, next });
        }
    }
    Ok(())
}

fn check_alike(first: &Outcome, other: &Outcome) -> Result<(), JoinError> {
    let different = |what, first: &dyn ToString, other: &dyn ToString| JoinError::Different {
        what,
        first: first.to_string(),
        other: other.to_string(),
    };
    if first.format != other.format {
        return Err(different("format", &first.format, &other.format));
    }
    if first.subsample != other.subsample {
        return Err(different("subsampling", &first.subsample, &other.subsample));
    }
    Ok(())
}

/// Rows from outside go into folds that index them.
fn check_rows(plan: &Plan, part: &Part) -> Result<(), JoinError> {
    let (from, frames) = (part.outcome.first_frame, part.outcome.frames);
    if part.rows.len() as u64 != frames || frames == 0 {
        return Err(JoinError::RowCount { from, frames, got: part.rows.len() });
    }
    let fits = |index: u64, row: &Row| {
        let listed = index.is_multiple_of(part.outcome.subsample.max(1));
        row.len() == plan.metrics.len()
            && row.iter().zip(&plan.metrics).all(|(raw, planned)| {
                let wanted = listed || planned.metric.needs().every_frame;
                raw.len() == if wanted { planned.metric.raw_len() } else { 0 }
            })
    };
    match (from..).zip(&part.rows).position(|(index, row)| !fits(index, row)) {
        Some(row) => Err(JoinError::RowShape { from, row }),
        None => Ok(()),
    }
}
