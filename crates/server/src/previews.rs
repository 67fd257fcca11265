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

    /// The pictures of the pair nearest to this one of which there are both, if one is near enough, and its number. `frames` says
    /// which frames make up a pair.
    pub fn near(
        &self,
        files: [&FileKey; 2],
        pair: u64,
        frames: impl Fn(u64) -> [u64; 2],
    ) -> Option<(u64, [Bytes; 2])> {
        let kept = self.lock();
        let video = |file: &FileKey| kept.videos.iter().find(|video| video.file == *file);
        let [reference, distorted] = [video(files[0])?, video(files[1])?];
        let both = |pair: u64| {
            let [a, b] = frames(pair);
            Some((pair, [reference.frames.get(&a)?.clone(), distorted.frames.get(&b)?.clone()]))
        };
        (0..=FARTHEST).find_map(|away| both(pair.saturating_sub(away)).or_else(|| both(pair + away)))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, file: &FileKey, frame: u64, jpeg: Vec<u8>) {
        let mut kept = self.lock();
        let known = kept.videos.iter().position(|video| video.file == *file);
        // One that is read again is new again.
        let mut video = known
            .and_then(|place| kept.videos.remove(place))
            .unwrap_or_else(|| Pictures { file: file.clone(), frames: BTreeMap::new() });
        kept.bytes += jpeg.len();
        let replaced = video.frames.insert(frame, jpeg.into());
        kept.bytes -= replaced.map_or(0, |picture| picture.len());
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
    fn put(&self, side: usize, frame: u64, jpeg: Vec<u8>) {
        if let Some(file) = self.files.get(side).and_then(Option::as_ref) {
            self.store.put(file, frame, jpeg);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> FileKey {
        FileKey { path: path.into(), bytes: 1, modified: 2 }
    }

    /// The second video begins two frames late.
    fn frames(pair: u64) -> [u64; 2] {
        [pair + 2, pair]
    }

    #[test]
    fn the_nearest_pair_is_shown_unless_it_is_far() {
        let store = PreviewStore::new(1000);
        for frame in [2, 6, 10, 102] {
            store.put(&file("a"), frame, vec![frame as u8]);
        }
        for frame in [0, 8, 100] {
            store.put(&file("b"), frame, vec![frame as u8]);
        }
        let near = |pair| store.near([&file("a"), &file("b")], pair, frames);
        assert_eq!(near(0).unwrap(), (0, [Bytes::from(vec![2]), Bytes::from(vec![0])]));
        assert_eq!([near(3), near(4), near(7)].map(|found| found.unwrap().0), [0, 0, 8]);
        assert_eq!([near(50), near(200)], [None, None]);
        let changed = FileKey { modified: 3, ..file("a") };
        assert_eq!(store.near([&changed, &file("b")], 0, frames), None);
    }

    #[test]
    fn the_oldest_videos_make_room() {
        let store = PreviewStore::new(1000);
        let has = |name: &str| store.near([&file(name), &file(name)], 0, |pair| [pair; 2]).is_some();
        for name in ["a", "b", "c"] {
            store.put(&file(name), 0, vec![0; 400]);
        }
        assert!(!has("a") && has("c"));
        // The same picture again takes no more room.
        for _ in 0..10 {
            store.put(&file("c"), 0, vec![0; 400]);
        }
        assert!(has("b"));
        assert_eq!(store.lock().bytes, 800);
    }
}
