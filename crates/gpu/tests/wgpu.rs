//! Vulkan's kernels and everything around them on an adapter of this machine, which may be lavapipe (Debian:
//! `mesa-vulkan-drivers`): numbers must be the CPU's to the last bit, and a device that fails must end in a clear error.
//!
//! Without an adapter these tests check nothing and say so, unless `VISUS_REQUIRE` names `vulkan`.
#![cfg(feature = "wgpu")]

#[path = "../src/bin/visus-gpu-check/pictures.rs"]
#[expect(dead_code, reason = "not every kind of picture is used here")]
mod pictures;

use std::sync::OnceLock;

use pictures::{Kind, Noise};
use visus_gpu::wgpu::{Api, WgpuDevice, adapters};
use visus_gpu::{Device, DeviceError, Limits, PairJob, PairSums, Work};
use visus_metrics::{ClipInfo, Level, Metric, Pair, Window, registry};
use visus_video::{Chroma, Format, SharedFrame};

type Failure = Box<dyn std::error::Error>;
type NamedMetric = (&'static str, &'static [(&'static str, &'static str)]);

/// Every branch of the kernels, with numerators and denominators.
const METRICS: &[NamedMetric] = &[
    ("vif", &[("debug", "true")]),
    ("vif", &[("debug", "true"), ("vif_enhn_gain_limit", "1")]),
    ("vif", &[("debug", "true"), ("vif_enhn_gain_limit", "1.2")]),
    ("vif", &[("debug", "true"), ("vif_enhn_gain_limit", "7")]),
    ("vif", &[("debug", "true"), ("vif_enhn_gain_limit", "1.01")]),
    ("vif", &[("debug", "true"), ("vif_skip_scale0", "true")]),
    ("adm", &[("debug", "true")]),
    ("adm", &[("debug", "true"), ("adm_enhn_gain_limit", "1")]),
    ("adm", &[("debug", "true"), ("adm_enhn_gain_limit", "1.3"), ("adm_skip_aim", "true")]),
    ("adm", &[("debug", "true"), ("adm_skip_scale0", "true"), ("adm_skip_aim", "true")]),
    ("adm", &[("debug", "true"), ("adm_csf_mode", "1"), ("adm_noise_weight", "0")]),
    (
        "adm",
        &[
            ("debug", "true"),
            ("adm_csf_mode", "2"),
            ("adm_norm_view_dist", "5"),
            ("adm_enhn_gain_limit", "1.01"),
        ],
    ),
    ("motion", &[]),
    ("motion", &[("motion_five_frame_window", "true"), ("motion_fps_weight", "2")]),
    ("motion", &[("motion_force_zero", "true")]),
];

/// The adapter that all tests share: software, so that results do not depend on the machine, or whatever there is.
fn device() -> Option<&'static WgpuDevice> {
    static DEVICE: OnceLock<Option<WgpuDevice>> = OnceLock::new();
    DEVICE.get_or_init(|| opened().map(|device| device.expect("the adapter opens"))).as_ref()
}

/// Another device of the same adapter.
fn opened() -> Option<Result<WgpuDevice, DeviceError>> {
    let mut found = adapters(Api::Vulkan);
    found.sort_by_key(|adapter| !adapter.is_software);
    let Some(adapter) = found.into_iter().find(|adapter| adapter.lacks.is_none()) else {
        let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|word| word.trim() == "vulkan"), "there is no Vulkan adapter");
        eprintln!("!!! there is no Vulkan adapter (Debian: mesa-vulkan-drivers): THIS CHECK IS LEFT OUT");
        return None;
    };
    Some(WgpuDevice::open(Api::Vulkan, adapter.info.index))
}

fn metrics(names: &[NamedMetric]) -> Vec<Box<dyn Metric>> {
    let build = |(name, options): &NamedMetric| {
        let given: Vec<(String, String)> =
            options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        registry::build(registry::by_name(name).unwrap(), &given).unwrap()
    };
    names.iter().map(build).collect()
}

fn luma(width: usize, height: usize, depth: u8) -> Format {
    Format::new(width, height, Chroma::C400, depth).unwrap()
}

fn job(clip: &[[SharedFrame; 2]], index: usize) -> PairJob {
    let reference = |index: usize| clip[index][0].clone();
    PairJob {
        reference: reference(index),
        distorted: clip[index][1].clone(),
        earlier: [1, 2].map(|distance| index.checked_sub(distance).map(reference)),
    }
}

