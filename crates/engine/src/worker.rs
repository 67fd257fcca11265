//! Workers: windows in, rows of raw numbers out, in any order.

use crossbeam_channel::{Receiver, Sender};
use visus_metrics::{Extractor, Level, MetricError, Pair, Window};
use visus_video::{Format, PlaneView};

use crate::Plan;
use crate::pair::{FramePair, Job};

/// One frame's raw numbers: an entry per metric, empty where the metric skipped the frame.
#[derive(Debug)]
pub(crate) struct RawRow {
    pub index: u64,
    pub values: Vec<Vec<f64>>,
    /// The two pictures are the same, sample for sample.
    pub identical: bool,
}

/// The extractors and scratch of one thread.
pub(crate) struct Worker<'a> {
    plan: &'a Plan,
    extractors: Vec<Box<dyn Extractor>>,
    step: u64,
}

impl<'a> Worker<'a> {
    /// Fails if a metric refuses the format.
    pub fn new(plan: &'a Plan, format: &Format, level: Level, step: u64) -> Result<Self, MetricError> {
        let extractors: Result<_, _> =
            plan.metrics.iter().map(|planned| planned.metric.extractor(format, level)).collect();
        Ok(Self { plan, extractors: extractors?, step: step.max(1) })
    }

    /// Works until there are no more jobs or nobody wants the rows.
    pub fn work(&mut self, jobs: &Receiver<Job>, rows: &Sender<Result<RawRow, MetricError>>) {
        for job in jobs {
            let row = self.row(&job);
            let failed = row.is_err();
            // Frames go back to their pools before the next job is taken.
            drop(job);
            if rows.send(row).is_err() || failed {
                return;
            }
        }
    }

    fn row(&mut self, job: &Job) -> Result<RawRow, MetricError> {
        let mut earlier = job.earlier.iter().map(as_pair);
        let window = Window {
            index: job.index,
            current: as_pair(&job.current),
            previous: earlier.next(),
            before_previous: earlier.next(),
        };
        let listed = job.index.is_multiple_of(self.step);
        let mut values = Vec::with_capacity(self.extractors.len());
        for (planned, extractor) in self.plan.metrics.iter().zip(&mut self.extractors) {
            let mut raw = Vec::new();
            if listed || planned.metric.needs().every_frame {
                raw.resize(planned.metric.raw_len(), 0.0);
                extractor.extract(&window, &mut raw)?;
            }
            values.push(raw);
        }
        Ok(RawRow { index: job.index, values, identical: same_pictures(window.current) })
    }
}

fn as_pair(pair: &FramePair) -> Pair<'_> {
    Pair { reference: &pair.reference, distorted: &pair.distorted }
}

/// Compares row by row and ends with the first difference, which in most pairs is in the first row.
fn same_pictures(pair: Pair<'_>) -> bool {
    (0..pair.reference.format().planes()).all(|plane| {
        match (pair.reference.plane(plane), pair.distorted.plane(plane)) {
            (PlaneView::U8(a), PlaneView::U8(b)) => a.rows().eq(b.rows()),
            (PlaneView::U16(a), PlaneView::U16(b)) => a.rows().eq(b.rows()),
            _ => false,
        }
    })
}
