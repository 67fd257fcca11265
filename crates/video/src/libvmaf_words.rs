//! What libvmaf's command line tool prints in the same situations, for a command that stands in for it.
//!
//! `None` means that the tool prints nothing of its own there, or that it does not get so far.

use crate::{HeaderFault, Interlacing, ReadError, Warning};

const BAD_HEADER: &str = "Error parsing YUV4MPEG2 header.";
const LONGEST_CHROMA_TAG: usize = 15;

impl ReadError {
    /// The first line that libvmaf's tool prints for this fault.
    pub fn libvmaf_words(&self) -> Option<String> {
        match self {
            Self::Open { file, .. } => Some(format!("could not open file: {file}")),
            Self::Header { fault, .. } => fault.libvmaf_words(),
            Self::Truncated { .. } | Self::Io { .. } => Some("Error reading YUV frame data.".to_owned()),
            Self::LostFraming { .. } => Some("Loss of framing in YUV input data".to_owned()),
            Self::FrameHeader { .. } => Some("Error parsing YUV frame header".to_owned()),
            Self::WrongFrame { .. } | Self::Decoder { .. } | Self::Device { .. } | Self::Failed { .. } => {
                None
            }
        }
    }
}

impl HeaderFault {
    fn libvmaf_words(&self) -> Option<String> {
        match self {
            Self::NotY4m { .. } => Some("Incomplete magic for YUV4MPEG file.".to_owned()),
            Self::BadTag { tag, .. } if tag.starts_with('I') => Interlacing::Mixed.libvmaf_words(),
            Self::Missing { .. } | Self::BadTag { .. } => Some(BAD_HEADER.to_owned()),
            Self::Chroma { tag } if tag.len() > LONGEST_CHROMA_TAG => Some(BAD_HEADER.to_owned()),
            Self::Chroma { tag } => Some(format!("Unknown chroma sampling type: {tag}")),
            Self::Empty | Self::EndsEarly { .. } | Self::TooLong { .. } | Self::Format(_) => None,
        }
    }
}

impl Interlacing {
    /// The line with which libvmaf's tool refuses interlaced video.
    pub fn libvmaf_words(self) -> Option<String> {
        let words = "Input video is interlaced; Theora only handles progressive scan.";
        self.is_interlaced().then(|| words.to_owned())
    }
}

impl Warning {
    /// The line that libvmaf's tool prints before it goes on.
    pub fn libvmaf_words(&self) -> Option<String> {
        match self {
            Self::Version { .. } => Some("Incorrect YUV input file version; YUV4MPEG2 required.".to_owned()),
            Self::InterlacingUnknown => {
                Some("Warning: Input video interlacing format unknown; assuming progressive scan.".to_owned())
            }
            Self::Interlaced(kind) => kind.libvmaf_words(),
            Self::TrailingCharacters { .. } | Self::AlphaIgnored | Self::Length { .. } => None,
        }
    }
}
