//! The definition of the command line; help, completions and the man page come from it.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use visus_report::Precision;
use visus_scoring::range::Moment;
use visus_scoring::{
    BackendRequest, Columns, RequestError, RunOptions, ScoreRequest, Selection, Video, Videos,
};
use visus_video::Format;

/// Measure video quality: VMAF and related metrics, bit-exact with libvmaf, in pure Rust.
#[derive(Debug, Parser)]
#[command(name = "visus", version, propagate_version = true, max_term_width = 110)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Score a distorted video against its reference
    Score(Box<ScoreArgs>),
    /// Show the worst frames as pictures and describe what is wrong with them
    Worst(Box<super::worst::WorstArgs>),
    /// Score, and fail if a pooled score is below its limit
    Gate(Box<super::gate::GateArgs>),
    /// Compare two reports: what differs, and whether the change in score is significant
    Diff(super::diff::DiffArgs),
    /// Score many encodes, one line of JSON each; resumable
    Batch(Box<super::batch::BatchArgs>),
    /// Find what the thresholds of one model generation are in another, from encodes scored with both
    Migrate(Box<super::migrate::MigrateArgs>),
    /// Merge the reports of parts of a film into the report of the whole
    Merge(super::merge::MergeArgs),
    /// Divide a catalogue into shards for many machines
    Plan(super::fleet::PlanArgs),
    /// Score one shard of a plan; resumable
    Work(super::fleet::WorkArgs),
    /// Join the results of a plan
    Gather(super::fleet::GatherArgs),
    /// Show how far a plan is
    Status(super::fleet::StatusArgs),
    /// Watch a plan in the terminal: progress, rate, time left, recent failures
    Top(super::fleet::TopArgs),
    /// Make a web page or a plot from a JSON report (visus or libvmaf)
    Report(super::pages::ReportArgs),
    /// Find the encoder setting that reaches a target score
    Search(Box<super::tune::args::SearchArgs>),
    /// Compare encoders at the same score, with BD-rates
    Compare(Box<super::tune::args::CompareArgs>),
    /// Build a bitrate ladder for adaptive streaming
    Ladder(Box<super::tune::args::LadderArgs>),
    /// Find shots, and an encoder setting for each
    Shots(Box<super::tune::args::ShotsArgs>),
    /// List or clear the cache of encodes and scores
    Cache(super::tune::args::CacheCommand),
    /// List the built-in models and the display each is for
    Models(ModelsArgs),
    /// List the metrics and their options
    Metrics(MetricsArgs),
    /// Score a generated pair of clips with a known flaw
    Demo(DemoArgs),
    #[cfg(feature = "eval")]
    /// Evaluate quality models against opinion scores: correlations, intervals, tests, plots
    Eval(super::eval_args::EvalArgs),
    #[cfg(feature = "eval")]
    /// Compute features of video pairs and write them as a table
    Features(Box<super::eval_args::FeaturesArgs>),
    /// Measure speed and memory, optionally next to a `vmaf` binary
    Bench(BenchArgs),
    /// Check this machine's scores against libvmaf's, at every CPU level or on a GPU
    Selftest(SelftestArgs),
    #[cfg(feature = "server")]
    /// Open a web page to score videos, look at frames and compare encodes
    Ui(super::ui::UiArgs),
    #[cfg(feature = "server")]
    /// Serve MCP and a REST API over HTTP, until SIGTERM or Ctrl-C
    Serve(super::server_args::ServeArgs),
    #[cfg(feature = "server")]
    /// Serve MCP on standard input and output, for agents
    Mcp(super::server_args::McpArgs),
    #[cfg(feature = "server")]
    /// Report which programs and protections this machine has, and how to add what is missing
    Doctor(super::server_args::DoctorArgs),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the man page
    Man,
    /// Print the JSON Schema of an output, or list all of them
    Schema(super::schema::SchemaArgs),
}

const SCORE_EXAMPLES: &str = "\
Exit codes: 0 success, 1 failure, 2 invalid request, 3 the two videos are not comparable.

Examples:
  visus score master.mov encode.mp4
  visus score master.mov encode.mp4 --sync offset --scale reference
  visus score master.mov encode.mp4 --crop ref=1920x800+0+140 --deinterlace
  visus score frames/%04d.exr encode.mkv --fps ref=24
  visus score film.mkv#v:0 film.mkv#v:1
  visus score ref.y4m dis.y4m --html report.html --png curve.png
  visus score ref.y4m dis.y4m --from 1000 --to 2000 --json=part2.json
  visus score film.mov encode.mp4 --within 0.5
  visus score ref.y4m dis.y4m --from 1:30 --to 95.5s";

#[derive(Debug, ClapArgs)]
#[command(after_help = SCORE_EXAMPLES)]
pub struct ScoreArgs {
    /// The reference: any video or picture that ffmpeg decodes, one of its streams (FILE#v:1), numbered pictures (a folder, or
    /// %04d.png), a Y4M file, raw video (with --size and --pix-fmt), or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub reference: PathBuf,

