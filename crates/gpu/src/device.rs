//! What every kind of device offers.

use std::sync::Arc;

use visus_video::{Frame, PlaneView};

use crate::error::DeviceError;
use crate::sums::PairSums;
use crate::work::Work;

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// As it is asked for: `cuda:0`.
    pub id: String,
    /// The model's name.
    pub name: String,
    /// Bytes of its memory.
    pub memory: usize,
    /// Version of the interface that the driver offers, and of the device's instructions.
    pub driver: String,
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

    /// Memory for pictures that the device copies from without help of the processor.
    fn pinned(&self, bytes: usize) -> Result<Box<dyn PinnedMemory>, DeviceError>;

    /// Kernels, memory and streams for pictures of one format.
    fn session(&self, work: &Work, limits: Limits) -> Result<Box<dyn Session>, DeviceError>;
}

/// Host memory of a device.
pub trait PinnedMemory: Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// The luma of a picture in host memory. Whoever has it must not change it.
pub trait Luma: Send + Sync {
    /// From the first sample on, rows [`pitch`](Self::pitch) bytes apart; samples of two bytes in the machine's order.
    fn bytes(&self) -> &[u8];
    fn pitch(&self) -> usize;
}

impl Luma for Frame {
    fn bytes(&self) -> &[u8] {
        match self.plane(0) {
            PlaneView::U8(plane) => plane.data(),
            PlaneView::U16(plane) => bytemuck::cast_slice(plane.data()),
        }
    }

    fn pitch(&self) -> usize {
        match self.plane(0) {
            PlaneView::U8(plane) => plane.stride(),
            PlaneView::U16(plane) => 2 * plane.stride(),
        }
    }
}

/// A pair to be scored. The device's copies hold the pictures until they have been uploaded.
#[derive(Clone)]
pub struct PairJob {
    pub reference: Arc<dyn Luma>,
    pub distorted: Arc<dyn Luma>,
    /// The references one and two frames before; `None` before the start of a clip.
    pub earlier: [Option<Arc<dyn Luma>>; 2],
}

impl std::fmt::Debug for PairJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PairJob").field("history", &self.history()).finish_non_exhaustive()
    }
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

    /// Lets go of pictures whose upload is done.
    fn release(&mut self) -> Result<(), DeviceError>;

    /// Waits for the oldest batch; `None` if none is in flight.
    fn collect(&mut self) -> Result<Option<Vec<PairSums>>, DeviceError>;
}
