//! The tables of scoring arguments.
//!
//! `vmaf_score` and `POST /v1/score` take any video; the format is needed for raw files alone. `vmaf_score_encoded` is the
//! contract's name for the same with its own names for the two files. What few agents ever need is listed by `vmaf_score`
//! only; the other tools take it without listing it.

use std::sync::LazyLock;

use super::BACKGROUND;
use super::field::{Field, Kind, MANY};
use crate::engines::BACKENDS;
use crate::report::Detail;

/// What the two videos are called in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// `ref` and `dis`.
    Mcp,
    /// `reference` and `distorted`.
    Rest,
    /// `reference_encoded` and `distorted_encoded`.
    Encoded,
}

impl Names {
    pub const fn reference(self) -> &'static str {
        match self {
            Self::Mcp => "ref",
            Self::Rest => "reference",
            Self::Encoded => "reference_encoded",
        }
    }

    pub const fn distorted(self) -> &'static str {
        match self {
            Self::Mcp => "dis",
            Self::Rest => "distorted",
            Self::Encoded => "distorted_encoded",
        }
    }

    /// The table of arguments.
    pub fn fields(self) -> &'static [Field] {
        static MCP: LazyLock<Vec<Field>> = LazyLock::new(|| table(Names::Mcp));
        static REST: LazyLock<Vec<Field>> = LazyLock::new(|| table(Names::Rest));
        static ENCODED: LazyLock<Vec<Field>> = LazyLock::new(|| table(Names::Encoded));
        match self {
            Self::Mcp => &MCP,
            Self::Rest => &REST,
            Self::Encoded => &ENCODED,
        }
    }
}

fn table(names: Names) -> Vec<Field> {
    let mut fields = vec![
        Field::new(names.reference(), Kind::Text, "The reference video.")
            .required()
            .example("\"reference.mp4\""),
        Field::new(names.distorted(), Kind::Text, "The distorted video.")
            .required()
            .example("\"encode.mp4\""),
    ];
    if names != Names::Encoded {
        fields.extend_from_slice(RAW);
    }
    for field in [PAIRING, COMMON, RARE].concat() {
        let listed = match names {
            Names::Rest => true,
            Names::Mcp => field.listed,
            Names::Encoded => OFTEN.contains(&field.name),
        };
        fields.push(Field { listed, ..field });
    }
    fields
}

/// What tools list that take all arguments of `vmaf_score`.
const OFTEN: [&str; 2] = ["model", "background"];

/// The table of `describe_worst_frames`: either pair of names, of which one is listed, and the rest as for scores.
pub fn either(first: Field) -> Vec<Field> {
    let mut fields = vec![first];
    for field in Names::Mcp.fields().iter().chain(Names::Encoded.fields()) {
        if !fields.iter().any(|known| known.name == field.name) {
            let named = [Names::Mcp.reference(), Names::Mcp.distorted()].contains(&field.name);
            let listed = named || OFTEN.contains(&field.name);
            fields.push(Field { required: false, listed, ..*field });
        }
    }
    fields
}

const PIXEL_FORMATS: [&str; 3] = ["420", "422", "444"];
const AOM_VERSIONS: [&str; 7] = ["v1.0", "v2.0", "v3.0", "v4.0", "v5.0", "v6.0", "v7.0"];
pub(super) const FORMATS: [&str; 4] = ["json", "xml", "csv", "sub"];
const RESIZES: [&str; 4] = ["bilinear", "nearest", "bicubic", "disabled"];
const AT_LEAST_0: Kind = Kind::Whole { min: 0, max: MANY };
const AT_LEAST_1: Kind = Kind::Whole { min: 1, max: MANY };

/// The arguments that describe raw video.
pub(super) const RAW_NAMES: [&str; 4] = ["width", "height", "pixfmt", "bitdepth"];

/// The format of raw video.
const RAW: &[Field] = &[
    Field::new("width", AT_LEAST_1, "Raw only.").example("1920"),
    Field::new("height", AT_LEAST_1, "Raw only.").example("1080"),
    Field::new("pixfmt", Kind::Word(&PIXEL_FORMATS), "Raw only: chroma.").example("\"420\""),
    Field::new("bitdepth", Kind::Choice(&[8, 10, 12, 16]), "Raw only.").example("8"),
];

