//! Measures how long a run on a Vulkan adapter takes to end after it has been cancelled, and how long the device then
//! takes to close: `cancel REFERENCE DISTORTED MILLISECONDS…`, a run for each time. Needs the feature `wgpu`.

type Failure = Box<dyn std::error::Error>;

#[cfg(not(feature = "wgpu"))]
fn main() -> Result<(), Failure> {
    Err("built without the feature wgpu".into())
}

#[cfg(feature = "wgpu")]
fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [reference, distorted, times @ ..] = &words[..] else {
        return Err("usage: cancel REFERENCE DISTORTED MILLISECONDS…".into());
    };
    for time in times {
        measure::cancelled(reference, distorted, time.parse()?)?;
    }
    Ok(())
}

#[cfg(feature = "wgpu")]
mod measure {
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use visus_engine::{
        Api, Backend, Cancel, Device, DevicePolicy, DeviceRequest, Gpu, ModelSpec, Plan, Settings, Silent,
        first_adapter, run,
    };
    use visus_metrics::Level;

    use super::Failure;

    /// One run that is cancelled after so many milliseconds.
    pub fn cancelled(reference: &str, distorted: &str, milliseconds: u64) -> Result<(), Failure> {
        let adapter = first_adapter(Api::Vulkan).ok_or("there is no Vulkan adapter")?;
        let device: Arc<dyn Device> =
            Arc::new(Gpu::adapter_tested(Api::Vulkan, adapter.info.index, Some(&std::env::temp_dir()))?);
        let request = DeviceRequest { device: Arc::clone(&device), policy: DevicePolicy::Required };
        let backend = Backend { cpu: Level::detect(), device: Some(request) };
        let settings = Settings { threads: 1, backend, ..Settings::default() };
        let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true)?.lean();
        let sources = [visus_video::open(reference, None)?, visus_video::open(distorted, None)?];
        let [reference, distorted] = sources;
        let cancel = Cancel::new();
        let fired = cancel.clone();
        let clock = thread::spawn(move || {
            thread::sleep(Duration::from_millis(milliseconds));
            fired.fire();
            Instant::now()
        });
        let outcome = run(&plan, reference, distorted, &settings, &cancel, &mut Silent);
        let ended = Instant::now();
        let frames = outcome.map_or("cancelled".to_owned(), |outcome| format!("{} frames", outcome.frames));
        let fired = clock.join().map_err(|_| "the clock failed")?;
        drop((settings, device));
        let (run, close) = (ended.saturating_duration_since(fired), ended.elapsed());
        println!(
            "after {milliseconds} ms: {frames}, run ended after {run:.0?}, device closed in {close:.0?}"
        );
        Ok(())
    }
}
