//! Frames of an encoded file, through a pipe from ffmpeg.
//!
//! One ffmpeg process per file, no raw file on disk; the pipe and the frames of the caller's pool are all that is buffered.
//! Samples arrive as the stream has them: what ffmpeg unpacks (see [`Delivery`](crate::Delivery)) keeps its values, and RGB
//! is converted here. A file that is cut short or damaged is an error, not a shorter video.

use std::ffi::OsString;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use visus_child::{Finished, StderrTail, Stream};
use visus_engine::{Cancel, Device};
use visus_video::{
    Chroma, ChromaRounding, ColourRange, Format, Frame, Info, ReadError, Reader, Source, raw_stream,
};

use crate::preview::{Colours, PreviewTap, Previews};
use crate::rgb::{RgbTarget, to_yuv};
use crate::sync::signature::View;
use crate::sync::thumbnails;
use crate::{Delivery, MediaError, Probe, Tools};

/// How a file is decoded.
#[derive(Clone, Debug, Default)]
pub struct DecodeOptions {
    /// One of ffmpeg's hardware decoders: `cuda`, `vaapi`, `qsv`, `videotoolbox`, …
    pub hwaccel: Option<String>,
    /// Go on over damage, with what the decoder makes of it.
    pub forgive: bool,
    /// Turn the picture as a player would.
    pub upright: bool,
    /// What RGB becomes.
    pub rgb: RgbTarget,
    /// Ends every wait for ffmpeg.
    pub cancel: Cancel,
    /// The first frame, in containers whose index leads to it.
    pub start: u64,
    /// A device that decodes what it can.
    pub device: Option<Arc<dyn Device>>,
    /// Small pictures to be made on the way, of a video that is read from its start.
    pub previews: Option<Previews>,
    /// Decode in this process what can be, in builds that can; the rest is the ffmpeg program's.
    pub in_process: bool,
}

impl DecodeOptions {
    /// The time of the first frame in seconds, where it is not the first of the file. A quarter of a frame earlier: time stamps may
    /// be rounded.
    pub(crate) fn start_time(&self, rate: Option<(u32, u32)>) -> Option<String> {
        let (num, den) = rate.filter(|_| self.start > 0)?;
        let seconds = (self.start as f64 - 0.25) * f64::from(den) / f64::from(num);
        Some(format!("{seconds:.6}"))
    }
}

/// A running ffmpeg and the frames that it gives.
#[derive(Debug)]
pub struct Decoder {
    reader: Reader,
    name: String,
    info: Info,
    frames: Option<u64>,
    rgb: Option<RgbTarget>,
    forgive: bool,
    hwaccel: Option<String>,
    cancel: Cancel,
    stderr: StderrTail,
    end: End,
    state: State,
    previews: Option<PreviewTap>,
}

/// How the child ended, once it has.
type End = Arc<Mutex<Option<Finished>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Failed,
}

impl Decoder {
    /// Starts ffmpeg on a probed file.
    pub fn open(tools: &Tools, probe: &Probe, options: &DecodeOptions) -> Result<Self, MediaError> {
        let format = probe.format(options.upright)?;
        let args = arguments(tools, probe, options, &More::default());
        let mut decoder = Self::start(tools, args, format, probe, options)?;
        let range = decoder.info.range.unwrap_or(ColourRange::Limited);
        let previews = options.previews.as_ref().filter(|_| options.start == 0);
        let colours = Colours::new(range, probe.matrix.as_deref());
        decoder.previews = previews.and_then(|previews| PreviewTap::start(previews, probe.frames, colours));
        Ok(decoder)
    }

