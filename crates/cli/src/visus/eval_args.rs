//! Arguments of `visus eval` and `visus features`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};
use visus_eval::Split;

use super::args::{RawArgs, RunArgs};
use super::media::MediaArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = EVAL_EXAMPLES)]
pub struct EvalArgs {
    /// Models: .onnx files, libvmaf's .json files, or built-in models such as vmaf_v0.6.1
    #[arg(required = true, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub models: Vec<String>,

    /// Table of features and opinion scores: a .parquet or .csv file with a column 'mos' and, for splits, 'key'
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub features: PathBuf,

    /// Which rows: train, val, test (by each row's key) or all
    #[arg(short, long, default_value = "test", value_parser = parse_split)]
    pub split: Split,

    /// The name of an ONNX model's input
    #[arg(long, value_name = "NAME", default_value = "features")]
    pub input_name: String,

    /// Bootstrap resamples for intervals; 0 for none
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub bootstrap: u32,

    /// Seed of the resamples
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Threads for ONNX models [default: all cores]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Seconds that one run of an ONNX model may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub time_limit: u64,

    /// Write the full result as JSON [default FILE: standard output]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,

    /// Write a page with the table, the tests and a scatter plot of each model
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write the rows that were used with every model's prediction, as .parquet or .csv
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub predictions: Option<PathBuf>,

    /// Write the best model's scatter plot as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  visus eval model.onnx --features features.parquet
  visus eval a.onnx b.onnx vmaf_v0.6.1 --features features.parquet --split all --html report.html
  visus eval model.onnx --features features.csv --bootstrap 0 --json

ONNX models run in a process of their own, with limits on operators, memory and time.

Exit codes: 0 at least one model was evaluated, 1 none could be, 2 invalid request.";

fn parse_split(text: &str) -> Result<Split, String> {
    text.parse().map_err(|error: visus_eval::EvalError| error.to_string())
}

#[derive(Debug, ClapArgs)]
#[command(after_help = FEATURES_EXAMPLES)]
pub struct FeaturesArgs {
    /// The reference: any video that ffmpeg decodes, a Y4M file, or raw video with --size and --pix-fmt
    #[arg(required_unless_present = "list", requires = "distorted", value_hint = ValueHint::FilePath)]
    pub reference: Option<PathBuf>,

    /// The distorted video
    #[arg(value_hint = ValueHint::FilePath)]
    pub distorted: Option<PathBuf>,

    /// Many pairs: a CSV file with the columns reference, distorted and optionally key, mos, size, pix_fmt
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reference", "key", "mos"], value_hint = ValueHint::FilePath)]
    pub list: Option<PathBuf>,

    /// The table to write: .parquet or .csv
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// One row per frame instead of the mean over the clip
    #[arg(long)]
    pub per_frame: bool,

    /// The row's key, which decides its split [default: the distorted file's name without its extension]
    #[arg(long)]
    pub key: Option<String>,

    /// The opinion score of the pair
    #[arg(long)]
    pub mos: Option<f64>,

    /// An additional metric with options, such as `psnr` or `cambi=full_ref=true`; repeatable
    #[arg(short, long = "feature", value_name = "METRIC")]
    pub features: Vec<String>,

    /// Also the features that this model needs; repeatable
    #[arg(short, long = "model", value_name = "MODEL")]
    pub models: Vec<String>,

    #[command(flatten)]
    pub raw: RawArgs,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub media: MediaArgs,
}

const FEATURES_EXAMPLES: &str = "\
Examples:
  visus features ref.y4m dis.y4m -o features.parquet
  visus features ref.y4m dis.y4m --per-frame -f psnr -o frames.csv
  visus features --list pairs.csv -o features.parquet

The table has the columns key, adm2, vif_scale0 to vif_scale3 and motion2, then whatever else was requested. With a column mos it is ready for `visus eval`.";
