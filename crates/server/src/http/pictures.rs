//! `GET /v1/history/{id}/frames/{pair}/{side}`: a frame as a picture, decoded when somebody wants to see it.
//!
//! A picture is found by the number of its pair: pairing chose which frame of which file that is. Pictures that were shown
//! lately, and what is needed to find further ones in their files, are kept in memory. Decoding runs beside the job queue, a
//! few at a time, so that looking does not wait for scoring. A picture that is being decoded is not decoded twice: whoever
//! wants it too waits for it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::sync::Semaphore;
use visus_engine::Cancel;
use visus_media::still::{self, StillIndex};
use visus_media::{Launch, Steps, Tools};
use visus_scoring::{OpenedFile, Video};
use visus_video::{ColourRange, Format, Frame};

use super::App;
use super::answer::Answer;
use super::refusal::refusal;
use crate::history::{Entry, Input, Stored, seconds};
use crate::{Server, ToolError, blocking};

/// Bytes of pictures that are kept.
const MOST_KEPT: usize = 96 << 20;
/// Files of which it is remembered where their frames are.
const MOST_INDEXED: usize = 32;
/// Pictures that are decoded at the same time.
const AT_ONCE: usize = 4;
/// The longest side that a picture can be scaled to.
const LONGEST_SIDE: usize = 8192;

/// A file in the state in which it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileKey {
    path: PathBuf,
    bytes: u64,
    modified: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    file: FileKey,
    frame: u64,
    size: Option<(usize, usize)>,
}

/// What is remembered between requests.
#[derive(Debug)]
pub struct Viewer {
    kept: Mutex<Kept>,
    /// Signalled when a picture has left `Kept::decoding`.
    decoded: Condvar,
    turns: Semaphore,
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

impl Default for Viewer {
    fn default() -> Self {
        Self { kept: Mutex::default(), decoded: Condvar::new(), turns: Semaphore::new(AT_ONCE) }
    }
}

impl Viewer {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The picture from memory, or what `decode` makes of it. Only one caller decodes it; others wait for that.
    fn picture(
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
        self.lock().keep(key.clone(), &bytes);
        drop(decoding);
        Ok(bytes)
    }

    /// Whether more pictures can be kept without dropping any.
    fn has_room(&self) -> bool {
        self.lock().bytes < MOST_KEPT / 2
    }

    fn tools(&self, launch: Launch) -> Result<Tools, ToolError> {
        if let Some(tools) = self.lock().tools.clone() {
            return Ok(tools);
        }
        let tools = Tools::find(launch, "look at frames").map_err(|error| ToolError::failed(&error))?;
        self.lock().tools = Some(tools.clone());
        Ok(tools)
    }

    fn index(
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
        if kept.indices.len() > MOST_INDEXED {
            kept.indices.pop_front();
        }
        Ok(index)
    }
}

impl Kept {
    fn picture(&self, key: &Key) -> Option<Bytes> {
        self.pictures.iter().find(|(known, _)| known == key).map(|(_, bytes)| bytes.clone())
    }