    fn start(
        tools: &Tools,
        args: Vec<OsString>,
        format: Format,
        probe: &Probe,
        options: &DecodeOptions,
    ) -> Result<Self, MediaError> {
        let mut command = tools.command(&tools.ffmpeg, args, tools.limit(), Some(probe.opening.access()));
        command.sandbox.devices = options.hwaccel.is_some();
        let cancel = options.cancel.clone();
        let stream = Stream::start(&command, move || cancel.is_fired())
            .map_err(|error| tools.failure("ffmpeg", error, tools.limit()))?;
        let (stderr, end) = (stream.stderr(), End::default());
        let tap = Tap { stream, end: Arc::clone(&end) };
        let name = probe.file.clone();
        Ok(Self {
            reader: raw_stream(&name, tap, format, ChromaRounding::Up)?,
            info: info(probe, options),
            name,
            frames: probe.frames,
            rgb: probe.delivery.rgb.then_some(options.rgb),
            forgive: options.forgive,
            hwaccel: options.hwaccel.clone(),
            cancel: options.cancel.clone(),
            stderr,
            end,
            state: State::Open,
            previews: None,
        })
    }

    /// The first hardware decoder that decodes the first frame without a complaint; `None` leaves it to software. ffmpeg's own
    /// choice complains about each that it does not find, in words that change from version to version.
    pub(crate) fn find_hardware(tools: &Tools, probe: &Probe, options: &DecodeOptions) -> Option<String> {
        HARDWARE.iter().map(ToString::to_string).find(|name| {
            let options = DecodeOptions { hwaccel: Some(name.clone()), ..options.clone() };
            let args = arguments(tools, probe, &options, &More { frames: Some(1), ..More::default() });
            let mut command = tools.command(&tools.ffmpeg, args, tools.limit(), Some(probe.opening.access()));
            command.sandbox.devices = true;
            let finished = visus_child::run(&command, || options.cancel.is_fired(), || {});
            let clean = |words: &str| !words.lines().filter_map(Line::parse).any(|line| line.is_error());
            finished.is_ok_and(|finished| finished.code == 0 && clean(&finished.stderr))
        })
    }

    /// Starts ffmpeg for a few key frames from a time on.
    pub(crate) fn open_keys(
        tools: &Tools,
        probe: &Probe,
        options: &DecodeOptions,
        seconds: f64,
        frames: u64,
    ) -> Result<Self, MediaError> {
        let more = More { frames: Some(frames), keys_from: Some(seconds), ..More::default() };
        let args = arguments(tools, probe, options, &more);
        Self::start(tools, args, probe.format(options.upright)?, probe, options)
    }

    /// Starts ffmpeg for small grey pictures of the first frames, to look at a file from afar.
    pub(crate) fn open_small(
        tools: &Tools,
        probe: &Probe,
        options: &DecodeOptions,
        (view, frames): (View, u64),
    ) -> Result<Self, MediaError> {
        let mut probe = probe.clone();
        let refused = |error| MediaError::Format { file: probe.file.clone(), error };
        let (width, height) = thumbnails::SIZE;
        let format = Format::new(width, height, Chroma::C400, 16).map_err(refused)?;
        let whole = probe.format(options.upright)?;
        probe.delivery = Delivery { pix_fmt: "gray16le".to_owned(), rgb: false, ..probe.delivery };
        // Equal ranges on both sides of the filter leave samples as they are.
        let ranges = "in_range=full:out_range=full";
        let shrink = format!("{},scale={width}:{height}:flags=area:{ranges}", crop(view, &whole));
        let more = More { filter: &shrink, frames: Some(frames), keys_from: None };
        let args = arguments(tools, &probe, options, &more);
        Self::start(tools, args, format, &probe, options)
    }

    /// What ffmpeg says, to be read at any time.
    pub(crate) fn stderr(&self) -> StderrTail {
        self.stderr.clone()
    }

    fn step(&mut self, take: impl FnOnce(&mut Reader) -> Result<bool, ReadError>) -> Result<bool, ReadError> {
        match self.state {
            State::Ended => return Ok(false),
            State::Failed => return Err(ReadError::Failed { file: self.name.clone() }),
            State::Open => {}
        }
        let taken = take(&mut self.reader);
        let checked = self.check(taken);
        match &checked {
            Ok(true) => {}
            Ok(false) => self.state = State::Ended,
            Err(_) => self.state = State::Failed,
        }
        checked
    }

