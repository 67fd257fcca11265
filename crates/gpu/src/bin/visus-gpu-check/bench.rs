//! Times of kernels, of copies and of the whole pipeline, in memory and from files in the page cache.

use std::path::Path;
use std::time::Instant;

use visus_gpu::cuda::CudaDevice;
use visus_gpu::{Device, Limits, PairJob, Session, Work};
use visus_metrics::Metric;
use visus_video::{Chroma, Format, SharedFrame};

use crate::files;
use crate::pictures::{self, Kind};
use crate::{Failure, compare, table};

const SIZES: [(&str, usize, usize); 2] = [("1080p", 1920, 1080), ("4K", 3840, 2160)];

/// Sets of metrics, as models need them.
const SETS: [(&str, &[compare::NamedMetric]); 4] = [
    ("v0.6.1", &[("vif", &[]), ("adm", &[("adm_skip_aim", "true")]), ("motion", &[])]),
    ("with aim", &[("vif", &[]), ("adm", &[]), ("motion", &[])]),
    (
        "v0 + NEG",
        &[
            ("vif", &[]),
            ("vif", &[("vif_enhn_gain_limit", "1")]),
            ("adm", &[("adm_skip_aim", "true")]),
            ("adm", &[("adm_enhn_gain_limit", "1"), ("adm_skip_aim", "true")]),
            ("motion", &[]),
        ],
    ),
    (
        "v1",
        &[
            ("cambi", &[("cambi_high_res_speedup", "1080"), ("cambi_vis_lum_threshold", "0.06")]),
            ("speed_chroma", &[("speed_nn_floor", "0.1"), ("speed_sigma_nn", "0.19")]),
            ("adm", &[("adm_enhn_gain_limit", "1"), ("adm_csf_mode", "2")]),
            ("motion", &[]),
        ],
    ),
];

/// Everything; files go to `folder`.
pub fn run(folder: Option<&Path>) -> Result<(), Failure> {
    let device = crate::device()?;
    let info = device.info();
    println!("{}, {}, {}, {} MiB\n", info.name, info.driver, info.architecture, info.memory >> 20);
    for (name, width, height) in SIZES {
        for depth in [8, 10] {
            for set in [1, 3] {
                kernels(&device, name, Format::new(width, height, Chroma::C420, depth)?, set)?;
            }
        }
    }
    in_memory(&device)?;
    if let Some(folder) = folder {
        from_files(&device, folder)?;
    }
    Ok(())
}

/// The metrics of a set.
fn metrics(set: usize) -> Result<Vec<Box<dyn Metric>>, Failure> {
    SETS[set].1.iter().map(|(name, options)| compare::metric(name, options)).collect()
}

fn work(format: Format, metrics: &[Box<dyn Metric>]) -> Work {
    Work::new(&format.into(), metrics.iter().map(AsRef::as_ref))
}

/// Microseconds of every kernel for a pair, alone on the device.
fn kernels(device: &CudaDevice, name: &str, format: Format, set: usize) -> Result<(), Failure> {
    let batch = 8;
    let clip: Vec<_> = (0..batch).map(|index| pictures::pair(format, Kind::Scene, index)).collect();
    let work = work(format, &metrics(set)?);
    let limits = Limits { batch: batch as usize, slots: 1, device_bytes: 8 << 30 };
    let mut session = device.profiled_session(&work, limits)?;
    let times = session.profile(compare::jobs(&clip), 10)?;
    let per_pair = |milliseconds: f32| milliseconds * 1000.0 / batch as f32;
    let mut rows: Vec<Vec<String>> = times
        .iter()
        .map(|(kernel, milliseconds)| {
            vec![kernel.name().to_owned(), format!("{:.2}", per_pair(*milliseconds))]
        })
        .collect();
    let total: f32 = times.iter().map(|(_, milliseconds)| per_pair(*milliseconds)).sum();
    rows.push(vec!["all".to_owned(), format!("{total:.2}")]);
    table::print(&[&format!("{name}, {} bit, {}", format.depth(), SETS[set].0), "us per pair"], &rows);
    println!();
    Ok(())
}

/// Pairs per second with all pictures in pinned memory: what kernels and copies allow.
fn in_memory(device: &CudaDevice) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (name, width, height) in SIZES {
        for depth in [8, 10] {
            let format = Format::new(width, height, Chroma::C420, depth)?;
            let clip = files::pinned_clip(device, format, 8)?;
            for set in 0..SETS.len() {
                for (batch, slots) in [(1, 4), (4, 3), (8, 3), (16, 2)] {
                    let metrics = metrics(set)?;
                    let limits = Limits { batch, slots, device_bytes: 16 << 30 };
                    let mut session = device.session(&work(format, &metrics), limits)?;
                    let fps = stream(session.as_mut(), &clip)?;
                    rows.push(vec![
                        format!("{name}, {depth} bit, {}", SETS[set].0),
                        format!("{batch} x {slots}"),
                        (session.device_bytes() >> 20).to_string(),
                        format!("{fps:.0}"),
                    ]);
                }
            }
        }
    }
    table::print(&["from pinned memory", "batch x slots", "MiB", "pairs/s"], &rows);
    println!();
    Ok(())
}

/// Pairs per second over a second or so; pictures repeat.
fn stream(session: &mut dyn Session, clip: &[[SharedFrame; 2]]) -> Result<f64, Failure> {
    let batch = session.batch();
    let pair = |index: usize| &clip[index % clip.len()];
    let job = |index: usize| PairJob {
        reference: pair(index)[0].clone(),
        distorted: pair(index)[1].clone(),
        earlier: [Some(pair(index + clip.len() - 1)[0].clone()), None],
    };
    let mut run = |batches: usize| -> Result<(), Failure> {
        for n in 0..batches {
            if session.in_flight() == session.slots() {
                session.collect()?;
            }
            session.submit((0..batch).map(|i| job(n * batch + i)).collect())?;
        }
        while session.collect()?.is_some() {}
        Ok(())
    };
    run(4)?;
    let batches = (1200 / batch).max(8);
    let started = Instant::now();
    run(batches)?;
    Ok((batches * batch) as f64 / started.elapsed().as_secs_f64())
}

/// Pairs per second from files in the page cache, scores included.
fn from_files(device: &CudaDevice, folder: &Path) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (name, width, height) in SIZES {
        for depth in [8, 10] {
            let format = Format::new(width, height, Chroma::C420, depth)?;
            let frames = if width > 2000 { 120 } else { 480 };
            let paths = files::write_clip(folder, format, frames)?;
            for (set, readers) in [(0, 2), (0, 4), (0, 8), (0, 14), (2, 8)] {
                let metrics = metrics(set)?;
                let mut times = Vec::new();
                for _ in 0..5 {
                    times.push(files::score(device, format, &paths, frames, readers, &metrics)?);
                }
                times.sort_by(f64::total_cmp);
                rows.push(vec![
                    format!("{name}, {depth} bit, {}", SETS[set].0),
                    readers.to_string(),
                    format!("{:.0}", frames as f64 / times[2]),
                    format!("{:.0}", frames as f64 / times[0]),
                ]);
            }
            paths.iter().try_for_each(std::fs::remove_file)?;
        }
    }
    table::print(&["from files", "readers", "pairs/s (median of 5)", "best"], &rows);
    Ok(())
}
