//! `GET /v1/history/{id}/frames/{pair}/{side}`: a frame as a picture, decoded when somebody wants to see it.
//!
//! A picture is found by the number of its pair: pairing chose which frame of which file that is. Decoding runs beside the job
//! queue, a few at a time and within the memory budget, so that looking does not wait for scoring. A picture
//! that is being decoded is not decoded twice.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use visus_engine::Cancel;
use visus_media::still::{self, StillIndex};
use visus_media::{Launch, Steps, Tools};
use visus_scoring::{OpenedFile, Video};
use visus_video::budget::{Budget, Reservation};
use visus_video::{ColourRange, Format, Frame};

use super::App;
use super::answer::Answer;
use super::large;
use super::refusal::refusal;
use super::viewer::Key;
use crate::history::{Entry, Input, Stored};
use crate::previews::FileKey;
use crate::{Server, ToolError, blocking};

/// The longest side that a picture can be scaled to.
const LONGEST_SIDE: usize = 8192;

#[derive(Debug, serde::Deserialize)]
pub struct Wanted {
    width: Option<usize>,
    height: Option<usize>,
    /// A small picture that is there already, of this frame or one near it.
    #[serde(default)]
    preview: bool,
}

impl Wanted {
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
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Answer> {
    let Path((id, pair, side)) = place.map_err(|error| Answer::bad_request(error.body_text()))?;
    let Query(wanted) = wanted.map_err(|error| Answer::bad_request(error.body_text()))?;
    let size = wanted.checked()?;
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
    if wanted.preview {
        let shared = Arc::clone(&app);
        let found = blocking(move || preview(&shared, &entry, pair, side)).await;
        return found.and_then(|found| found).map_err(|error| refusal(&error));
    }
    let turn = app.viewer.turns.acquire().await;
    let shared = Arc::clone(&app);
    let leaving = Leaving::default();
    let cancel = leaving.0.clone();
    let bytes = blocking(move || shown(&shared, &entry, pair, side, size, &cancel)).await;
    drop(turn);
    let bytes = bytes.and_then(|bytes| bytes).map_err(|error| refusal(&error))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/png")),
        // The address stands for a frame of files that may change; the page keeps pictures itself.
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
    ];
    Ok((headers, large::Text::of(bytes)?).into_response())
}

/// Which pair a small picture belongs to, if not the one that was asked for: how many later, or earlier.
const FRAMES_OFF: HeaderName = HeaderName::from_static("x-visus-frames-off");

/// The small picture, or an empty answer where there is none.
fn preview(app: &App, entry: &Entry, pair: u64, side: usize) -> Result<Response, ToolError> {
    let Some(store) = app.core.previews() else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    let reference = Subject::open(app, &entry.inputs[0])?;
    let distorted = Subject::open(app, &entry.inputs[1])?;
    let steps = steps_of(app, entry);
    let files = [&reference.key, &distorted.key];
    let Some((shown, pictures)) = store.near(files, pair, |pair| steps.at(pair)) else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let jpeg = pictures[side].clone();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/jpeg")),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (FRAMES_OFF, HeaderValue::from(shown as i64 - pair as i64)),
    ];
    Ok((headers, jpeg).into_response())
}

/// Which frames of both files make up the pairs.
fn steps_of(app: &App, entry: &Entry) -> Steps {
    let steps = app.history.as_ref().and_then(|history| history.read_json(&entry.id, Stored::Result));
    let steps = steps.and_then(|result| serde_json::from_value::<Steps>(result["steps"].clone()).ok());
    steps.unwrap_or_default()
}

/// A client that leaves ends the decoding of its picture.
#[derive(Default)]
struct Leaving(Cancel);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fire();
    }
}

/// How long a picture waits for memory.
const PATIENCE: Duration = Duration::from_secs(5);

