//! Several GPUs that share the pairs of one run: whichever has room takes the next.
//!
//! Every pair carries the frames it needs, so any device can take any of them, and rows may come in any order. If one device
//! fails, all of them count as failed: what has no row yet is left to the CPU, or the run ends, as the policy says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::bounded;
use visus_gpu::{VideoDecoder, VideoStream};
use visus_video::Allocator;

use crate::backend::{Device, DeviceError, DeviceId, DeviceLane, LaneRequest};
use crate::error::{EngineError, Role, guarded};
use crate::gpu::Gpu;
use crate::lane::{Jobs, Lane, QueuedJobs, RowSender};

/// Two or more GPUs of one machine.
#[derive(Debug)]
pub struct Gpus {
    gpus: Vec<Arc<Gpu>>,
}

impl Gpus {
    pub fn new(gpus: Vec<Arc<Gpu>>) -> Self {
        Self { gpus }
    }
}

impl Device for Gpus {
    /// Named after the first; its name lists the others: `cuda:0 (NVIDIA H200 + cuda:1 NVIDIA H200)`.
    fn id(&self) -> DeviceId {
        let mut ids = self.gpus.iter().map(|gpu| gpu.id());
        let mut first =
            ids.next().unwrap_or_else(|| DeviceId { api: "cuda".to_owned(), index: 0, name: String::new() });
        for DeviceId { api, index, name } in ids {
            first.name += &format!(" + {api}:{index} {name}");
        }
        first
    }

    fn lane(&self, request: &LaneRequest<'_>) -> Result<Option<DeviceLane>, DeviceError> {
        let mut lanes = Vec::new();
        let mut shared = None;
        for gpu in &self.gpus {
            let Some(DeviceLane { lane, places }) = gpu.lane(request)? else { return Ok(None) };
            // All have the same kernels.
            shared = Some(places);
            lanes.push((Role::Device(gpu.id()), lane));
        }
        Ok(shared.map(|places| DeviceLane { lane: Box::new(SharedLane { lanes }), places }))
    }

    /// The first one decodes; another one that is given such a picture copies it through the host.
    fn decoder(&self, stream: &VideoStream) -> Result<Box<dyn VideoDecoder>, DeviceError> {
        let first = self.gpus.first().ok_or_else(|| DeviceError::Other("there is no device".to_owned()))?;
        first.decoder(stream)
    }

    /// Pinned memory is pinned for all devices.
    fn allocator(&self) -> Option<Arc<dyn Allocator>> {
        self.gpus.first().and_then(|gpu| gpu.allocator())
    }
}

struct SharedLane {
    lanes: Vec<(Role, Box<dyn Lane>)>,
}

impl Lane for SharedLane {
    fn work(&mut self, jobs: &mut dyn Jobs, rows: &RowSender) -> Result<(), EngineError> {
        let failed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, receiver) = bounded(self.lanes.len());
            let mut threads = Vec::new();
            for (role, lane) in &mut self.lanes {
                let (mut queue, failed) = (QueuedJobs::new(receiver.clone(), None), &failed);
                threads.push(scope.spawn(move || {
                    let worked = guarded(role, || lane.work(&mut queue, rows));
                    failed.fetch_or(worked.is_err(), Ordering::Relaxed);
                    worked
                }));
            }
            drop(receiver);
            while !failed.load(Ordering::Relaxed) {
                let Some(job) = jobs.next() else { break };
                if sender.send(job).is_err() {
                    break;
                }
            }
            drop(sender);
            let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            results
                .into_iter()
                .try_for_each(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn in_flight(&self) -> usize {
        self.lanes.iter().map(|(_, lane)| lane.in_flight() + 1).sum()
    }
}