    fn keep(&mut self, key: Key, bytes: &Bytes) {
        self.bytes += bytes.len();
        self.pictures.push_back((key, bytes.clone()));
        while self.bytes > MOST_KEPT
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

#[derive(Debug, serde::Deserialize)]
pub struct Size {
    width: Option<usize>,
    height: Option<usize>,
}

impl Size {
    fn checked(&self) -> Result<Option<(usize, usize)>, Answer> {
        let allowed = |side: usize| (1..=LONGEST_SIDE).contains(&side);
        match (self.width, self.height) {
            (None, None) => Ok(None),
            (Some(width), Some(height)) if allowed(width) && allowed(height) => Ok(Some((width, height))),
            _ => Err(Answer::bad_request(format!(
                "width and height are given together, as whole numbers from 1 to {LONGEST_SIDE}"
            ))),
        }
    }
}

pub async fn picture(
    State(app): State<Arc<App>>,
    place: Result<Path<(String, String, String)>, PathRejection>,
    size: Result<Query<Size>, QueryRejection>,
) -> Result<Response, Answer> {
    let Path((id, pair, side)) = place.map_err(|error| Answer::bad_request(error.body_text()))?;
    let Query(size) = size.map_err(|error| Answer::bad_request(error.body_text()))?;
    let size = size.checked()?;
    let pair: u64 = pair
        .parse()
        .map_err(|_| Answer::bad_request("invalid frame: must be the number of a frame, from 0"))?;
    let side = match side.as_str() {
        "reference" => 0,
        "distorted" => 1,
        _ => return Err(Answer::bad_request("invalid side: must be one of reference|distorted")),
    };
    let entry = app.history.as_ref().and_then(|history| history.get(&id));
    let entry = entry.ok_or_else(|| Answer::not_found("the history has no such entry"))?;
    if entry.inputs.len() != 2 {
        return Err(Answer::error(StatusCode::CONFLICT, "this entry is no score of two videos"));
    }
    if entry.frames.is_some_and(|frames| pair >= frames) {
        return Err(Answer::not_found(format!("the video has no frame {pair}")));
    }
    let turn = app.viewer.turns.acquire().await;
    let shared = Arc::clone(&app);
    let bytes = blocking(move || shown(&shared, &entry, pair, side, size)).await;
    drop(turn);
    let bytes = bytes.and_then(|bytes| bytes).map_err(|error| refusal(&error))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/png")),
        // The address stands for a frame of files that may change; the page keeps pictures itself.
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
    ];
    Ok((headers, bytes).into_response())
}

fn launch(server: &Server) -> Launch {
    let config = server.config();
    Launch { launcher: config.launcher.clone(), limit: config.limits.subprocess, ..Launch::default() }
}

/// Finds out where the frames of an entry's files are, so that the first picture does not wait for it. Blocks.
pub fn prepare(app: &App, entry: &Entry) {
    if entry.inputs.len() != 2 || raw_format(&entry.request).is_some() {
        return;
    }
    for input in &entry.inputs {
        let indexed = Subject::open(app, input).and_then(|subject| match subject.video.is_y4m() {
            true => Ok(()),
            false => subject.index(app).map(drop),
        });
        if let Err(error) = indexed {
            tracing::debug!(%error, "the frames of a file cannot be found yet");
        }
    }
}

/// Decodes frames that somebody is likely to look at, the likeliest first, both sides at once. Blocks.
pub fn warm(app: &App, entry: &Entry, frames: &[u64]) {
    for pair in frames {
        let side = |side| shown(app, entry, *pair, side, None).is_ok();
        let both = std::thread::scope(|scope| {
            let reference = scope.spawn(|| side(0));
            side(1) && reference.join().unwrap_or(false)
        });
        if !both || !app.viewer.has_room() {
            return;
        }
    }
}

/// A file of an entry, opened under the allowed roots.
struct Subject {
    key: FileKey,
    video: Video,
}

impl Subject {
    /// Refuses a file that is not what it was when it was scored.
    fn open(app: &App, input: &Input) -> Result<Self, ToolError> {
        let opened = app.core.roots().open(&input.path)?;
        let facts = opened.file.metadata().map_err(|error| ToolError::failed(&error))?;
        if input.bytes.is_some_and(|bytes| bytes != facts.len()) {
            return Err(ToolError::Refused(format!(
                "{} has changed since it was scored; score it again to look at its frames",
                input.name
            )));
        }
        let modified = facts.modified().ok().map_or(0, seconds);
        let key = FileKey { path: opened.path.clone(), bytes: facts.len(), modified };
        Ok(Self { key, video: Video::File { name: opened.path, file: opened.file } })
    }

