//! Encoders: what each one's quality knob is called, how far it goes, and the arguments that ffmpeg needs.

mod detect;
mod quality;

pub(crate) use detect::reason;
pub use detect::{Available, Detector};
pub use quality::Quality;

use crate::TuneError;

/// The setting that decides quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// What people call it.
    pub name: &'static str,
    pub min: i32,
    pub max: i32,
    pub higher_is_better: bool,
    /// Where a search begins.
    pub start: i32,
    /// Settings for each whole number: 1, 2 or 4.
    pub steps: u32,
}

impl Knob {
    const fn new(name: &'static str, min: i32, max: i32, start: i32) -> Self {
        Self { name, min, max, higher_is_better: false, start, steps: 1 }
    }

    const fn higher_is_better(mut self) -> Self {
        self.higher_is_better = true;
        self
    }

    /// What a step is usually worth near a good quality, in points of VMAF: scales of 64 steps have smaller ones.
    pub fn slope(&self) -> f64 {
        let whole = match self.max.abs_diff(self.min) {
            0..=10 => 3.0,
            11..=55 => 0.9,
            56..=120 => 0.4,
            _ => 0.15,
        };
        whole / f64::from(self.steps)
    }

    /// The coarsest position; the finest is 0.
    pub fn last(&self) -> u32 {
        self.max.abs_diff(self.min) * self.steps
    }

    /// The same setting in finer steps.
    pub const fn in_steps(mut self, steps: u32) -> Self {
        self.steps = steps;
        self
    }

    /// The value at a position that counts from the finest.
    pub fn value(&self, position: u32) -> Quality {
        let step = i32::try_from(position.min(self.last())).unwrap_or(0) * self.size();
        let (min, max) = self.ends();
        Quality::of_quarters(if self.higher_is_better { max - step } else { min + step })
    }

    pub fn position(&self, value: impl Into<Quality>) -> u32 {
        let (min, max) = self.ends();
        let value = value.into().quarters().clamp(min, max);
        let away = if self.higher_is_better { max.abs_diff(value) } else { value.abs_diff(min) };
        away / self.size().unsigned_abs()
    }

    fn ends(&self) -> (i32, i32) {
        (Quality::from(self.min).quarters(), Quality::from(self.max).quarters())
    }

    /// Quarters in a step.
    fn size(&self) -> i32 {
        quality::PARTS / i32::try_from(self.steps.clamp(1, 4)).unwrap_or(1)
    }
}

/// How the knob is turned on ffmpeg's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// One option.
    Option(&'static str),
    /// The option, and no bit rate beside it.
    WithoutRate(&'static str),
    /// NVENC: variable rate at constant quality.
    Nvenc,
    /// AMF: constant quantiser for all kinds of frames.
    Amf,
}

/// Options that stand beside the knob unless the user gives others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Speed {
    option: &'static str,
    usual: &'static str,
}

/// How key frames at fixed distances are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gop {
    /// `-g N`, and each of these options with `N` as its value.
    Options(&'static [&'static str]),
    /// `-g N -keyint_min N` and no key frames at cuts.
    X264,
    /// One list of x265's own options.
    X265,
}

/// Where an encoder says which version of its library it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionSource {
    /// Only in the stream itself, as x264 does: the trial encode is printed.
    Stream,
    /// In ffmpeg's log, behind these words, which are replaced by the second text.
    Log { after: &'static str, prefix: &'static str },
    /// In a line of its own in ffmpeg's log, which begins with `v`.
    OwnLine,
    /// Nowhere: ffmpeg's version stands for it.
    Ffmpeg,
}

/// One encoder: everything that is particular to it.
#[derive(Clone, Copy, Debug)]
pub struct Adapter {
    /// As users and ffmpeg call it.
    pub name: &'static str,
    /// What it makes: h264, hevc, av1, vp9, vvc, prores.
    pub codec: &'static str,
    pub knob: Knob,
    /// A device does the work; whether it is there shows only when tried.
    pub hardware: bool,
    /// Other names it answers to.
    pub aliases: &'static [&'static str],
    /// Megapixels per second that it usually does at its usual speed: software on one core, a device as a whole.
    pub megapixels_per_second: f64,
    /// The quality setting may be a fraction.
    pub fractional: bool,
    pub(crate) version: VersionSource,
    /// An option and its value without which encodes with different settings do not make one stream.
    pub(crate) join: Option<(&'static str, &'static str)>,
    turn: Turn,
    speed: Option<Speed>,
    gop: Gop,
    always: &'static [&'static str],
}

