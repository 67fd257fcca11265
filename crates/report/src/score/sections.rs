//! Sections that only some reports have: how two encoded videos were brought together.
//!
//! Who opened the videos hands them over as JSON; the types here are their schema.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The sections of a report, each as JSON.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Sections {
    /// Resolved path of the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub reference_encoded: Option<Value>,
    /// Resolved path of the distorted video.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub distorted_encoded: Option<Value>,
    /// Whether the number can be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ComparabilitySection>")]
    pub comparability: Option<Value>,
    /// Which frames were compared with which.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PairingSection>")]
    pub pairing: Option<Value>,
    /// What was converted before scoring.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Conversion>>")]
    pub conversions: Option<Value>,
    /// What is known of both files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<MediaSection>")]
    pub media: Option<Value>,
    /// The region of the compared picture that was measured, as WIDTHxHEIGHT+X+Y; absent where it was the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub roi: Option<Value>,
    /// Scores of both brought from HDR to SDR, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ToneMappedSection>")]
    pub tone_mapped: Option<Value>,
    /// Sections that have no type here.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

impl Sections {
    /// Names the two files that were decoded.
    pub fn name_encoded(&mut self, [reference, distorted]: [String; 2]) {
        self.reference_encoded = Some(Value::String(reference));
        self.distorted_encoded = Some(Value::String(distorted));
    }
}

impl FromIterator<(String, Value)> for Sections {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(named: I) -> Self {
        let mut sections = Self::default();
        for (name, value) in named {
            match name.as_str() {
                "reference_encoded" => sections.reference_encoded = Some(value),
                "distorted_encoded" => sections.distorted_encoded = Some(value),
                "comparability" => sections.comparability = Some(value),
                "pairing" => sections.pairing = Some(value),
                "conversions" => sections.conversions = Some(value),
                "media" => sections.media = Some(value),
                "roi" => sections.roi = Some(value),
                "tone_mapped" => sections.tone_mapped = Some(value),
                _ => drop(sections.other.insert(name, value)),
            }
        }
        sections
    }
}

/// Scores of an HDR pair that was brought to SDR.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToneMappedSection {
    /// How it was brought to SDR.
    pub method: String,
    /// The scores of each model.
    pub scores: Vec<ToneMappedScore>,
}

/// What a model says of a tone-mapped pair.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToneMappedScore {
    /// The model's column.
    pub model: String,
    /// The mean of all frames.
    pub mean: f64,
    /// The harmonic mean of all frames.
    pub harmonic_mean: f64,
    /// The score that 5 % of the frames do not reach.
    pub p5: f64,
    /// The worst frame's score.
    pub min: f64,
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The two can be compared; what differed was dealt with.
    Yes,
    /// They can be compared with care.
    Warn,
    /// The number means nothing.
    No,
}

/// Whether the two videos can be compared.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparabilitySection {
    /// The gravest of the reasons; yes without any.
    pub comparable: Verdict,
    /// Everything that bears on the comparison.
    pub reasons: Vec<ComparabilityReason>,
}

/// Something that bears on the comparison.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparabilityReason {
    /// How much it weighs.
    pub weight: Verdict,
    /// A short name for programs.
    pub code: String,
    /// The reason in words.
    pub text: String,
}

/// Which frames were compared with which, and what was found on the way.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PairingSection {
    /// Everything below in one sentence.
    pub summary: String,
    /// off, offset or full, as it was asked for.
    pub sync: String,
    /// Frames of the reference before the first one that the distorted video has; negative where that one begins earlier.
    pub offset: i64,
    /// How certain the offset is, 0 to 1; null where nobody looked.
    pub confidence: Option<f64>,
    /// How alike the paired frames are at the start, up to 1.
    pub likeness: Option<f64>,
    /// The start lies so far in that small copies of more of both files were compared.
    pub searched_far: bool,
    /// Pairs of frames that were scored.
    pub pairs: u64,
    /// Frames of the reference that the distorted video does not have.
    pub dropped: FrameRuns,
    /// Frames of the distorted video that the reference does not have.
    pub duplicated: FrameRuns,
    /// Pairs in which the distorted video stands still while the reference moves.
    pub frozen: FrameRuns,
    /// Pairs whose pictures are not alike.
    pub unlike: FrameRuns,
    /// Pairs for which another pairing would explain the pictures nearly as well.
    pub doubtful: DoubtfulRuns,
    /// Pairs whose distorted frame shows two frames of the reference at once.
    pub blended: FrameRuns,
    /// Shares of the pairs that were compared with their neighbours once more.
    pub recheck: Recheck,
    /// The video that goes on after the other one has ended: reference or distorted.
    pub longer_input: Option<String>,
    /// Pairs at which a shot begins; the first is 0.
    pub shots: Vec<u64>,
}

