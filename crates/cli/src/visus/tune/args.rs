//! The arguments of the tuning commands.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};
use visus_tune::Pooling;
use visus_tune::cache::bytes;
use visus_tune::hull::Spacing;

use crate::visus::args::Size;

/// The video that is encoded.
#[derive(Clone, Debug, ClapArgs)]
pub struct SourceArgs {
    /// The source: any video that ffmpeg reads, Y4M, or raw video (with --size, --pix-fmt and --rate)
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    pub source: PathBuf,

    /// Size of raw video
    #[arg(short, long, value_name = "WIDTHxHEIGHT")]
    pub size: Option<Size>,

    /// Sample format of the encode, and of raw video, by ffmpeg's name, such as yuv420p10le [default: the source's]
    #[arg(short, long, value_name = "FORMAT")]
    pub pix_fmt: Option<String>,

    /// Frame rate of raw video, such as 25 or 30000/1001
    #[arg(short, long, value_name = "FPS")]
    pub rate: Option<String>,
}

/// How encodes are made and measured.
#[derive(Clone, Debug, ClapArgs)]
pub struct MeasureArgs {
    /// The model: a built-in version, a JSON file, libvmaf's `version=…` form, or auto
    #[arg(short, long, default_value = "vmaf_v0.6.1")]
    pub model: String,

    /// How the frames' scores are pooled: mean, harmonic, min, median, p1, p5, p10 or p25
    #[arg(long, alias = "metric", default_value = "mean", value_name = "POOLING")]
    pub pool: Pooling,

    /// The encoder's speed setting, in the encoder's own terms
    #[arg(long)]
    pub preset: Option<String>,

    /// An additional ffmpeg option for the encoder, such as tune=film; repeatable
    #[arg(long = "enc", value_name = "NAME=VALUE")]
    pub options: Vec<String>,

    /// Number of samples that represent the source; 0 uses all of it [default: by length]
    #[arg(long, value_name = "N")]
    pub samples: Option<u32>,

    /// Seconds of each sample
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0)]
    pub sample_duration: f64,

    #[command(flatten)]
    pub cache: CacheArgs,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// No progress, no list of encodes
    #[arg(short, long)]
    pub quiet: bool,
}

/// Where results are kept.
#[derive(Clone, Debug, ClapArgs)]
pub struct CacheArgs {
    /// Cache folder [default: VISUS_CACHE_DIR, else visus in the user's cache folder]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub cache_dir: Option<PathBuf>,

    /// Maximum size of the cache, such as 4G or 500M [default: VISUS_CACHE_SIZE, else 4G]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub cache_size: Option<u64>,

    /// Do not use the cache
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  visus search film.mkv --target 95 --encoder libsvtav1
  visus search film.mkv --target mean=95 --target p5=90 --target 'cambi<5'
  visus search film.mkv --target ssimulacra2=80 --encoder libaom-av1
  visus search film.mkv --target 93 --pool p5 --encoder libx265 --preset slow -o film.mp4
  visus search clip.yuv --size 1920x1080 --pix-fmt yuv420p --rate 25 --target 90 --max-size 20M")]
pub struct SearchArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// What to reach, all of it: a score (95), a pooling (p5=90), another metric (ssimulacra2=80, xpsnr=40, psnr=42,
    /// cambi<5), or both (psnr.p5=38); repeatable
    #[arg(short, long = "target", value_name = "TARGET", required = true)]
    pub targets: Vec<String>,

    /// Steps of the quality setting, where the encoder takes fractions (x264, x265): 1, 0.5 or 0.25
    #[arg(long, value_name = "SIZE", default_value = "0.25", value_parser = ["1", "0.5", "0.25"])]
    pub step: String,

    /// The encoder, by ffmpeg's name
    #[arg(short, long, default_value = "libx264")]
    pub encoder: String,

    /// How far the whole encode may be from the target before the setting is corrected, in points of VMAF
    #[arg(long, default_value_t = 0.5)]
    pub tolerance: f64,

    /// Fail unless the encode is this many percent smaller than the source file
    #[arg(long, value_name = "PERCENT")]
    pub min_savings: Option<f64>,

