//! Collection: rows arrive in any order and in pieces, leave whole and in frame order, and become scores.
//!
//! A frame's row may come from several lanes, each of which computed some of the metrics; it waits in [`Pending`] until
//! the last piece is there. Whole rows go through the folds in frame order. A fold may hold a frame's scores back until it
//! has seen the rows after it, as many as [`Metric::reach`](visus_metrics::Metric::reach) says; when all metrics are past a
//! frame, the models predict its scores and the sink hears of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use visus_metrics::{Emit, Fold, Reach};
use visus_video::Format;

use crate::error::EngineError;
use crate::lane::PartialRow;
use crate::part::Row;
use crate::span::Span;
use crate::{Column, Event, Flow, Plan, Scores, Sink};

/// Restores order, runs the folds, asks the models. Rows have the clip's indices, columns begin with the span.
pub(crate) struct Collector {
    plan: Arc<Plan>,
    span: Span,
    folds: Vec<Box<dyn Fold>>,
    scores: Scores,
    /// Rows that came before their turn, or not whole.
    waiting: BTreeMap<u64, Pending>,
    /// The next row's index.
    next_row: u64,
    /// The next listed frame that is not complete, counted from the span's first.
    next_frame: u64,
    step: u64,
    ended: bool,
    /// The span's rows, where someone wants to have them.
    kept: Option<Vec<Row>>,
}

/// A row of which some metrics may be missing.
struct Pending {
    context: bool,
    /// An entry per metric of the plan, once it is there.
    values: Vec<Option<Vec<f64>>>,
    missing: usize,
}

impl Pending {
    fn new(context: bool, metrics: usize) -> Self {
        Self { context, values: vec![None; metrics], missing: metrics }
    }

    /// Of a metric that comes twice, the first counts; the bits are the same wherever it was computed.
    fn add(&mut self, row: PartialRow) {
        for (place, values) in row.ticket.places.iter().zip(row.values) {
            let entry = &mut self.values[*place];
            self.missing -= usize::from(entry.is_none());
            entry.get_or_insert(values);
        }
    }
}

impl Collector {
    pub fn new(plan: &Arc<Plan>, format: &Format, step: u64, span: Span) -> Self {
        let folds = plan.metrics.iter().map(|planned| planned.metric.fold(format)).collect();
        let columns = plan.column_names.iter().cloned().map(Column::new).collect();
        let scores = Scores { columns, aggregates: Vec::new() };
        Self {
            plan: Arc::clone(plan),
            span,
            folds,
            scores,
            waiting: BTreeMap::new(),
            next_row: span.context,
            next_frame: 0,
            step: step.max(1),
            ended: false,
            kept: None,
        }
    }

    /// The same, keeping the span's rows.
    pub fn keeping_rows(mut self) -> Self {
        self.kept = Some(Vec::new());
        self
    }

    /// Takes a row or a piece of one, and with it every row that waited for it.
    pub fn take(&mut self, row: PartialRow, sink: &mut dyn Sink) -> Flow {
        let (metrics, context) = (self.plan.metrics.len(), row.ticket.context);
        self.waiting.entry(row.ticket.index).or_insert_with(|| Pending::new(context, metrics)).add(row);
        while let Some((context, values)) = self.next_whole_row() {
            self.fold(context, &values);
            self.next_row += 1;
            if let Some(kept) = self.kept.as_mut().filter(|_| !context) {
                kept.push(values);
            }
            let done = self.span.done_before(self.next_row);
            if self.complete_frames(sink) == Flow::Stop || sink.event(Event::Progress { done }) == Flow::Stop
            {
                return Flow::Stop;
            }
        }
        Flow::Continue
    }

    /// The row whose turn it is, if it is whole.
    fn next_whole_row(&mut self) -> Option<(bool, Row)> {
        self.waiting.get(&self.next_row).filter(|pending| pending.missing == 0)?;
        let pending = self.waiting.remove(&self.next_row)?;
        Some((pending.context, pending.values.into_iter().flatten().collect()))
    }

    /// The scores so far. Those of a frame are complete once [`Event::Frame`] has announced it.
    pub fn scores(&self) -> &Scores {
        &self.scores
    }

    /// The span's rows so far, if they were kept.
    pub fn take_rows(&mut self) -> Vec<Row> {
        self.kept.take().unwrap_or_default()
    }

