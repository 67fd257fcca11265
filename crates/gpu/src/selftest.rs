//! The short self-test: every kernel computes small made pictures, and every number must be the CPU's.
//!
//! Drivers compile our kernels, and drivers have bugs. So a device is tested before its first use with a driver, and the
//! result is remembered in a file: a line for each combination of device, driver and kernels that has passed. A device that
//! fails is refused and tested again the next time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use visus_metrics::{ClipInfo, Level, Metric, MetricError, Pair, Window, registry};
use visus_video::{Chroma, Format, Frame, SharedFrame};

use crate::device::{Device, DeviceInfo, Limits, PairJob};
use crate::error::DeviceError;
use crate::work::Work;

/// The file in the cache folder.
const FILE: &str = "gpu-selftest";
/// Lines that are kept.
const MOST_LINES: usize = 64;
/// The smallest pictures that every metric takes, with odd sides.
const SIZE: [usize; 2] = [217, 161];
const DEPTHS: [u8; 2] = [8, 10];
const FRAMES: usize = 3;
/// One launch of every kernel, and the gain limit of NEG.
const METRICS: [(&str, &[(&str, &str)]); 7] = [
    ("vif", &[]),
    ("adm", &[]),
    ("adm", &[("adm_enhn_gain_limit", "1"), ("adm_skip_aim", "true")]),
    ("motion", &[("motion_five_frame_window", "true")]),
    ("cambi", &[("topk", "0.2")]),
    ("speed_chroma", &[]),
    ("psnr", &[]),
];

/// Tests a device unless it has passed before with this driver and these kernels. Where the folder cannot be used, the test
/// runs each time.
pub fn check_once(device: &dyn Device, kernels: &str, folder: Option<&Path>) -> Result<(), DeviceError> {
    let line = line(device.info(), kernels);
    let known = folder.and_then(|folder| std::fs::read_to_string(folder.join(FILE)).ok()).unwrap_or_default();
    if known.lines().any(|passed| passed == line) {
        return Ok(());
    }
    self_test(device)?;
    if let Some(folder) = folder {
        remember(folder, &known, &line);
    }
    Ok(())
}

/// What must be the same for a result to count.
fn line(info: &DeviceInfo, kernels: &str) -> String {
    let mut hasher = DefaultHasher::new();
    kernels.hash(&mut hasher);
    // The version of the CUDA interface stays the same over many drivers; this file has the driver's own, on Linux.
    let driver = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let driver = driver.lines().next().unwrap_or_default();
    let DeviceInfo { api, name, driver: interface, architecture, .. } = info;
    format!("{api} | {name} | {architecture} | {interface} | {driver} | kernels {:016x}", hasher.finish())
}

/// A file that cannot be written is no error: the test runs again.
fn remember(folder: &Path, known: &str, line: &str) {
    let lines: Vec<&str> = known.lines().chain([line]).collect();
    let kept = &lines[lines.len().saturating_sub(MOST_LINES)..];
    // Written beside and renamed, so that two processes never leave half a line.
    let temporary = folder.join(format!("{FILE}.{}", std::process::id()));
    let _ = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&temporary, kept.join("\n") + "\n"))
        .and_then(|()| std::fs::rename(&temporary, folder.join(FILE)));
}

/// Compares every number of the device with the CPU's.
fn self_test(device: &dyn Device) -> Result<(), DeviceError> {
    for depth in DEPTHS {
        let refused = |error: &dyn std::fmt::Display| DeviceError::SelfTest { reason: error.to_string() };
        let format = Format::new(SIZE[0], SIZE[1], Chroma::C420, depth).map_err(|error| refused(&error))?;
        let metrics = METRICS.iter().map(|(name, options)| metric(name, options));
        let metrics: Vec<_> = metrics.collect::<Result<_, _>>().map_err(|error| refused(&error))?;
        let clip: Vec<[SharedFrame; 2]> = (0..FRAMES).map(|index| pictures(format, index)).collect();
        compare(device, format, &metrics, &clip)?;
    }
    Ok(())
}

fn metric(name: &'static str, options: &[(&str, &str)]) -> Result<Box<dyn Metric>, MetricError> {
    let reason = || "it is not registered".to_owned();
    let info =
        registry::by_name(name).ok_or_else(|| MetricError::Setting { metric: name, reason: reason() })?;
    let given: Vec<(String, String)> =
        options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    registry::build(info, &given)
}

