//! The tables of the tuning tools' arguments.

use visus_tune::hull::Spacing;

use crate::tools::BACKGROUND;
use crate::tools::field::{Field, Kind, MANY};

const SIDE: Kind = Kind::Whole { min: 1, max: MANY };
const SCORE: Kind = Kind::Number { min: 0.0, max: 110.0 };

const SRC: Field = Field::new("src", Kind::Text, "The video to encode.").required().example("\"source.mp4\"");
const WIDTH: Field = Field::new("width", SIDE, "Raw only.").example("1920");
const HEIGHT: Field = Field::new("height", SIDE, "Raw only.").example("1080");
const PIX_FMT: Field = Field::new("pix_fmt", Kind::Text, "ffmpeg's name.").example("\"yuv420p\"");
const FRAMERATE: Field =
    Field::new("framerate", Kind::Number { min: 0.001, max: 1000.0 }, "Raw only.").example("25");
const MODEL: Field = Field::new("model", Kind::Text, "See list_models.").default("\"version=vmaf_v0.6.1\"");
const ENCODER: Field = Field::new("encoder", Kind::Text, "ffmpeg's name.").default("\"libx264\"");
const TARGET: Field = Field::new("target_vmaf", SCORE, "Score to reach.").default("92");
const THRESHOLD: Kind = Kind::Number { min: 0.1, max: 255.0 };
const CUT_HELP: &str = "Luma difference of a cut.";

pub const COMPARE: &[Field] = &[
    SRC,
    TARGET,
    Field::new("target_vmafs", Kind::Text, "Several targets, as '94,96'."),
    Field::new("encoders", Kind::Text, "ffmpeg's names; BD-rates are against the first.")
        .default("\"libx264,libx265,libsvtav1\""),
    WIDTH,
    HEIGHT,
    PIX_FMT,
    FRAMERATE,
    MODEL,
    Field::new("no_parallel", Kind::Flag, "One encoder at a time.").default("false"),
    BACKGROUND,
];

/// Targets and encoder; what raw video needs is named where it is missing.
pub const SEARCH: &[Field] = &[
    SRC,
    Field::new("targets", Kind::Texts { most: 8 }, "All of them: mean=95, p5=90, xpsnr=40, cambi<5.")
        .required()
        .example("[\"mean=95\", \"p5=90\"]"),
    ENCODER,
    Field::new("step", Kind::Number { min: 0.25, max: 1.0 }, "Of the CRF: 1, 0.5 or 0.25.")
        .default("0.25")
        .unlisted(),
    Field::new("preset", Kind::Text, "The encoder's speed.").example("\"medium\"").unlisted(),
    WIDTH.unlisted(),
    HEIGHT.unlisted(),
    PIX_FMT.unlisted(),
    FRAMERATE.unlisted(),
    MODEL.unlisted(),
    BACKGROUND,
];

pub const LADDER: &[Field] = &[
    SRC,
    Field::new("resolutions", Kind::Text, "As '1920x1080,1280x720'.")
        .required()
        .example("\"1280x720,854x480\""),
    Field::new("target_vmafs", Kind::Text, "As '95,90'.").required().example("\"95,90\""),
    ENCODER,
    Field::new("quality_tiers", Kind::Whole { min: 1, max: 32 }, "Renditions at most.").default("5"),
    Field::new("format", Kind::Word(&["json", "hls", "dash"]), "Of the manifest.").default("\"json\""),
    Field::new("spacing", Kind::Word(&Spacing::NAMES), "Even steps of what.")
        .default("\"log_bitrate\"")
        .unlisted(),
    WIDTH.unlisted(),
    HEIGHT.unlisted(),
    PIX_FMT.unlisted(),
    FRAMERATE.unlisted(),
    MODEL.unlisted(),
    BACKGROUND,
];

pub const PER_SHOT: &[Field] = &[
    SRC,
    TARGET,
    ENCODER,
    PIX_FMT.unlisted(),
    FRAMERATE.unlisted(),
    Field::new("scene_threshold", THRESHOLD, CUT_HELP).default("12").unlisted(),
    WIDTH.unlisted(),
    HEIGHT.unlisted(),
    Field::new("output", Kind::Text, "MP4 file to write."),
    Field::new("overwrite", Kind::Flag, "Replace it.").default("false"),
    Field::new("format", Kind::Word(&["json", "shell", "csv"]), "Not json: also in 'text'.")
        .default("\"json\""),
    MODEL.unlisted(),
    BACKGROUND,
];

pub const PREDICT: &[Field] = &[
    Field::new("reference", Kind::Text, "Raw YUV or Y4M.").required().example("\"source.yuv\""),
    WIDTH.required(),
    HEIGHT.required(),
    Field::new("pixel_format", Kind::Word(&["420", "422", "444"]), "Chroma of raw video.").default("\"420\""),
    Field::new("bitdepth", Kind::Choice(&[8, 10, 12, 16]), "Of raw video.").default("8"),
    TARGET.default("90"),
    Field::new("crf_min", Kind::Whole { min: 0, max: 63 }, "Finest guess.").default("18"),
    Field::new("crf_max", Kind::Whole { min: 0, max: 63 }, "Coarsest guess.").default("35"),
    Field::new("diff_threshold", THRESHOLD, CUT_HELP).default("12").unlisted(),
    Field::new("format", Kind::Word(&["json", "csv"]), "csv: also in 'text'.").default("\"json\""),
    BACKGROUND,
];
