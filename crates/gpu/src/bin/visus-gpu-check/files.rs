//! Raw files, read straight into pinned memory by several threads.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use visus_gpu::{Device, Limits, PairJob, PairSums, Session, Work};
use visus_metrics::Metric;
use visus_video::{Format, Frame, Pool, PooledFrame, SharedFrame};

use crate::Failure;
use crate::pictures::{self, Kind, Noise};

/// A scene in pinned memory.
pub fn pinned_clip(
    device: &dyn Device,
    format: Format,
    pairs: u32,
) -> Result<Vec<[SharedFrame; 2]>, Failure> {
    let pool = Pool::with_allocator(format, 2 * pairs as usize, device.allocator());
    let take = || pool.take().ok_or_else(|| Failure::from("the pool is closed"));
    (0..pairs)
        .map(|index| {
            let [reference, distorted] = pictures::pair(format, Kind::Scene, index);
            let mut copies = [take()?, take()?];
            copies[0].copy_from(&reference);
            copies[1].copy_from(&distorted);
            Ok(copies.map(SharedFrame::from))
        })
        .collect()
}

/// Writes two raw clips; eight pictures and their noise repeat.
pub fn write_clip(folder: &Path, format: Format, frames: usize) -> Result<[PathBuf; 2], Failure> {
    let luma = pictures::luma_format(format.width(), format.height(), format.depth())?;
    let clip: Vec<_> = (0..8).map(|index| pictures::pair(luma, Kind::Scene, index)).collect();
    let chroma = frame_bytes(format) - luma_bytes(format);
    let mut noise = Noise(1);
    let chroma: Vec<u8> = (0..chroma).map(|_| noise.below(4) as u8).collect();
    let paths = ["reference", "distorted"].map(|side| folder.join(format!("visus-gpu-{side}.yuv")));
    for (side, path) in paths.iter().enumerate() {
        let mut file = std::io::BufWriter::with_capacity(1 << 20, File::create(path)?);
        for frame in 0..frames {
            let picture = &clip[frame % clip.len()][side];
            let (row, layout) = (format.width() * format.sample_bytes(), picture.plane_layout(0));
            for line in picture.bytes()[layout.offset..].chunks(layout.stride).take(format.height()) {
                file.write_all(&line[..row])?;
            }
            file.write_all(&chroma)?;
        }
        file.flush()?;
    }
    Ok(paths)
}

fn luma_bytes(format: Format) -> usize {
    format.width() * format.height() * format.sample_bytes()
}

fn frame_bytes(format: Format) -> usize {
    (0..format.planes())
        .map(|plane| format.plane_size(plane))
        .map(|(width, height)| width * height * format.sample_bytes())
        .sum()
}

/// Scores two files and says how many seconds it took, from opened files to the last row of scores.
pub fn score(
    device: &dyn Device,
    format: Format,
    paths: &[PathBuf; 2],
    frames: usize,
    readers: usize,
    metrics: &[Box<dyn Metric>],
) -> Result<f64, Failure> {
    let luma = pictures::luma_format(format.width(), format.height(), format.depth())?;
    let work = Work::new(&luma.into(), metrics.iter().map(AsRef::as_ref));
    let batch = if format.width() > 2000 { 4 } else { 8 };
    let limits = Limits { batch, slots: 3, device_bytes: 8 << 30 };
    let mut session = device.session(&work, limits)?;
    let pool = Pool::with_allocator(luma, 2 * (4 * batch + 2 * readers) + 2, device.allocator());
    warm_up(&pool);
    let files = [File::open(&paths[0])?, File::open(&paths[1])?];
    let started = Instant::now();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let scored = std::thread::scope(|scope| {
        for _ in 0..readers {
            let (sender, files, next, pool) = (sender.clone(), &files, &next, &pool);
            scope.spawn(move || read(files, format, frames, next, pool, &sender));
        }
        drop(sender);
        consume(session.as_mut(), &work, metrics, receiver)
    })?;
    if scored != frames {
        return Err(format!("{scored} of {frames} pairs were scored").into());
    }
    Ok(started.elapsed().as_secs_f64())
}

type Pairs = std::io::Result<(usize, [PooledFrame; 2])>;

/// Allocates every frame of a pool.
fn warm_up(pool: &Pool) {
    let all: Vec<_> = std::iter::from_fn(|| pool.try_take()).collect();
    drop(all);
}

/// Reads every pair that no other reader has taken.
fn read(
    files: &[File; 2],
    format: Format,
    frames: usize,
    next: &AtomicUsize,
    pool: &Pool,
    sender: &mpsc::Sender<Pairs>,
) {
    loop {
        // Buffers first: a reader without one must not hold a pair that others wait for.
        let (Some(reference), Some(distorted)) = (pool.take(), pool.take()) else { return };
        let mut pictures = [reference, distorted];
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= frames {
            return;
        }
        let offset = (index * frame_bytes(format)) as u64;
        let read =
            files.iter().zip(&mut pictures).try_for_each(|(file, picture)| read_luma(file, picture, offset));
        if sender.send(read.map(|()| (index, pictures))).is_err() {
            return;
        }
    }
}

/// The rows of these formats have no padding.
fn read_luma(file: &File, frame: &mut Frame, offset: u64) -> std::io::Result<()> {
    let padded = || std::io::Error::other("rows with padding");
    if let Some(mut plane) = frame.plane_mut_u8(0) {
        return file.read_exact_at(plane.contiguous_mut().ok_or_else(padded)?, offset);
    }
    let mut plane = frame.plane_mut_u16(0).ok_or_else(padded)?;
    file.read_exact_at(bytemuck::cast_slice_mut(plane.contiguous_mut().ok_or_else(padded)?), offset)
}

/// Brings pairs into order, keeps the session full, and makes rows of its sums.
fn consume(
    session: &mut dyn Session,
    work: &Work,
    metrics: &[Box<dyn Metric>],
    pairs: mpsc::Receiver<Pairs>,
) -> Result<usize, Failure> {
    let mut early = std::collections::BTreeMap::new();
    let (mut due, mut scored) = (0, 0);
    let mut previous: Option<SharedFrame> = None;
    let mut jobs = Vec::new();
    let mut rows = metrics.iter().map(|metric| vec![0.0; metric.raw_len()]).collect::<Vec<_>>();
    let mut finish = |sums: Vec<PairSums>| -> Result<usize, Failure> {
        for sums in &sums {
            for (place, row) in rows.iter_mut().enumerate() {
                work.finish(place, 0, sums, row)?;
            }
        }
        Ok(sums.len())
    };
    for pair in pairs {
        let (index, pictures) = pair?;
        early.insert(index, pictures);
        while let Some([reference, distorted]) = early.remove(&due) {
            due += 1;
            let reference = SharedFrame::from(reference);
            let earlier = [previous.replace(reference.clone()), None];
            jobs.push(PairJob { reference, distorted: distorted.into(), earlier });
            if jobs.len() == session.batch() {
                if session.in_flight() == session.slots() {
                    scored += finish(session.collect()?.unwrap_or_default())?;
                }
                session.submit(std::mem::take(&mut jobs))?;
            }
            session.release()?;
        }
    }
    if !jobs.is_empty() {
        if session.in_flight() == session.slots() {
            scored += finish(session.collect()?.unwrap_or_default())?;
        }
        session.submit(jobs)?;
    }
    while let Some(sums) = session.collect()? {
        scored += finish(sums)?;
    }
    Ok(scored)
}
