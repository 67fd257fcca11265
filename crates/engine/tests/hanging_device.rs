//! A GPU that never finishes: cancelling a run must end it all the same, and what the device holds is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use visus_engine::{
    Backend, Cancel, DevicePolicy, DeviceRequest, EngineError, Gpu, ModelSpec, Plan, Settings, Silent, run,
};
use visus_gpu::{Device, DeviceError, DeviceInfo, Limits, PairJob, PairSums, Session, Work};
use visus_metrics::Level;
use visus_video::{Allocator, Buffer, Chroma, ChromaRounding, Format};

/// What became of the sessions.
#[derive(Default)]
struct Counts {
    submitted: AtomicUsize,
    waits: AtomicUsize,
    collected: AtomicUsize,
    dropped: AtomicUsize,
}

struct HangingDevice {
    info: DeviceInfo,
    counts: Arc<Counts>,
    /// Fired as soon as a session waits.
    cancel: Cancel,
}

struct HangingSession {
    counts: Arc<Counts>,
    cancel: Cancel,
    in_flight: usize,
}

struct OrdinaryMemory;

impl Allocator for OrdinaryMemory {
    fn allocate(&self, _bytes: usize) -> Option<Box<dyn Buffer>> {
        None
    }
}

impl Device for HangingDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocator(&self) -> Arc<dyn Allocator> {
        Arc::new(OrdinaryMemory)
    }

    fn session(&self, _work: &Work, _limits: Limits) -> Result<Box<dyn Session>, DeviceError> {
        let (counts, cancel) = (Arc::clone(&self.counts), self.cancel.clone());
        Ok(Box::new(HangingSession { counts, cancel, in_flight: 0 }))
    }
}

impl Session for HangingSession {
    fn batch(&self) -> usize {
        1
    }

    fn slots(&self) -> usize {
        2
    }

    fn device_bytes(&self) -> usize {
        0
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn submit(&mut self, _pairs: Vec<PairJob>) -> Result<(), DeviceError> {
        self.in_flight += 1;
        self.counts.submitted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn is_done(&mut self) -> Result<bool, DeviceError> {
        Ok(false)
    }

    fn wait(&mut self, _patience: Duration) -> Result<bool, DeviceError> {
        self.counts.waits.fetch_add(1, Ordering::Relaxed);
        self.cancel.fire();
        std::thread::yield_now();
        Ok(false)
    }

    fn collect(&mut self) -> Result<Option<Vec<PairSums>>, DeviceError> {
        self.counts.collected.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    }
}

impl Drop for HangingSession {
    fn drop(&mut self) {
        self.counts.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Without its cancellation this run would never end.
fn cancelled_after(frames: usize) -> Arc<Counts> {
    let (counts, cancel) = (Arc::<Counts>::default(), Cancel::new());
    let info = DeviceInfo {
        api: "cuda",
        index: 0,
        name: "hanging".to_owned(),
        memory: 0,
        driver: String::new(),
        architecture: String::new(),
    };
    let device = HangingDevice { info, counts: Arc::clone(&counts), cancel: cancel.clone() };
    let device = Arc::new(Gpu::new(Arc::new(device)));
    let request = DeviceRequest { device, policy: DevicePolicy::Required };
    let backend = Backend { cpu: Level::detect(), device: Some(request) };
    let settings = Settings { threads: 1, backend, ..Settings::default() };
    let format = Format::new(64, 48, Chroma::C420, 8).unwrap();
    let source = || {
        let bytes = std::io::Cursor::new(vec![128; frames * 64 * 48 * 3 / 2]);
        visus_video::raw_seekable("grey", bytes, format, ChromaRounding::Auto).unwrap()
    };
    let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true).unwrap();
    let ended = run(&plan, Box::new(source()), Box::new(source()), &settings, &cancel, &mut Silent);
    assert!(matches!(ended, Err(EngineError::Cancelled)), "{ended:?}");
    counts
}

#[test]
fn a_cancelled_run_does_not_wait_for_its_device() {
    // One pair: all jobs are there, and the lane waits for the last. Many: both slots are taken, and more jobs come.
    for (frames, submitted) in [(1, 1), (50, 2)] {
        let counts = cancelled_after(frames);
        assert_eq!(counts.submitted.load(Ordering::Relaxed), submitted, "{frames} frames");
        assert!(counts.waits.load(Ordering::Relaxed) > 0);
        assert_eq!(counts.collected.load(Ordering::Relaxed), 0, "nothing was done");
        assert_eq!(counts.dropped.load(Ordering::Relaxed), 1, "the session is gone with the run");
    }
}
