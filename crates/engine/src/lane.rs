//! Lanes: jobs in, rows of raw numbers out, in any order.
//!
//! A [`Job`] is one pair of frames with the pairs before it. A [`Lane`] takes jobs and delivers one [`PartialRow`] for
//! each: a CPU worker computes a job and takes the next one, a device keeps several in flight. Lanes work side by side on
//! threads of their own. Where a device computes some of the metrics, every job is given to it *and* to the workers, with
//! the metrics divided between them; the collector puts the pieces of a frame together.
//!
//! A lane that looks for more work while some is in flight uses [`Jobs::try_next`] and must not wait for a job that may
//! never come: readers wait for frames to be returned, so a lane finishes what it has when there is nothing new.

use std::fmt;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TryRecvError, select};
use visus_metrics::{Pair, Window};
use visus_video::SharedFrame;

use crate::cancel::Cancel;
use crate::error::EngineError;
use crate::plan::PlannedMetric;

/// Two frames that belong together.
#[derive(Clone, Debug)]
pub struct FramePair {
    pub reference: SharedFrame,
    pub distorted: SharedFrame,
}

impl FramePair {
    fn as_pair(&self) -> Pair<'_> {
        Pair { reference: &self.reference, distorted: &self.distorted }
    }
}

/// What a job is about, without its frames.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub(crate) index: u64,
    pub(crate) listed: bool,
    /// Outside the range: only folds that look around need its row.
    pub(crate) context: bool,
    pub(crate) places: Arc<[usize]>,
}

impl Ticket {
    /// The pair's number in the clip.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The metrics that are asked for, by their places in the plan.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Whether this metric has to be computed for this frame. Its entry in the row is empty otherwise.
    pub fn wants(&self, metric: &PlannedMetric) -> bool {
        if self.context { metric.looks_around() } else { self.listed || metric.every_frame() }
    }

    /// The row for this job: raw numbers for each of its [`places`](Self::places).
    pub fn row(self, values: Vec<Vec<f64>>) -> PartialRow {
        PartialRow { ticket: self, values }
    }
}

/// One unit of work: a pair and the pairs before it, newest first. Dropping it lets its frames go back to their pools,
/// so a device drops it as soon as the upload is done and keeps the ticket.
#[derive(Clone, Debug)]
pub struct Job {
    pub(crate) ticket: Ticket,
    pub current: FramePair,
    pub earlier: Vec<FramePair>,
}

impl Job {
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// What an extractor sees.
    pub fn window(&self) -> Window<'_> {
        let mut earlier = self.earlier.iter().map(FramePair::as_pair);
        Window {
            index: self.ticket.index,
            current: self.current.as_pair(),
            previous: earlier.next(),
            before_previous: earlier.next(),
        }
    }

    /// The same frames for other metrics.
    pub(crate) fn for_places(&self, places: &Arc<[usize]>) -> Self {
        let ticket = Ticket { places: Arc::clone(places), ..self.ticket.clone() };
        Self { ticket, current: self.current.clone(), earlier: self.earlier.clone() }
    }
}

/// The raw numbers of one frame for some of the plan's metrics: an entry per place of its ticket, empty where the metric
/// skipped the frame.
#[derive(Debug)]
pub struct PartialRow {
    pub(crate) ticket: Ticket,
    pub(crate) values: Vec<Vec<f64>>,
}

/// Something that computes jobs.
pub trait Lane: Send {
    /// Works until there are no more jobs or nobody wants the rows. Jobs that it could not finish need no word: the error
    /// says that it failed, and the engine knows which rows are missing.
    fn work(&mut self, jobs: &mut dyn Jobs, rows: &RowSender) -> Result<(), EngineError>;

    /// The most pairs that it holds at the same time.
    fn in_flight(&self) -> usize;
}

/// Whether there is another job.
#[derive(Debug)]
pub enum NextJob {
    Job(Box<Job>),
    /// None at this moment.
    NotYet,
    /// None any more.
    Ended,
}

/// Where a lane gets its jobs.
pub trait Jobs {
    /// Waits for a job; none any more is the end.
    fn next(&mut self) -> Option<Job>;

    fn try_next(&mut self) -> NextJob;
}

/// What a lane says to the thread that collects.
#[derive(Debug)]
pub(crate) enum Report {
    Row(PartialRow),
    WorkerFailed(EngineError),
    DeviceEnded(Result<(), EngineError>),
}

/// Takes a lane's rows.
#[derive(Clone)]
pub struct RowSender {
    pub(crate) reports: Sender<Report>,
    /// Fired when nobody collects any more.
    pub(crate) ended: Cancel,
}

impl RowSender {
    /// Whether anybody still wants rows.
    pub fn send(&self, row: PartialRow) -> bool {
        self.reports.send(Report::Row(row)).is_ok()
    }

    /// Whether anybody still wants rows, for a lane that has none to send. What is in flight can be abandoned otherwise.
    pub fn is_wanted(&self) -> bool {
        !self.ended.is_fired()
    }
}

impl fmt::Debug for RowSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowSender")
    }
}

/// Jobs from queues. What a failed device leaves behind goes before new jobs: its frames wait longest.
#[derive(Clone)]
pub(crate) struct QueuedJobs {
    /// Each is gone once it has ended.
    jobs: Option<Receiver<Job>>,
    left_behind: Option<Receiver<Job>>,
}

impl QueuedJobs {
    pub fn new(jobs: Receiver<Job>, left_behind: Option<Receiver<Job>>) -> Self {
        Self { jobs: Some(jobs), left_behind }
    }

    /// Waits for both queues; forgets one that has ended.
    fn either(&mut self, jobs: &Receiver<Job>, left_behind: &Receiver<Job>) -> Option<Job> {
        if let Ok(job) = left_behind.try_recv() {
            return Some(job);
        }
        select! {
            recv(left_behind) -> job => {
                if job.is_err() {
                    self.left_behind = None;
                }
                job.ok()
            }
            recv(jobs) -> job => {
                if job.is_err() {
                    self.jobs = None;
                }
                job.ok()
            }
        }
    }
}

impl Jobs for QueuedJobs {
    fn next(&mut self) -> Option<Job> {
        loop {
            match (self.jobs.clone(), self.left_behind.clone()) {
                (Some(jobs), Some(left_behind)) => {
                    if let Some(job) = self.either(&jobs, &left_behind) {
                        return Some(job);
                    }
                }
                (Some(only), None) | (None, Some(only)) => return only.recv().ok(),
                (None, None) => return None,
            }
        }
    }

    fn try_next(&mut self) -> NextJob {
        let queues = [self.left_behind.as_ref(), self.jobs.as_ref()];
        let mut answer = NextJob::Ended;
        for queue in queues.into_iter().flatten() {
            match queue.try_recv() {
                Ok(job) => return NextJob::Job(Box::new(job)),
                Err(TryRecvError::Empty) => answer = NextJob::NotYet,
                Err(TryRecvError::Disconnected) => {}
            }
        }
        answer
    }
}