    /// Fail if the encode is larger than this, such as 20M or 1.5G
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_size: Option<u64>,

    /// Write the encode that was found
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  visus compare film.mkv --targets 95 --encoders libx264,libx265,libsvtav1
  visus compare film.mkv --targets 90,95 --encoders libsvtav1,libaom-av1 --html report.html")]
pub struct CompareArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// The scores to reach
    #[arg(short, long, value_delimiter = ',', default_value = "95")]
    pub targets: Vec<f64>,

    /// The encoders; the others are compared with the first
    #[arg(short, long, value_delimiter = ',', default_value = "libx264,libx265,libsvtav1")]
    pub encoders: Vec<String>,

    /// Run one encoder at a time, for comparable timings
    #[arg(long)]
    pub no_parallel: bool,

    #[command(flatten)]
    pub plots: PlotArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Pictures of a result.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct PlotArgs {
    /// Write a chart as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,

    /// Write a page with the chart and the table
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LadderFormat {
    Json,
    Hls,
    Dash,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  visus ladder film.mkv --resolutions 1920x1080,1280x720,640x360 --targets 95,85,75
  visus ladder film.mkv --resolutions 1280x720,640x360 --targets 93,80 --encoder libsvtav1 --package out/")]
pub struct LadderArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Sizes of renditions, none larger than the source
    #[arg(long, value_delimiter = ',', required = true)]
    pub resolutions: Vec<Size>,

    /// The scores to reach, at the size of the source
    #[arg(short, long, value_delimiter = ',', default_value = "95,85,75")]
    pub targets: Vec<f64>,

    /// The encoder, by ffmpeg's name
    #[arg(short, long, default_value = "libx264")]
    pub encoder: String,

    /// Maximum number of renditions
    #[arg(long, default_value_t = 5)]
    pub tiers: usize,

    /// Spacing of renditions: equal steps of log_bitrate or vmaf, or uniform
    #[arg(long, default_value = "log_bitrate")]
    pub spacing: Spacing,

    /// Output format
    #[arg(short, long, value_enum, default_value = "json")]
    pub format: LadderFormat,

    /// Encode every rendition in full and write files, HLS playlists and a DASH manifest into this folder
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub package: Option<PathBuf>,

    #[command(flatten)]
    pub plots: PlotArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// A readable table
    Table,
    Json,
    Shell,
    Csv,
    /// zones= for x264
    X264Zones,
    /// zones= for x265
    X265Zones,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Without --target the shots are listed; with it, a setting is found for each; with -o the shots are \
encoded, joined and measured.

Examples:
  visus shots film.mkv
  visus shots film.mkv --target 93 --encoder libx265
  visus shots film.mkv --target 93 --format x264-zones
  visus shots film.mkv --target 93 -o film.mp4"
)]
pub struct ShotsArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// The score that every shot must reach; without it, shots are only listed
    #[arg(short, long)]
    pub target: Option<f64>,

    /// The encoder, by ffmpeg's name
    #[arg(short, long, default_value = "libx264")]
    pub encoder: String,

    /// Smallest mean luma difference (8-bit scale) that can be a cut
    #[arg(long, default_value_t = 12.0)]
    pub threshold: f64,

    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    pub format: PlanFormat,

    /// Write the joined encode
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "target")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub plots: PlotArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Debug, ClapArgs)]
pub struct CacheCommand {
    #[command(subcommand)]
    pub action: CacheAction,

    #[command(flatten)]
    pub cache: CacheArgs,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub enum CacheAction {
    /// List the contents, most recently used first
    Ls,
    /// Remove everything
    Clear,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::visus::args::{Args, Command};

    #[test]
    fn the_pooling_has_two_spellings() {
        for flag in ["--pool", "--metric"] {
            let args =
                Args::try_parse_from(["visus", "search", "film.mkv", "--target", "93", flag, "p5"]).unwrap();
            let Command::Search(search) = args.command else { panic!("not a search: {args:?}") };
            assert_eq!(search.measure.pool.name(), "p5");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("20M"), Ok(20 << 20));
        assert_eq!(bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(bytes("1000"), Ok(1000));
        for text in ["", "M", "-1", "many", "nan", "0"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