/// Room for a picture of this size while it is made: its own samples in `bytes`, and its pixels in several forms (measured: 15
/// bytes for each).
fn room(bytes: u64, width: usize, height: usize, cancel: &Cancel) -> Result<Reservation, ToolError> {
    const PIXELS: u64 = 15;
    let pixels = (width as u64).saturating_mul(height as u64);
    let bytes = pixels.saturating_mul(PIXELS).saturating_add(bytes);
    let what = format!("a picture of {width}x{height}");
    Ok(Budget::process().wait(bytes, &what, PATIENCE, &|| cancel.is_fired())?)
}

/// The samples of a frame, in bytes.
fn frame_bytes(format: &Format) -> u64 {
    let pixels = (format.width() as u64).saturating_mul(format.height() as u64);
    pixels.saturating_mul(3 * format.sample_bytes() as u64)
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
            false => subject.index(app, &Cancel::new()).map(drop),
        });
        if let Err(error) = indexed {
            tracing::debug!(%error, "the frames of a file cannot be found yet");
        }
    }
}

/// Decodes frames that somebody is likely to look at, the likeliest first, both sides at once. Blocks.
pub fn warm(app: &App, entry: &Entry, frames: &[u64]) {
    for pair in frames {
        let side = |side| shown(app, entry, *pair, side, None, &Cancel::new()).is_ok();
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
        let key = FileKey::of(&opened.path, &opened.file).map_err(|error| ToolError::failed(&error))?;
        Ok(Self { key, video: Video::File { name: opened.path, file: opened.file } })
    }

    /// The file under a name that a child can open, the programs, and where the frames are.
    fn index(&self, app: &App, cancel: &Cancel) -> Result<(OpenedFile, Tools, Arc<StillIndex>), ToolError> {
        let Video::File { name, file } = &self.video else { return Err(ToolError::Cancelled) };
        let place = OpenedFile::new(file, name).map_err(|error| ToolError::failed(&error))?;
        let tools = app.viewer.tools(launch(&app.core))?;
        let make = || {
            StillIndex::of(&tools, place.path(), cancel).map_err(|error| ToolError::Failed(error.to_string()))
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
    cancel: &Cancel,
) -> Result<Bytes, ToolError> {
    let subject = Subject::open(app, &entry.inputs[side])?;
    let frame = steps_of(app, entry).at(pair)[side];
    let key = Key { file: subject.key.clone(), frame, size };
    app.viewer.picture(&key, || {
        let raw = raw_format(&entry.request);
        if subject.video.is_y4m() || raw.is_some() {
            return plain(&subject.video, raw, frame, cancel);
        }
        let (place, tools, index) = subject.index(app, cancel)?;
        let (width, height) = size.unwrap_or((index.width, index.height));
        let size = size.filter(|size| *size != (index.width, index.height));
        let _room = room(0, width, height, cancel)?;
        still::still(&tools, place.path(), &index, frame, size, cancel)
            .map_err(|error| ToolError::Failed(error.to_string()))
    })
}

/// A frame of raw video or Y4M, read without a decoder.
fn plain(video: &Video, raw: Option<Format>, frame: u64, cancel: &Cancel) -> Result<Vec<u8>, ToolError> {
    let failed = |error: &dyn std::error::Error| ToolError::failed(error);
    let decoders = visus_scoring::Decoders::default();
    let mut source =
        visus_scoring::open_one(video, raw, &decoders, cancel).map_err(|error| failed(&error))?;
    let format = *source.format();
    let _room = room(frame_bytes(&format), format.width(), format.height(), cancel)?;
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
    use super::*;

    #[test]
    fn sizes_come_in_pairs() {
        let checked = |width, height| Wanted { width, height, preview: false }.checked();
        assert_eq!(checked(None, None).ok(), Some(None));
        assert_eq!(checked(Some(4), Some(2)).ok(), Some(Some((4, 2))));
        for (width, height) in [(Some(4), None), (Some(0), Some(1)), (Some(1), Some(LONGEST_SIDE + 1))] {
            assert!(checked(width, height).is_err());
        }
    }
}