    /// Damage is found in what ffmpeg says, long before its end.
    fn check(&mut self, taken: Result<bool, ReadError>) -> Result<bool, ReadError> {
        if let Err(ReadError::WrongFrame { .. }) = taken {
            return taken;
        }
        if self.cancel.is_fired() {
            return Err(self.failed("cancelled".to_owned()));
        }
        if let Err(ReadError::Io { source, .. }) = &taken {
            let silence = source.kind() == io::ErrorKind::TimedOut;
            let hint = if silence { " (set VMAF_MCP_SUBPROCESS_TIMEOUT_S to override)" } else { "" };
            return Err(self.failed(format!("{source}{hint}")));
        }
        let over = !matches!(taken, Ok(true));
        match self.damage(over) {
            Some(reason) => Err(self.failed(reason)),
            None if over && self.reader.frames_read() == 0 => {
                Err(self.failed("the video stream holds no frames".to_owned()))
            }
            None => Ok(!over),
        }
    }

    fn damage(&self, over: bool) -> Option<String> {
        if !over {
            return if self.forgive { None } else { self.first_damage(&self.stderr.text()) };
        }
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (code, words) = end.map_or((-1, self.stderr.text()), |end| (end.code, end.stderr));
        // A decoder that was killed (a negative code) has not met damage: nobody knows what is missing.
        let whole = code == 0 || (self.forgive && code > 0 && self.reader.frames_read() > 0);
        match self.first_damage(&words) {
            Some(damage) if !self.forgive => Some(damage),
            _ if whole => None,
            _ => Some(
                first_error(&words).unwrap_or_else(|| format!("ffmpeg {}", visus_child::describe_end(code))),
            ),
        }
    }

    /// A hardware decoder that was asked for must work.
    fn first_damage(&self, words: &str) -> Option<String> {
        let Some(name) = &self.hwaccel else { return first_damage(words) };
        let broken = |line: &Line<'_>| line.is_error() && line.is_about_hardware();
        match words.lines().filter_map(Line::parse).find(broken) {
            Some(line) => Some(format!(
                "the hardware decoder '{name}' cannot be used ({}); without --hwaccel it is decoded in software",
                line.words()
            )),
            None => first_damage(words),
        }
    }

    fn failed(&self, reason: String) -> ReadError {
        ReadError::Decoder { file: self.name.clone(), frame: self.reader.frames_read(), reason }
    }
}

impl Source for Decoder {
    fn format(&self) -> &Format {
        self.reader.format()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.reader.frames_read()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        let more = self.step(|reader| reader.read(frame))?;
        if let (true, Some(target)) = (more, self.rgb) {
            to_yuv(frame, target);
        }
        if let (true, Some(previews)) = (more, &self.previews) {
            previews.pass(self.reader.frames_read() - 1, frame);
        }
        Ok(more)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        for done in 0..count {
            if !self.step(|reader| reader.skip(1).map(|skipped| skipped == 1))? {
                return Ok(done);
            }
        }
        Ok(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.frames
    }
}

/// The pipe; at its end the child is reaped and what it left is kept.
struct Tap {
    stream: Stream,
    end: End,
}

impl Read for Tap {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(into)?;
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if count == 0 && !into.is_empty() && end.is_none() {
            *end = Some(self.stream.finish());
        }
        Ok(count)
    }
}

/// The filter that leaves a view of a picture, with a comma before it; none for the whole.
fn crop(view: View, format: &Format) -> String {
    if view == View::default() {
        return String::new();
    }
    let (rows, columns) = view.of(format.width(), format.height());
    format!(",crop={}:{}:{}:{}:exact=1", columns.len(), rows.len(), columns.start, rows.start)
}

/// Hardware decoders by ffmpeg's names, in the order in which they are tried.
const HARDWARE: [&str; 7] = ["cuda", "videotoolbox", "d3d11va", "qsv", "vaapi", "vdpau", "vulkan"];

