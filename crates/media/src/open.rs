//! From two names to two sources that can be scored: probe, judge, decode, convert, pair.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use visus_child::StderrTail;
use visus_engine::{Cancel, Side};
use visus_video::{Chroma, ColourRange, Format, Source};

use crate::compare::{self, Comparability, Verdict};
use crate::convert::{Converter, Shape};
use crate::decode::first_damage;
use crate::rgb::{Matrix, RgbTarget};
use crate::sync::findings::{Findings, Sync};
use crate::sync::signature::View;
use crate::sync::threads::Threads;
use crate::sync::thumbnails::{self, Strip, Thumbnails};
use crate::sync::{self, Request, Shared, Stream, lock};
use crate::{DecodeOptions, Decoder, Facts, Launch, MediaError, Probe, Tools};

/// A video by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Encoded(PathBuf),
    /// `-` is standard input.
    Y4m(PathBuf),
    Raw(PathBuf, Format),
}

impl Input {
    /// Raw if a format is given; else by the first bytes of a regular file: what is no Y4M is taken for encoded. Pipes
    /// and standard input are Y4M.
    pub fn detect(path: &Path, raw: Option<Format>) -> Self {
        if let Some(format) = raw {
            return Self::Raw(path.to_path_buf(), format);
        }
        let regular = path != Path::new("-") && path.metadata().is_ok_and(|metadata| metadata.is_file());
        let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("y4m"));
        if path == Path::new("-") || named || (!regular && path.exists() && !path.is_dir()) {
            return Self::Y4m(path.to_path_buf());
        }
        if begins_as_y4m(path) { Self::Y4m(path.to_path_buf()) } else { Self::Encoded(path.to_path_buf()) }
    }

    pub fn is_encoded(&self) -> bool {
        matches!(self, Self::Encoded(_))
    }

    /// What is wrong if an input was opened before and cannot be opened again.
    fn inconsistent(&self, tools: bool, probed: bool) -> MediaError {
        let reason = match (tools, probed) {
            (false, _) => "ffmpeg was not looked for",
            (true, false) => "it was not probed",
            (true, true) => "it was given away already",
        };
        MediaError::open(self.path(), reason)
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Encoded(path) | Self::Y4m(path) | Self::Raw(path, _) => path,
        }
    }
}

fn begins_as_y4m(path: &Path) -> bool {
    let mut magic = [0; 8];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"YUV4MPEG"
}

/// To which size both are brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Where sizes differ, to the display of the model.
    #[default]
    Auto,
    /// To the display of the model in any case.
    Display,
    Reference,
    Size(usize, usize),
    /// Different sizes are refused.
    Off,
}

impl std::str::FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Self::Auto),
            "display" => return Ok(Self::Display),
            "reference" => return Ok(Self::Reference),
            "off" => return Ok(Self::Off),
            _ => {}
        }
        let sides = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        let (width, height) = sides.ok_or_else(|| {
            format!("'{text}' is no size; it is auto, display, reference, off or WIDTHxHEIGHT")
        })?;
        Ok(Self::Size(width, height))
    }
}

/// How a pair is opened.
#[derive(Clone, Debug)]
pub struct PairOptions {
    pub sync: Sync,
    pub scale: Scale,
    /// Width and height of the display that the model stands for.
    pub display: (usize, usize),
    /// Go on over damage.
    pub forgive: bool,
    /// One of ffmpeg's hardware decoders, or `auto` for the first that works, else software.
    pub hwaccel: Option<String>,
    /// Frames to leave out at the start of reference and distorted video, before pairing.
    pub skip: [u64; 2],
    pub launch: Launch,
    /// What the pair is opened for: it stands in the sentence about a missing ffmpeg.
    pub purpose: String,
    pub cancel: Cancel,
}

impl Default for PairOptions {
    fn default() -> Self {
        Self {
            sync: Sync::default(),
            scale: Scale::default(),
            display: HD,
            forgive: false,
            hwaccel: None,
            skip: [0, 0],
            launch: Launch::default(),
            purpose: "encoded video".to_owned(),
            cancel: Cancel::new(),
        }
    }
}

pub const HD: (usize, usize) = (1920, 1080);
pub const UHD: (usize, usize) = (3840, 2160);