/// How encoded videos are brought together.
const PAIRING: &[Field] = &[
    Field::new("sync", Kind::Word(&["full", "offset", "off"]), "How encoded frames are paired.")
        .default("\"full\""),
    Field::new("scale", Kind::Text, "For two sizes: auto, reference, off or WxH.").default("\"auto\""),
    Field::new("scaler", Kind::Word(&["bicubic", "keys", "lanczos", "bilinear"]), "The scaling kernel."),
    Field::new("force", Kind::Flag, "Score even if not comparable.").default("false"),
    Field::new(
        "input",
        Kind::Texts { most: 16 },
        "NAME=VALUE: crop, roi, fps, offset, deinterlace, grain, tone_map.",
    )
    .example("[\"crop=ref=1920x800+0+140\"]"),
];

/// What every scoring tool lists.
const COMMON: &[Field] = &[
    Field::new("model", Kind::Text, "'version=NAME', 'path=FILE' or 'auto'. See list_models.")
        .default("\"version=vmaf_v0.6.1\""),
    Field::new("feature", Kind::Texts { most: 64 }, "More metrics, as 'psnr'. See list_extractors."),
    Field::new("frame_cnt", AT_LEAST_1, "Frames at most."),
    Field::new("subsample", AT_LEAST_1, "Every Nth frame.").default("1"),
    Field::new("within", Kind::Text, "Score samples until the mean is known to ± this: 0.5, or p5=1."),
    Field::new("budget", Kind::Text, "Score samples for so long.").example("\"30s\""),
    Field::new("detectors", Kind::Flag, "Look for faults that scores miss."),
    Field::new("detail", Kind::Word(&Detail::NAMES), "frames: every score; full: libvmaf's report.")
        .default("\"auto\""),
    BACKGROUND,
];

/// What few need.
const RARE: &[Field] = &[
    Field::new("backend", Kind::Backend(&BACKENDS), "Device.").default("\"auto\""),
    Field::new("precision", Kind::Text, "legacy (%.6f), max or 1 to 17 digits.").default("\"legacy\""),
    Field::new("aom_ctc", Kind::Word(&AOM_VERSIONS), "AOM test conditions.").unlisted(),
    Field::new("nflx_ctc", Kind::Word(&["v1.0"]), "Netflix test conditions.").unlisted(),
    Field::new("threads", AT_LEAST_0, "0: all cores."),
    Field::new("frame_skip_ref", AT_LEAST_0, "Frames to skip."),
    Field::new("frame_skip_dist", AT_LEAST_0, "Frames to skip."),
    Field::new("no_prediction", Kind::Flag, "Features only.").default("false"),
    Field::new("cpumask", AT_LEAST_0, "As vmaf's --cpumask.").unlisted(),
    Field::new("gpumask", AT_LEAST_0, "As vmaf's --gpumask.").unlisted(),
    Field::new("output_fmt", Kind::Word(&FORMATS), "Not json: text in 'output'.").default("\"json\""),
    Field::new("tiny_model", Kind::Text, "Path of an ONNX model."),
    Field::new("tiny_device", Kind::Text, "Its device.").unlisted(),
    Field::new("tiny_threads", AT_LEAST_0, "Its threads.").unlisted(),
    Field::new("tiny_fp16", Kind::Flag, "Half precision.").default("false").unlisted(),
    Field::new("tiny_codec", Kind::Text, "Its codec input.").unlisted(),
    Field::new("tiny_preset", Kind::Text, "Its preset input.").unlisted(),
    Field::new("tiny_crf", Kind::Whole { min: 0, max: 63 }, "Its CRF input.").unlisted(),
    Field::new("tiny_resize", Kind::Word(&RESIZES), "How pictures are scaled.").unlisted(),
    Field::new("no_reference", Kind::Flag, "Without a reference; needs tiny_model.").default("false"),
];
