//! Raw files, read straight into pinned memory by several threads.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Instant;

use visus_gpu::{Device, DeviceError, Limits, Luma, PairJob, PairSums, PinnedMemory, Session, Work};
use visus_metrics::Metric;
use visus_video::Format;

use crate::Failure;
use crate::pictures::{self, Kind, Noise};

/// Pinned buffers that go back when nobody reads them any more.
pub struct PinnedPool {
    free: Mutex<Vec<Box<dyn PinnedMemory>>>,
    returned: Condvar,
    pitch: usize,
}

impl PinnedPool {
    pub fn new(device: &dyn Device, format: Format, count: usize) -> Result<Arc<Self>, DeviceError> {
        let pitch = format.width() * format.sample_bytes();
        let free: Result<Vec<_>, _> = (0..count).map(|_| device.pinned(pitch * format.height())).collect();
        Ok(Arc::new(Self { free: Mutex::new(free?), returned: Condvar::new(), pitch }))
    }

    /// Waits for a buffer.
    fn take(self: &Arc<Self>) -> Picture {
        let mut free = self.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            if let Some(memory) = free.pop() {
                return Picture { memory: Some(memory), pool: self.clone() };
            }
            free = self.returned.wait(free).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

/// A picture in pinned memory.
pub struct Picture {
    memory: Option<Box<dyn PinnedMemory>>,
    pool: Arc<PinnedPool>,
}

impl Picture {
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| memory.bytes_mut())
    }
}

impl Luma for Picture {
    fn bytes(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| memory.bytes())
    }

    fn pitch(&self) -> usize {
        self.pool.pitch
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(memory);
            self.pool.returned.notify_one();
        }
    }
}

/// A scene in pinned memory.
pub fn pinned_clip(
    pool: &Arc<PinnedPool>,
    format: Format,
    pairs: u32,
) -> Result<Vec<[Arc<Picture>; 2]>, Failure> {
    let clip = (0..pairs).map(|index| {
        pictures::pair(format, Kind::Scene, index).map(|frame| {
            let mut picture = pool.take();
            let (from, into) = (Luma::pitch(&*frame), pool.pitch);
            for (y, row) in picture.bytes_mut().chunks_exact_mut(into).enumerate() {
                row.copy_from_slice(&Luma::bytes(&*frame)[y * from..][..into]);
            }
            Arc::new(picture)
        })
    });
    Ok(clip.collect())
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
            let row = format.width() * format.sample_bytes();
            for line in Luma::bytes(&**picture).chunks(Luma::pitch(&**picture)) {
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
    let metrics: Vec<&dyn Metric> = metrics.iter().map(AsRef::as_ref).collect();
    let work = Work::new(format, &metrics);
    let batch = if format.width() > 2000 { 4 } else { 8 };
    let limits = Limits { batch, slots: 3, device_bytes: 8 << 30 };
    let mut session = device.session(&work, limits)?;
    let pool = PinnedPool::new(device, format, 2 * (4 * batch + 2 * readers) + 2)?;
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
        consume(session.as_mut(), &work, &metrics, receiver)
    })?;
    if scored != frames {
        return Err(format!("{scored} of {frames} pairs were scored").into());
    }
    Ok(started.elapsed().as_secs_f64())
}

type Pairs = std::io::Result<(usize, [Picture; 2])>;

/// Reads every pair that no other reader has taken.
fn read(
    files: &[File; 2],
    format: Format,
    frames: usize,
    next: &AtomicUsize,
    pool: &Arc<PinnedPool>,
    sender: &mpsc::Sender<Pairs>,
) {
    loop {
        // Buffers first: a reader without one must not hold a pair that others wait for.
        let mut pictures = [pool.take(), pool.take()];
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= frames {
            return;
        }
        let offset = (index * frame_bytes(format)) as u64;
        let read = files.iter().zip(&mut pictures).try_for_each(|(file, picture)| {
            file.read_exact_at(picture.bytes_mut(), offset)
        });
        if sender.send(read.map(|()| (index, pictures))).is_err() {
            return;
        }
    }
}

/// Brings pairs into order, keeps the session full, and makes rows of its sums.
fn consume(
    session: &mut dyn Session,
    work: &Work,
    metrics: &[&dyn Metric],
    pairs: mpsc::Receiver<Pairs>,
) -> Result<usize, Failure> {
    let mut early = std::collections::BTreeMap::new();
    let (mut due, mut scored) = (0, 0);
    let mut previous: Option<Arc<dyn Luma>> = None;
    let mut jobs = Vec::new();
    let mut rows = metrics.iter().map(|metric| vec![0.0; metric.raw_len()]).collect::<Vec<_>>();
    let mut finish = |sums: Vec<PairSums>| {
        for sums in &sums {
            for (place, (metric, row)) in metrics.iter().zip(&mut rows).enumerate() {
                work.finish(place, *metric, sums, row);
            }
        }
        sums.len()
    };
    for pair in pairs {
        let (index, pictures) = pair?;
        early.insert(index, pictures);
        while let Some([reference, distorted]) = early.remove(&due) {
            due += 1;
            let reference: Arc<dyn Luma> = Arc::new(reference);
            let earlier = [previous.replace(reference.clone()), None];
            jobs.push(PairJob { reference, distorted: Arc::new(distorted), earlier });
            if jobs.len() == session.batch() {
                if session.in_flight() == session.slots() {
                    scored += finish(session.collect()?.unwrap_or_default());
                }
                session.submit(std::mem::take(&mut jobs))?;
            }
            session.release()?;
        }
    }
    if !jobs.is_empty() {
        if session.in_flight() == session.slots() {
            scored += finish(session.collect()?.unwrap_or_default());
        }
        session.submit(jobs)?;
    }
    while let Some(sums) = session.collect()? {
        scored += finish(sums);
    }
    Ok(scored)
}