    /// The distorted video
    #[arg(value_hint = ValueHint::FilePath)]
    pub distorted: PathBuf,

    #[command(flatten)]
    pub raw: RawArgs,

    #[command(flatten)]
    pub selection: SelectionArgs,

    #[command(flatten)]
    pub run: RunArgs,

    /// Skip the first N frames of the reference
    #[arg(long, help_heading = "Run", value_name = "N", default_value_t = 0)]
    pub skip_ref: u64,

    /// Skip the first N frames of the distorted video
    #[arg(long, help_heading = "Run", value_name = "N", default_value_t = 0)]
    pub skip_dis: u64,

    /// First frame to score: a frame number (from 0) or a time such as 12.5s or 1:30; `visus merge` joins parts
    #[arg(long, value_name = "FRAME|TIME", conflicts_with = "frames", help_heading = "Run")]
    pub from: Option<Moment>,

    /// Look for faults that models do not see (levels, colour, frame order, overlays, damage, …) in Y4M and raw video, too
    #[arg(long, help_heading = "Run")]
    pub detectors: bool,

    /// Do not look for such faults in encoded video either
    #[arg(long, conflicts_with = "detectors", help_heading = "Run")]
    pub no_detectors: bool,

    /// Stop before this frame
    #[arg(long, value_name = "FRAME|TIME", conflicts_with = "frames", help_heading = "Run")]
    pub to: Option<Moment>,

    #[command(flatten)]
    pub sample: super::sampled::SampleArgs,

    #[command(flatten)]
    pub media: super::media::MediaArgs,

    #[command(flatten)]
    pub outputs: OutputArgs,
}

/// The format of raw video.
#[derive(Clone, Copy, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Raw video")]
pub struct RawArgs {
    /// Size of raw video
    #[arg(short, long, value_name = "WIDTHxHEIGHT", requires = "pix_fmt")]
    pub size: Option<Size>,

    /// Sample format of raw video, such as yuv420p or yuv422p10le
    #[arg(short, long, value_name = "FORMAT", requires = "size")]
    pub pix_fmt: Option<PixFmt>,
}

impl RawArgs {
    pub fn format(&self) -> anyhow::Result<Option<Format>> {
        let (Some(size), Some(pix_fmt)) = (self.size, self.pix_fmt) else { return Ok(None) };
        let format = Format::new(size.width, size.height, pix_fmt.chroma, pix_fmt.depth);
        Ok(Some(format.map_err(|error| RequestError::Format(error.to_string()))?))
    }
}

/// Models and metrics.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Models and metrics")]
pub struct SelectionArgs {
    /// A model: a built-in version, a JSON file, libvmaf's `version=…:name=…` form, `auto`, `all` or `none`; repeatable
    #[arg(short, long = "model", value_name = "MODEL", default_value = "vmaf_v0.6.1")]
    pub models: Vec<String>,

    /// An additional metric with options, such as `psnr` or `vif=debug=true`; repeatable
    #[arg(short, long = "feature", value_name = "METRIC")]
    pub features: Vec<String>,
}

impl SelectionArgs {
    pub fn parse(&self) -> Result<Selection, RequestError> {
        let (models, metrics) = (self.models.iter(), self.features.iter());
        Selection::parse(models.map(String::as_str), metrics.map(String::as_str), Columns::ByModel)
    }
}

/// How the run is done.
#[derive(Clone, Copy, Debug, ClapArgs)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Worker threads [default: all cores]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Score only every N-th frame
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub subsample: u64,

    /// Score at most N frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: Option<u64>,

    /// Where features are computed: auto, cpu, cuda, cuda:N or cuda:N,M; in builds with the feature wgpu also vulkan,
    /// vulkan:N, metal or metal:N; scores are the same
    #[arg(long, value_name = "NAME", default_value_t)]
    pub backend: BackendRequest,

    /// No progress bar, no summary
    #[arg(short, long)]
    pub quiet: bool,
}

impl RunArgs {
    pub fn options(&self) -> Result<RunOptions, RequestError> {
        let options = RunOptions::from_environment()?;
        let threads = self.threads.map(usize::from);
        let (subsample, frames, backend) = (self.subsample, self.frames, self.backend);
        Ok(RunOptions { threads, subsample, frames, backend, ..options })
    }
}

impl ScoreArgs {
    /// What is asked for.
    pub fn request(&self) -> anyhow::Result<ScoreRequest> {
        let videos = Videos {
            reference: Video::Path(self.reference.clone()),
            distorted: Video::Path(self.distorted.clone()),
            raw: self.raw.format()?,
            pairing: self.media.pairing()?,
            skip: [self.skip_ref, self.skip_dis],
        };
        let detectors = match (self.detectors, self.no_detectors) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let options = RunOptions { from: self.from, to: self.to, detectors, ..self.run.options()? };
        Ok(ScoreRequest { videos, selection: self.selection.parse()?, options })
    }
}

/// Reports to write: to a file, or to standard output in place of the summary.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Reports")]
pub struct OutputArgs {
    /// Write the full report as JSON [default FILE: standard output]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,