    /// The file under a name that a child can open, the programs, and where the frames are.
    fn index(&self, app: &App) -> Result<(OpenedFile, Tools, Arc<StillIndex>), ToolError> {
        let Video::File { name, file } = &self.video else { return Err(ToolError::Cancelled) };
        let place = OpenedFile::new(file, name).map_err(|error| ToolError::failed(&error))?;
        let tools = app.viewer.tools(launch(&app.core))?;
        let make = || {
            StillIndex::of(&tools, place.path(), &Cancel::new())
                .map_err(|error| ToolError::Failed(error.to_string()))
        };
        let index = app.viewer.index(&self.key, make)?;
        Ok((place, tools, index))
    }
}

/// The picture, from memory or decoded now. Blocks.
fn shown(
    app: &App,
    entry: &Entry,
    pair: u64,
    side: usize,
    size: Option<(usize, usize)>,
) -> Result<Bytes, ToolError> {
    let subject = Subject::open(app, &entry.inputs[side])?;
    let steps = app.history.as_ref().and_then(|history| history.read_json(&entry.id, Stored::Result));
    let steps = steps.and_then(|result| serde_json::from_value::<Steps>(result["steps"].clone()).ok());
    let frame = steps.unwrap_or_default().at(pair)[side];
    let key = Key { file: subject.key.clone(), frame, size };
    app.viewer.picture(&key, || {
        let raw = raw_format(&entry.request);
        if subject.video.is_y4m() || raw.is_some() {
            return plain(&subject.video, raw, frame);
        }
        let (place, tools, index) = subject.index(app)?;
        let size = size.filter(|size| *size != (index.width, index.height));
        still::still(&tools, place.path(), &index, frame, size, &Cancel::new())
            .map_err(|error| ToolError::Failed(error.to_string()))
    })
}

/// A frame of raw video or Y4M, read without a decoder.
fn plain(video: &Video, raw: Option<Format>, frame: u64) -> Result<Vec<u8>, ToolError> {
    let failed = |error: &dyn std::error::Error| ToolError::failed(error);
    let decoders = visus_scoring::Decoders::default();
    let mut source =
        visus_scoring::open_one(video, raw, &decoders, &Cancel::new()).map_err(|error| failed(&error))?;
    let mut picture = Frame::new(*source.format());
    let passed = source.skip(frame).map_err(|error| failed(&error))?;
    if passed < frame || !source.read(&mut picture).map_err(|error| failed(&error))? {
        return Err(ToolError::Refused(format!("the video has no frame {frame}")));
    }
    let range = source.info().range.unwrap_or(ColourRange::Limited);
    still::of_frame(&picture, range).map_err(|error| ToolError::Failed(error.to_string()))
}

/// The format of raw files, where the request gave one.
fn raw_format(request: &serde_json::Map<String, Value>) -> Option<Format> {
    let side = |name: &str| usize::try_from(request.get(name)?.as_u64()?).ok();
    let chroma = match request.get("pixfmt")?.as_str()? {
        "420" => visus_video::Chroma::C420,
        "422" => visus_video::Chroma::C422,
        "444" => visus_video::Chroma::C444,
        _ => return None,
    };
    let depth = u8::try_from(request.get("bitdepth")?.as_u64()?).ok()?;
    Format::new(side("width")?, side("height")?, chroma, depth).ok()
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
        let large = Bytes::from(vec![0; MOST_KEPT / 2]);
        for frame in 0..3 {
            kept.keep(key(frame), &large);
        }
        assert!(kept.picture(&key(0)).is_none());
        assert!(kept.picture(&key(1)).is_some() && kept.picture(&key(2)).is_some());
    }

    #[test]
    fn a_picture_is_decoded_once_however_many_want_it() {
        let (viewer, decoded) = (Viewer::default(), AtomicUsize::new(0));
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
        let viewer = Viewer::default();
        assert!(viewer.picture(&key(1), || Err(ToolError::Cancelled)).is_err());
        assert!(viewer.lock().decoding.is_empty());
        assert_eq!(viewer.picture(&key(1), || Ok(vec![7])).unwrap(), [7].as_slice());
    }

    #[test]
    fn sizes_come_in_pairs() {
        let checked = |width, height| Size { width, height }.checked();
        assert_eq!(checked(None, None).ok(), Some(None));
        assert_eq!(checked(Some(4), Some(2)).ok(), Some(Some((4, 2))));
        for (width, height) in [(Some(4), None), (Some(0), Some(1)), (Some(1), Some(LONGEST_SIDE + 1))] {
            assert!(checked(width, height).is_err());
        }
    }
}
