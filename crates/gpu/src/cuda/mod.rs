//! CUDA: the driver is loaded when it is first asked for, and the kernels are text that the driver compiles for its
//! device. Nothing is needed at build time.

mod driver;
mod kernels;
mod nvdec;
mod picture;
mod pinned;
mod session;

use std::sync::Arc;

use visus_video::Allocator;

use crate::decoder::{VideoDecoder, VideoStream};
use crate::device::{Device, DeviceInfo, Limits, Session};
use crate::error::{CudaVersion, DeviceError};
use crate::work::Work;
use driver::{Context, Properties};
use kernels::Kernels;
pub use kernels::PTX_FILES;
use pinned::PinnedStock;
pub use session::CudaSession;

/// The devices of this machine, or why there are none.
pub fn devices() -> Result<Vec<DeviceInfo>, DeviceError> {
    let (version, count) = driver::load()?;
    (0..count).map(|index| Ok(info(index, version, Context::open(index)?.properties()?))).collect()
}

fn info(index: usize, version: CudaVersion, properties: Properties) -> DeviceInfo {
    let (major, minor) = properties.capability;
    DeviceInfo {
        api: "cuda",
        index,
        name: properties.name,
        memory: properties.memory,
        driver: format!("CUDA {version}"),
        architecture: format!("compute capability {major}.{minor}"),
    }
}

/// An NVIDIA GPU with our kernels on it.
#[derive(Debug)]
pub struct CudaDevice {
    info: DeviceInfo,
    context: Context,
    kernels: Arc<Kernels>,
    pinned: Arc<PinnedStock>,
}

impl CudaDevice {
    /// Opens a device and compiles the kernels for it; the driver remembers what it has compiled.
    pub fn open(ordinal: usize) -> Result<Self, DeviceError> {
        let (version, count) = driver::load()?;
        if ordinal >= count {
            return Err(DeviceError::NoSuchDevice { ordinal, count });
        }
        let context = Context::open(ordinal)?;
        let properties = context.properties()?;
        let (major, minor) = properties.capability;
        if major < 6 {
            let found = format!("{major}.{minor}");
            return Err(DeviceError::DeviceTooOld { name: properties.name, found });
        }
        let kernels = Arc::new(Kernels::new(&context)?);
        kernels.check_logarithms(&context)?;
        let pinned = PinnedStock::new(&context);
        Ok(Self { info: info(ordinal, version, properties), context, kernels, pinned })
    }

    /// Opens a device and tests it, unless it has passed with this driver before; what has passed is remembered in the folder.
    pub fn open_tested(ordinal: usize, folder: Option<&std::path::Path>) -> Result<Self, DeviceError> {
        let device = Self::open(ordinal)?;
        let kernels: String = PTX_FILES.iter().map(|(_, ptx)| *ptx).collect();
        crate::selftest::check_once(&device, &kernels, folder)?;
        Ok(device)
    }

    /// Bytes of device memory that nobody has taken.
    pub fn free_memory(&self) -> Result<usize, DeviceError> {
        self.context.free_memory()
    }

    /// A session that also says what its launches take.
    pub fn profiled_session(&self, work: &Work, limits: Limits) -> Result<CudaSession, DeviceError> {
        CudaSession::new(&self.context, self.kernels.clone(), work.clone(), limits)
    }
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocator(&self) -> Arc<dyn Allocator> {
        self.pinned.clone()
    }

    fn session(&self, work: &Work, limits: Limits) -> Result<Box<dyn Session>, DeviceError> {
        Ok(Box::new(self.profiled_session(work, limits)?))
    }

    fn decoder(&self, stream: &VideoStream) -> Result<Box<dyn VideoDecoder>, DeviceError> {
        nvdec::open(&self.context, &self.kernels, stream)
    }
}