/// Frames get times of their own, one after another: two that lie closer together than the stated rate allows, or that share
/// one time stamp, would make ffmpeg complain.
const EVENLY: &str = "settb=1/90000,setpts=N*900";

/// What is asked beyond all frames as they are.
#[derive(Default)]
struct More<'a> {
    /// Further filters, with a comma before them.
    filter: &'a str,
    frames: Option<u64>,
    /// Only key frames, from these seconds on.
    keys_from: Option<f64>,
}

fn arguments(tools: &Tools, probe: &Probe, options: &DecodeOptions, more: &More<'_>) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["-hide_banner", "-nostdin", "-nostats", "-v", LOUDNESS].map(Into::into).to_vec();
    // Checksums that a stream carries are compared.
    args.extend(["-err_detect", "crccheck"].map(OsString::from));
    if let Some(hwaccel) = &options.hwaccel {
        args.extend(["-hwaccel".into(), hwaccel.into()]);
    }
    if !options.upright {
        args.push("-noautorotate".into());
    }
    if probe.without_grain {
        // A decoder that hands the grain's parameters over does not add the grain itself.
        args.extend(["-export_side_data", "film_grain"].map(OsString::from));
    }
    if probe.codec == "exr" {
        args.extend(["-apply_trc", "iec61966_2_1"].map(OsString::from));
    }
    if let Some(seconds) = more.keys_from {
        args.extend(["-skip_frame".into(), "nokey".into(), "-ss".into(), format!("{seconds:.3}").into()]);
    }
    if let Some(seconds) = options.start_time(probe.frame_rate) {
        args.extend(["-ss".into(), seconds.into()]);
    }
    args.extend(probe.opening.args());
    args.extend(["-map".into(), format!("0:{}", probe.stream).into()]);
    args.extend(tools.every_frame_once().map(Into::into));
    args.extend(["-enc_time_base".into(), "1:90000".into()]);
    args.extend(["-vf".into(), format!("{EVENLY}{}{}", probe.filters, more.filter).into()]);
    if let Some(frames) = more.frames {
        args.extend(["-frames:v".into(), frames.to_string().into()]);
    }
    let pix_fmt = OsString::from(&probe.delivery.pix_fmt);
    args.extend(["-pix_fmt".into(), pix_fmt, "-f".into(), "rawvideo".into(), "pipe:1".into()]);
    args
}

pub(crate) fn info(probe: &Probe, options: &DecodeOptions) -> Info {
    let rgb = probe.delivery.rgb.then_some(options.rgb.range);
    Info {
        frame_rate: probe.frame_rate,
        aspect: Some(probe.aspect),
        interlacing: probe.interlacing,
        range: rgb.or(probe.range),
        chroma_tag: Some(probe.pix_fmt.clone()),
        ..Info::default()
    }
}

/// Every line is marked with its level, so that its weight is known whatever its words; none is folded into "repeated". That
/// a picture is corrupt is told as a warning, but not always where several threads decode; that errors in it were concealed
/// is told each time, as information.
pub(crate) const LOUDNESS: &str = "repeat+level+info";

/// What ffmpeg also tells as an error where no data are missing or wrong: references that an open group of pictures or a cut
/// leaves behind at its start.
const HARMLESS: [&str; 4] = [
    "co located pocs unavailable",
    "unref short failure",
    "reference picture missing during reorder",
    "missing reference picture",
];

