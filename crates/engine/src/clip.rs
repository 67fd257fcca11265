//! What metrics learn about a clip before its first frame.

use visus_video::Format;

/// A clip's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClipInfo {
    pub format: Format,
    /// Frames per second, as a ratio.
    pub frame_rate: Option<(u32, u32)>,
}

impl From<Format> for ClipInfo {
    fn from(format: Format) -> Self {
        Self { format, frame_rate: None }
    }
}