impl PartialEq for Adapter {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The usual speed of a device, in megapixels per second.
const DEVICE_SPEED: f64 = 250.0;

const fn adapter(name: &'static str, codec: &'static str, knob: Knob, turn: Turn) -> Adapter {
    Adapter {
        name,
        codec,
        knob,
        hardware: false,
        aliases: &[],
        megapixels_per_second: DEVICE_SPEED,
        fractional: false,
        version: VersionSource::Ffmpeg,
        join: None,
        turn,
        speed: None,
        gop: Gop::Options(&[]),
        always: &[],
    }
}

/// An encoder on the processor, and the megapixels per second it does on one core.
const fn software(name: &'static str, codec: &'static str, knob: Knob, turn: Turn, speed: f64) -> Adapter {
    Adapter { megapixels_per_second: speed, ..adapter(name, codec, knob, turn) }
}

const fn device(name: &'static str, codec: &'static str, knob: Knob, turn: Turn) -> Adapter {
    Adapter { hardware: true, ..adapter(name, codec, knob, turn) }
}

impl Adapter {
    const fn speed(mut self, option: &'static str, usual: &'static str) -> Self {
        self.speed = Some(Speed { option, usual });
        self
    }

    const fn always(mut self, args: &'static [&'static str]) -> Self {
        self.always = args;
        self
    }

    const fn aliases(mut self, names: &'static [&'static str]) -> Self {
        self.aliases = names;
        self
    }

    const fn version(mut self, source: VersionSource) -> Self {
        self.version = source;
        self
    }

    const fn fractional(mut self) -> Self {
        self.fractional = true;
        self
    }

    const fn gop(mut self, gop: Gop) -> Self {
        self.gop = gop;
        self
    }

    const fn join(mut self, option: &'static str, value: &'static str) -> Self {
        self.join = Some((option, value));
        self
    }
}

const CQ: Knob = Knob::new("cq", 1, 51, 28);
const GLOBAL_QUALITY: Knob = Knob::new("global_quality", 1, 51, 26);
const QP: Knob = Knob::new("qp", 0, 51, 28);
const QV: Knob = Knob::new("q:v", 1, 100, 60).higher_is_better();
const HVC1: &[&str] = &["-tag:v", "hvc1"];

