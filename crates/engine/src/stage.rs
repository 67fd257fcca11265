//! Lanes at work: the threads of a run or a session, the queues between them, and what happens when a device fails.
//!
//! ```text
//!               ┌── jobs, for the metrics of the CPU ──▶ workers ──┐
//! Dispatcher ───┤                                        ▲         ├──▶ reports ──▶ Stage ──▶ Collector
//!               └── jobs, for those of the device ─▶ lane┼─────────┘                  │
//!                                                        └──── left behind ◀──────────┘
//! ```
//!
//! The [`Dispatcher`] belongs to whoever has jobs, the [`Stage`] to whoever collects; in a run these are two threads. With
//! [`DevicePolicy::Preferred`], every job that a device was given is kept until its row arrives. When the device fails, the
//! jobs without a row are left behind to the workers, and later ones go to them whole. A job is given to the CPU by exactly
//! one of the two threads: whoever takes it out of [`KeptJobs`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, never, unbounded};
use visus_video::chain;

use crate::backend::{DeviceError, DeviceId, DevicePolicy, Fallback, OpenDevice};
use crate::collect::Collector;
use crate::error::{EngineError, Role, guarded};
use crate::lane::{Job, Jobs, Lane, PartialRow, QueuedJobs, Report, RowSender};
use crate::run::PATIENCE;
use crate::{Cancel, Flow, Plan, Sink};

/// Jobs that wait for a device beside those in flight: enough to fill a batch without a pause, few because each holds
/// frames.
pub(crate) const DEVICE_QUEUE: usize = 4;

/// Jobs that a device was given and has not delivered, in case that it fails.
#[derive(Default)]
struct KeptJobs(Mutex<BTreeMap<u64, Job>>);

impl KeptJobs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Job>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How full the queues may get.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Capacity {
    /// For so many workers: whoever sends waits.
    For(usize),
    /// The sender keeps count itself.
    Unlimited,
}

impl Capacity {
    fn queue<T>(self, per_worker: usize) -> (Sender<T>, Receiver<T>) {
        match self {
            Self::For(workers) => bounded(per_worker * workers.max(1)),
            Self::Unlimited => unbounded(),
        }
    }
}

/// Gives each job to the lanes.
pub(crate) struct Dispatcher {
    workers: Sender<Job>,
    device: Option<DeviceQueue>,
}

struct DeviceQueue {
    jobs: Sender<Job>,
    kept: Option<Arc<KeptJobs>>,
    /// The places of the metrics that the device computes, and of the rest.
    places: Arc<[usize]>,
    rest: Arc<[usize]>,
}

/// What became of a job that was offered to a device.
enum Offered {
    Taken,
    /// The device has failed, and the job is with the workers already.
    LeftBehind,
    Refused,
}

impl DeviceQueue {
    fn offer(&self, job: Job) -> Offered {
        let index = job.ticket.index;
        if let Some(kept) = &self.kept {
            kept.lock().insert(index, job.clone());
        }
        match (self.jobs.send(job), &self.kept) {
            (Ok(()), _) => Offered::Taken,
            (Err(_), Some(kept)) if kept.lock().remove(&index).is_none() => Offered::LeftBehind,
            (Err(_), _) => Offered::Refused,
        }
    }
}

impl Dispatcher {
    /// Hands a job over, waiting where queues are full. Says how many rows will come of it; `None` if nobody takes jobs
    /// any more.
    pub fn submit(&mut self, job: Job) -> Option<usize> {
        let Some(device) = &self.device else { return self.to_workers(job) };
        match device.offer(job.for_places(&device.places)) {
            Offered::Taken | Offered::LeftBehind if device.rest.is_empty() => Some(1),
            Offered::Taken | Offered::LeftBehind => {
                let rest = job.for_places(&device.rest);
                self.to_workers(rest).map(|rows| rows + 1)
            }
            // Without fallback the failure is on its way to the collector and ends the run.
            Offered::Refused if device.kept.is_none() => None,
            Offered::Refused => {
                self.device = None;
                self.to_workers(job)
            }
        }
    }

    fn to_workers(&self, job: Job) -> Option<usize> {
        self.workers.send(job).ok().map(|()| 1)
    }
}

/// The device of a stage, as the collecting thread knows it.
struct StageDevice {
    id: DeviceId,
    places: Arc<[usize]>,
    kept: Option<Arc<KeptJobs>>,
    /// Closed once the device needs nobody to take over.
    left_behind: Option<Sender<Job>>,
}