    /// Write one row per frame as CSV
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub csv: Option<PathBuf>,

    /// Write libvmaf's XML
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub xml: Option<PathBuf>,

    #[command(flatten)]
    pub pages: super::pages::PageOutputs,

    /// Digits of scores in CSV and XML: legacy (libvmaf's six decimals), max, or 1 to 17
    #[arg(long, default_value_t = Precision::Legacy)]
    pub precision: Precision,
}

#[derive(Debug, ClapArgs)]
pub struct ModelsArgs {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct MetricsArgs {
    /// Only this metric, with all its options
    pub metric: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// Also write the two clips, reference.y4m and distorted.y4m, into this folder
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,

    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, ClapArgs)]
pub struct BenchArgs {
    /// What to measure: models (v0.6.1, v0.6.1+neg+4k, b_v0.6.3, v1-3h, twelve) or metrics (vif, adm, …) [default: all]
    pub subjects: Vec<String>,

    /// Sizes: 576x324, 720p, 1080p, 2160p, 4320p
    #[arg(long, value_delimiter = ',', default_value = "1080p")]
    pub sizes: Vec<String>,

    /// Bit depths
    #[arg(long, value_delimiter = ',', default_value = "8", value_parser = clap::value_parser!(u8).range(8..=16))]
    pub depths: Vec<u8>,

    /// Frames of each clip; a device needs some thousands to be more than its own start [default: by size, 6 to 48]
    #[arg(long, value_parser = clap::value_parser!(u64).range(3..=1_000_000))]
    pub frames: Option<u64>,

    /// What scores: cpu, cuda, cuda:N or cuda:N,M; in builds with the feature wgpu also vulkan or metal
    #[arg(long, value_name = "NAME", default_value_t = BackendRequest::Cpu)]
    pub backend: BackendRequest,

    /// Worker threads
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,

    /// Compare these numbers of threads on one pair and on three, instead of everything else [default: 1,2,4,8,12,16]
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1, default_missing_value = "1,2,4,8,12,16",
        require_equals = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub scaling: Vec<u16>,

    /// Runs of each program; the lowest figure counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Limit both programs to this CPU level
    #[arg(long)]
    pub level: Option<visus_metrics::Level>,

    /// A `vmaf` binary to compare with [default: the variable VMAF_BIN]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::ExecutablePath)]
    pub peer: Option<PathBuf>,

    /// Also write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Compare with the figures that this file holds for this kind of machine; anything more than 5 % slower, also when
    /// measured again, is an error
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub gate: Option<PathBuf>,

    /// Keep the figures in the file of --gate
    #[arg(long, requires = "gate")]
    pub keep: bool,
}

#[derive(Debug, ClapArgs)]
pub struct SelftestArgs {
    /// Backend to check: cpu (at every level), cuda or cuda:N; in builds with the feature wgpu also vulkan or metal
    #[arg(long, value_name = "NAME", default_value_t = BackendRequest::Cpu)]
    pub backend: BackendRequest,

    /// Print every expected and actual figure
    #[arg(short, long)]
    pub verbose: bool,

    /// Only write the clips into this folder, with arguments that make a `vmaf` tool compute the same figures
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub write_clips: Option<PathBuf>,
}

/// `1920x1080`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub width: usize,
    pub height: usize,
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = text.split_once(['x', 'X', '×']);
        let sides = pair.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        let (width, height) = sides.ok_or("a size is written WIDTHxHEIGHT, as 1920x1080")?;
        Ok(Self { width, height })
    }
}

/// A planar format by ffmpeg's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixFmt {
    pub chroma: visus_video::Chroma,
    pub depth: u8,
}

impl std::str::FromStr for PixFmt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (chroma, depth) = visus_scoring::names::pixel_format(text).map_err(|error| error.to_string())?;
        Ok(Self { chroma, depth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use visus_video::Chroma;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    /// Lines are broken by clap where the terminal ends; a paragraph that is broken in the source would be broken twice.
    #[test]
    fn paragraphs_of_help_are_single_lines() {
        for command in Args::command().get_subcommands() {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for pair in text.lines().collect::<Vec<_>>().windows(2) {
                let is_prose =
                    |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
                assert!(!(is_prose(pair[0]) && is_prose(pair[1])), "{}: {pair:?}", command.get_name());
            }
        }
    }

    #[test]
    fn sizes_and_formats() {
        assert_eq!("1920x1080".parse(), Ok(Size { width: 1920, height: 1080 }));
        assert!("1920".parse::<Size>().is_err());
        assert_eq!("yuv420p".parse(), Ok(PixFmt { chroma: Chroma::C420, depth: 8 }));
        assert_eq!("yuv422p10le".parse(), Ok(PixFmt { chroma: Chroma::C422, depth: 10 }));
        assert_eq!("gray12".parse(), Ok(PixFmt { chroma: Chroma::C400, depth: 12 }));
        for text in ["nv12", "yuv420p7", "yuv420p10be", "rgb24"] {
            assert!(text.parse::<PixFmt>().is_err(), "{text}");
        }
    }
}