/// Every encoder that is known, in the order in which lists show them.
pub static ADAPTERS: &[Adapter] = &[
    software("libx264", "h264", Knob::new("crf", 0, 51, 24), Turn::Option("-crf"), 25.0)
        .aliases(&["x264"])
        .fractional()
        .speed("-preset", "medium")
        .gop(Gop::X264)
        .version(VersionSource::Stream)
        .join("x264-params", "stitchable=1"),
    software("libx265", "hevc", Knob::new("crf", 0, 51, 26), Turn::Option("-crf"), 6.0)
        .aliases(&["x265"])
        .fractional()
        .speed("-preset", "medium")
        .always(HVC1)
        .gop(Gop::X265)
        .version(VersionSource::Log { after: "HEVC encoder version ", prefix: "x265 " })
        .join("x265-params", "repeat-headers=1"),
    software("libsvtav1", "av1", Knob::new("crf", 0, 63, 34), Turn::Option("-crf"), 12.0)
        .aliases(&["svtav1", "svt-av1"])
        .speed("-preset", "8")
        .version(VersionSource::Log { after: "SVT [version]:", prefix: "" }),
    software("libaom-av1", "av1", Knob::new("crf", 0, 63, 32), Turn::WithoutRate("-crf"), 4.0)
        .aliases(&["aom", "libaom"])
        .speed("-cpu-used", "6")
        .always(&["-row-mt", "1"])
        .gop(Gop::Options(&["-keyint_min"]))
        .version(VersionSource::OwnLine),
    software("libvpx-vp9", "vp9", Knob::new("crf", 0, 63, 33), Turn::WithoutRate("-crf"), 5.0)
        .aliases(&["vp9", "libvpx"])
        .speed("-cpu-used", "4")
        .always(&["-row-mt", "1"])
        .gop(Gop::Options(&["-keyint_min"]))
        .version(VersionSource::OwnLine),
    software("libvvenc", "vvc", Knob::new("qp", 17, 50, 30), Turn::Option("-qp"), 1.0)
        .aliases(&["vvenc"])
        .speed("-preset", "faster"),
    device("h264_nvenc", "h264", CQ, Turn::Nvenc),
    device("hevc_nvenc", "hevc", CQ, Turn::Nvenc).always(HVC1),
    device("av1_nvenc", "av1", CQ, Turn::Nvenc),
    device("h264_qsv", "h264", GLOBAL_QUALITY, Turn::Option("-global_quality")),
    device("hevc_qsv", "hevc", GLOBAL_QUALITY, Turn::Option("-global_quality")).always(HVC1),
    device("vp9_qsv", "vp9", GLOBAL_QUALITY, Turn::Option("-global_quality")),
    device("av1_qsv", "av1", GLOBAL_QUALITY, Turn::Option("-global_quality")),
    device("h264_amf", "h264", QP, Turn::Amf),
    device("hevc_amf", "hevc", QP, Turn::Amf).always(HVC1),
    device("av1_amf", "av1", Knob::new("qp", 1, 255, 120), Turn::Amf),
    device("h264_videotoolbox", "h264", QV, Turn::Option("-q:v")),
    device("hevc_videotoolbox", "hevc", QV, Turn::Option("-q:v")).always(HVC1),
    device(
        "prores_videotoolbox",
        "prores",
        Knob::new("profile", 0, 3, 2).higher_is_better(),
        Turn::Option("-profile:v"),
    ),
    software(
        "prores_ks",
        "prores",
        Knob::new("profile", 0, 3, 2).higher_is_better(),
        Turn::Option("-profile:v"),
        30.0,
    )
    .aliases(&["prores"]),
];

/// The encoder with this name.
pub fn by_name(name: &str) -> Result<&'static Adapter, TuneError> {
    let named = |adapter: &&Adapter| adapter.name == name || adapter.aliases.contains(&name);
    ADAPTERS.iter().find(named).ok_or_else(|| TuneError::UnknownEncoder {
        name: name.chars().filter(|c| !c.is_control()).take(60).collect(),
        known: ADAPTERS.iter().map(|adapter| adapter.name).collect::<Vec<_>>().join(", "),
    })
}

/// What the user decides beside the quality.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The encoder's speed setting, in its own words.
    pub preset: Option<String>,
    /// Sample format of the encode, by ffmpeg's name.
    pub pix_fmt: Option<String>,
    /// Frames from one key frame to the next, fixed.
    pub gop: Option<u32>,
    /// Further options, as pairs of ffmpeg's name without the dash and a value.
    pub extra: Vec<(String, String)>,
}

impl Adapter {
    /// The arguments that choose this encoder and its quality, without input and output.
    pub fn arguments(&self, quality: impl Into<Quality>, choices: &Choices) -> Vec<String> {
        let mut args = vec!["-c:v".to_owned(), self.name.to_owned()];
        args.extend(self.quality_arguments(quality.into()));
        if let Some(speed) = &self.speed {
            args.extend([
                speed.option.to_owned(),
                choices.preset.as_deref().unwrap_or(speed.usual).to_owned(),
            ]);
        } else if let Some(preset) = &choices.preset {
            args.extend(["-preset".to_owned(), preset.clone()]);
        }
        args.extend(self.always.iter().map(|&arg| arg.to_owned()));
        args.extend(choices.gop.into_iter().flat_map(|frames| self.gop_arguments(frames)));
        args.extend(choices.pix_fmt.iter().flat_map(|format| ["-pix_fmt".to_owned(), format.clone()]));
        args.extend(choices.extra.iter().flat_map(|(name, value)| [format!("-{name}"), value.clone()]));
        args
    }

