//! A GPU as a device of the engine: jobs become batches, integer sums become rows.
//!
//! The lane keeps as many batches in flight as the session allows. It fills a batch while jobs come in; when none is there
//! it takes what the device has finished, and once the device has nothing left to do, it gets the jobs there are, however
//! few. So batches are large where the device is the bottleneck, and small where reading is.
//!
//! Rows are made of the sums on the lane's own thread, or on a few more where that takes long (SpEED's eigenvalues).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use visus_gpu::{Limits, PairJob, PairSums, Session, VideoDecoder, VideoStream, Work};
use visus_metrics::MetricError;
use visus_video::Allocator;

use crate::backend::{Device, DeviceError, DeviceId, DeviceLane, LaneRequest};
use crate::error::EngineError;
use crate::lane::{Job, Jobs, Lane, NextJob, PartialRow, RowSender, Ticket};
use crate::plan::PlannedMetric;

/// Samples of luma in a batch: so many that a launch is long against what it costs, so few that copies overlap.
const BATCH_SAMPLES: usize = 1 << 24;
/// Pairs in a batch, at most.
const MOST_PAIRS: usize = 8;
/// Threads that make rows of sums, at most.
const MOST_FINISHERS: usize = 6;
/// How long the lane sleeps where it has nothing to do but wait for the device or for jobs.
const NAP: Duration = Duration::from_micros(30);

/// A GPU that the engine computes on.
pub struct Gpu {
    device: Arc<dyn visus_gpu::Device>,
    device_bytes: usize,
}

impl Gpu {
    /// A CUDA device, by its number.
    pub fn cuda(index: usize) -> Result<Self, DeviceError> {
        let device = visus_gpu::cuda::CudaDevice::open(index)?;
        Ok(Self::new(Arc::new(device)))
    }

    /// The same, tested before its first use with a driver; what has passed is remembered in the folder.
    pub fn cuda_tested(index: usize, folder: Option<&std::path::Path>) -> Result<Self, DeviceError> {
        let device = visus_gpu::cuda::CudaDevice::open_tested(index, folder)?;
        Ok(Self::new(Arc::new(device)))
    }

    /// An adapter of Vulkan or Metal, by its number, tested before its first use with a driver.
    #[cfg(feature = "wgpu")]
    pub fn adapter_tested(
        api: visus_gpu::wgpu::Api,
        index: usize,
        folder: Option<&std::path::Path>,
    ) -> Result<Self, DeviceError> {
        let device = visus_gpu::wgpu::WgpuDevice::open_tested(api, index, folder)?;
        Ok(Self::new(Arc::new(device)))
    }

    pub fn new(device: Arc<dyn visus_gpu::Device>) -> Self {
        Self { device, device_bytes: Limits::default().device_bytes }
    }

    /// Bytes of device memory that a run may take.
    pub fn with_device_bytes(self, device_bytes: usize) -> Self {
        Self { device_bytes, ..self }
    }

    fn limits(&self, work: &Work) -> Limits {
        let samples = work.format().width() * work.format().height();
        let batch = (BATCH_SAMPLES / samples).clamp(1, MOST_PAIRS);
        Limits { batch, device_bytes: self.device_bytes, ..Limits::default() }
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpu").field("info", self.device.info()).finish_non_exhaustive()
    }
}

impl Device for Gpu {
    fn id(&self) -> DeviceId {
        let info = self.device.info();
        DeviceId { api: info.api.to_owned(), index: info.index, name: info.name.clone() }
    }

    fn lane(&self, request: &LaneRequest<'_>) -> Result<Option<DeviceLane>, DeviceError> {
        let metrics = request.metrics.iter().map(PlannedMetric::metric);
        let work = Work::of(&request.clip, metrics, |task| self.device.takes(task));
        let places = work.places();
        if places.is_empty() {
            return Ok(None);
        }
        let session = self.device.session(&work, self.limits(&work))?;
        let finish = Arc::new(Finish { work, metrics: request.metrics.to_vec() });
        let lane = GpuLane { id: self.id(), finish, session, tickets: VecDeque::new() };
        Ok(Some(DeviceLane { lane: Box::new(lane), places }))
    }

    fn decoder(&self, stream: &VideoStream) -> Result<Box<dyn VideoDecoder>, DeviceError> {
        Ok(self.device.decoder(stream)?)
    }

    fn allocator(&self) -> Option<Arc<dyn Allocator>> {
        Some(self.device.allocator())
    }
}

impl From<visus_gpu::DeviceError> for DeviceError {
    fn from(error: visus_gpu::DeviceError) -> Self {
        use visus_gpu::DeviceError as Gpu;
        let text = error.to_string();
        match error {
            Gpu::OutOfMemory { .. } | Gpu::Budget { .. } => Self::OutOfMemory(text),
            Gpu::Lost { .. } => Self::Lost(text),
            Gpu::TimedOut { .. } => Self::TimedOut(text),
            _ => Self::Other(text),
        }
    }
}

/// The jobs of one clip on a GPU.
struct GpuLane {
    id: DeviceId,
    finish: Arc<Finish>,
    session: Box<dyn Session>,
    /// Of the batches in flight, oldest first.
    tickets: VecDeque<Vec<Ticket>>,
}