/// The display that a model was made for, by its name: 4K if the name says so, else HD.
pub fn display_of(model: &str) -> (usize, usize) {
    if model.contains("4k") || model.contains("2160") { UHD } else { HD }
}

/// Facts about both inputs, and ffmpeg if one of them needs it.
pub struct Probed {
    inputs: [Input; 2],
    tools: Option<Tools>,
    pub facts: [Facts; 2],
    /// Raw and Y4M video is open already: a pipe can be opened only once.
    opened: [Option<Box<dyn Source>>; 2],
    upright: bool,
    rgb: RgbTarget,
}

impl std::fmt::Debug for Probed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probed").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// What was learned about one input.
enum Looked {
    Probe(Box<Probe>),
    Source(Box<dyn Source>),
}

fn look(input: &Input, tools: Option<&Tools>, cancel: &Cancel) -> Result<Looked, MediaError> {
    Ok(match (input, tools) {
        (Input::Encoded(path), Some(tools)) => Looked::Probe(Box::new(Probe::of(tools, path, cancel)?)),
        (Input::Raw(path, format), _) => Looked::Source(visus_video::open(path, Some(*format))?),
        (Input::Y4m(path) | Input::Encoded(path), _) => Looked::Source(visus_video::open(path, None)?),
    })
}

/// What a thread came to; its panic goes on here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Probed {
    /// Looks at both inputs at once. If both fail, the error names both.
    pub fn new(inputs: [Input; 2], options: &PairOptions) -> Result<Self, MediaError> {
        let encoded = inputs.iter().any(Input::is_encoded);
        let located = || Tools::located(options.launch.clone(), &options.purpose);
        let tools = encoded.then(located).transpose()?;
        // Three programs are asked at once: starting one takes about as long as decoding ten frames.
        let (tools, looked) = std::thread::scope(|scope| {
            let version = scope.spawn(|| tools.clone().map(Tools::with_version).transpose());
            let other = scope.spawn(|| look(&inputs[1], tools.as_ref(), &options.cancel));
            let first = look(&inputs[0], tools.as_ref(), &options.cancel);
            (joined(version), (first, joined(other)))
        });
        let tools = tools?;
        let (reference, distorted) = match looked {
            (Ok(reference), Ok(distorted)) => (reference, distorted),
            (Err(a), Err(b)) => return Err(MediaError::both(a, b)),
            (Err(error), _) => return Err(error.on(Side::Reference)),
            (_, Err(error)) => return Err(error.on(Side::Distorted)),
        };
        Self::from_looked(inputs, tools, [reference, distorted])
    }

    fn from_looked(
        inputs: [Input; 2],
        tools: Option<Tools>,
        looked: [Looked; 2],
    ) -> Result<Self, MediaError> {
        let turn = |looked: &Looked| match looked {
            Looked::Probe(probe) => probe.rotation,
            Looked::Source(_) => 0,
        };
        let upright = turn(&looked[0]) != turn(&looked[1]);
        let facts = |looked: &Looked| -> Result<Facts, MediaError> {
            Ok(match looked {
                Looked::Probe(probe) => Facts::of_probe(probe, probe.format(upright)?),
                Looked::Source(source) => Facts::of_source(&**source),
            })
        };
        let mut facts = [facts(&looked[0])?, facts(&looked[1])?];
        let rgb = rgb_target(&facts);
        for facts in &mut facts {
            if facts.probe.as_ref().is_some_and(|probe| probe.delivery.rgb) {
                facts.range = Some(rgb.range);
            }
        }
        let opened = looked.map(|looked| match looked {
            Looked::Source(source) => Some(source),
            Looked::Probe(_) => None,
        });
        Ok(Self { inputs, tools, facts, opened, upright, rgb })
    }

    /// Whether the frames of the reference are the same as in other pairs with it; not so if they are turned or converted
    /// from RGB to suit the other side.
    pub fn shares_reference(&self) -> bool {
        let own = |probe: &Probe| probe.delivery.rgb || (self.upright && probe.rotation != 0);
        !self.facts[0].probe.as_ref().is_some_and(own)
    }

    /// The frames of the reference, to be read once for several pairs and handed to each with [`Probed::give_reference`].
    pub fn common_reference(&mut self, options: &PairOptions) -> Result<Box<dyn Source>, MediaError> {
        let decode = DecodeOptions {
            hwaccel: options.hwaccel.clone(),
            forgive: options.forgive,
            cancel: options.cancel.clone(),
            ..DecodeOptions::default()
        };
        self.source(0, &decode, &mut None)
    }

    /// Reads the reference from here and not from its file.
    pub fn give_reference(&mut self, source: Box<dyn Source>) {
        self.opened[0] = Some(source);
    }

    /// The shape of both in scoring: the reference's chroma and range, the higher depth, the size that `scale` says.
    fn target(&self, options: &PairOptions) -> Result<Shape, MediaError> {
        let [reference, distorted] = self.facts.each_ref().map(|facts| facts.format);
        let size = |format: &Format| (format.width(), format.height());
        let same = size(&reference) == size(&distorted);
        let (width, height) = match options.scale {
            Scale::Auto if same => size(&reference),
            Scale::Auto | Scale::Display => fitted(&self.facts[0], options.display),
            Scale::Reference => size(&reference),
            Scale::Size(width, height) => (width, height),
            Scale::Off if same => size(&reference),
            Scale::Off => {
                return Err(MediaError::Picture(format!(
                    "the two videos cannot be compared: the reference is {reference}, the distorted video {distorted}, and \
                     scaling is off"
                )));
            }
        };
        let grey = [reference, distorted].iter().any(|format| format.chroma() == Chroma::C400);
        let chroma = if grey { Chroma::C400 } else { reference.chroma() };
        let depth = reference.depth().max(distorted.depth());
        let format = Format::new(width, height, chroma, depth)
            .map_err(|error| MediaError::Format { file: self.facts[0].file.clone(), error })?;
        Ok(Shape { format, range: range(&self.facts[0]) })
    }

    /// Starts decoding and pairs the first frames.
    pub fn open(mut self, options: &PairOptions) -> Result<OpenPair, MediaError> {
        let target = self.target(options)?;
        let halt = Cancel::new();
        let decode = DecodeOptions {
            hwaccel: options.hwaccel.clone(),
            forgive: options.forgive,
            upright: self.upright,
            rgb: self.rgb,
            cancel: halt.clone(),
        };
        let mut words: [Option<StderrTail>; 2] = [None, None];
        let reference = self.stream(0, target, options, &decode, &mut words[0])?;
        let distorted = self.stream(1, target, options, &decode, &mut words[1])?;
        let comparability = compare::facts(&self.facts[0], &self.facts[1], options.sync);
        let conversions = self.conversions(target);
        let request = Request {
            sync: options.sync,
            agree: self.agree(options.skip),
            scan: self.scan(options, &decode),
            halt,
            cancel: options.cancel.clone(),
        };
        let started = sync::start([reference, distorted], request)?;
        let [reference, distorted] = started.sources;
        let control = Control {
            facts: Arc::new(self.facts),
            conversions: Arc::new(conversions),
            known: comparability,
            log: started.log,
            scored: Mutex::new(None),
            threads: started.threads,
            words,
            forgive: options.forgive,
            ffmpeg: self.tools.map(|tools| tools.version),
        };
        Ok(OpenPair { reference, distorted, control })
    }

    /// Whether both have the same length and rate, which they would not have if one had been edited.
    fn agree(&self, skip: [u64; 2]) -> bool {
        let frames = |side: usize| self.facts[side].frames.map(|frames| frames.saturating_sub(skip[side]));
        let variable = |facts: &Facts| facts.probe.as_ref().is_some_and(|probe| probe.variable_rate);
        let rates = self.facts.each_ref().map(Facts::rate);
        let same_rate = match rates {
            [Some(reference), Some(distorted)] => (reference / distorted - 1.0).abs() < 0.001,
            _ => true,
        };
        frames(0).is_some() && frames(0) == frames(1) && (same_rate || self.facts.iter().any(variable))
    }

    /// How both are read once more, if pairing asks for it.
    fn scan(&self, options: &PairOptions, decode: &DecodeOptions) -> sync::Scan {
        let again = [0, 1].map(|side| Again {
            input: self.inputs[side].clone(),
            probe: self.facts[side].probe.clone(),
            range: range(&self.facts[side]),
            skip: options.skip[side],
        });
        let tools = self.tools.clone();
        // A quick look; what it costs to set hardware up would be lost.
        let decode = DecodeOptions { forgive: true, hwaccel: None, ..decode.clone() };
        Box::new(move |views, cancel| {
            let decode = DecodeOptions { cancel: cancel.clone(), ..decode.clone() };
            scan(&again, tools.as_ref(), &decode, views)
        })
    }

    fn stream(
        &mut self,
        side: usize,
        target: Shape,
        options: &PairOptions,
        decode: &DecodeOptions,
        words: &mut Option<StderrTail>,
    ) -> Result<Stream, MediaError> {
        let source = self.source(side, decode, words)?;
        let facts = &self.facts[side];
        Ok(Stream { source, range: range(facts), rate: facts.rate(), target, skip: options.skip[side] })
    }

    fn source(
        &mut self,
        side: usize,
        decode: &DecodeOptions,
        words: &mut Option<StderrTail>,
    ) -> Result<Box<dyn Source>, MediaError> {
        Ok(match (self.opened[side].take(), &self.tools, &self.facts[side].probe) {
            (Some(source), ..) => source,
            (None, Some(tools), Some(probe)) => {
                let path = self.inputs[side].path();
                let mut decode = decode.clone();
                if decode.hwaccel.as_deref() == Some("auto") {
                    decode.hwaccel = Decoder::find_hardware(tools, path, probe, &decode);
                }
                let decoder = Decoder::open(tools, path, probe, &decode)?;
                *words = Some(decoder.stderr());
                self.facts[side].hardware = decode.hwaccel;
                Box::new(decoder)
            }
            (None, tools, probe) => {
                return Err(self.inputs[side].inconsistent(tools.is_some(), probe.is_some()));
            }
        })
    }

    /// What is done to the samples of each side, in words.
    fn conversions(&self, target: Shape) -> Vec<(Side, String)> {
        let mut all = Vec::new();
        for (side, facts) in [Side::Reference, Side::Distorted].into_iter().zip(&self.facts) {
            if let Some(delivery) = facts.probe.as_ref().map(|probe| &probe.delivery) {
                all.extend(delivery.note.clone().map(|note| (side, note)));
                if delivery.rgb {
                    let (matrix, range) = (self.rgb.matrix.name(), range_name(self.rgb.range));
                    all.push((side, format!("RGB to YUV 4:4:4 ({matrix}, {range} range)")));
                }
            }
            let own = Shape { format: facts.format, range: range(facts) };
            let words = Converter::new(own, target).map_or(Vec::new(), |converter| converter.words());
            all.extend(words.into_iter().map(|words| (side, words)));
        }
        all
    }
}

