//! Vulkan and Metal through `wgpu`: every GPU that has 64-bit integers in its shaders, with integers alone.
//!
//! Layout, launches and arguments are those of CUDA ([`crate::schedule`]); the kernels are WGSL (`kernels/wgsl`), put
//! together from pieces in [`kernels`]. An "address" is an offset into a batch's memory.
//!
//! An adapter that computes on the processor (lavapipe) is for tests: it is used when it is named, and never chosen.

mod faults;
mod kernels;
mod pace;
mod pieces;
mod session;
mod slot;
#[cfg(test)]
mod tests;
mod upload;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use visus_metrics::device::DeviceTask;
use visus_video::{Allocator, Buffer};
use wgpu::{Backends, DeviceType, Features, MemoryHints};

use crate::device::{Device, DeviceInfo, Limits, Session};
use crate::error::DeviceError;
use crate::work::Work;
use faults::Faults;
use kernels::Kernels;
use pace::Pace;
use session::WgpuSession;

/// What the kernels need of an adapter.
const WORKGROUP_BYTES: u32 = 12 << 10;
const INVOCATIONS: u32 = 256;
const STORAGE_BUFFERS: u32 = 4;

/// An interface that `wgpu` drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    Vulkan,
    Metal,
}

impl Api {
    pub fn name(self) -> &'static str {
        match self {
            Self::Vulkan => "vulkan",
            Self::Metal => "metal",
        }
    }

    fn backends(self) -> Backends {
        match self {
            Self::Vulkan => Backends::VULKAN,
            Self::Metal => Backends::METAL,
        }
    }
}

/// An adapter of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterInfo {
    pub info: DeviceInfo,
    /// It computes on the processor.
    pub is_software: bool,
    /// Why it cannot be used, if it cannot.
    pub lacks: Option<String>,
}

/// The adapters of an interface, in the order of their numbers.
pub fn adapters(api: Api) -> Vec<AdapterInfo> {
    let described = |(index, adapter): (usize, &wgpu::Adapter)| describe(api, index, adapter);
    enumerate(api).iter().enumerate().map(described).collect()
}

/// The number of the adapter that is used when none is named: a discrete GPU before an integrated one, software last.
pub fn first(api: Api) -> Option<AdapterInfo> {
    best(adapters(api))
}

fn best(found: Vec<AdapterInfo>) -> Option<AdapterInfo> {
    // Among equals the first one is the least.
    found.into_iter().min_by_key(|adapter| {
        (adapter.is_software, adapter.lacks.is_some(), adapter.info.architecture != DISCRETE)
    })
}

const DISCRETE: &str = "discrete GPU";

fn enumerate(api: Api) -> Vec<wgpu::Adapter> {
    let descriptor = wgpu::InstanceDescriptor {
        backends: api.backends(),
        // No validation layers: they are for debugging, and change the speed.
        flags: wgpu::InstanceFlags::empty(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    };
    ready(wgpu::Instance::new(descriptor).enumerate_adapters(api.backends()))
}

fn describe(api: Api, index: usize, adapter: &wgpu::Adapter) -> AdapterInfo {
    let facts = adapter.get_info();
    let limits = adapter.limits();
    let architecture = match facts.device_type {
        DeviceType::DiscreteGpu => DISCRETE,
        DeviceType::IntegratedGpu => "integrated GPU",
        DeviceType::VirtualGpu => "virtual GPU",
        DeviceType::Cpu => "software",
        DeviceType::Other => "unknown type",
    };
    let info = DeviceInfo {
        api: api.name(),
        index,
        name: facts.name,
        memory: usize::try_from(limits.max_buffer_size).unwrap_or(usize::MAX),
        driver: format!("{} {}", facts.driver, facts.driver_info).trim().to_owned(),
        architecture: architecture.to_owned(),
    };
    let is_software = facts.device_type == DeviceType::Cpu;
    AdapterInfo { info, is_software, lacks: lacks(adapter.features(), &limits) }
}

/// The first thing that an adapter has too little of.
fn lacks(features: Features, limits: &wgpu::Limits) -> Option<String> {
    if !features.contains(Features::SHADER_INT64) {
        return Some("its shaders have no 64-bit integers (SHADER_INT64)".to_owned());
    }
    let needs = [
        ("bytes of workgroup memory", limits.max_compute_workgroup_storage_size, WORKGROUP_BYTES),
        ("invocations to a workgroup", limits.max_compute_invocations_per_workgroup, INVOCATIONS),
        ("invocations along a workgroup", limits.max_compute_workgroup_size_x, INVOCATIONS),
        ("storage buffers to a shader", limits.max_storage_buffers_per_shader_stage, STORAGE_BUFFERS),
    ];
    let (what, found, needed) = needs.into_iter().find(|(_, found, needed)| found < needed)?;
    Some(format!("it has {found} {what}, but {needed} are needed"))
}

/// The result of a future that is ready at once, as those of `wgpu` are outside a browser.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
        std::thread::yield_now();
    }
}