fn window(clip: &[[SharedFrame; 2]], index: usize) -> Window<'_> {
    let pair = |index: usize| Pair { reference: &clip[index][0], distorted: &clip[index][1] };
    Window {
        index: index as u64,
        current: pair(index),
        previous: index.checked_sub(1).map(pair),
        before_previous: index.checked_sub(2).map(pair),
    }
}

fn sums(device: &dyn Device, work: &Work, clip: &[[SharedFrame; 2]]) -> Vec<PairSums> {
    let mut session = device.session(work, Limits { batch: 3, slots: 2, ..Limits::default() }).unwrap();
    let mut sums = Vec::new();
    let jobs: Vec<PairJob> = (0..clip.len()).map(|index| job(clip, index)).collect();
    for batch in jobs.chunks(session.batch()) {
        if session.in_flight() == session.slots() {
            sums.extend(session.collect().unwrap().unwrap());
        }
        session.submit(batch.to_vec()).unwrap();
    }
    while let Some(batch) = session.collect().unwrap() {
        sums.extend(batch);
    }
    sums
}

/// Compares every number of every metric; gives how many there were.
fn compare(device: &WgpuDevice, format: Format, kind: Kind, names: &[NamedMetric]) -> usize {
    let clip: Vec<[SharedFrame; 2]> = (0..3).map(|index| pictures::pair(format, kind, index)).collect();
    let (metrics, clip_info) = (metrics(names), ClipInfo::from(format));
    let work = Work::of(&clip_info, metrics.iter().map(AsRef::as_ref), |task| device.takes(task));
    assert_eq!(work.places().len(), metrics.len(), "the device takes all of them");
    let sums = sums(device, &work, &clip);
    let mut numbers = 0;
    for (place, metric) in metrics.iter().enumerate() {
        let mut extractor = metric.extractor(&clip_info, Level::detect()).unwrap();
        let mut rows = [vec![0.0; metric.raw_len()], vec![0.0; metric.raw_len()]];
        for (index, sums) in sums.iter().enumerate() {
            let [gpu, cpu] = &mut rows;
            work.finish(place, index as u64, sums, gpu).unwrap();
            extractor.extract(&window(&clip, index), cpu).unwrap();
            let bits = |row: &[f64]| row.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            let what = &names[place];
            assert_eq!(bits(gpu), bits(cpu), "{what:?}, {format}, {kind:?}, frame {index}: {gpu:?} {cpu:?}");
            numbers += gpu.len();
        }
    }
    numbers
}

#[test]
fn numbers_are_those_of_the_cpu() {
    let Some(device) = device() else { return };
    let kinds = [Kind::Noise, Kind::Squares, Kind::Enhanced, Kind::Dark];
    let mut numbers = 0;
    for (width, height, depth) in [(33, 35, 8), (253, 66, 8), (67, 41, 10), (128, 33, 16)] {
        for kind in kinds {
            numbers += compare(device, luma(width, height, depth), kind, METRICS);
        }
    }
    assert!(numbers > 1000, "{numbers}");
}

/// Sizes, depths and kinds of pictures by chance, always the same ones.
#[test]
fn any_size_and_depth_is_exact() {
    let Some(device) = device() else { return };
    let mut chance = Noise(20);
    for _ in 0..12 {
        let width = 33 + chance.below(240) as usize;
        let height = 33 + chance.below(100) as usize;
        let depth = 8 + chance.below(9) as u8;
        let kind =
            [Kind::Noise, Kind::Bright, Kind::Scene, Kind::Same, Kind::Bands][chance.below(5) as usize];
        compare(device, luma(width, height, depth), kind, &METRICS[6 * chance.below(2) as usize..]);
    }
}

#[test]
fn metrics_without_kernels_are_left_to_the_cpu() {
    let Some(device) = device() else { return };
    let all = metrics(&[("psnr", &[]), ("vif", &[]), ("cambi", &[]), ("adm", &[]), ("float_ssim", &[])]);
    let format = Format::new(320, 240, Chroma::C420, 8).unwrap();
    let work = Work::of(&format.into(), all.iter().map(AsRef::as_ref), |task| device.takes(task));
    assert_eq!(work.places(), [1, 3]);
}

#[test]
fn a_size_that_does_not_fit_is_refused_with_both_numbers() {
    let Some(device) = device() else { return };
    let metrics = metrics(&[("vif", &[]), ("adm", &[])]);
    let work = Work::new(&luma(7680, 4320, 8).into(), metrics.iter().map(AsRef::as_ref));
    let limits = Limits { device_bytes: 64 << 20, ..Limits::default() };
    let refused = device.session(&work, limits).err();
    let Some(DeviceError::Budget { needed, allowed }) = refused else { panic!("{refused:?}") };
    assert!(needed > allowed, "{needed} {allowed}");
}

