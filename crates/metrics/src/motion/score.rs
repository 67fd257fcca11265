//! From the sum of absolute differences of a frame to its raw number.
//!
//! The sum is an integer and does not depend on the order of pixels: an extractor and a device that compute it get the
//! same bits from [`MotionSettings::finish`]. What depends on neighbouring frames follows in the fold.

use visus_video::Format;

use super::{Blend, smaller};

/// Checked options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MotionSettings {
    /// All scores are zero; nothing need be computed.
    pub force_zero: bool,
    /// Distance of the two frames that are compared: 1, or 2 with the five-frame window.
    pub distance: u64,
    pub(super) blend: Blend,
    pub(super) fps_weight: f64,
    pub(super) moving_average: bool,
    pub(super) debug: bool,
}

impl MotionSettings {
    /// Fills the row of one raw number. `sad` is the sum over all pixels of the absolute value of the blurred luma
    /// difference between the reference's frame and the one [`distance`](Self::distance) before it, in 1/256 of a level
    /// of 8 bits: differences are filtered with [`motion_taps`](crate::device::motion_taps) down the columns, rounded and shifted by
    /// the bit depth, then along the rows, rounded and shifted by 16. `None` if there is no such frame.
    pub fn finish(&self, sad: Option<u64>, format: &Format, raw: &mut [f64]) {
        raw[0] = match sad {
            Some(sad) if !self.force_zero => {
                let mean = sad as f64 / 256.0 / (format.width() * format.height()) as f64;
                smaller(mean * self.fps_weight, self.blend.max)
            }
            _ => 0.0,
        };
    }
}