/// The lanes' threads and their reports. Dropping it ends the lanes and waits for them; whoever holds the dispatcher must
/// let go of it by itself, at the latest when jobs are not taken any more.
pub(crate) struct Stage {
    plan: Arc<Plan>,
    reports: Receiver<Report>,
    /// For lanes that are still to be started; then it is dropped, so that the reports end with the lanes.
    report_sender: Option<Sender<Report>>,
    queue: Option<QueuedJobs>,
    device: Option<StageDevice>,
    threads: Vec<JoinHandle<()>>,
    /// Fired when this is dropped: lanes may abandon what they have in flight.
    ended: Cancel,
    workers: usize,
    /// Rows that were taken so far.
    pub rows_taken: usize,
    pub fallback: Option<Fallback>,
}

impl Stage {
    /// A stage with the lane of a device, if there is one. Workers are added by [`add_worker`](Self::add_worker).
    pub fn new(
        plan: &Arc<Plan>,
        capacity: Capacity,
        device: Option<OpenDevice>,
    ) -> Result<(Self, Dispatcher), EngineError> {
        let (workers, jobs) = capacity.queue(1);
        let (report_sender, reports) = capacity.queue(2);
        let mut stage = Self {
            plan: Arc::clone(plan),
            reports,
            report_sender: Some(report_sender),
            queue: None,
            device: None,
            threads: Vec::new(),
            ended: Cancel::new(),
            workers: 0,
            rows_taken: 0,
            fallback: None,
        };
        let device = device.map(|device| stage.add_device(device, capacity)).transpose()?;
        let (queue, left_behind) = device.unzip();
        stage.queue = Some(QueuedJobs::new(jobs, left_behind));
        Ok((stage, Dispatcher { workers, device: queue }))
    }

    /// Starts the lane of a device. Gives the queue of its jobs, and the one of those that it leaves behind.
    fn add_device(
        &mut self,
        device: OpenDevice,
        capacity: Capacity,
    ) -> Result<(DeviceQueue, Receiver<Job>), EngineError> {
        let OpenDevice { id, policy, mut lane, places } = device;
        let (jobs, job_queue) = match capacity {
            Capacity::For(_) => bounded(DEVICE_QUEUE),
            Capacity::Unlimited => unbounded(),
        };
        let (left_behind, left_behind_queue) = unbounded();
        let kept = (policy == DevicePolicy::Preferred).then(Arc::<KeptJobs>::default);
        let role = Role::Device(id.clone());
        let ended = self.ended.clone();
        self.spawn(role.clone(), move |reports| {
            let mut jobs = QueuedJobs::new(job_queue, None);
            let rows = RowSender { reports, ended };
            let result = guarded(&role, || lane.work(&mut jobs, &rows));
            // From here on no job is taken; the dispatcher sees that before the collector hears of it.
            drop(jobs);
            let _ = rows.reports.send(Report::DeviceEnded(result));
        })?;
        let is_left = |place: &usize| !places.contains(place);
        let rest = (0..self.plan.metrics.len()).filter(is_left).collect();
        let queue = DeviceQueue { jobs, kept: kept.clone(), places: Arc::clone(&places), rest };
        self.device = Some(StageDevice { id, places, kept, left_behind: Some(left_behind) });
        Ok((queue, left_behind_queue))
    }

    /// Workers so far.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Starts a worker on the jobs that the dispatcher hands over.
    pub fn add_worker(&mut self, worker: impl Lane + 'static) -> Result<(), EngineError> {
        let queue = self.queue.clone();
        queue.map_or(Ok(()), |queue| self.add_worker_on(worker, queue))
    }

    /// Starts a worker that gets its jobs from elsewhere.
    pub fn add_worker_on(
        &mut self,
        mut worker: impl Lane + 'static,
        mut jobs: impl Jobs + Send + 'static,
    ) -> Result<(), EngineError> {
        self.workers += 1;
        let ended = self.ended.clone();
        self.spawn(Role::Worker, move |reports| {
            let rows = RowSender { reports, ended };
            let result = guarded(&Role::Worker, || worker.work(&mut jobs, &rows));
            if let Err(error) = result {
                let _ = rows.reports.send(Report::WorkerFailed(error));
            }
        })
    }

