//! What a container says about its video beyond the pixels, and what a user should hear about it.

use std::fmt;

/// How the chroma planes of an odd-sized picture lie in a file.
///
/// Metrics see planes rounded down (see [`Format::plane_size`](crate::Format::plane_size)). Y4M files always carry
/// planes rounded up. Raw files come in both kinds: most tools, ffmpeg among them, write them rounded up, libvmaf's own
/// tool reads them rounded down. Even sizes are the same in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ChromaRounding {
    /// Decide by the length of the file: up if whole frames of that size fill it, else down if those do, else up.
    /// Up also when the length is not known, as for pipes.
    #[default]
    Auto,
    /// A picture of 5x5 in 4:2:0 has chroma planes of 3x3; the top left 2x2 are handed over.
    Up,
    /// A picture of 5x5 in 4:2:0 has chroma planes of 2x2.
    Down,
}

/// How the lines of a frame follow each other in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interlacing {
    /// Not stated. It is taken for progressive.
    #[default]
    Unknown,
    Progressive,
    TopFieldFirst,
    BottomFieldFirst,
    /// Frame headers say it for each frame.
    Mixed,
}

impl Interlacing {
    /// Whether fields of two instants share a frame. Metrics compare frames as they are; libvmaf's tool refuses these.
    pub const fn is_interlaced(self) -> bool {
        matches!(self, Self::TopFieldFirst | Self::BottomFieldFirst | Self::Mixed)
    }
}

impl fmt::Display for Interlacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Progressive => "progressive",
            Self::TopFieldFirst => "top field first",
            Self::BottomFieldFirst => "bottom field first",
            Self::Mixed => "mixed",
        })
    }
}

/// Which sample values stand for black and white. A fact for reports: no sample is changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColourRange {
    Full,
    Limited,
}

/// What is known about a source beyond its [`Format`](crate::Format).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Frames per second as a ratio of two positive numbers.
    pub frame_rate: Option<(u32, u32)>,
    /// Width to height of a sample, as a ratio of two positive numbers.
    pub aspect: Option<(u32, u32)>,
    pub interlacing: Interlacing,
    pub range: Option<ColourRange>,
    /// The chroma tag as the file has it (`420jpeg`, `422p10`, …): it also tells where chroma samples sit.
    pub chroma_tag: Option<String>,
    /// How odd-sized chroma lies in the file; never `Auto`, and `None` where up and down are the same.
    pub rounding: Option<ChromaRounding>,
    pub warnings: Vec<Warning>,
}

/// Something that does not stop a reader but that a user should know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    #[error("the file is marked YUV4MPEG{version}; it is read as YUV4MPEG2")]
    Version { version: String },
    #[error("interlacing is not stated; the video is taken for progressive")]
    InterlacingUnknown,
    #[error("the video is interlaced ({0}); frames are compared as they are, without deinterlacing")]
    Interlaced(Interlacing),
    #[error("characters after the number in header tag \"{tag}\" are ignored")]
    TrailingCharacters { tag: String },
    #[error("the alpha plane is ignored")]
    AlphaIgnored,
    #[error(
        "{length} bytes are not a whole number of frames of {frame_bytes} bytes: {whole_frames} frames and {rest} \
         bytes; are size, chroma format and bit depth right?"
    )]
    Length { length: u64, frame_bytes: u64, whole_frames: u64, rest: u64 },
}
