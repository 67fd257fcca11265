//! The definition of the command line; help, completions and the man page come from it.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use visus_report::Precision;
use visus_scoring::range::Moment;
use visus_scoring::{
    BackendRequest, Columns, RequestError, RunOptions, ScoreRequest, Selection, Video, Videos,
};
use visus_video::Format;

/// Measures how good a video looks: VMAF and its siblings, equal to libvmaf's, in pure Rust.
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
    /// Show the worst frames as pictures: reference, distorted, difference; and say what is wrong with them
    Worst(Box<super::worst::WorstArgs>),
    /// Score, and fail if a figure is below its limit: exit code 0 passed, 1 below a limit, 2 could not be measured
    Gate(Box<super::gate::GateArgs>),
    /// Compare two reports: what differs, and is the change in score real?
    Diff(super::diff::DiffArgs),
    /// Score many encodes, a line of JSON for each; can be resumed
    Batch(Box<super::batch::BatchArgs>),
    /// Join the reports of a film's parts to the report of the whole
    Merge(super::merge::MergeArgs),
    /// Make a page or a plot of a JSON report, visus' or libvmaf's
    Report(super::pages::ReportArgs),
    /// Find the quality setting of an encoder that gives a score
    Search(Box<super::tune::args::SearchArgs>),
    /// Compare encoders at the same score, with BD-rates
    Compare(Box<super::tune::args::CompareArgs>),
    /// Make a ladder of renditions for streaming
    Ladder(Box<super::tune::args::LadderArgs>),
    /// Find shots, and a setting for each
    Shots(Box<super::tune::args::ShotsArgs>),
    /// Look into the cache of encodes and scores, or clear it
    Cache(super::tune::args::CacheCommand),
    /// List the built-in models and say which one fits which screen
    Models(ModelsArgs),
    /// List the metrics and their options
    Metrics(MetricsArgs),
    /// Make a clip pair with a known flaw, score it and show the result
    Demo(DemoArgs),
    /// Judge quality models by opinion scores: correlations, intervals, tests between models, plots
    Eval(super::eval_args::EvalArgs),
    /// Compute features of clip pairs and write them as a table
    Features(Box<super::eval_args::FeaturesArgs>),
    /// Measure speed and memory, beside a `vmaf` binary if there is one
    Bench(BenchArgs),
    /// Compare this machine's scores with libvmaf's figures, at every CPU level
    Selftest(SelftestArgs),
    /// Serve MCP and a REST API over HTTP, until SIGTERM or Ctrl-C
    Serve(ServeArgs),
    /// Serve agents: MCP on standard input and output
    Mcp(McpArgs),
    /// Say what protects the server on this machine, what is found, and what to do about what is not
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the man page
    Man,
    /// Show the JSON Schema of an output, or list all of them
    Schema(super::schema::SchemaArgs),
}

const SCORE_EXAMPLES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 the two videos cannot be compared.

Examples:
  visus score master.mov encode.mp4
  visus score master.mov encode.mp4 --sync offset --scale reference
  visus score ref.y4m dis.y4m --html report.html --png curve.png
  visus score ref.y4m dis.y4m --from 1000 --to 2000 --json=part2.json
  visus score ref.y4m dis.y4m --from 1:30 --to 95.5s";

#[derive(Debug, ClapArgs)]
#[command(after_help = SCORE_EXAMPLES)]
pub struct ScoreArgs {
    /// The reference: any video that ffmpeg decodes, a Y4M file, raw video (with --size and --pix-fmt), or - for Y4M on
    /// standard input
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

    /// First frame to score: a number from 0 on, or a time such as 12.5s or 1:30. With --json, `visus merge` joins the parts
    #[arg(long, value_name = "FRAME|TIME", conflicts_with = "frames", help_heading = "Run")]
    pub from: Option<Moment>,

    /// Stop before this frame
    #[arg(long, value_name = "FRAME|TIME", conflicts_with = "frames", help_heading = "Run")]
    pub to: Option<Moment>,

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
    /// A model: a built-in version, a JSON file, libvmaf's `version=…:name=…` form, `auto`, `all` or `none`; may be repeated
    #[arg(short, long = "model", value_name = "MODEL", default_value = "vmaf_v0.6.1")]
    pub models: Vec<String>,

    /// A further metric with options, as `psnr` or `vif=debug=true`; may be repeated
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

    /// Score every N-th frame only
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub subsample: u64,

    /// Score at most N frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: Option<u64>,

    /// Where features are computed: auto, cpu, cuda or cuda:N; scores are the same
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
            pairing: self.media.pairing(),
            skip: [self.skip_ref, self.skip_dis],
        };
        let options = RunOptions { from: self.from, to: self.to, ..self.run.options()? };
        Ok(ScoreRequest { videos, selection: self.selection.parse()?, options })
    }
}

/// Reports to write: to a file, or to standard output in place of the summary.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Reports")]
pub struct OutputArgs {
    /// Write everything as JSON
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,

    /// Write a row per frame as CSV
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
    /// As JSON
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