    fn spawn(
        &mut self,
        who: Role,
        lane: impl FnOnce(Sender<Report>) + Send + 'static,
    ) -> Result<(), EngineError> {
        let Some(reports) = self.report_sender.clone() else { return Ok(()) };
        let name = if who == Role::Worker { "score" } else { "score on device" };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || lane(reports));
        self.threads.push(thread.map_err(|source| EngineError::Start { who, source })?);
        Ok(())
    }

    /// No more lanes are added: the reports end with those there are.
    pub fn seal(&mut self) {
        self.report_sender = None;
        self.queue = None;
    }

    /// Takes reports until the last lane has ended. The stage must be sealed.
    pub fn gather_all(
        &mut self,
        collector: &mut Collector,
        cancel: &Cancel,
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError> {
        while self.gather(PATIENCE, collector, cancel, sink)? != Gathered::Ended {}
        Ok(())
    }

    /// Takes the next report, if one comes within this time.
    pub fn gather(
        &mut self,
        patience: Duration,
        collector: &mut Collector,
        cancel: &Cancel,
        sink: &mut dyn Sink,
    ) -> Result<Gathered, EngineError> {
        if cancel.is_fired() {
            return Err(EngineError::Cancelled);
        }
        match self.reports.recv_timeout(patience) {
            Ok(report) => self.take(report, collector, sink).map(|()| Gathered::Report),
            Err(RecvTimeoutError::Timeout) => Ok(Gathered::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Gathered::Ended),
        }
    }

    fn take(
        &mut self,
        report: Report,
        collector: &mut Collector,
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError> {
        match report {
            Report::Row(row) => self.take_row(row, collector, sink),
            Report::WorkerFailed(error) => Err(error),
            Report::DeviceEnded(Err(error)) => self.replace_device(error, collector.next_row()),
            Report::DeviceEnded(Ok(())) if self.report_sender.is_some() => {
                let reason = "it ended before its jobs did".to_owned();
                let id = self.device.as_ref().map(|device| device.id.clone());
                let who = id.map_or(Role::Worker, Role::Device);
                self.replace_device(EngineError::Died { who, reason }, collector.next_row())
            }
            Report::DeviceEnded(Ok(())) => {
                self.device.iter_mut().for_each(|device| device.left_behind = None);
                Ok(())
            }
        }
    }

    fn take_row(
        &mut self,
        row: PartialRow,
        collector: &mut Collector,
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError> {
        if let Some(device) = &self.device
            && device.places == row.ticket.places
        {
            device.check(&row, &self.plan)?;
            if let Some(kept) = &device.kept {
                kept.lock().remove(&row.ticket.index);
            }
        }
        self.rows_taken += 1;
        match collector.take(row, sink) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(EngineError::Cancelled),
        }
    }

    /// Leaves a failed device's jobs to the workers, if that is wanted.
    fn replace_device(&mut self, error: EngineError, frame: u64) -> Result<(), EngineError> {
        let Some(StageDevice { kept: Some(kept), left_behind, .. }) = &mut self.device else {
            return Err(error);
        };
        let Some(left_behind) = left_behind.take() else { return Err(error) };
        let orphans = std::mem::take(&mut *kept.lock());
        let frame = orphans.keys().next().copied().unwrap_or(frame);
        self.fallback = Some(Fallback { frame, reason: chain(&error) });
        for job in orphans.into_values() {
            // Workers listen for as long as this sender is there; if none is left, the run has failed anyway.
            let _ = left_behind.send(job);
        }
        Ok(())
    }
}

impl StageDevice {
    /// Rows go into folds that index them, so their shape is checked.
    fn check(&self, row: &PartialRow, plan: &Plan) -> Result<(), EngineError> {
        let fits = |(place, values): (&usize, &Vec<f64>)| {
            let metric = &plan.metrics[*place];
            values.len() == if row.ticket.wants(metric) { metric.metric.raw_len() } else { 0 }
        };
        let places = &row.ticket.places;
        if places.len() == row.values.len() && places.iter().zip(&row.values).all(fits) {
            return Ok(());
        }
        let reason = format!("its row of frame {} does not fit the metrics", row.ticket.index);
        Err(EngineError::Device { device: self.id.clone(), source: DeviceError::Other(reason) })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.ended.fire();
        self.seal();
        self.device = None;
        // Lanes that wait to report see that nobody listens.
        self.reports = never();
        for thread in self.threads.drain(..) {
            // A lane's panic was reported as an error; there is nothing else to hear.
            let _ = thread.join();
        }
    }
}

/// What a look at the reports brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gathered {
    Report,
    Nothing,
    /// All lanes have ended.
    Ended,
}
