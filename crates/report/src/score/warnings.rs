//! Faults that detectors found beside the scores: what a model does not see, or does not name.

use schemars::JsonSchema;
use serde::Serialize;

/// A fault of the distorted video.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FaultWarning {
    /// A short name for programs: brightness, contrast, gamma, hue, saturation, colour_cast, colour_matrix, missing_chroma,
    /// swapped_chroma, frame_order, frozen, blended, combing, shifted, scaled, overlay, damage, oversharpened, blurred,
    /// noise, banding, blocking or blank.
    pub kind: String,
    /// The first pair that shows it.
    pub from_frame: u64,
    /// The last pair that shows it.
    pub to_frame: u64,
    /// The part of the picture that shows it; absent for the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<WarningRegion>,
    /// How certain it is, from 0.5 to 1.
    pub confidence: f64,
    /// The fault in words, with frames and region.
    pub text: String,
}

/// A part of the picture, in luma samples.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WarningRegion {
    /// Left edge.
    pub x: usize,
    /// Upper edge.
    pub y: usize,
    /// Width.
    pub width: usize,
    /// Height.
    pub height: usize,
    /// Where that is: upper left, centre, lower right, …
    pub place: String,
}

/// Warnings that a summary has room for.
const MOST: usize = 4;

/// The most certain warnings, in the order of their frames, and how many others there are.
pub(super) fn brief(warnings: &[FaultWarning]) -> (Vec<&FaultWarning>, usize) {
    let mut sorted: Vec<&FaultWarning> = warnings.iter().collect();
    let length = |warning: &FaultWarning| warning.to_frame - warning.from_frame;
    sorted.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(length(b).cmp(&length(a))));
    sorted.truncate(MOST);
    sorted.sort_by_key(|warning| warning.from_frame);
    let left_out = warnings.len() - sorted.len();
    (sorted, left_out)
}