fn compare(
    device: &dyn Device,
    format: Format,
    metrics: &[Box<dyn Metric>],
    clip: &[[SharedFrame; 2]],
) -> Result<(), DeviceError> {
    let clip_info = ClipInfo::from(format);
    let work = Work::of(&clip_info, metrics.iter().map(AsRef::as_ref), |task| device.takes(task));
    let mut session = device.session(&work, Limits { batch: FRAMES, slots: 1, ..Limits::default() })?;
    let jobs: Vec<PairJob> = (0..clip.len()).map(|index| job(clip, index)).collect();
    let mut sums = Vec::new();
    for batch in jobs.chunks(session.batch()) {
        session.submit(batch.to_vec())?;
        sums.extend(session.collect()?.unwrap_or_default());
    }
    let failed = |error: MetricError| DeviceError::SelfTest { reason: error.to_string() };
    for place in work.places() {
        let metric = &metrics[place];
        let mut extractor = metric.extractor(&clip_info, Level::detect()).map_err(failed)?;
        let mut rows = [vec![0.0; metric.raw_len()], vec![0.0; metric.raw_len()]];
        for (index, sums) in sums.iter().enumerate() {
            let [cpu, gpu] = &mut rows;
            extractor.extract(&window(clip, index), cpu).map_err(failed)?;
            work.finish(place, index as u64, sums, gpu).map_err(failed)?;
            if let Some((a, b)) = cpu.iter().zip(gpu.iter()).find(|(a, b)| a.to_bits() != b.to_bits()) {
                let name = metric.info().name;
                return Err(DeviceError::SelfTest {
                    reason: format!(
                        "{name} of test picture {index} at {} bits is {a:?}, not {b:?}",
                        format.depth()
                    ),
                });
            }
        }
    }
    Ok(())
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

/// Texture on the left, bands on the right, and the same with less contrast and coarser steps.
fn pictures(format: Format, index: usize) -> [SharedFrame; 2] {
    let unit = 1usize << (format.depth() - 8);
    let sample = |x: usize, y: usize| {
        let textured = (x * 7 + y * 13 + index * 5) % 61 + (x / 5 + y / 7) % 2 * 90 + (x * y) % 17;
        let banded = 60 + (x / 9 + y / 11 + index) % 8;
        if x < format.width() / 3 { 20 + textured } else { banded }
    };
    [0, 1].map(|side| {
        let mut frame = Frame::new(format);
        for plane in 0..format.planes() {
            let (width, height) = format.plane_size(plane);
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let value = sample(x + 31 * plane, y + 17 * plane) * unit + (x + y) % unit;
                let value = if side == 0 { value } else { value * 7 / 8 + 9 * unit };
                if let Some(mut rows) = frame.plane_mut_u8(plane) {
                    rows.row_mut(y)[x] = value as u8;
                }
                if let Some(mut rows) = frame.plane_mut_u16(plane) {
                    rows.row_mut(y)[x] = value as u16;
                }
            }
        }
        frame.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str) -> DeviceInfo {
        DeviceInfo {
            api: "cuda",
            index: 0,
            name: name.to_owned(),
            memory: 1,
            driver: "CUDA 12.4".to_owned(),
            architecture: "9.0".to_owned(),
        }
    }

    #[test]
    fn lines_name_device_and_kernels() {
        let one = line(&info("a"), "ptx");
        assert_eq!(one, line(&DeviceInfo { index: 1, ..info("a") }, "ptx"));
        assert!(one != line(&info("b"), "ptx") && one != line(&info("a"), "other") && !one.contains('\n'));
    }

    #[test]
    fn the_newest_lines_are_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("not/yet/there");
        let known: String = (0..MOST_LINES).map(|n| format!("{n}\n")).collect();
        remember(&inner, &known, "last");
        let text = std::fs::read_to_string(inner.join(FILE)).unwrap();
        assert_eq!(
            (text.lines().count(), text.lines().next(), text.lines().last()),
            (MOST_LINES, Some("1"), Some("last"))
        );
        assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 1);
    }
}
