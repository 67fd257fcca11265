//! Where scores are computed: the CPU, or a device beside it.
//!
//! A device that was named is used or the request fails; there is no silent fallback. `auto` takes a device if one works,
//! and the CPU goes on by itself if that device fails on the way. The bits are the same either way.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use visus_engine::{Backend, Device, DevicePolicy, DeviceRequest, Gpu, Gpus};
use visus_metrics::Level;

use crate::RequestError;
use crate::adapter::AdapterRequest;

/// What a request says about the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendRequest {
    /// A device if one works, else the CPU.
    #[default]
    Auto,
    Cpu,
    /// CUDA devices by their numbers; several share the frames of a run.
    Cuda(CudaDevices),
    /// An adapter of Vulkan or Metal.
    Adapter(AdapterRequest),
}

/// Numbers of CUDA devices, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaDevices(u64);

impl CudaDevices {
    /// The numbers, rising.
    fn numbers(self) -> impl Iterator<Item = usize> {
        (0..u64::BITS as usize).filter(move |number| self.0 >> number & 1 == 1)
    }

    /// `None` for numbers above 63.
    fn one(number: usize) -> Option<Self> {
        (number < u64::BITS as usize).then(|| Self(1 << number))
    }

    /// From `0` or `0,1`.
    fn parse(text: &str) -> Result<Self, RequestError> {
        let one = |number: &str| {
            number.parse().ok().and_then(Self::one).ok_or_else(|| {
                RequestError::Backend(format!("'{number}' is not the number of a CUDA device (0 to 63)"))
            })
        };
        text.split(',').try_fold(Self(0), |all, number| Ok(Self(all.0 | one(number)?.0)))
    }
}

impl std::fmt::Display for CudaDevices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.numbers().map(|number| number.to_string()).collect();
        f.write_str(&numbers.join(","))
    }
}

/// The device that `cuda` is.
const FIRST: CudaDevices = CudaDevices(1);

/// The backends that this build has; drivers are looked for at run time.
pub const BUILT_IN: &[&str] =
    if cfg!(feature = "wgpu") { &["cpu", "cuda", "vulkan", "metal"] } else { &["cpu", "cuda"] };

/// What serves the hardware of a backend that this build does not have.
pub fn instead(name: &str) -> Option<&'static str> {
    let vulkan = cfg!(feature = "wgpu");
    match name {
        "vulkan" | "metal" if !vulkan => Some(
            "this build has no such backend (cargo feature `wgpu`); the CPU serves machines with such GPUs",
        ),
        "hip" if vulkan => Some("there is no HIP backend; 'vulkan' serves AMD GPUs"),
        "hip" => {
            Some("there is no HIP backend; 'vulkan' of a build with the cargo feature `wgpu` serves AMD GPUs")
        }
        "sycl" if vulkan => Some("there is no SYCL backend; 'vulkan' serves Intel GPUs"),
        "sycl" => Some(
            "there is no SYCL backend; 'vulkan' of a build with the cargo feature `wgpu` serves Intel GPUs",
        ),
        _ => None,
    }
}

impl FromStr for BackendRequest {
    type Err = RequestError;

    fn from_str(text: &str) -> Result<Self, RequestError> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        match (name, number) {
            ("auto", None) => Ok(Self::Auto),
            ("cpu", None) => Ok(Self::Cpu),
            ("cuda", None) => Ok(Self::Cuda(FIRST)),
            ("cuda", Some(numbers)) => CudaDevices::parse(numbers).map(Self::Cuda),
            _ => match text.parse() {
                Ok(adapter) if cfg!(feature = "wgpu") => Ok(Self::Adapter(adapter)),
                _ => Err(RequestError::Backend(refusal(name, text))),
            },
        }
    }
}

fn refusal(name: &str, text: &str) -> String {
    match instead(name) {
        Some(instead) => format!("backend '{name}' is not available: {instead}"),
        None if cfg!(feature = "wgpu") => {
            format!(
                "backend '{text}' must be auto, cpu, cuda, cuda:N, cuda:N,M, vulkan, vulkan:N, metal or metal:N"
            )
        }
        None => format!("backend '{text}' must be auto, cpu, cuda, cuda:N or cuda:N,M"),
    }
}

impl std::fmt::Display for BackendRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(FIRST) => f.write_str("cuda"),
            Self::Cuda(devices) => write!(f, "cuda:{devices}"),
            Self::Adapter(adapter) => adapter.fmt(f),
        }
    }
}

impl BackendRequest {
    /// The engine's backend. Opening a device takes half a second; it stays open for the life of the process.
    pub fn open(self, level: Level) -> Result<Backend, RequestError> {
        match self {
            Self::Cpu => Ok(level.into()),
            Self::Cuda(devices) => {
                let device = all(devices).map_err(|reason| unusable(self, &reason))?;
                Ok(with_device(level, device, DevicePolicy::Required))
            }
            Self::Adapter(adapter) => {
                let device = adapter_of(adapter).map_err(|reason| unusable(self, &reason))?;
                Ok(with_device(level, device, DevicePolicy::Required))
            }
            Self::Auto => Ok(match all(FIRST).ok().or_else(hardware) {
                Some(device) => with_device(level, device, DevicePolicy::Preferred),
                None => level.into(),
            }),
        }
    }
}

fn unusable(request: BackendRequest, reason: &str) -> RequestError {
    RequestError::Backend(format!(
        "backend '{request}' is not available: {reason}; pass auto to let a working backend be chosen"
    ))
}