    fn quality_arguments(&self, quality: Quality) -> Vec<String> {
        let quality = quality.to_string();
        let words: &[&str] = match self.turn {
            Turn::Option(option) => &[option, &quality],
            Turn::WithoutRate(option) => &[option, &quality, "-b:v", "0"],
            Turn::Nvenc => &["-rc", "vbr", "-cq", &quality, "-b:v", "0"],
            Turn::Amf => &["-rc", "cqp", "-qp_i", &quality, "-qp_p", &quality],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// Key frames at fixed distances, so that renditions can be switched between.
    fn gop_arguments(&self, frames: u32) -> Vec<String> {
        let frames = frames.to_string();
        let own = format!("keyint={frames}:min-keyint={frames}:scenecut=0:open-gop=0");
        let mut words = match self.gop {
            Gop::Options(_) => vec!["-g", &frames],
            Gop::X264 => vec!["-g", &frames, "-keyint_min", &frames, "-sc_threshold", "0"],
            Gop::X265 => vec!["-x265-params", &own],
        };
        if let Gop::Options(further) = self.gop {
            words.extend(further.iter().flat_map(|option| [*option, &frames]));
        }
        words.into_iter().map(str::to_owned).collect()
    }

    /// The sample format to encode, for a source of `source` format, where `supported` is what the encoder takes: the
    /// same if it can be, else the nearest with as much chroma and depth as possible.
    pub fn pix_fmt<'a>(&self, source: &'a str, supported: &'a [String]) -> &'a str {
        if supported.is_empty() || supported.iter().any(|format| format == source) {
            return source;
        }
        let wanted = shape(source);
        let distance = |format: &&String| {
            let (chroma, depth) = shape(format);
            let loss = |have: u32, want: u32| if have < want { 10 * (want - have) } else { have - want };
            100 * loss(chroma, wanted.0) + loss(depth, wanted.1)
        };
        let planar = supported.iter().filter(|format| format.starts_with("yuv"));
        planar.min_by_key(distance).map_or(source, String::as_str)
    }
}

/// Chroma (1 for 4:2:0, 2 for 4:2:2, 3 for 4:4:4) and depth of a format by its name.
fn shape(name: &str) -> (u32, u32) {
    let chroma = if name.contains("444") { 3 } else { 1 + u32::from(name.contains("422")) };
    let bits =
        name.rsplit_once('p').map_or("", |(_, bits)| bits).trim_end_matches("le").trim_end_matches("be");
    (chroma, bits.parse().unwrap_or(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, quality: i32, choices: &Choices) -> String {
        by_name(name).unwrap().arguments(quality, choices).join(" ")
    }

    #[test]
    fn every_knob_is_turned_in_its_own_way() {
        let plain = Choices::default();
        for (name, quality, expected) in [
            ("libx264", 23, "-c:v libx264 -crf 23 -preset medium"),
            ("x265", 28, "-c:v libx265 -crf 28 -preset medium -tag:v hvc1"),
            ("libsvtav1", 35, "-c:v libsvtav1 -crf 35 -preset 8"),
            ("libaom-av1", 30, "-c:v libaom-av1 -crf 30 -b:v 0 -cpu-used 6 -row-mt 1"),
            ("libvpx-vp9", 31, "-c:v libvpx-vp9 -crf 31 -b:v 0 -cpu-used 4 -row-mt 1"),
            ("libvvenc", 32, "-c:v libvvenc -qp 32 -preset faster"),
            ("hevc_nvenc", 28, "-c:v hevc_nvenc -rc vbr -cq 28 -b:v 0 -tag:v hvc1"),
            ("h264_qsv", 25, "-c:v h264_qsv -global_quality 25"),
            ("h264_amf", 25, "-c:v h264_amf -rc cqp -qp_i 25 -qp_p 25"),
            ("h264_videotoolbox", 65, "-c:v h264_videotoolbox -q:v 65"),
            ("prores", 2, "-c:v prores_ks -profile:v 2"),
        ] {
            assert_eq!(line(name, quality, &plain), expected);
        }
    }

    #[test]
    fn choices_are_added() {
        let choices = Choices {
            preset: Some("slow".into()),
            pix_fmt: Some("yuv420p10le".into()),
            gop: Some(48),
            extra: vec![("tune".into(), "film".into())],
        };
        assert_eq!(
            line("libx264", 20, &choices),
            "-c:v libx264 -crf 20 -preset slow -g 48 -keyint_min 48 -sc_threshold 0 -pix_fmt yuv420p10le -tune film"
        );
    }

    #[test]
    fn key_frames_at_fixed_distances() {
        let choices = Choices { gop: Some(50), ..Choices::default() };
        for (name, expected) in [
            ("libx264", "-g 50 -keyint_min 50 -sc_threshold 0"),
            ("libx265", "-x265-params keyint=50:min-keyint=50:scenecut=0:open-gop=0"),
            ("libaom-av1", "-g 50 -keyint_min 50"),
            ("libsvtav1", "-g 50"),
            ("h264_nvenc", "-g 50"),
        ] {
            assert!(line(name, 30, &choices).ends_with(expected), "{}", line(name, 30, &choices));
        }
    }

    #[test]
    fn every_adapter_is_complete() {
        let mut names: Vec<&str> = Vec::new();
        for adapter in ADAPTERS {
            let name = adapter.name;
            names.push(name);
            names.extend(adapter.aliases);
            assert!(["h264", "hevc", "av1", "vp9", "vvc", "prores"].contains(&adapter.codec), "{name}");
            assert!(adapter.megapixels_per_second > 0.0 && adapter.megapixels_per_second <= DEVICE_SPEED);
            assert_eq!(
                adapter.hardware,
                adapter.megapixels_per_second == DEVICE_SPEED,
                "{name}: its own speed"
            );
            if !adapter.hardware && adapter.codec != "prores" {
                assert!(adapter.speed.is_some(), "{name}: a software encoder has a usual speed setting");
            }
            let line =
                adapter.arguments(adapter.knob.start, &Choices { gop: Some(48), ..Choices::default() });
            assert_eq!(line[..2], ["-c:v", name], "the encoder comes first");
            assert!(line.contains(&adapter.knob.start.to_string()), "{name}: its quality is set");
            assert!(line.iter().any(|word| word.contains("48")), "{name}: key frames are set");
            assert_eq!(
                line.contains(&"hvc1".to_owned()),
                adapter.codec == "hevc",
                "{name}: players want hvc1"
            );
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a name stands for one encoder");
    }

    #[test]
    fn positions_count_from_the_finest() {
        let ends = |knob: &Knob, position: u32| (knob.value(0), knob.value(position), knob.last());
        let crf = by_name("libx264").unwrap().knob.in_steps(1);
        assert_eq!(ends(&crf, 23), (Quality::from(0), Quality::from(23), 51));
        assert_eq!(crf.position(51), 51);
        assert_eq!(crf.in_steps(4).value(23), Quality::of_quarters(23));
        let quality = by_name("hevc_videotoolbox").unwrap().knob.in_steps(1);
        assert_eq!(ends(&quality, 99), (Quality::from(100), Quality::from(1), 99));
        assert_eq!(quality.position(65), 35);
        for adapter in ADAPTERS {
            let knob = &adapter.knob;
            assert!((knob.min..=knob.max).contains(&knob.start), "{}", adapter.name);
            assert!(knob.last() < 255, "{}: a search must end after 8 encodes", adapter.name);
        }
    }

    #[test]
    fn unknown_names_get_the_list() {
        let error = by_name("libx266").unwrap_err().to_string();
        assert!(error.starts_with("unknown encoder 'libx266'; known are libx264, libx265"), "{error}");
    }

    #[test]
    fn the_nearest_format_loses_least() {
        let prores = by_name("prores").unwrap();
        let supported = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(prores.pix_fmt("yuv420p", &supported(&["yuv444p10le", "yuv422p10le"])), "yuv422p10le");
        assert_eq!(prores.pix_fmt("yuv420p", &supported(&["yuv444p10le", "yuv420p"])), "yuv420p");
        assert_eq!(prores.pix_fmt("yuv422p10le", &supported(&["yuv420p", "yuv420p10le"])), "yuv420p10le");
        assert_eq!(prores.pix_fmt("yuv422p", &[]), "yuv422p");
    }
}