/// A line of ffmpeg's, taken apart: `[h264 @ 0x55d] [error] no frame!`.
struct Line<'a> {
    speaker: Option<&'a str>,
    level: &'a str,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// `None` for what goes on from the line before, which bears no level.
    fn parse(line: &'a str) -> Option<Self> {
        let (mut rest, mut speaker) = (line.trim(), None);
        loop {
            let (mark, after) = rest.strip_prefix('[')?.split_once("] ")?;
            match mark {
                "panic" | "fatal" | "error" | "warning" | "info" => {
                    return Some(Self { speaker, level: mark, text: after });
                }
                _ => (speaker, rest) = (mark.split(" @ ").next().filter(|name| *name != "NULL"), after),
            }
        }
    }

    fn is_error(&self) -> bool {
        !matches!(self.level, "warning" | "info")
    }

    /// An error, a picture or packet that is called corrupt, or one whose errors the decoder has painted over.
    fn is_damage(&self) -> bool {
        let text = self.text.to_ascii_lowercase();
        let grave = match self.level {
            "info" => text.starts_with("concealing "),
            "warning" => text.contains("corrupt"),
            _ => true,
        };
        grave && !HARMLESS.iter().any(|harmless| text.contains(harmless))
    }

    fn is_about_hardware(&self) -> bool {
        let text = self.text.to_ascii_lowercase();
        let words =
            ["hwaccel", "device creation", "no device available", "device does not", "hardware", "libcuda"];
        self.speaker.is_some_and(|name| name.starts_with("AVHW"))
            || words.iter().any(|word| text.contains(word))
    }

    /// Without the address of the object that speaks, and not endless.
    fn words(&self) -> String {
        let speaker = self.speaker.map_or(String::new(), |name| format!("{name}: "));
        format!("{speaker}{}", self.text).trim().chars().take(300).collect()
    }
}

/// Whether a line of FFmpeg's libraries tells of damage.
#[cfg(feature = "libav")]
pub(crate) fn is_damage(level: &str, text: &str) -> bool {
    Line { speaker: None, level, text }.is_damage()
}

/// The first sign of damage in what ffmpeg said.
pub(crate) fn first_damage(words: &str) -> Option<String> {
    words.lines().filter_map(Line::parse).find(Line::is_damage).map(|line| line.words())
}

/// Why it failed: its first error, else the first thing it said that is not mere information.
fn first_error(words: &str) -> Option<String> {
    let error = words.lines().filter_map(Line::parse).find(Line::is_error).map(|line| line.words());
    let tells =
        |line: &&str| !line.trim().is_empty() && Line::parse(line).is_none_or(|line| line.level != "info");
    let any = || words.lines().find(tells);
    error.or_else(|| any().map(|line| line.trim().chars().take(300).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_and_chatter() {
        let pocs = "[h264 @ 0x55d] [error] co located POCs unavailable\n";
        let part = "[mov,mp4 @ 0x1] [error] stream 0, offset 0x30: partial file\n";
        let told = first_damage(&[pocs, part].concat());
        assert_eq!(told.as_deref(), Some("mov,mp4: stream 0, offset 0x30: partial file"));
        assert_eq!(first_damage(pocs), None);
        let chatter = "[swscaler @ 0x1] [warning] deprecated pixel format used\nplain words [error] within\n";
        assert_eq!(first_damage(chatter), None);
        for corrupt in [
            "[warning] file:a.mp4: corrupt decoded frame in stream 0\n",
            "[vist#0:0/h264 @ 0x1] [dec:h264 @ 0x2] [warning] corrupt decoded frame\n",
            "[mpegts @ 0x1] [warning] Packet corrupt (stream = 0, dts = 1).\n",
            "[h264 @ 0x55a607e0dec0] [info] concealing 12 DC, 12 AC, 12 MV errors in B frame\n",
        ] {
            let told = first_damage(corrupt).unwrap_or_default();
            assert!(told.contains("orrupt") || told.contains("concealing 12 DC"), "{corrupt}");
        }
        assert_eq!(first_damage("[info]     title           : corrupt, concealing 3 DC errors\n"), None);
        assert_eq!(first_error("[info] Input #0, mov\nplain words\n").as_deref(), Some("plain words"));
        assert_eq!(first_error(&format!("{chatter}[NULL @ 0x1] [fatal] no\n")).as_deref(), Some("no"));
        assert_eq!(first_error("\nplain words\n").as_deref(), Some("plain words"));
    }
}
