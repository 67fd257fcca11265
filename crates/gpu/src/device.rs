//! What every kind of device offers.

use std::sync::Arc;

use visus_metrics::device::DeviceTask;
use visus_video::{Allocator, SharedFrame};

use crate::decoder::{VideoDecoder, VideoStream};
use crate::error::DeviceError;
use crate::sums::PairSums;
use crate::work::Work;

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// `cuda`, `vulkan` or `metal`.
    pub api: &'static str,
    /// Its number among the devices of this kind.
    pub index: usize,
    /// The model's name.
    pub name: String,
    /// Bytes of its memory; of Vulkan and Metal, which do not say that, bytes of the largest buffer.
    pub memory: usize,
    /// Version of the interface that the driver offers.
    pub driver: String,
    /// Generation of the device's instructions.
    pub architecture: String,
}

/// How much a session may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of device memory.
    pub device_bytes: usize,
    /// Pairs to a batch, at most.
    pub batch: usize,
    /// Batches in flight.
    pub slots: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { device_bytes: 2 << 30, batch: 8, slots: 3 }
    }
}

/// A GPU.
pub trait Device: Send + Sync {
    fn info(&self) -> &DeviceInfo;

    /// Memory for frames that the device copies from without help of the processor.
    fn allocator(&self) -> Arc<dyn Allocator>;

    /// Whether it has kernels for a metric.
    fn takes(&self, _task: &DeviceTask) -> bool {
        true
    }

    /// Kernels, memory and streams for pictures of one format.
    fn session(&self, work: &Work, limits: Limits) -> Result<Box<dyn Session>, DeviceError>;

    /// A decoder whose pictures stay in the device's memory, where sessions of this device read them.
    fn decoder(&self, stream: &VideoStream) -> Result<Box<dyn VideoDecoder>, DeviceError> {
        let VideoStream { codec, format, .. } = stream;
        let reason = format!("{} has no decoder for {codec} ({format}) that we use", self.info().api);
        Err(DeviceError::Decoder { reason })
    }
}

/// A pair to be scored. Its frames are held until they have been uploaded.
#[derive(Clone, Debug)]
pub struct PairJob {
    pub reference: SharedFrame,
    pub distorted: SharedFrame,
    /// The references one and two frames before; `None` before the start of a clip.
    pub earlier: [Option<SharedFrame>; 2],
}

impl PairJob {
    /// How many earlier references there are.
    pub fn history(&self) -> usize {
        self.earlier.iter().take_while(|earlier| earlier.is_some()).count()
    }
}

/// Batches in flight on a device, in order.
pub trait Session: Send {
    /// Pairs to a batch, at most.
    fn batch(&self) -> usize;

    /// Batches that may be in flight.
    fn slots(&self) -> usize;

    /// Bytes of device memory that are taken.
    fn device_bytes(&self) -> usize;

    /// Batches in flight.
    fn in_flight(&self) -> usize;

    /// Queues a batch. With all slots in flight, [`collect`](Self::collect) must come first.
    fn submit(&mut self, pairs: Vec<PairJob>) -> Result<(), DeviceError>;

    /// Lets go of frames whose upload is done.
    fn release(&mut self) -> Result<(), DeviceError>;

    /// Whether the oldest batch is done, so that [`collect`](Self::collect) does not wait.
    fn is_done(&mut self) -> Result<bool, DeviceError>;

    /// Waits for the oldest batch; `None` if none is in flight.
    fn collect(&mut self) -> Result<Option<Vec<PairSums>>, DeviceError>;
}
