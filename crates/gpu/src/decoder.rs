//! Decoders on a device: an elementary stream in, pictures in the device's memory out.

use std::fmt;
use std::sync::Arc;

use visus_video::{Format, RemotePicture};

use crate::error::DeviceError;

/// How the panic begins with which a picture of a lost device ends whoever looks at it.
pub const PICTURE_LOST: &str = "a decoded picture could not be copied from the device";

/// What a device may decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoCodec {
    H264,
    Hevc,
    Vp9,
    Av1,
}

impl VideoCodec {
    /// By ffmpeg's name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "h264" => Some(Self::H264),
            "hevc" => Some(Self::Hevc),
            "vp9" => Some(Self::Vp9),
            "av1" => Some(Self::Av1),
            _ => None,
        }
    }

    /// Whether start codes separate pictures, so that any piece of the stream can be fed; else pieces are whole frames.
    pub fn is_byte_stream(self) -> bool {
        matches!(self, Self::H264 | Self::Hevc)
    }
}

impl fmt::Display for VideoCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::H264 => "H.264",
            Self::Hevc => "HEVC",
            Self::Vp9 => "VP9",
            Self::Av1 => "AV1",
        })
    }
}

/// A decoder of one stream. After an error there is nothing more to get from it.
pub trait VideoDecoder: Send {
    /// Takes the next piece of the stream; see [`VideoCodec::is_byte_stream`].
    fn feed(&mut self, data: &[u8]) -> Result<(), DeviceError>;

    /// There is no more to feed: what was held back for the sake of order comes out.
    fn end(&mut self) -> Result<(), DeviceError>;

    /// The next picture in display order. `None` asks for more of the stream, or is the end of one that has ended.
    fn next(&mut self) -> Result<Option<Arc<dyn RemotePicture>>, DeviceError>;

    /// After the end: what is fed next is a stream of its own, of the same format.
    fn restart(&mut self) -> Result<(), DeviceError>;
}

/// A stream that a device is asked to decode.
#[derive(Clone, Copy, Debug)]
pub struct VideoStream {
    pub codec: VideoCodec,
    pub format: Format,
    /// How many pictures there are, if the caller knows and compares: only then several engines share the stream.
    pub pictures: Option<u64>,
}
