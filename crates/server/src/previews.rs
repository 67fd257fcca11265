//! Small pictures of videos that were scored, made on the way by the decoder: what the page shows until the frame itself is
//! decoded. They are kept in memory only, the oldest videos' go first, and whoever finds none waits for the frame.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use visus_media::PreviewSink;
use visus_scoring::Video;

use crate::history::seconds;

/// Frames that a picture may be off: half a second still shows the same scene, mostly.
const FARTHEST: u64 = 12;

/// A file in the state in which it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileKey {
    pub path: PathBuf,
    pub bytes: u64,
    pub modified: u64,
}

impl FileKey {
    pub fn of(path: &Path, file: &File) -> std::io::Result<Self> {
        let facts = file.metadata()?;
        let modified = facts.modified().ok().map_or(0, seconds);
        Ok(Self { path: path.to_path_buf(), bytes: facts.len(), modified })
    }
}

/// The small pictures of all videos.
#[derive(Debug)]
pub struct PreviewStore {
    kept: Mutex<Kept>,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    videos: VecDeque<Pictures>,
    bytes: usize,
}

#[derive(Debug)]
struct Pictures {
    file: FileKey,
    /// From one picture to the next.
    every: u64,
    frames: BTreeMap<u64, Bytes>,
}

impl PreviewStore {
    pub fn new(most_bytes: usize) -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), most_bytes })
    }

    /// What a decoder of both videos hands its pictures to.
    pub fn sink(self: &Arc<Self>, videos: [&Video; 2]) -> Arc<dyn PreviewSink> {
        let files = videos.map(|video| match video {
            Video::File { name, file } => FileKey::of(name, file).ok(),
            _ => None,
        });
        Arc::new(Sink { store: Arc::clone(self), files })
    }

    /// The picture nearest to a frame, if one is near enough, and the frame that it shows.
    pub fn near(&self, file: &FileKey, frame: u64) -> Option<(u64, Bytes)> {
        let kept = self.lock();
        let video = kept.videos.iter().find(|video| video.file == *file)?;
        let before = video.frames.range(..=frame).next_back();
        let after = video.frames.range(frame..).next();
        let nearest = before.into_iter().chain(after).min_by_key(|(number, _)| number.abs_diff(frame))?;
        let far = FARTHEST.min(video.every);
        (nearest.0.abs_diff(frame) <= far).then(|| (*nearest.0, nearest.1.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, file: &FileKey, every: u64, frame: u64, jpeg: Vec<u8>) {
        let mut kept = self.lock();
        let known = kept.videos.iter().position(|video| video.file == *file);
        // One that is read again is new again.
        let mut video = known.and_then(|place| kept.videos.remove(place)).unwrap_or_else(|| Pictures {
            file: file.clone(),
            every,
            frames: BTreeMap::new(),
        });
        kept.bytes += jpeg.len();
        let replaced = video.frames.insert(frame, jpeg.into());
        kept.bytes -= replaced.map_or(0, |picture| picture.len());
        video.every = every;
        kept.videos.push_back(video);
        while kept.bytes > self.most_bytes
            && let Some(oldest) = kept.videos.pop_front()
        {
            kept.bytes -= oldest.frames.values().map(Bytes::len).sum::<usize>();
        }
    }
}

/// The store, and what is decoded for it.
#[derive(Debug)]
struct Sink {
    store: Arc<PreviewStore>,
    files: [Option<FileKey>; 2],
}

impl PreviewSink for Sink {
    fn put(&self, side: usize, frame: u64, every: u64, jpeg: Vec<u8>) {
        if let Some(file) = self.files.get(side).and_then(Option::as_ref) {
            self.store.put(file, every, frame, jpeg);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> FileKey {
        FileKey { path: path.into(), bytes: 1, modified: 2 }
    }

    #[test]
    fn the_nearest_picture_is_shown_unless_it_is_far() {
        let store = PreviewStore::new(1000);
        for frame in [0, 4, 8, 100] {
            store.put(&file("a"), 4, frame, vec![frame as u8]);
        }
        let near = |frame| store.near(&file("a"), frame).map(|(shown, _)| shown);
        assert_eq!(
            [near(0), near(1), near(3), near(7), near(9)],
            [Some(0), Some(0), Some(4), Some(8), Some(8)]
        );
        assert_eq!([near(50), near(200)], [None, None]);
        assert_eq!(store.near(&FileKey { modified: 3, ..file("a") }, 0), None);
    }

    #[test]
    fn the_oldest_videos_make_room() {
        let store = PreviewStore::new(1000);
        for name in ["a", "b", "c"] {
            store.put(&file(name), 1, 0, vec![0; 400]);
        }
        assert!(store.near(&file("a"), 0).is_none());
        assert!(store.near(&file("c"), 0).is_some());
        // The same picture again takes no more room.
        for _ in 0..10 {
            store.put(&file("c"), 1, 0, vec![0; 400]);
        }
        assert!(store.near(&file("b"), 0).is_some());
        assert_eq!(store.lock().bytes, 800);
    }
}