/// One input, to be read once more from its beginning.
struct Again {
    input: Input,
    probe: Option<Probe>,
    range: ColourRange,
    skip: u64,
}

impl Again {
    /// Small pictures of all its frames; `None` for what can be read only once.
    fn strip(
        &self,
        tools: Option<&Tools>,
        decode: &DecodeOptions,
        view: View,
    ) -> Result<Option<Strip>, MediaError> {
        if let (Some(probe), Some(tools)) = (&self.probe, tools) {
            let most = thumbnails::MOST + self.skip;
            let mut source = Decoder::open_small(tools, self.input.path(), probe, decode, (view, most))?;
            source.skip(self.skip)?;
            return Strip::read(&mut source, self.range, &decode.cancel).map(Some);
        }
        let raw = match &self.input {
            Input::Raw(_, format) => Some(*format),
            Input::Y4m(_) | Input::Encoded(_) => None,
        };
        if !self.input.path().is_file() {
            return Ok(None);
        }
        let mut source = visus_video::open(self.input.path(), raw)?;
        source.skip(self.skip)?;
        Strip::shrink(&mut *source, self.range, view, &decode.cancel)
    }
}

/// Reads both at once.
fn scan(
    again: &[Again; 2],
    tools: Option<&Tools>,
    decode: &DecodeOptions,
    views: [View; 2],
) -> Result<Option<Thumbnails>, MediaError> {
    let strip = |side: usize| again[side].strip(tools, decode, views[side]);
    let (reference, distorted) = std::thread::scope(|scope| {
        let other = scope.spawn(|| strip(1));
        (strip(0), joined(other))
    });
    let sides = (
        reference.map_err(|error| error.on(Side::Reference))?,
        distorted.map_err(|error| error.on(Side::Distorted))?,
    );
    Ok(match sides {
        (Some(reference), Some(distorted)) => Some(Thumbnails::new([reference, distorted])),
        _ => None,
    })
}