/// Makes rows of sums.
struct Finish {
    work: Work,
    /// All of the plan; tickets name them by their places.
    metrics: Vec<PlannedMetric>,
}

impl Finish {
    fn row(&self, ticket: Ticket, sums: &PairSums) -> Result<PartialRow, MetricError> {
        let value = |place: &usize| {
            let metric = &self.metrics[*place];
            if !ticket.wants(metric) {
                return Ok(Vec::new());
            }
            let mut raw = vec![0.0; metric.metric().raw_len()];
            self.work.finish(*place, ticket.index(), sums, &mut raw)?;
            Ok(raw)
        };
        let values: Result<_, _> = ticket.places().iter().map(value).collect();
        values.map(|values| ticket.row(values))
    }

    /// Until there are no more sums, or nobody wants rows.
    fn all(&self, sums: &Receiver<(Ticket, PairSums)>, rows: &RowSender) -> Result<(), MetricError> {
        for (ticket, sums) in sums {
            if !rows.send(self.row(ticket, &sums)?) {
                break;
            }
        }
        Ok(())
    }
}

/// Takes the sums of a pair. False if nobody wants more of them.
type TakeSums<'a> = dyn FnMut(Ticket, PairSums) -> Result<bool, EngineError> + 'a;

impl Lane for GpuLane {
    fn work(&mut self, jobs: &mut dyn Jobs, rows: &RowSender) -> Result<(), EngineError> {
        let finish = Arc::clone(&self.finish);
        if !finish.work.finishes_slowly() {
            return self.work_on(jobs, &mut |ticket, sums| Ok(rows.send(finish.row(ticket, &sums)?)));
        }
        std::thread::scope(|scope| {
            let (sender, receiver) = bounded(self.session.batch());
            let spawn = |_| {
                let (receiver, finish) = (receiver.clone(), &finish);
                scope.spawn(move || finish.all(&receiver, rows))
            };
            let finishers: Vec<_> = (0..finishers()).map(spawn).collect();
            drop(receiver);
            let worked = self.work_on(jobs, &mut |ticket, sums| Ok(sender.send((ticket, sums)).is_ok()));
            drop(sender);
            for finisher in finishers {
                finisher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            worked
        })
    }

    fn in_flight(&self) -> usize {
        // Those on the device, and the batch that is being filled.
        (self.session.slots() + 1) * self.session.batch()
    }
}

/// Threads that make rows: a few of those there are.
fn finishers() -> usize {
    std::thread::available_parallelism().map_or(1, |threads| (threads.get() / 3).clamp(1, MOST_FINISHERS))
}

impl GpuLane {
    fn failure(&self, source: impl Into<DeviceError>) -> EngineError {
        EngineError::Device { device: self.id.clone(), source: source.into() }
    }

    fn work_on(&mut self, jobs: &mut dyn Jobs, take: &mut TakeSums<'_>) -> Result<(), EngineError> {
        let mut waiting = Vec::new();
        let mut more = true;
        while more || !waiting.is_empty() || self.session.in_flight() > 0 {
            let idle = self.session.in_flight() == 0;
            let full = waiting.len() == self.session.batch();
            let next = match (full, more, idle && waiting.is_empty()) {
                (false, true, true) => jobs.next().map_or(NextJob::Ended, |job| NextJob::Job(Box::new(job))),
                (false, true, false) => jobs.try_next(),
                (true, true, _) => NextJob::NotYet,
                (_, false, _) => NextJob::Ended,
            };
            match next {
                NextJob::Job(job) => {
                    waiting.push(*job);
                    continue;
                }
                NextJob::NotYet => {}
                NextJob::Ended => more = false,
            }
            let free = self.session.in_flight() < self.session.slots();
            if !waiting.is_empty() && free && (full || idle || !more) {
                self.submit(std::mem::take(&mut waiting)).map_err(|error| self.failure(error))?;
            } else if (full && !free) || !more || self.is_done()? {
                if !self.deliver(take)? {
                    return Ok(());
                }
            } else {
                self.session.release().map_err(|error| self.failure(error))?;
                std::thread::sleep(NAP);
            }
        }
        Ok(())
    }

    fn is_done(&mut self) -> Result<bool, EngineError> {
        self.session.is_done().map_err(|error| self.failure(error))
    }

    fn submit(&mut self, jobs: Vec<Job>) -> Result<(), DeviceError> {
        let (tickets, pairs) = jobs.into_iter().map(pair_of).unzip();
        self.session.submit(pairs)?;
        self.tickets.push_back(tickets);
        Ok(())
    }

    /// Waits for the oldest batch, if there is one. Says whether anybody wants more rows.
    fn deliver(&mut self, take: &mut TakeSums<'_>) -> Result<bool, EngineError> {
        let sums = self.session.collect().map_err(|error| self.failure(error))?.unwrap_or_default();
        let tickets = if sums.is_empty() { Vec::new() } else { self.tickets.pop_front().unwrap_or_default() };
        for (ticket, sums) in tickets.into_iter().zip(sums) {
            if !take(ticket, sums)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn pair_of(job: Job) -> (Ticket, PairJob) {
    let ticket = job.ticket().clone();
    let mut earlier = job.earlier.into_iter().map(|pair| pair.reference);
    let earlier = [earlier.next(), earlier.next()];
    (ticket, PairJob { reference: job.current.reference, distorted: job.current.distorted, earlier })
}
