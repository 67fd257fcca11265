//! Collection: rows arrive in any order, leave in frame order, and become scores.

use std::collections::BTreeMap;

use visus_metrics::{Emit, Fold};
use visus_video::Format;

use crate::part::Row;
use crate::span::Span;
use crate::worker::RawRow;
use crate::{Column, Event, Flow, Plan, Scores, Sink};

/// Restores order, runs the folds, asks the models. Rows have the clip's indices, columns begin with the span.
pub(crate) struct Collector<'a> {
    plan: &'a Plan,
    span: Span,
    folds: Vec<Box<dyn Fold>>,
    scores: Scores,
    /// Rows that came before their turn.
    waiting: BTreeMap<u64, RawRow>,
    /// The next row's index.
    next_row: u64,
    /// The next listed frame that is not complete, counted from the span's first.
    next_frame: u64,
    step: u64,
    /// No pair so far differs.
    identical: bool,
    ended: bool,
    /// The span's rows, where someone wants to have them.
    kept: Option<Vec<Row>>,
}

/// By how many frames a fold may lag: the five-frame motion window looks two frames ahead.
const MAX_LAG: u64 = 2;

impl<'a> Collector<'a> {
    pub fn new(plan: &'a Plan, format: &Format, step: u64, span: Span) -> Self {
        let folds = plan.metrics.iter().map(|planned| planned.metric.fold(format)).collect();
        let columns = plan.column_names.iter().cloned().map(Column::new).collect();
        let scores = Scores { columns, aggregates: Vec::new() };
        Self {
            plan,
            span,
            folds,
            scores,
            waiting: BTreeMap::new(),
            next_row: span.context,
            next_frame: 0,
            step: step.max(1),
            identical: true,
            ended: false,
            kept: None,
        }
    }

    /// The same, keeping the span's rows.
    pub fn keeping_rows(mut self) -> Self {
        self.kept = Some(Vec::new());
        self
    }

    /// Takes a row, and with it every row that waited for it.
    pub fn take(&mut self, row: RawRow, sink: &mut dyn Sink) -> Flow {
        self.waiting.insert(row.index, row);
        while let Some(row) = self.waiting.remove(&self.next_row) {
            self.fold(&row);
            self.next_row += 1;
            self.note(row);
            let done = self.span.done_before(self.next_row);
            if self.complete_frames(sink) == Flow::Stop || sink.event(Event::Progress { done }) == Flow::Stop
            {
                return Flow::Stop;
            }
        }
        Flow::Continue
    }

    /// What is remembered of a row that was folded.
    fn note(&mut self, row: RawRow) {
        if row.context {
            return;
        }
        self.identical &= row.identical;
        if let Some(kept) = &mut self.kept {
            kept.push(row.values);
        }
    }

    /// Whether all pairs so far were the same, sample for sample.
    pub fn identical(&self) -> bool {
        self.identical
    }

    /// The span's rows so far, if they were kept.
    pub fn take_rows(&mut self) -> Vec<Row> {
        self.kept.take().unwrap_or_default()
    }

    fn fold(&mut self, row: &RawRow) {
        for ((planned, fold), raw) in self.plan.metrics.iter().zip(&mut self.folds).zip(&row.values) {
            let wanted = !row.context || row.index_is_near(&self.span, planned.metric.reach());
            if wanted && (!raw.is_empty() || planned.metric.raw_len() == 0) {
                let first = planned.first_column;
                fold.push(row.index, raw, &mut Target { scores: &mut self.scores, first, span: self.span });
            }
        }
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

    /// Predicts and tells every frame whose features are all there.
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
        let features = &self.scores.columns[..self.plan.feature_columns()];
        self.ended
            || self.next_row > self.span.from + index + MAX_LAG
            || features.iter().all(|column| column.get(index).is_some())
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

/// Where a fold's scores go; those outside the span are dropped. Scores of frames that are not listed are dropped by the report, not here: motion of an
/// unlisted frame is needed by its neighbours.
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