/// Limited, where it is not stated.
fn range(facts: &Facts) -> ColourRange {
    facts.range.unwrap_or(ColourRange::Limited)
}

pub(crate) const fn range_name(range: ColourRange) -> &'static str {
    match range {
        ColourRange::Full => "full",
        ColourRange::Limited => "limited",
    }
}

/// RGB becomes what the other side is; where that says nothing, BT.709 from 720 rows on, else BT.601, in limited range.
fn rgb_target(facts: &[Facts; 2]) -> RgbTarget {
    let plain = facts.iter().find(|facts| facts.probe.as_ref().is_none_or(|probe| !probe.delivery.rgb));
    let named = plain.and_then(|facts| facts.text(|probe| &probe.matrix)).and_then(Matrix::named);
    let by_size = if facts[0].format.height() >= 720 { Matrix::Bt709 } else { Matrix::Bt601 };
    let range = plain.and_then(|facts| facts.range).unwrap_or(ColourRange::Limited);
    RgbTarget { matrix: named.unwrap_or(by_size), range }
}

/// The largest picture of the reference's shape that fits the display, with even sides. A reference that fills the display
/// in one direction already is not resized.
fn fitted(reference: &Facts, display: (usize, usize)) -> (usize, usize) {
    let aspect = reference.display_aspect();
    let (wide, high) = if aspect < 1.0 { (display.1, display.0) } else { display };
    let (width, height) = (reference.format.width(), reference.format.height());
    let square = (aspect / (width as f64 / height as f64) - 1.0).abs() < 0.01;
    if square && (width == wide && height <= high || height == high && width <= wide) {
        return (width, height);
    }
    let even = |side: f64| ((side / 2.0).round() as usize * 2).max(2);
    if aspect >= wide as f64 / high as f64 {
        (wide, even(wide as f64 / aspect))
    } else {
        (even(high as f64 * aspect), high)
    }
}

