//! A device beside the CPU: whatever it computes, in whatever order, and however it fails, the scores have the bits of a
//! run without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use visus_engine::{
    Backend, Cancel, ClipInfo, Device, DeviceError, DeviceId, DeviceLane, DevicePolicy, DeviceRequest,
    EngineError, FrameRange, Job, Jobs, Lane, LaneRequest, ModelSpec, NextJob, Outcome, Plan, PlannedMetric,
    PushSession, RowSender, Settings, Silent, Ticket, join, run, run_part,
};
use visus_metrics::{Extractor, Level};
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Allocator, Buffer, Chroma, Format, Source};

/// What goes wrong on the fake device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// It cannot be opened.
    Unavailable,
    /// After so many rows it is lost, with all that is in flight.
    LostAfter(usize),
    /// After so many rows its code panics.
    PanicsAfter(usize),
    /// It forgets this row and goes on.
    Forgets(usize),
    /// This row has a number too many.
    Misshapen(usize),
    /// After so many rows it ends as if all were done.
    EndsAfter(usize),
}

/// Computes some metrics, several pairs at a time, and delivers them in reverse order.
#[derive(Debug)]
struct FakeDevice {
    metrics: &'static [&'static str],
    in_flight: usize,
    fault: Fault,
    /// Rows that were delivered.
    delivered: Arc<AtomicUsize>,
    pinned: Option<Arc<Pinned>>,
}

impl FakeDevice {
    fn new(metrics: &'static [&'static str], in_flight: usize, fault: Fault) -> Self {
        Self { metrics, in_flight, fault, delivered: Arc::default(), pinned: None }
    }

    fn settings(self, policy: DevicePolicy, threads: usize) -> Settings {
        let device = Some(DeviceRequest { device: Arc::new(self), policy });
        Settings { threads, backend: Backend { cpu: Level::Scalar, device }, ..Settings::default() }
    }
}

impl Device for FakeDevice {
    fn id(&self) -> DeviceId {
        DeviceId { api: "fake".to_owned(), index: 0, name: "Test Device".to_owned() }
    }

    fn lane(&self, request: &LaneRequest<'_>) -> Result<Option<DeviceLane>, DeviceError> {
        if self.fault == Fault::Unavailable {
            return Err(DeviceError::OutOfMemory("0 bytes are left".to_owned()));
        }
        let computes = |metric: &PlannedMetric| self.metrics.contains(&metric.info().name);
        let places: Vec<usize> =
            (0..request.metrics.len()).filter(|place| computes(&request.metrics[*place])).collect();
        let extractor = |place: &usize| {
            let metric = request.metrics[*place].clone();
            let extractor = metric.metric().extractor(&request.clip, Level::Scalar).unwrap();
            (metric, extractor)
        };
        let lane = FakeLane {
            metrics: places.iter().map(extractor).collect(),
            in_flight: self.in_flight,
            fault: self.fault,
            delivered: Arc::clone(&self.delivered),
            uploaded: Vec::new(),
            expects_pinned: self.pinned.is_some(),
        };
        Ok(Some(DeviceLane { lane: Box::new(lane), places }))
    }

    fn allocator(&self) -> Option<Arc<dyn Allocator>> {
        self.pinned.clone().map(|pinned| pinned as Arc<dyn Allocator>)
    }
}

struct FakeLane {
    metrics: Vec<(PlannedMetric, Box<dyn Extractor>)>,
    in_flight: usize,
    fault: Fault,
    delivered: Arc<AtomicUsize>,
    /// Tickets and the numbers that the device will deliver for them. The frames are gone already.
    uploaded: Vec<(Ticket, Vec<Vec<f64>>)>,
    expects_pinned: bool,
}

