//! `visus-gpu-check`: compares a device with the CPU, and times it.
//!
//! `compare [few]` scores made pictures of many sizes, depths and kinds on both and compares every sum; `bench` times
//! kernels, copies and the whole pipeline; `list` names the devices. The exit status is 1 where anything differs or fails.
#![deny(unsafe_code)]

mod bench;
mod compare;
mod files;
mod pictures;
mod table;

use std::process::ExitCode;

use visus_gpu::DeviceError;

/// What can go wrong.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["list"] => list(),
        ["compare"] => compare::run(false),
        ["compare", "few"] => compare::run(true),
        ["bench"] => bench::run(None),
        ["bench", folder] => bench::run(Some(folder.as_ref())),
        _ => Err("usage: visus-gpu-check list | compare [few] | bench [FOLDER]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("visus-gpu-check: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> Result<(), Failure> {
    for device in visus_gpu::cuda::devices()? {
        let memory = device.memory >> 20;
        println!(
            "{}:{}: {}, {memory} MiB, {}, {}",
            device.api, device.index, device.name, device.driver, device.architecture
        );
    }
    Ok(())
}

/// The first device.
fn device() -> Result<visus_gpu::cuda::CudaDevice, DeviceError> {
    visus_gpu::cuda::CudaDevice::open(0)
}