/// Two videos, ready to be scored, and what is known about them.
pub struct OpenPair {
    pub reference: Box<dyn Source>,
    pub distorted: Box<dyn Source>,
    pub control: Control,
}

impl std::fmt::Debug for OpenPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenPair").field("control", &self.control).finish_non_exhaustive()
    }
}

/// Stays with the caller while the sources are scored: what was found, and the end of all threads and decoders.
#[derive(Debug)]
pub struct Control {
    facts: Arc<[Facts; 2]>,
    conversions: Arc<Vec<(Side, String)>>,
    known: Comparability,
    log: Shared,
    /// The pairs that were scored, and whether the streams ended with them; all that were handed over, if it is not known.
    scored: Mutex<Option<(Range<u64>, bool)>>,
    threads: Arc<Threads>,
    words: [Option<StderrTail>; 2],
    forgive: bool,
    ffmpeg: Option<String>,
}

impl Control {
    pub fn facts(&self) -> &[Facts; 2] {
        &self.facts
    }

    pub fn conversions(&self) -> &[(Side, String)] {
        &self.conversions
    }

    /// From now on tells of these pairs only, and of the ends of the streams only if they `ended` with them. What was read ahead
    /// is a matter of time and must not show in a report.
    pub fn scored(&self, pairs: Range<u64>, ended: bool) {
        *self.scored.lock().unwrap_or_else(PoisonError::into_inner) = Some((pairs, ended));
    }

    /// What pairing has found so far.
    pub fn findings(&self) -> Findings {
        let scored = self.scored.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (scored, ended) = scored.unwrap_or((0..u64::MAX, true));
        let mut findings = lock(&self.log).findings(scored, ended);
        if self.forgive {
            let complaint =
                |words: &Option<StderrTail>| words.as_ref().and_then(|words| first_damage(&words.text()));
            findings.complaints = self.words.iter().filter_map(complaint).collect();
        }
        findings
    }

    /// The verdict by what is known so far.
    pub fn comparability(&self) -> Comparability {
        let mut all = self.known.clone();
        for (side, words) in self.conversions.iter() {
            all.add(Verdict::Yes, "conversion", format!("{side}: {words}"));
        }
        compare::content(&mut all, &self.findings(), self.facts.each_ref());
        all
    }