/// An adapter with our kernels on it.
#[derive(Debug)]
pub struct WgpuDevice {
    info: DeviceInfo,
    is_software: bool,
    shared: Arc<Shared>,
}

/// What the sessions of a device share. Several runs may use it at once.
#[derive(Debug)]
struct Shared {
    device: wgpu::Device,
    queue: wgpu::Queue,
    kernels: Kernels,
    faults: Faults,
    pace: Mutex<Pace>,
    /// How many there were, and how many of a session were on the device at once, at most.
    submissions: AtomicU64,
    most_outstanding: AtomicU64,
}

impl WgpuDevice {
    /// Opens an adapter by its number.
    pub fn open(api: Api, index: usize) -> Result<Self, DeviceError> {
        let adapters = enumerate(api);
        let (name, count) = (api.name(), adapters.len());
        if count == 0 {
            return Err(DeviceError::NoAdapter { api: name });
        }
        let adapter = adapters.get(index).ok_or(DeviceError::NoSuchAdapter { api: name, index, count })?;
        let AdapterInfo { info, is_software, lacks } = describe(api, index, adapter);
        if let Some(reason) = lacks {
            return Err(DeviceError::AdapterLacks { name: info.name, reason });
        }
        let descriptor = wgpu::DeviceDescriptor {
            required_features: Features::SHADER_INT64,
            required_limits: adapter.limits(),
            memory_hints: MemoryHints::MemoryUsage,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = ready(adapter.request_device(&descriptor))
            .map_err(|error| DeviceError::Driver { step: "open the adapter", reason: error.to_string() })?;
        let faults = Faults::watch(&device);
        let kernels = Kernels::new(&device);
        let (pace, [submissions, most_outstanding]) = (Mutex::default(), [0; 2].map(AtomicU64::new));
        let shared = Shared { device, queue, kernels, faults, pace, submissions, most_outstanding };
        Ok(Self { info, is_software, shared: Arc::new(shared) })
    }

    /// Opens an adapter and tests it, unless it has passed with this driver before; what has passed is remembered in the
    /// folder.
    pub fn open_tested(
        api: Api,
        index: usize,
        folder: Option<&std::path::Path>,
    ) -> Result<Self, DeviceError> {
        let device = Self::open(api, index)?;
        crate::selftest::check_once(&device, &kernels::all_sources(), folder)?;
        Ok(device)
    }

    /// Whether it computes on the processor.
    pub fn is_software(&self) -> bool {
        self.is_software
    }

    /// How many submissions there were, of all sessions, and how many of a session were on the device at once, at most.
    #[doc(hidden)]
    pub fn submissions(&self) -> [u64; 2] {
        [&self.shared.submissions, &self.shared.most_outstanding].map(|count| count.load(Ordering::Relaxed))
    }

    /// Gives the device up, as a driver does when it resets: everything after this fails.
    #[doc(hidden)]
    pub fn lose(&self) {
        self.shared.device.destroy();
    }
}

impl Device for WgpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Frames are copied into memory of the driver in any case.
    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(OrdinaryMemory)
    }

    fn is_usable(&self) -> bool {
        self.shared.faults.check("look at the device").is_ok()
    }

    fn takes(&self, task: &DeviceTask) -> bool {
        matches!(task, DeviceTask::Vif(_) | DeviceTask::Adm(_) | DeviceTask::Motion(_))
    }

    fn session(&self, work: &Work, limits: Limits) -> Result<Box<dyn Session>, DeviceError> {
        // Batches only delay answers where nothing runs in parallel.
        let limits = if self.is_software { Limits { batch: 1, slots: 2, ..limits } } else { limits };
        Ok(Box::new(WgpuSession::new(self.shared.clone(), work.clone(), limits)?))
    }
}

struct OrdinaryMemory;

impl Allocator for OrdinaryMemory {
    fn allocate(&self, _bytes: usize) -> Option<Box<dyn Buffer>> {
        None
    }
}
