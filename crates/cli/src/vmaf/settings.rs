//! What the arguments ask for.

use visus_engine::{Backend, FeatureSpec, ModelSpec, preset};
use visus_metrics::Level;
use visus_report::{Precision, libvmaf};
use visus_scoring::{BackendRequest, RequestError, cpu};
use visus_video::{Chroma, Format};

use super::getopt::{self, Found, Opt};

/// Everything that can be asked for.
#[derive(Debug)]
pub enum Asked {
    Run(Box<Settings>),
    Help,
    Version,
}

/// A scoring run.
#[derive(Debug, Default)]
pub struct Settings {
    pub reference: String,
    pub distorted: String,
    /// The format of raw inputs; Y4M if absent.
    pub raw: Option<RawFormat>,
    pub models: Vec<ModelSpec>,
    pub features: Vec<FeatureSpec>,
    pub output: Option<String>,
    pub format: libvmaf::Format,
    pub precision: Precision,
    pub threads: u64,
    pub subsample: u64,
    pub frame_count: u64,
    pub skip_reference: u64,
    pub skip_distorted: u64,
    pub cpumask: u64,
    pub backend: BackendRequest,
    /// The GPU is switched off, by `--gpumask` or `--no_cuda`.
    pub without_gpu: bool,
    pub no_prediction: bool,
    pub quiet: bool,
    /// Words that belong to no option.
    pub ignored: Vec<String>,
    /// getopt's messages about options that could not be read. As in libvmaf's tool, the run goes on without them.
    pub complaints: Vec<String>,
}

/// Size and sample format of raw video, checked only when it is opened: a size of zero is the input's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFormat {
    pub width: u64,
    pub height: u64,
    pub chroma: Chroma,
    pub depth: u8,
}

impl RawFormat {
    pub fn checked(self) -> Result<Format, visus_video::FormatError> {
        let side = |side: u64| usize::try_from(side).unwrap_or(usize::MAX);
        Format::new(side(self.width), side(self.height), self.chroma, self.depth)
    }
}

const fn value(long: &'static str, short: Option<char>) -> Opt {
    Opt { long, short, takes_value: true }
}

const fn switch(long: &'static str, short: Option<char>) -> Opt {
    Opt { long, short, takes_value: false }
}

const OPTIONS: &[Opt] = &[
    value("reference", Some('r')),
    value("distorted", Some('d')),
    value("width", Some('w')),
    value("height", Some('h')),
    value("pixel_format", Some('p')),
    value("bitdepth", Some('b')),
    value("model", Some('m')),
    value("output", Some('o')),
    switch("xml", None),
    switch("json", None),
    switch("csv", None),
    switch("sub", None),
    value("precision", None),
    value("threads", None),
    value("feature", None),
    value("subsample", None),
    value("cpumask", Some('c')),
    value("gpumask", None),
    value("backend", None),
    switch("no_cuda", None),
    switch("no_sycl", None),
    switch("no_vulkan", None),
    switch("no_hip", None),
    switch("no_metal", None),
    value("aom_ctc", None),
    value("nflx_ctc", None),
    value("frame_cnt", None),
    value("frame_skip_ref", None),
    value("frame_skip_dist", None),
    switch("no_prediction", Some('n')),
    switch("version", Some('v')),
    switch("quiet", Some('q')),
    switch("help", None),
];

/// Backends of the family of `vmaf` tools that a build may lack.
const OTHER_BACKENDS: [&str; 4] = ["sycl", "vulkan", "hip", "metal"];

/// What of a raw format was given so far.
#[derive(Default)]
struct RawParts {
    width: Option<u64>,
    height: Option<u64>,
    chroma: Option<Chroma>,
    depth: Option<u8>,
}

