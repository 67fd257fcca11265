//! `visus-gpu-check`: compares a device with the CPU, and times it.
//!
//! `compare [few]` scores made pictures of many sizes, depths and kinds on both and compares every sum (`PART PARTS`: every
//! PARTS-th format); `test` runs the self-test that precedes a device's first use, remembered in a folder; `bench` times
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
        ["test", folder] => test(folder.as_ref()),
        ["compare"] => compare::run(false, [0, 1]),
        ["compare", "few"] => compare::run(true, [0, 1]),
        ["compare", part, parts] => part_of(part, parts).and_then(|part| compare::run(false, part)),
        ["bench"] => bench::run(None),
        ["bench", folder] => bench::run(Some(folder.as_ref())),
        _ => {
            Err("usage: visus-gpu-check list | test FOLDER | compare [few | PART PARTS] | bench [FOLDER]"
                .into())
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("visus-gpu-check: {error}");
            ExitCode::FAILURE
        }
    }
}

fn part_of(part: &str, parts: &str) -> Result<[usize; 2], Failure> {
    Ok([part.parse()?, parts.parse::<usize>()?.max(1)])
}

fn test(folder: &std::path::Path) -> Result<(), Failure> {
    use visus_gpu::Device;
    let device = visus_gpu::cuda::CudaDevice::open_tested(0, Some(folder))?;
    println!("{} passed", device.info().name);
    Ok(())
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