/// Frames that share a fate, as runs of frames in a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FrameRuns {
    /// How many frames there are in all.
    pub frames: u64,
    /// Where they are; at most 200 runs are listed.
    pub runs: Vec<FrameRun>,
    /// Whether all runs are listed.
    pub complete: bool,
}

/// Frames in a row, by their numbers in both files.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FrameRun {
    /// The first one's number in the reference.
    pub reference: u64,
    /// The first one's number in the distorted video.
    pub distorted: u64,
    /// How many frames.
    pub count: u64,
}

/// Pairs that may belong together in another way, as runs of pairs in a row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoubtfulRuns {
    /// How many pairs there are in all.
    pub frames: u64,
    /// Where they are; at most 200 runs are listed.
    pub runs: Vec<DoubtfulRun>,
    /// Whether all runs are listed.
    pub complete: bool,
    /// By how much the mean of all pairs would change if all of these were paired the other way, by those that were scored again;
    /// null where none was.
    pub mean_change: Option<f64>,
}

/// Pairs in a row for which another pairing is nearly as likely.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoubtfulRun {
    /// The first one's number in the reference.
    pub reference: u64,
    /// The first one's number in the distorted video.
    pub distorted: u64,
    /// How many pairs.
    pub count: u64,
    /// By how many frames of the reference the other pairing is later; null if the frames have no counterpart there.
    pub alternative_shift: Option<i32>,
    /// How many of them were scored again the other way: at most 64 doubtful pairs of 512 frames.
    pub rescored: u64,
    /// The mean score of those, as they were paired, by the first model or else the first metric; null where there are none.
    pub score: Option<f64>,
    /// Their mean score as the other pairing has them.
    pub alternative_score: Option<f64>,
}

/// What comparing pairs with their neighbours gave, as shares of those that were checked.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Recheck {
    /// The pair fits better than its neighbours.
    pub sure: f64,
    /// Neighbours fit as well.
    pub unclear: f64,
    /// A neighbour fits better.
    pub contradicted: f64,
}

/// A conversion before scoring.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conversion {
    /// reference or distorted.
    pub input: String,
    /// What was done.
    pub conversion: String,
}

/// What is known of both files.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MediaSection {
    /// Version of the ffmpeg that decoded; null where none was needed.
    pub ffmpeg: Option<String>,
    /// The reference.
    pub reference: MediaFacts,
    /// The distorted video.
    pub distorted: MediaFacts,
}

/// A file as its headers describe it. What stands from `container` on is known of encoded video alone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MediaFacts {
    /// The file.
    pub file: String,
    /// Width in samples, as decoded.
    pub width: usize,
    /// Height in samples, as decoded.
    pub height: usize,
    /// Chroma subsampling.
    pub chroma: String,
    /// Bits per sample.
    pub bit_depth: u8,
    /// Range of the samples: full or limited; null where the file does not say.
    pub range: Option<String>,
    /// Frames per second as a ratio.
    pub frame_rate: Option<String>,
    /// Width to height of a sample.
    pub sample_aspect: String,
    /// Whether and how it is interlaced.
    pub interlacing: String,
    /// Number of frames, where the file says so.
    pub frames: Option<u64>,
    /// Container format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Codec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<String>,
    /// software, or the device that decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded_by: Option<String>,
    /// Why the device that computes the scores does not decode it, where that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_decoded_on_device: Option<String>,
    /// Sample format by ffmpeg's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixel_format: Option<String>,
    /// Colour matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<String>,
    /// Transfer characteristics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<String>,
    /// Colour primaries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primaries: Option<String>,
    /// Whether frames last differently long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable_frame_rate: Option<bool>,
    /// Clockwise rotation in degrees that players apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<i64>,
    /// Whether the decoder adds film grain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub film_grain: Option<bool>,
    /// Seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
}
