//! The list of worst frames that stands beside their pictures.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::score::FaultWarning;

/// The worst frames of a clip: those that detectors name, then those with the lowest scores, worst first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorstList {
    /// The name of the score that frames are judged by.
    pub score: String,
    /// The frames: one for each fault that detectors name, the most certain first, then those with the lowest scores.
    pub frames: Vec<WorstEntry>,
    /// Faults that detectors found in the clip; null where nobody looked for them.
    pub warnings: Option<Vec<FaultWarning>>,
}

/// A bad frame.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorstEntry {
    /// Its number, from 0.
    pub frame_index: u64,
    /// Its score; null where it is not a finite number.
    #[schemars(with = "Option<f64>")]
    pub score: f64,
    /// The shot it is in, from 0, as far as cuts were seen.
    pub shot: usize,
    /// File with reference, distorted video and amplified difference side by side.
    pub png: String,
    /// What the picture shows, in luma samples.
    pub region: WorstRegion,
    /// What is wrong with the frame, in words.
    pub description: String,
    /// What was measured of it.
    #[schemars(with = "FaultMeasures")]
    pub measures: Value,
}

/// A rectangle of the frame, in luma samples.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct WorstRegion {
    /// Left edge.
    pub x: usize,
    /// Upper edge.
    pub y: usize,
    /// Width.
    pub width: usize,
    /// Height.
    pub height: usize,
}

/// What was measured of a bad frame, within its region where that is possible; null where a number is not finite.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FaultMeasures {
    /// Mean squared error of luma, on the 8-bit scale.
    pub error: Option<f64>,
    /// Fine detail of the distorted frame over that of the reference: below 1 it is blurred.
    pub detail: Option<f64>,
    /// How far edges on a grid of blocks stand out.
    pub blocking: Option<f64>,
    /// Error beside strong edges over that at smooth places.
    pub ringing: Option<f64>,
    /// Share of gentle slopes that have become steps.
    pub banding: Option<f64>,
    /// Noise of the distorted frame over that of the reference.
    pub noise: Option<f64>,
    /// Mean difference of brightness, on the 8-bit scale.
    pub brightness: Option<f64>,
    /// Mean differences of the two chroma planes, on the 8-bit scale.
    pub colour: [Option<f64>; 2],
    /// Mean squared error of the chroma planes, on the 8-bit scale.
    pub colour_error: Option<f64>,
    /// Whether the distorted video stands still while the reference moves.
    pub frozen: bool,
    /// The frame of the reference that fits better, relative to this one; 0 if none does.
    pub fits_frame: i32,
    /// By how many samples, right and down, the picture fits better if it is moved.
    pub fits_shift: (i32, i32),
}