fn with_device(level: Level, device: Arc<dyn Device>, policy: DevicePolicy) -> Backend {
    Backend { cpu: level, device: Some(DeviceRequest { device, policy }) }
}

/// A device, or why it cannot be used. Both are remembered.
type Opened = Result<Arc<Gpu>, String>;

fn cuda(number: usize) -> Opened {
    static DEVICES: LazyLock<Mutex<HashMap<usize, Opened>>> = LazyLock::new(Mutex::default);
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    let open = || {
        let device = Gpu::cuda_tested(number, crate::cache_folder().as_deref());
        device.map(Arc::new).map_err(|error| error.to_string())
    };
    devices.entry(number).or_insert_with(open).clone()
}

/// One device, or several as one.
fn all(devices: CudaDevices) -> Result<Arc<dyn Device>, String> {
    let mut opened: Vec<Arc<Gpu>> = devices.numbers().map(cuda).collect::<Result<_, _>>()?;
    match opened.len() {
        1 => Ok(opened.remove(0)),
        _ => Ok(Arc::new(Gpus::new(opened))),
    }
}

/// A GPU by Vulkan or Metal that works; never one that computes on the processor.
#[cfg(feature = "wgpu")]
fn hardware() -> Option<Arc<dyn Device>> {
    use crate::adapter::{AdapterApi, hardware};
    AdapterApi::ALL.into_iter().find_map(hardware).map(|gpu| gpu as Arc<dyn Device>)
}

#[cfg(not(feature = "wgpu"))]
fn hardware() -> Option<Arc<dyn Device>> {
    None
}

#[cfg(feature = "wgpu")]
fn adapter_of(request: AdapterRequest) -> Result<Arc<dyn Device>, String> {
    crate::adapter::open(request).map(|gpu| gpu as Arc<dyn Device>)
}

#[cfg(not(feature = "wgpu"))]
fn adapter_of(request: AdapterRequest) -> Result<Arc<dyn Device>, String> {
    Err(instead(request.api.name()).unwrap_or_default().to_owned())
}

/// The adapters of Vulkan and Metal, a line each; none in a build without them.
#[cfg(feature = "wgpu")]
pub fn adapters() -> Vec<String> {
    crate::adapter::adapters()
}

/// The adapters of Vulkan and Metal: this build has none.
#[cfg(not(feature = "wgpu"))]
pub fn adapters() -> Vec<String> {
    Vec::new()
}

/// Whether a backend works here, or why not. The first question about a device opens it.
pub fn probe(name: &str) -> Result<String, String> {
    match name.parse() {
        Ok(BackendRequest::Auto | BackendRequest::Cpu) => Ok("cpu".to_owned()),
        Ok(BackendRequest::Cuda(devices)) => all(devices).map(|device| device.id().to_string()),
        Ok(BackendRequest::Adapter(adapter)) => adapter_of(adapter).map(|device| device.id().to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// The backends that work on this machine; the CPU is the first. Adapters that compute on the processor do not count, but
/// may be named.
pub fn available() -> Vec<&'static str> {
    let mut names = vec!["cpu"];
    names.extend(cuda(0).is_ok().then_some("cuda"));
    #[cfg(feature = "wgpu")]
    names.extend(
        crate::adapter::AdapterApi::ALL
            .into_iter()
            .filter(|api| crate::adapter::hardware(*api).is_some())
            .map(crate::adapter::AdapterApi::name),
    );
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_backends() {
        assert_eq!("auto".parse(), Ok(BackendRequest::Auto));
        assert_eq!("cuda:2".parse(), Ok(BackendRequest::Cuda(CudaDevices::one(2).unwrap())));
        let Ok(BackendRequest::Cuda(several)) = "cuda:3,0,3".parse() else { panic!("several devices") };
        assert_eq!(several.numbers().collect::<Vec<_>>(), [0, 3]);
        for text in [
            "cuda:x", "cuda:", "cuda:0,", "cuda:64", "cuda:-1", "cpu:1", "abacus", "sycl", "hip", "vulkan:x",
            "",
        ] {
            assert!(text.parse::<BackendRequest>().is_err(), "{text}");
        }
        for text in ["auto", "cpu", "cuda", "cuda:3", "cuda:0,1", "cuda:1,2,63"] {
            assert_eq!(
                text.parse::<BackendRequest>().map(|backend| backend.to_string()),
                Ok(text.to_owned())
            );
        }
    }

    #[test]
    fn adapters_belong_to_builds_that_have_them() {
        for text in ["vulkan", "vulkan:1", "metal"] {
            match text.parse::<BackendRequest>() {
                Ok(request) => assert!(cfg!(feature = "wgpu") && request.to_string() == text),
                Err(error) => {
                    assert!(!cfg!(feature = "wgpu") && error.to_string().contains("`wgpu`"), "{error}")
                }
            }
        }
        for name in ["hip", "sycl"] {
            let error = name.parse::<BackendRequest>().unwrap_err().to_string();
            assert!(error.contains("'vulkan'"), "{error}");
        }
    }

    #[test]
    fn the_cpu_is_always_there() {
        assert_eq!(available()[0], "cpu");
        let backend = BackendRequest::Cpu.open(Level::Scalar).unwrap();
        assert!(backend.device.is_none() && backend.cpu == Level::Scalar);
        assert!(BackendRequest::Auto.open(Level::Scalar).is_ok());
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_with_the_reason() {
        let error = "cuda:63".parse::<BackendRequest>().unwrap().open(Level::Scalar).unwrap_err().to_string();
        assert!(error.starts_with("backend 'cuda:63' is not available: "), "{error}");
    }
}
