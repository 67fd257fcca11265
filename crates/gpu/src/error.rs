//! Why a device cannot be used, or could not finish.

use visus_video::Format;

/// What went wrong, for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    #[error("CUDA is not available: {reason}")]
    Unavailable { reason: String },
    #[error(
        "the NVIDIA driver supports CUDA {found}, but CUDA {needed} or later is needed (driver 525 or later)"
    )]
    DriverTooOld { found: CudaVersion, needed: CudaVersion },
    #[error("there is no CUDA device {ordinal}: this machine has {count}")]
    NoSuchDevice { ordinal: usize, count: usize },
    #[error("CUDA device {name} has compute capability {found}, but 6.0 or later is needed")]
    DeviceTooOld { name: String, found: String },
    #[error("there is no {api} adapter on this machine")]
    NoAdapter { api: &'static str },
    #[error("there is no {api} adapter {index}: this machine has {count}")]
    NoSuchAdapter { api: &'static str, index: usize, count: usize },
    #[error("adapter {name} cannot be used: {reason}")]
    AdapterLacks { name: String, reason: String },
    #[error("the device's memory is exhausted: {step} needs {needed} bytes")]
    OutOfMemory { step: &'static str, needed: usize },
    #[error("a batch of one pair needs {needed} bytes on the device, but its share is {allowed}")]
    Budget { needed: usize, allowed: usize },
    #[error("the device did not finish in time ({step}): {reason}")]
    TimedOut { step: &'static str, reason: String },
    #[error("another process has the device for itself (compute mode exclusive): {reason}")]
    Busy { reason: String },
    #[error("the device was lost ({step}): {reason}")]
    Lost { step: &'static str, reason: String },
    #[error("the driver refused to {step}: {reason}")]
    Driver { step: &'static str, reason: String },
    #[error("the device's results differ from the CPU's: {reason}")]
    SelfTest { reason: String },
    #[error("the device's decoder cannot be used: {reason}")]
    Decoder { reason: String },
    #[error("a picture of {got} was given to a session for {needed}")]
    Picture { got: Format, needed: Format },
    #[error("a batch of {got} pairs was given, but at most {allowed} fit")]
    Batch { got: usize, allowed: usize },
}

/// A version of CUDA as its driver counts: 12000 is 12.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion(pub i32);

impl std::fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}
