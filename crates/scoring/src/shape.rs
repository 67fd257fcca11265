//! What a video's header says about its size, for those who plan work before they do it.

use visus_engine::{Cancel, Side};
use visus_media::{Probe, Tools};
use visus_video::Format;

use crate::video::Kind;
use crate::{Decoders, RequestError, ScoreError, Video};

/// Size and length, without a frame being decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub width: usize,
    pub height: usize,
    /// As the file says or its length shows; of encoded video sometimes an estimate.
    pub frames: Option<u64>,
    pub is_encoded: bool,
}

impl Shape {
    pub fn of(
        video: &Video,
        raw: Option<Format>,
        decoders: &Decoders,
        cancel: &Cancel,
    ) -> Result<Self, ScoreError> {
        let raw = match video.kind(raw) {
            Kind::Raw(format) => Some(format),
            Kind::Y4m => None,
            Kind::Encoded => return Self::of_encoded(video, decoders, cancel),
            Kind::Pictures => {
                let text = format!(
                    "{}: numbered pictures are not planned ahead; make one file of them",
                    video.name()
                );
                return Err(RequestError::Input(text).into());
            }
        };
        let source =
            video.source(raw).map_err(|source| ScoreError::Open { side: Side::Distorted, source })?;
        let (format, frames) = (source.format(), source.total_frames());
        Ok(Self { width: format.width(), height: format.height(), frames, is_encoded: false })
    }

    fn of_encoded(video: &Video, decoders: &Decoders, cancel: &Cancel) -> Result<Self, ScoreError> {
        let tools = Tools::find(decoders.launch(), &decoders.purpose)?;
        let probe = Probe::of(&tools, std::path::Path::new(&video.name()), cancel)?;
        Ok(Self { width: probe.width, height: probe.height, frames: probe.frames, is_encoded: true })
    }
}