impl Settings {
    /// Reads the arguments; the error is the reason in words.
    pub fn parse(args: &[String]) -> Result<Asked, String> {
        let mut settings = Self::default();
        let mut raw = RawParts::default();
        for found in getopt::parse(args, OPTIONS) {
            match found {
                Found::Option("help", _) => return Ok(Asked::Help),
                Found::Option("version", _) => return Ok(Asked::Version),
                Found::Option(name, value) => settings.set(name, &value.unwrap_or_default(), &mut raw)?,
                Found::Word(word) => settings.ignored.push(word),
                Found::Complaint(complaint) => settings.complaints.push(complaint),
            }
        }
        settings.raw = raw.complete()?;
        settings.check()?;
        Ok(Asked::Run(Box::new(settings)))
    }

    fn set(&mut self, name: &'static str, value: &str, raw: &mut RawParts) -> Result<(), String> {
        match name {
            "reference" => value.clone_into(&mut self.reference),
            "distorted" => value.clone_into(&mut self.distorted),
            "width" => raw.width = Some(unsigned(name, value)?),
            "height" => raw.height = Some(unsigned(name, value)?),
            "pixel_format" => raw.chroma = Some(pixel_format(name, value)?),
            "bitdepth" => raw.depth = Some(bit_depth(name, value)?),
            "model" => self.models.push(value.parse::<ModelSpec>().map_err(|error| error.to_string())?),
            "feature" => self.features.push(value.parse::<FeatureSpec>().map_err(|error| error.to_string())?),
            "output" => self.output = Some(value.to_owned()),
            "xml" | "json" | "csv" | "sub" => self.format = name.parse()?,
            "precision" => {
                self.precision = value.parse().map_err(|_| invalid(name, value, "legacy, max or 1 to 17"))?;
            }
            "threads" => self.threads = unsigned(name, value)?,
            "subsample" => self.subsample = unsigned(name, value)?,
            "cpumask" => self.cpumask = mask(name, value)?,
            "gpumask" => self.without_gpu |= mask(name, value)? != 0,
            "backend" => self.backend = backend(name, value)?,
            "no_cuda" => self.without_gpu = true,
            "aom_ctc" | "nflx_ctc" => self.add_preset(name, value)?,
            "frame_cnt" => self.frame_count = unsigned(name, value)?,
            "frame_skip_ref" => self.skip_reference = unsigned(name, value)?,
            "frame_skip_dist" => self.skip_distorted = unsigned(name, value)?,
            "no_prediction" => self.no_prediction = true,
            "quiet" => self.quiet = true,
            // The other backends that could be switched off are not in this build.
            _ => {}
        }
        Ok(())
    }

    fn add_preset(&mut self, name: &str, version: &str) -> Result<(), String> {
        if name == "aom_ctc" && version == "proposed" {
            return Err("`--aom_ctc proposed` is deprecated.".to_owned());
        }
        let preset = if name == "aom_ctc" { preset::aom(version) } else { preset::nflx(version) };
        let preset = preset.ok_or_else(|| format!("bad {name} version \"{version}\""))?;
        self.models.extend(preset.models);
        self.features.extend(preset.features);
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        if self.reference.is_empty() {
            return Err("Reference .y4m or .yuv (-r/--reference) is required".to_owned());
        }
        if self.distorted.is_empty() {
            return Err("Distorted .y4m or .yuv (-d/--distorted) is required".to_owned());
        }
        if self.reference == "-" && self.distorted == "-" {
            return Err("Only one of the two inputs can be standard input (-)".to_owned());
        }
        if self.models.is_empty() && !self.no_prediction {
            self.models.push(ModelSpec::version("vmaf_v0.6.1"));
        }
        let mut names: Vec<&str> = self.models.iter().map(|model| &*model.name).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("Each model should be uniquely named. Set using `--model` via the `name=...` param."
                .to_owned());
        }
        Ok(())
    }

    /// The best CPU level that the mask and the environment permit.
    fn level(&self) -> Result<Level, RequestError> {
        Ok(cpu::masked(cpu::from_environment()?, self.cpumask))
    }

    /// Where features are computed.
    pub fn engine_backend(&self) -> Result<Backend, RequestError> {
        let request = match self.backend {
            BackendRequest::Auto if self.without_gpu => BackendRequest::Cpu,
            BackendRequest::Cuda(_) | BackendRequest::Adapter(_) if self.without_gpu => {
                let name = self.backend.to_string();
                let name = name.split(':').next().unwrap_or_default();
                let text = format!("backend '{name}' is asked for and switched off at the same time");
                return Err(RequestError::Backend(text));
            }
            request => request,
        };
        request.open(self.level()?)
    }
}