    /// Sizes: 576x324, 720p, 1080p, 2160p
    #[arg(long, value_delimiter = ',', default_value = "1080p")]
    pub sizes: Vec<String>,

    /// Bit depths
    #[arg(long, value_delimiter = ',', default_value = "8", value_parser = clap::value_parser!(u8).range(8..=16))]
    pub depths: Vec<u8>,

    /// Worker threads
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,

    /// How often each program runs; the lowest figure counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Hold both programs to this CPU level
    #[arg(long)]
    pub level: Option<visus_metrics::Level>,

    /// A `vmaf` binary to compare with [default: the variable VMAF_BIN]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::ExecutablePath)]
    pub peer: Option<PathBuf>,

    /// Also write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct SelftestArgs {
    /// Compare only this backend: cpu at every level, cuda or cuda:N [default: cpu]
    #[arg(long, value_name = "NAME", default_value_t = BackendRequest::Cpu)]
    pub backend: BackendRequest,

    /// Print every figure, expected and got
    #[arg(short, long)]
    pub verbose: bool,

    /// Only write the clips into this folder, with a list of arguments that ask a `vmaf` tool for the same figures
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub write_clips: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct ServeArgs {
    /// Port to listen on; 0 lets the system choose [default: VMAFX_PORT, else 8080]
    #[arg(short, long)]
    pub port: Option<String>,

    /// Address to listen on; any but a loopback address needs VMAFX_MCP_HTTP_TOKEN [default: VMAFX_MCP_HTTP_BIND, else
    /// 127.0.0.1]
    #[arg(short, long, value_name = "ADDRESS")]
    pub bind: Option<String>,

    /// A further folder, or one file, that clients may name; may be repeated
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::AnyPath)]
    pub allow: Vec<PathBuf>,

    /// A name beside localhost that clients may call this server by; may be repeated
    #[arg(long = "host", value_name = "NAME", value_hint = ValueHint::Hostname)]
    pub hosts: Vec<String>,

    /// Who computes scores: native, or external (a vmaf executable) [default: native, or external if VMAF_BIN is set]
    #[arg(long)]
    pub engine: Option<visus_server::config::EngineKind>,

    #[command(flatten)]
    pub limits: LimitArgs,

    #[command(flatten)]
    pub offer: OfferArgs,
}

/// Which tools agents are offered.
#[derive(Debug, ClapArgs)]
pub struct OfferArgs {
    /// Offer these sets of tools over MCP: core, tuning, models, all [default: core,tuning]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub toolset: Vec<visus_server::tools::offer::SetName>,

    /// Offer these tools over MCP, by name; any other is unknown unless --toolset brings it
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Vec<String>,
}

impl OfferArgs {
    /// The offer that the flags ask for.
    pub fn offer(&self) -> anyhow::Result<visus_server::tools::offer::Offer> {
        use visus_server::tools::offer::Offer;
        Offer::from_flags(&self.toolset, &self.tools, Offer::default()).map_err(anyhow::Error::msg)
    }
}

#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// Print findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// What the server may take and touch.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct LimitArgs {
    /// Memory for all jobs together, as 4G; what does not fit is refused or waits [default: VISUS_MEMORY, else half of the
    /// machine's, or three quarters of the container's limit]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,

    /// A folder in which clients may have files written, besides those of VISUS_ALLOW_WRITE; may be repeated [default: none]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub allow_write: Vec<PathBuf>,

    /// Write nothing for clients, whatever else is allowed
    #[arg(long)]
    pub read_only: bool,
}

#[derive(Debug, ClapArgs)]
pub struct McpArgs {
    /// Who scores: native, or external for a vmaf executable [default: native, external if VMAF_BIN is set]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<visus_server::config::EngineKind>,

    /// A further folder whose files may be read, besides those of VMAF_MCP_ALLOW; may be repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub allow: Vec<PathBuf>,

    #[command(flatten)]
    pub limits: LimitArgs,

    #[command(flatten)]
    pub offer: OfferArgs,
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
        use visus_video::Chroma;
        let known =
            "known are yuv420p, yuv422p, yuv444p and gray, with 10le, 12le or 16le for more than 8 bits";
        let refuse = || format!("'{text}' is not a known format; {known}");
        let families = [
            ("yuv420p", Chroma::C420),
            ("yuvj420p", Chroma::C420),
            ("yuv422p", Chroma::C422),
            ("yuvj422p", Chroma::C422),
            ("yuv444p", Chroma::C444),
            ("yuvj444p", Chroma::C444),
            ("gray", Chroma::C400),
        ];
        let (rest, chroma) = families
            .iter()
            .find_map(|(name, chroma)| Some((text.strip_prefix(name)?, *chroma)))
            .ok_or_else(refuse)?;
        let depth = match rest.strip_suffix("le").unwrap_or(rest) {
            "" => 8,
            bits => bits.parse().ok().filter(|bits| (9..=16).contains(bits)).ok_or_else(refuse)?,
        };
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
