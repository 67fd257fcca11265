//! What computes: the CPU at a level, and perhaps a device beside it.
//!
//! A [`Device`] is asked once per run for a [`Lane`] that computes those metrics of the plan it has kernels for; the CPU
//! computes the rest, frame by frame, side by side with it. A device must give the bits that the CPU gives: where a metric
//! was computed never shows in a score, only in [`BackendUsed`].
//!
//! What happens when a device fails in the middle of a clip is the caller's choice ([`DevicePolicy`]): the run fails, or
//! the CPU computes what the device did not deliver and everything after it.

use std::fmt;
use std::sync::Arc;

use visus_gpu::{VideoDecoder, VideoStream};
use visus_metrics::Level;
use visus_video::{Allocator, chain};

use crate::error::EngineError;
use crate::lane::Lane;
use crate::plan::PlannedMetric;
use crate::{ClipInfo, Plan};

/// Where a run computes.
#[derive(Clone, Debug)]
pub struct Backend {
    pub cpu: Level,
    pub device: Option<DeviceRequest>,
}

impl Default for Backend {
    fn default() -> Self {
        Level::detect().into()
    }
}

/// The CPU alone.
impl From<Level> for Backend {
    fn from(cpu: Level) -> Self {
        Self { cpu, device: None }
    }
}

/// A device to use, and what to do if it fails.
#[derive(Clone, Debug)]
pub struct DeviceRequest {
    pub device: Arc<dyn Device>,
    pub policy: DevicePolicy,
}

/// What a failing device means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DevicePolicy {
    /// The run fails.
    Required,
    /// The CPU computes the rest, and [`BackendUsed::fallback`] says so.
    Preferred,
}

/// Which device: `cuda:0 (NVIDIA H200)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId {
    /// `cuda`, `vulkan`, `metal` or `hip`.
    pub api: String,
    /// Its number among the devices of this kind.
    pub index: usize,
    /// Its name as the driver gives it.
    pub name: String,
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} ({})", self.api, self.index, self.name)
    }
}

/// Why a device cannot go on. The text is the driver's own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    #[error("it has no kernel for any of the metrics")]
    NoKernel,
    #[error("it is out of memory: {0}")]
    OutOfMemory(String),
    #[error("it was lost: {0}")]
    Lost(String),
    #[error("a kernel took too long: {0}")]
    TimedOut(String),
    #[error("{0}")]
    Other(String),
}

/// Something beside the CPU that computes metrics.
pub trait Device: fmt::Debug + Send + Sync {
    fn id(&self) -> DeviceId;

    /// A lane for those of the metrics that this device has kernels for, or none if there is no such metric. It is made
    /// for one clip and used on one thread.
    fn lane(&self, request: &LaneRequest<'_>) -> Result<Option<DeviceLane>, DeviceError>;

    /// A decoder whose pictures stay in this device's memory, where its lanes read them.
    fn decoder(&self, stream: &VideoStream) -> Result<Box<dyn VideoDecoder>, DeviceError> {
        Err(DeviceError::Other(format!("{} does not decode {} ({})", self.id(), stream.codec, stream.format)))
    }

    /// Memory that this device copies from fastest, for the frames that readers fill.
    fn allocator(&self) -> Option<Arc<dyn Allocator>> {
        None
    }
}

/// What a lane is needed for.
#[derive(Debug)]
pub struct LaneRequest<'a> {
    pub clip: ClipInfo,
    /// All metrics of the plan. A lane names those that it takes by their place in this list.
    pub metrics: &'a [PlannedMetric],
    /// How many earlier pairs a job shows at most.
    pub history: usize,
}

/// A device's lane, and the places of the metrics that it computes.
pub struct DeviceLane {
    pub lane: Box<dyn Lane>,
    /// Rising, without repetition.
    pub places: Vec<usize>,
}

impl fmt::Debug for DeviceLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceLane").field("places", &self.places).finish_non_exhaustive()
    }
}

/// What was asked for and what computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendUsed {
    pub cpu: Level,
    pub requested: Option<DeviceId>,
    /// The device, where it computed anything.
    pub device: Option<DeviceId>,
    /// The names of the metrics that it computed.
    pub device_metrics: Vec<String>,
    /// Why the CPU had to take over, if it had to.
    pub fallback: Option<Fallback>,
}

/// The CPU alone.
impl From<Level> for BackendUsed {
    fn from(cpu: Level) -> Self {
        Self { cpu, requested: None, device: None, device_metrics: Vec::new(), fallback: None }
    }
}

/// A device failed, and the CPU went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The first frame that the device did not deliver.
    pub frame: u64,
    pub reason: String,
}

/// A device that is ready to compute.
pub(crate) struct OpenDevice {
    pub id: DeviceId,
    pub policy: DevicePolicy,
    pub lane: Box<dyn Lane>,
    pub places: Arc<[usize]>,
}

impl Backend {
    /// Opens the device, if one is asked for and usable, and notes how that went.
    pub(crate) fn open(
        &self,
        plan: &Plan,
        clip: &ClipInfo,
    ) -> Result<(Option<OpenDevice>, BackendUsed), EngineError> {
        let mut used = BackendUsed::from(self.cpu);
        let Some(request) = &self.device else { return Ok((None, used)) };
        let id = request.device.id();
        used.requested = Some(id.clone());
        match open_lane(&*request.device, plan, clip) {
            Ok(DeviceLane { lane, places }) => {
                used.device = Some(id.clone());
                let name = |place: &usize| plan.metrics[*place].info().name.to_owned();
                used.device_metrics = places.iter().map(name).collect();
                Ok((Some(OpenDevice { id, policy: request.policy, lane, places: places.into() }), used))
            }
            // A device that lacks all of the metrics is treated like one that lacks some: the CPU computes them, and the
            // result says so.
            Err(source) if request.policy == DevicePolicy::Preferred || source == DeviceError::NoKernel => {
                used.fallback = Some(Fallback { frame: 0, reason: chain(&source) });
                Ok((None, used))
            }
            Err(source) => Err(EngineError::Device { device: id, source }),
        }
    }

    /// Memory for the frames that readers fill.
    pub(crate) fn allocator(&self) -> Option<Arc<dyn Allocator>> {
        self.device.as_ref().and_then(|request| request.device.allocator())
    }
}

fn open_lane(device: &dyn Device, plan: &Plan, clip: &ClipInfo) -> Result<DeviceLane, DeviceError> {
    let request = LaneRequest { clip: *clip, metrics: &plan.metrics, history: plan.history() };
    let lane = device.lane(&request)?.filter(|lane| !lane.places.is_empty());
    let lane = lane.ok_or(DeviceError::NoKernel)?;
    let rising = lane.places.windows(2).all(|pair| pair[0] < pair[1]);
    if rising && lane.places.iter().all(|place| *place < plan.metrics.len()) {
        Ok(lane)
    } else {
        Err(DeviceError::Other(format!("it takes metrics {:?}, which are not in the plan", lane.places)))
    }
}