impl FakeLane {
    fn upload(&mut self, job: Job) {
        if self.expects_pinned {
            assert!(job.current.reference.has_foreign_memory() && job.current.distorted.has_foreign_memory());
        }
        let ticket = job.ticket().clone();
        let row = |(metric, extractor): &mut (PlannedMetric, Box<dyn Extractor>)| {
            let mut raw = vec![0.0; if ticket.wants(metric) { metric.metric().raw_len() } else { 0 }];
            if !raw.is_empty() {
                extractor.extract(&job.window(), &mut raw).unwrap();
            }
            raw
        };
        let values = self.metrics.iter_mut().map(row).collect();
        self.uploaded.push((ticket, values));
    }

    /// Delivers what is in flight, newest first.
    fn download(&mut self, rows: &RowSender) -> Result<bool, EngineError> {
        while let Some((ticket, mut values)) = self.uploaded.pop() {
            let count = self.delivered.load(Ordering::SeqCst);
            match self.fault {
                Fault::LostAfter(limit) if count == limit => {
                    let source = DeviceError::Lost("it fell off the bus".to_owned());
                    let device = FakeDevice::new(&[], 1, Fault::None).id();
                    return Err(EngineError::Device { device, source });
                }
                Fault::PanicsAfter(limit) => assert!(count != limit, "a kernel is broken"),
                Fault::Misshapen(row) if count == row => values[0].push(1.0),
                Fault::EndsAfter(limit) if count == limit => return Ok(false),
                _ => {}
            }
            self.delivered.fetch_add(1, Ordering::SeqCst);
            if self.fault != Fault::Forgets(count) && !rows.send(ticket.row(values)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Lane for FakeLane {
    fn work(&mut self, jobs: &mut dyn Jobs, rows: &RowSender) -> Result<(), EngineError> {
        while let Some(job) = jobs.next() {
            self.upload(job);
            while self.uploaded.len() < self.in_flight
                && let NextJob::Job(job) = jobs.try_next()
            {
                self.upload(*job);
            }
            if !self.download(rows)? {
                break;
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

/// Stands for pinned memory.
#[derive(Debug, Default)]
struct Pinned(AtomicUsize);

impl Allocator for Pinned {
    fn allocate(&self, bytes: usize) -> Option<Box<dyn Buffer>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Some(Box::new(vec![0u64; bytes.div_ceil(8)]))
    }
}

const FRAMES: u64 = 11;

fn clip() -> Clip {
    Clip::scene(Format::new(96, 64, Chroma::C420, 8).unwrap(), FRAMES, 5)
}

fn sources() -> [Box<dyn Source>; 2] {
    [Box::new(clip()), Box::new(clip().distorted(Distortion::Blocking { step: 30 }))]
}

fn plan() -> Plan {
    let models = [ModelSpec::version("vmaf_v0.6.1"), ModelSpec::version("vmaf_v0.6.1neg").named("neg")];
    Plan::new(&models, &["psnr".parse().unwrap(), "float_ssim".parse().unwrap()], true).unwrap()
}

fn score(settings: &Settings) -> Result<Outcome, EngineError> {
    let [reference, distorted] = sources();
    run(&plan(), reference, distorted, settings, &Cancel::new(), &mut Silent)
}

fn on_cpu(settings: &Settings) -> Outcome {
    score(&Settings { backend: Level::Scalar.into(), ..settings.clone() }).unwrap()
}

/// Every score, bit for bit.
fn text(outcome: &Outcome) -> String {
    let mut text = String::new();
    for column in outcome.scores.columns() {
        let value = |(index, value): (u64, f64)| format!(" {index}:{:016x}", value.to_bits());
        text.push_str(&format!("{}{}\n", column.name(), column.iter().map(value).collect::<String>()));
    }
    text
}

const SOME: &[&str] = &["vif", "adm", "motion"];
const ALL: &[&str] = &["vif", "adm", "motion", "psnr", "float_ssim"];

#[test]
fn a_device_does_not_show_in_the_scores() {
    for (metrics, in_flight, threads) in
        [(SOME, 1, 1), (SOME, 4, 2), (&["psnr"][..], 3, 5), (ALL, 4, 2), (ALL, 64, 1)]
    {
        let settings =
            FakeDevice::new(metrics, in_flight, Fault::None).settings(DevicePolicy::Required, threads);
        let outcome = score(&settings).unwrap();
        assert_eq!(text(&outcome), text(&on_cpu(&settings)), "{metrics:?}, {in_flight} in flight");
        let used = &outcome.backend;
        assert_eq!(used.device.as_ref().unwrap().to_string(), "fake:0 (Test Device)");
        assert!(used.device == used.requested && used.fallback.is_none());
        assert!(used.device_metrics.iter().all(|name| metrics.contains(&name.as_str())));
        assert!(used.device_metrics.len() >= metrics.len());
    }
}

#[test]
fn subsampled_clips_and_parts_are_the_same_on_a_device() {
    let device = || FakeDevice::new(SOME, 3, Fault::None).settings(DevicePolicy::Required, 2);
    let subsampled = Settings { subsample: 3, ..device() };
    assert_eq!(text(&score(&subsampled).unwrap()), text(&on_cpu(&subsampled)));
    let part = |from, to| {
        let [reference, distorted] = sources();
        let settings = Settings { range: FrameRange::Part { from, to }, ..device() };
        run_part(&plan(), reference, distorted, &settings, &Cancel::new(), &mut Silent).unwrap()
    };
    let joined = join(&plan(), &[part(0, Some(4)), part(4, Some(5)), part(5, None)]).unwrap();
    assert_eq!(text(&joined), text(&on_cpu(&device())));
    assert!(joined.backend.device.is_some());
}

#[test]
fn a_lost_device_is_an_error_where_it_is_required() {
    for rows in [0, 1, 5, 10] {
        let settings = FakeDevice::new(SOME, 4, Fault::LostAfter(rows)).settings(DevicePolicy::Required, 2);
        let error = score(&settings).unwrap_err();
        assert!(matches!(error, EngineError::Device { .. }), "{error:?}");
        let said = visus_video::chain(&error);
        assert_eq!(said, "device fake:0 (Test Device) failed: it was lost: it fell off the bus");
    }
    let settings = FakeDevice::new(ALL, 2, Fault::PanicsAfter(3)).settings(DevicePolicy::Required, 2);
    let error = score(&settings).unwrap_err().to_string();
    let expected = "the lane of device fake:0 (Test Device) stopped unexpectedly: a kernel is broken";
    assert_eq!(error, expected);
}

#[test]
fn the_cpu_takes_over_from_a_lost_device_where_it_is_preferred() {
    for metrics in [SOME, ALL] {
        for (rows, in_flight) in [(0, 1), (0, 64), (1, 3), (5, 4), (10, 2)] {
            for fault in [Fault::LostAfter(rows), Fault::PanicsAfter(rows)] {
                let settings =
                    FakeDevice::new(metrics, in_flight, fault).settings(DevicePolicy::Preferred, 2);
                let outcome = score(&settings).unwrap();
                assert_eq!(text(&outcome), text(&on_cpu(&settings)), "{fault:?}, {in_flight} in flight");
                let fallback = outcome.backend.fallback.unwrap();
                assert!(fallback.frame < FRAMES, "{fallback:?}");
                let cause = if fault == Fault::LostAfter(rows) { "fell off" } else { "is broken" };
                assert!(fallback.reason.contains(cause), "{fallback:?}");
            }
        }
    }
}

#[test]
fn a_device_that_cannot_be_used_is_refused_or_replaced() {
    let (refused, lacking) =
        ("it is out of memory: 0 bytes are left", "it has no kernel for any of the metrics");
    for (metrics, fault, reason, policy) in [
        (SOME, Fault::Unavailable, refused, DevicePolicy::Preferred),
        (&["cambi"][..], Fault::None, lacking, DevicePolicy::Preferred),
        (&["cambi"][..], Fault::None, lacking, DevicePolicy::Required),
    ] {
        let settings = |policy| FakeDevice::new(metrics, 1, fault).settings(policy, 2);
        if fault == Fault::Unavailable {
            let error = score(&settings(DevicePolicy::Required)).unwrap_err();
            assert!(visus_video::chain(&error).ends_with(reason), "{error:?}");
        }
        let outcome = score(&settings(policy)).unwrap();
        assert_eq!(text(&outcome), text(&on_cpu(&Settings::default())));
        let used = outcome.backend;
        assert!(used.device.is_none() && used.requested.is_some() && used.device_metrics.is_empty());
        assert_eq!(
            used.fallback.map(|fallback| (fallback.frame, fallback.reason)),
            Some((0, reason.to_owned()))
        );
    }
}

#[test]
fn rows_that_are_missing_or_misshapen_are_found_out() {
    for policy in [DevicePolicy::Required, DevicePolicy::Preferred] {
        let settings = FakeDevice::new(SOME, 2, Fault::Forgets(4)).settings(policy, 2);
        let error = score(&settings).unwrap_err();
        let EngineError::Incomplete { metrics, .. } = &error else { panic!("{error:?}") };
        assert_eq!(metrics, "adm, motion, vif", "those of the device");
        let settings = FakeDevice::new(SOME, 2, Fault::EndsAfter(4)).settings(policy, 2);
        let error = score(&settings).unwrap_err();
        assert!(matches!(error, EngineError::Incomplete { .. }), "{error:?}");
        let settings = FakeDevice::new(SOME, 2, Fault::Misshapen(4)).settings(policy, 2);
        let error = visus_video::chain(&score(&settings).unwrap_err());
        assert!(error.contains("does not fit the metrics"), "{error}");
    }
}

#[test]
fn a_session_uses_a_device_too() {
    let push_all = |settings: &Settings| {
        let clip_info = ClipInfo::from(*clip().format());
        let mut session =
            PushSession::new(&plan(), clip_info, settings, &Cancel::new(), Box::new(Silent)).unwrap();
        let [reference, distorted] = [clip(), clip().distorted(Distortion::Blocking { step: 30 })];
        for (reference, distorted) in reference.frames().zip(distorted.frames()) {
            session.push(reference, distorted)?;
        }
        session.finish()
    };
    for (fault, policy) in [
        (Fault::None, DevicePolicy::Required),
        (Fault::LostAfter(4), DevicePolicy::Preferred),
        (Fault::LostAfter(0), DevicePolicy::Preferred),
    ] {
        for threads in [0, 1, 3] {
            let settings = FakeDevice::new(SOME, 3, fault).settings(policy, threads);
            let outcome = push_all(&settings).unwrap();
            assert_eq!(text(&outcome), text(&on_cpu(&settings)), "{fault:?}, {threads} threads");
            assert_eq!(outcome.backend.fallback.is_some(), fault != Fault::None);
        }
    }
    let required = |fault| FakeDevice::new(SOME, 3, fault).settings(DevicePolicy::Required, 2);
    let error = push_all(&required(Fault::LostAfter(4))).unwrap_err();
    assert!(matches!(error, EngineError::Device { .. }), "{error:?}");
    let error = push_all(&required(Fault::EndsAfter(0))).unwrap_err();
    let ended_early = matches!(error, EngineError::Died { .. } | EngineError::Incomplete { .. });
    assert!(ended_early, "{error:?}");
}

#[test]
fn frames_are_read_into_the_memory_of_the_device() {
    let pinned = Arc::new(Pinned::default());
    let device = FakeDevice { pinned: Some(Arc::clone(&pinned)), ..FakeDevice::new(SOME, 3, Fault::None) };
    let settings = device.settings(DevicePolicy::Required, 2);
    assert_eq!(text(&score(&settings).unwrap()), text(&on_cpu(&settings)));
    let allocated = pinned.0.load(Ordering::SeqCst);
    assert!(allocated > 0 && allocated <= FRAMES as usize * 2, "{allocated} frames");
}
