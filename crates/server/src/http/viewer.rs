//! What is remembered between requests for pictures: those that were shown lately, and where the frames of files are.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::Semaphore;
use visus_media::still::StillIndex;
use visus_media::{Launch, Tools};

use crate::ToolError;
use crate::previews::FileKey;

/// Files of which it is remembered where their frames are.
const MOST_INDEXED: usize = 32;
/// Pictures that are decoded at the same time.
const AT_ONCE: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub file: FileKey,
    pub frame: u64,
    pub size: Option<(usize, usize)>,
}

/// What is remembered between requests.
#[derive(Debug)]
pub struct Viewer {
    kept: Mutex<Kept>,
    /// Signalled when a picture has left `Kept::decoding`.
    decoded: Condvar,
    /// Bytes of pictures that are kept, at most, and of what is remembered of files.
    most_kept: usize,
    /// Who decodes takes one.
    pub turns: Semaphore,
}

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    pictures: VecDeque<(Key, Bytes)>,
    bytes: usize,
    /// What somebody decodes now.
    decoding: Vec<Key>,
    indices: VecDeque<(FileKey, Arc<StillIndex>)>,
    tools: Option<Tools>,
}

impl Viewer {
    pub fn new(most_kept: usize) -> Self {
        Self { kept: Mutex::default(), decoded: Condvar::new(), most_kept, turns: Semaphore::new(AT_ONCE) }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The picture from memory, or what `decode` makes of it. Only one caller decodes it; others wait for that.
    pub fn picture(
        &self,
        key: &Key,
        decode: impl FnOnce() -> Result<Vec<u8>, ToolError>,
    ) -> Result<Bytes, ToolError> {
        let mut kept = self.lock();
        loop {
            if let Some(bytes) = kept.picture(key) {
                return Ok(bytes);
            }
            if !kept.decoding.contains(key) {
                break;
            }
            // Where the other one has failed, the next one tries.
            kept = self.decoded.wait(kept).unwrap_or_else(PoisonError::into_inner);
        }
        kept.decoding.push(key.clone());
        drop(kept);
        let decoding = Decoding { viewer: self, key };
        let bytes = Bytes::from(decode()?);
        self.lock().keep(key.clone(), &bytes, self.most_kept);
        drop(decoding);
        Ok(bytes)
    }

    /// Whether more pictures can be kept without dropping any.
    pub fn has_room(&self) -> bool {
        self.lock().bytes < self.most_kept / 2
    }

    pub fn tools(&self, launch: Launch) -> Result<Tools, ToolError> {
        if let Some(tools) = self.lock().tools.clone() {
            return Ok(tools);
        }
        let tools = Tools::find(launch, "look at frames").map_err(|error| ToolError::failed(&error))?;
        self.lock().tools = Some(tools.clone());
        Ok(tools)
    }

    pub fn index(
        &self,
        key: &FileKey,
        make: impl FnOnce() -> Result<StillIndex, ToolError>,
    ) -> Result<Arc<StillIndex>, ToolError> {
        let known =
            self.lock().indices.iter().find(|(known, _)| known == key).map(|(_, index)| Arc::clone(index));
        if let Some(index) = known {
            return Ok(index);
        }
        let index = Arc::new(make()?);
        let mut kept = self.lock();
        kept.indices.push_back((key.clone(), Arc::clone(&index)));
        let bytes = |kept: &Kept| kept.indices.iter().map(|(_, index)| index.bytes()).sum::<usize>();
        while kept.indices.len() > MOST_INDEXED || (bytes(&kept) > self.most_kept && !kept.indices.is_empty())
        {
            kept.indices.pop_front();
        }
        Ok(index)
    }
}

impl Kept {
    fn picture(&self, key: &Key) -> Option<Bytes> {
        self.pictures.iter().find(|(known, _)| known == key).map(|(_, bytes)| bytes.clone())
    }

    fn keep(&mut self, key: Key, bytes: &Bytes, most: usize) {
        self.bytes += bytes.len();
        self.pictures.push_back((key, bytes.clone()));
        while self.bytes > most
            && let Some((_, oldest)) = self.pictures.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }
}

/// A picture on its way. When it is dropped, those who wait look again, whatever became of it.
struct Decoding<'a> {
    viewer: &'a Viewer,
    key: &'a Key,
}

impl Drop for Decoding<'_> {
    fn drop(&mut self) {
        self.viewer.lock().decoding.retain(|other| other != self.key);
        self.viewer.decoded.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn key(frame: u64) -> Key {
        Key { file: FileKey { path: "a".into(), bytes: 1, modified: 2 }, frame, size: None }
    }

    #[test]
    fn the_oldest_pictures_make_room() {
        let mut kept = Kept::default();
        let large = Bytes::from(vec![0; 500]);
        for frame in 0..3 {
            kept.keep(key(frame), &large, 1000);
        }
        assert!(kept.picture(&key(0)).is_none());
        assert!(kept.picture(&key(1)).is_some() && kept.picture(&key(2)).is_some());
    }

    #[test]
    fn a_picture_is_decoded_once_however_many_want_it() {
        let (viewer, decoded) = (Viewer::new(1000), AtomicUsize::new(0));
        let gate = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    gate.wait();
                    let decode = || {
                        decoded.fetch_add(1, Ordering::SeqCst);
                        Ok(vec![7])
                    };
                    assert_eq!(viewer.picture(&key(1), decode).unwrap(), [7].as_slice());
                });
            }
        });
        assert_eq!(decoded.into_inner(), 1);
    }

    #[test]
    fn a_picture_that_failed_is_tried_again() {
        let viewer = Viewer::new(1000);
        assert!(viewer.picture(&key(1), || Err(ToolError::Cancelled)).is_err());
        assert!(viewer.lock().decoding.is_empty());
        assert_eq!(viewer.picture(&key(1), || Ok(vec![7])).unwrap(), [7].as_slice());
    }
}
