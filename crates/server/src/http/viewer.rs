//! What is remembered between requests for pictures: those that were shown lately, and where the frames of files are.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::Semaphore;
use visus_media::still::StillIndex;
use visus_media::{Launch, Tools};

use crate::ToolError;

/// Files of which it is remembered where their frames are.
const MOST_INDEXED: usize = 32;
/// Pictures that are decoded at the same time.
const AT_ONCE: usize = 4;

/// A file in the state in which it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileKey {
    pub path: PathBuf,
    pub bytes: u64,
    pub modified: u64,
}

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
    indices: VecDeque<(FileKey, Arc<StillIndex>)>,
    tools: Option<Tools>,
}

impl Viewer {
    pub fn new(most_kept: usize) -> Self {
        Self { kept: Mutex::default(), most_kept, turns: Semaphore::new(AT_ONCE) }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn picture(&self, key: &Key) -> Option<Bytes> {
        self.lock().pictures.iter().find(|(known, _)| known == key).map(|(_, bytes)| bytes.clone())
    }

    pub fn keep(&self, key: Key, bytes: &Bytes) {
        let mut kept = self.lock();
        kept.bytes += bytes.len();
        kept.pictures.push_back((key, bytes.clone()));
        while kept.bytes > self.most_kept
            && let Some((_, oldest)) = kept.pictures.pop_front()
        {
            kept.bytes -= oldest.len();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(frame: u64) -> Key {
        Key { file: FileKey { path: "a".into(), bytes: 1, modified: 2 }, frame, size: None }
    }

    #[test]
    fn the_oldest_pictures_make_room() {
        let viewer = Viewer::new(1000);
        let large = Bytes::from(vec![0; 500]);
        for frame in 0..3 {
            viewer.keep(key(frame), &large);
        }
        assert!(viewer.picture(&key(0)).is_none());
        assert!(viewer.picture(&key(1)).is_some() && viewer.picture(&key(2)).is_some());
    }
}
