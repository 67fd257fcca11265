//! What a metric may know about a clip before it sees a frame.

use visus_video::Format;

/// The description of a clip pair from which extractors are made. Both clips have the same format, and the frame rate is
/// the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClipInfo {
    pub format: Format,
    /// Frames per second as a ratio; `None` where nothing says, as in raw video.
    pub frame_rate: Option<(u32, u32)>,
}

impl ClipInfo {
    /// The frame rate as a number. A ratio that is not a positive number counts as unknown.
    pub fn frames_per_second(&self) -> Option<f64> {
        let (frames, seconds) = self.frame_rate?;
        (frames > 0 && seconds > 0).then(|| f64::from(frames) / f64::from(seconds))
    }
}

/// A clip of unknown frame rate.
impl From<Format> for ClipInfo {
    fn from(format: Format) -> Self {
        Self { format, frame_rate: None }
    }
}

#[cfg(test)]
mod tests {
    use visus_video::Chroma;

    use super::*;

    #[test]
    fn senseless_frame_rates_are_unknown() {
        let format = Format::new(16, 16, Chroma::C420, 8).unwrap();
        assert_eq!(ClipInfo::from(format).frames_per_second(), None);
        for (frame_rate, expected) in
            [((60, 1), Some(60.0)), ((1, 2), Some(0.5)), ((0, 1), None), ((25, 0), None)]
        {
            let clip = ClipInfo { format, frame_rate: Some(frame_rate) };
            assert_eq!(clip.frames_per_second(), expected, "{frame_rate:?}");
        }
    }
}