#[test]
fn a_picture_of_another_size_is_refused() {
    let Some(device) = device() else { return };
    let metrics = metrics(&[("motion", &[])]);
    let work = Work::new(&luma(64, 64, 8).into(), metrics.iter().map(AsRef::as_ref));
    let mut session = device.session(&work, Limits::default()).unwrap();
    let clip = [pictures::pair(luma(66, 64, 8), Kind::Noise, 0)];
    let refused = session.submit(vec![job(&clip, 0)]);
    assert!(matches!(refused, Err(DeviceError::Picture { .. })), "{refused:?}");
    assert!(matches!(session.submit(Vec::new()), Err(DeviceError::Batch { got: 0, .. })));
    assert!(session.collect().unwrap().is_none());
}

#[test]
fn an_adapter_that_is_not_there_is_named() {
    if device().is_none() {
        return;
    }
    let refused = WgpuDevice::open(Api::Vulkan, 63).err();
    assert!(matches!(refused, Some(DeviceError::NoSuchAdapter { index: 63, .. })), "{refused:?}");
}

#[test]
fn a_lost_device_is_an_error() {
    let Some(device) = opened() else { return };
    let device = device.unwrap();
    let metrics = metrics(&[("motion", &[])]);
    let work = Work::new(&luma(64, 64, 8).into(), metrics.iter().map(AsRef::as_ref));
    let mut session = device.session(&work, Limits::default()).unwrap();
    let clip: Vec<_> = (0..2).map(|index| pictures::pair(luma(64, 64, 8), Kind::Noise, index)).collect();
    session.submit(vec![job(&clip, 0)]).unwrap();
    device.lose();
    let ended = session.collect().and_then(|_| session.submit(vec![job(&clip, 1)]));
    assert!(matches!(ended, Err(DeviceError::Lost { .. } | DeviceError::Driver { .. })), "{ended:?}");
    assert!(device.session(&work, Limits::default()).is_err());
    assert!(!device.is_usable(), "whoever keeps it knows that it has to be opened anew");
    assert!(opened().unwrap().unwrap().is_usable());
}

/// What has been submitted cannot be called back, so little is; the rest of a batch goes with its session.
#[test]
fn a_dropped_session_submits_nothing_more() {
    let Some(device) = opened() else { return };
    let device = device.unwrap();
    let metrics = metrics(&[("vif", &[]), ("adm", &[]), ("motion", &[])]);
    let format = luma(640, 360, 8);
    let work = Work::new(&format.into(), metrics.iter().map(AsRef::as_ref));
    let clip: Vec<_> = (0..2).map(|index| pictures::pair(format, Kind::Noise, index)).collect();
    let limits = Limits { batch: 1, slots: 2, ..Limits::default() };

    let mut session = device.session(&work, limits).unwrap();
    (0..2).for_each(|index| session.submit(vec![job(&clip, index)]).unwrap());
    assert_eq!((session.in_flight(), device.submissions()), (2, [0, 0]));
    assert!(!session.is_done().unwrap());
    // Of a kernel that the driver may still have to compile, one row goes alone.
    assert_eq!(device.submissions(), [1, 1]);
    drop(session);
    assert_eq!(device.submissions(), [1, 1]);

    let mut session = device.session(&work, limits).unwrap();
    (0..2).for_each(|index| session.submit(vec![job(&clip, index)]).unwrap());
    while session.collect().unwrap().is_some() {}
    let [all, at_once] = device.submissions();
    assert!(all > 14, "fourteen kernels are used for the first time: {all}");
    assert!((2..=4).contains(&at_once), "{at_once}");
    assert!(session.wait(std::time::Duration::ZERO).unwrap(), "nothing is left to wait for");
}

/// Two sessions at once on one device, each with its own pictures.
#[test]
fn two_runs_share_an_adapter() {
    let Some(device) = device() else { return };
    std::thread::scope(|scope| {
        for kind in [Kind::Noise, Kind::Scene] {
            scope.spawn(move || compare(device, luma(70, 50, 8), kind, &METRICS[10..]));
        }
    });
}

#[test]
fn the_self_test_passes_and_is_remembered() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let index = device.info().index;
    WgpuDevice::open_tested(Api::Vulkan, index, Some(folder.path())).unwrap();
    let text = std::fs::read_to_string(folder.path().join("gpu-selftest")).unwrap();
    assert!(text.starts_with(&format!("vulkan | {} |", device.info().name)), "{text}");
}