    /// Ends decoders and threads, waits for them, and gives the last word.
    pub fn finish(&self) -> (Findings, Comparability) {
        self.threads.end();
        (self.findings(), self.comparability())
    }

    /// Sections for a report: comparability, pairing, conversions, inputs.
    pub fn report(&self) -> Vec<(String, Value)> {
        let conversions: Vec<Value> = self
            .conversions
            .iter()
            .map(|(side, words)| json!({ "input": side.to_string(), "conversion": words }))
            .collect();
        vec![
            ("comparability".to_owned(), self.comparability().json()),
            ("pairing".to_owned(), self.findings().json()),
            ("conversions".to_owned(), Value::Array(conversions)),
            (
                "media".to_owned(),
                json!({
                    "ffmpeg": self.ffmpeg,
                    "reference": self.facts[0].json(),
                    "distorted": self.facts[1].json(),
                }),
            ),
        ]
    }
}

/// Opens one video by itself, encoded or not.
pub fn open_one(input: &Input, launch: Launch, purpose: &str) -> Result<Box<dyn Source>, MediaError> {
    let tools = if input.is_encoded() { Some(Tools::find(launch, purpose)?) } else { None };
    let options = DecodeOptions::default();
    match (look(input, tools.as_ref(), &options.cancel)?, tools) {
        (Looked::Probe(probe), Some(tools)) => {
            Ok(Box::new(Decoder::open(&tools, input.path(), &probe, &options)?))
        }
        (Looked::Source(source), _) => Ok(source),
        (Looked::Probe(_), None) => Err(input.inconsistent(false, true)),
    }
}

/// What the headers of two open sources say about their comparability.
pub fn judge(reference: &dyn Source, distorted: &dyn Source) -> Comparability {
    let mut found = compare::facts(&Facts::of_source(reference), &Facts::of_source(distorted), Sync::Off);
    // Such headers are often wrong, and whoever made such files has paired their frames.
    found.reasons.iter_mut().for_each(|reason| reason.weight = reason.weight.min(Verdict::Warn));
    found
}

/// Probes, judges and opens a pair.
pub fn open_pair(inputs: [Input; 2], options: &PairOptions) -> Result<OpenPair, MediaError> {
    Probed::new(inputs, options)?.open(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(width: usize, height: usize, aspect: (u32, u32)) -> Facts {
        Facts {
            file: "a".to_owned(),
            format: Format::new(width, height, Chroma::C420, 8).unwrap(),
            range: None,
            frame_rate: None,
            aspect,
            interlacing: visus_video::Interlacing::Unknown,
            frames: None,
            probe: None,
            hardware: None,
        }
    }

    #[test]
    fn the_display_holds_the_picture() {
        for (size, aspect, display, expected) in [
            ((1920, 1080), (1, 1), HD, (1920, 1080)),
            ((1280, 720), (1, 1), HD, (1920, 1080)),
            ((3840, 2160), (1, 1), HD, (1920, 1080)),
            ((1920, 804), (1, 1), HD, (1920, 804)),
            ((1280, 536), (1, 1), HD, (1920, 804)),
            ((720, 576), (16, 15), HD, (1440, 1080)),
            ((1080, 1920), (1, 1), HD, (1080, 1920)),
            ((1920, 1080), (1, 1), UHD, (3840, 2160)),
        ] {
            assert_eq!(fitted(&facts(size.0, size.1, aspect), display), expected, "{size:?}");
        }
        assert_eq!((display_of("vmaf_4k_v0.6.1"), display_of("vmaf_v1.0.16_1d5h_2160")), (UHD, UHD));
        assert_eq!(display_of("vmaf_v0.6.1"), HD);
    }

    #[test]
    fn kinds_of_input() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        assert!(Input::detect(&file("a.mp4", b"....ftypisom"), None).is_encoded());
        assert!(!Input::detect(&file("a.bin", b"YUV4MPEG2 W2 H2"), None).is_encoded());
        assert!(!Input::detect(Path::new("-"), None).is_encoded());
        assert!(Input::detect(Path::new("/nonexistent/a.mkv"), None).is_encoded());
        assert_eq!("1280x720".parse(), Ok(Scale::Size(1280, 720)));
        assert!("big".parse::<Scale>().is_err());
    }
}