    fn fold(&mut self, context: bool, row: &Row) {
        let index = self.next_row;
        for ((planned, fold), raw) in self.plan.metrics.iter().zip(&mut self.folds).zip(row) {
            let wanted = !context || is_near(index, &self.span, planned.metric.reach());
            if wanted && (!raw.is_empty() || planned.metric.raw_len() == 0) {
                let first = planned.first_column;
                fold.push(index, raw, &mut Target { scores: &mut self.scores, first, span: self.span });
            }
        }
    }

    /// Whether every row of so many pairs of the span has been folded.
    pub fn check_complete(&self, frames: u64) -> Result<(), EngineError> {
        if self.waiting.is_empty() && self.span.done_before(self.next_row) >= frames {
            return Ok(());
        }
        let missing = |place: &usize| {
            let pending = self.waiting.get(&self.next_row);
            pending.is_none_or(|pending| pending.values[*place].is_none())
        };
        let name = |place: usize| self.plan.metrics[place].info().name;
        let mut metrics: Vec<&str> = (0..self.plan.metrics.len()).filter(missing).map(name).collect();
        metrics.sort_unstable();
        metrics.dedup();
        Err(EngineError::Incomplete { frame: self.next_row, metrics: metrics.join(", ") })
    }

    /// The first frame whose row is not whole.
    pub fn next_row(&self) -> u64 {
        self.next_row
    }

    /// The clip has ended: folds write what they held back, in the order of the columns that a report shows.
    pub fn finish(mut self, sink: &mut dyn Sink) -> Scores {
        for (planned, fold) in self.plan.metrics.iter().zip(&mut self.folds) {
            let first = planned.first_column;
            fold.finish(&mut Target { scores: &mut self.scores, first, span: self.span });
        }
        self.ended = true;
        self.complete_frames(sink);
        let mut order = self.plan.column_order(self.next_row);
        // A metric may have keys that this format has no use for (chroma of a grey picture).
        order.retain(|column| self.scores.columns[*column].iter().next().is_some());
        self.scores.reorder(&order);
        self.scores
    }

    /// Predicts and announces every frame whose features are all there.
    fn complete_frames(&mut self, sink: &mut dyn Sink) -> Flow {
        while self.next_frame < self.span.done_before(self.next_row) && self.is_settled(self.next_frame) {
            self.predict(self.next_frame);
            let event = Event::Frame { index: self.next_frame, scores: &self.scores };
            self.next_frame += self.step;
            if sink.event(event) == Flow::Stop {
                return Flow::Stop;
            }
        }
        Flow::Continue
    }

    /// Nothing more will be written for this frame: all columns have it, or the folds are past it.
    fn is_settled(&self, index: u64) -> bool {
        self.ended
            || self.plan.metrics.iter().all(|planned| {
                let columns = &self.scores.columns[planned.columns()];
                self.next_row > self.span.from + index + planned.metric.reach().after
                    || columns.iter().all(|column| column.get(index).is_some())
            })
    }

    fn predict(&mut self, index: u64) {
        for planned in &self.plan.models {
            let inputs = planned.inputs.iter().map(|column| self.scores.columns[*column].get(index));
            // Without its features a frame has no score, and the model no pooled one.
            let Some(inputs) = inputs.collect::<Option<Vec<f64>>>() else { continue };
            for (offset, score) in planned.model.predict(&inputs).into_iter().enumerate() {
                self.scores.columns[planned.first_column + offset].set(index, score);
            }
        }
    }
}

/// Whether a fold that looks so far wants this row of the span's surroundings.
fn is_near(index: u64, span: &Span, reach: Reach) -> bool {
    let before = index < span.from && index + reach.before >= span.from;
    let after = span.to.is_some_and(|to| index >= to && index < to + reach.after);
    before || after
}

/// Where a fold's scores go; those outside the span are dropped. Scores of frames that are not listed are dropped by the
/// report, not here: motion of an unlisted frame is needed by its neighbours.
struct Target<'a> {
    scores: &'a mut Scores,
    first: usize,
    span: Span,
}

impl Emit for Target<'_> {
    fn score(&mut self, key: usize, index: u64, value: f64) {
        if self.span.contains(index) {
            self.scores.columns[self.first + key].set(index - self.span.from, value);
        }
    }

    fn aggregate(&mut self, name: &str, value: f64) {
        match self.scores.aggregates.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = value,
            None => self.scores.aggregates.push((name.to_owned(), value)),
        }
    }
}