impl RawParts {
    /// All four or none. A side of 0 counts as missing, as in libvmaf.
    fn complete(self) -> Result<Option<RawFormat>, String> {
        let Self { width, height, chroma, depth } = self;
        if width.is_none() && height.is_none() && chroma.is_none() && depth.is_none() {
            return Ok(None);
        }
        match (width.filter(|side| *side > 0), height.filter(|side| *side > 0), chroma, depth) {
            (Some(width), Some(height), Some(chroma), Some(depth)) => {
                Ok(Some(RawFormat { width, height, chroma, depth }))
            }
            _ => Err("The following options are required for .yuv input:\n  --width/-w\n  --height/-h\n  \
                      --pixel_format/-p\n  --bitdepth/-b\n"
                .to_owned()),
        }
    }
}

fn invalid(name: &str, value: &str, should_be: &str) -> String {
    let short = OPTIONS.iter().find(|opt| opt.long == name).and_then(|opt| opt.short);
    // libvmaf has no short form of --cpumask in its words.
    let shown = match short.filter(|_| name != "cpumask") {
        Some(letter) => format!("-{letter}/--{name}"),
        None => format!("--{name}"),
    };
    format!("Invalid argument \"{value}\" for option {shown}; should be {should_be}")
}

/// C's `strtoul` with base 0: decimal, 0x hexadecimal or 0 octal.
fn unsigned(name: &str, value: &str) -> Result<u64, String> {
    let text = value.trim_start();
    let text = text.strip_prefix('+').unwrap_or(text);
    let parsed = if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        u64::from_str_radix(hex, 16)
    } else if text.len() > 1 && text.starts_with('0') {
        u64::from_str_radix(&text[1..], 8)
    } else {
        text.parse()
    };
    // Larger numbers do not fit libvmaf's 32 bits and mean nothing for any option.
    parsed
        .ok()
        .filter(|number| *number <= u64::from(u32::MAX))
        .ok_or_else(|| invalid(name, value, "an integer"))
}

fn bit_depth(name: &str, value: &str) -> Result<u8, String> {
    match unsigned(name, value)? {
        depth @ (8 | 10 | 12 | 16) => Ok(depth as u8),
        _ => Err(invalid(name, value, "a valid bitdepth (8/10/12/16)")),
    }
}

fn pixel_format(name: &str, value: &str) -> Result<Chroma, String> {
    match value {
        "420" => Ok(Chroma::C420),
        "422" => Ok(Chroma::C422),
        "444" => Ok(Chroma::C444),
        _ => Err(invalid(name, value, "a valid pixel format (420/422/444)")),
    }
}

fn backend(name: &str, value: &str) -> Result<BackendRequest, String> {
    match value.parse() {
        Ok(request) => Ok(request),
        Err(error) if OTHER_BACKENDS.contains(&value.split(':').next().unwrap_or(value)) => {
            Err(error.to_string())
        }
        Err(_) => Err(invalid(name, value, "auto, cpu, cuda, sycl, vulkan, hip or metal")),
    }
}

/// A mask of bits. As in C, `-1` has all of them.
fn mask(name: &str, value: &str) -> Result<u64, String> {
    match value.strip_prefix('-') {
        Some(positive) => unsigned(name, positive).map(u64::wrapping_neg),
        None => unsigned(name, value),
    }
}
