//! What ffprobe knows of a file.

use std::path::Path;

use serde::Deserialize;
use visus_engine::Cancel;
use visus_video::{ColourRange, Format, Interlacing, Region};

use crate::error::shown;
use crate::pixfmt::{Delivery, range_in_name};
use crate::tone::HdrTransfer;
use crate::tools::MAX_PIXELS;
use crate::{MediaError, Opening, Tools};

/// A video stream and its container, as far as they tell.
#[derive(Clone, Debug)]
pub struct Probe {
    pub file: String,
    /// The stream's number in the file.
    pub stream: u64,
    pub container: String,
    pub codec: String,
    pub width: usize,
    pub height: usize,
    /// ffmpeg's name.
    pub pix_fmt: String,
    pub delivery: Delivery,
    pub range: Option<ColourRange>,
    pub matrix: Option<String>,
    pub transfer: Option<String>,
    pub primaries: Option<String>,
    /// Frames per second as a ratio.
    pub frame_rate: Option<(u32, u32)>,
    /// Frames are not evenly spaced in time.
    pub variable_rate: bool,
    /// Degrees by which a player turns the picture clockwise: 0, 90, 180 or 270.
    pub rotation: u32,
    /// Width to height of a sample.
    pub aspect: (u32, u32),
    pub interlacing: Interlacing,
    /// The decoder adds grain that the encoder took away.
    pub film_grain: bool,
    /// In seconds.
    pub duration: Option<f64>,
    /// As the container counts them, else estimated from duration and rate.
    pub frames: Option<u64>,
    /// The container counts its frames; otherwise their number is estimated from a duration.
    pub counted: bool,
    /// The stream's own duration in seconds, without what lies before its first frame. A container's duration may be that
    /// of its sound.
    own_duration: Option<f64>,
    /// How ffmpeg opens it.
    pub(crate) opening: Opening,
    /// Filters before all others, each with a comma before it.
    pub(crate) filters: String,
    /// The decoder leaves out its film grain.
    pub(crate) without_grain: bool,
    /// By how many frames their order of decoding differs from that of showing, at most.
    #[cfg(feature = "libav")]
    pub(crate) reordered: Option<u8>,
}

impl Probe {
    /// Asks ffprobe. Only regular files are asked about.
    pub fn of(tools: &Tools, path: &Path, cancel: &Cancel) -> Result<Self, MediaError> {
        check_file(path)?;
        Self::with(tools, Opening::file(path), (&shown(path), None), cancel)
    }

    /// The same for anything that ffmpeg opens, by the name that the user gave it; `stream` counts video streams from 0.
    pub(crate) fn with(
        tools: &Tools,
        opening: Opening,
        (name, stream): (&str, Option<u32>),
        cancel: &Cancel,
    ) -> Result<Self, MediaError> {
        if !opening.is_sequence() {
            check_file(opening.access())?;
        }
        let finished = tools.ask_probe(&opening, &|| cancel.is_fired())?;
        let file = name.to_owned();
        if let Some((width, height)) = oversized(&finished.stderr) {
            return Err(MediaError::TooManyPixels { file, width, height, limit: MAX_PIXELS });
        }
        if finished.code != 0 {
            let reason = match why(&finished.stderr, &opening.shown()) {
                reason if reason == "End of file" => "it ends before the first frame".to_owned(),
                reason => reason,
            };
            return Err(MediaError::NotVideo { file, reason });
        }
        let mut probe = parse_stream(&file, &finished.stdout, stream)?;
        probe.check_pixels()?;
        if probe.interlacing == Interlacing::Unknown && !ALWAYS_WHOLE.contains(&&*probe.codec) {
            // ffprobe before 5.0 knows of no field order in many files; a frame tells its own.
            let finished = tools.ask_first_frame(&opening, probe.stream, &|| cancel.is_fired())?;
            probe.interlacing = interlacing_of_frame(&finished.stdout);
        }
        if probe.codec == "av1" {
            // Only some versions of ffprobe, 5.0 to 7, tell of grain themselves.
            let finished = tools.trace_headers(&opening, probe.stream, &|| cancel.is_fired())?;
            probe.film_grain |= grain_in_headers(&finished.stderr);
        }
        probe.frames = opening.frames().or(probe.frames);
        probe.opening = opening;
        Ok(probe)
    }

    /// A container may claim a size that its decoder has not looked at yet.
    fn check_pixels(&self) -> Result<(), MediaError> {
        let (width, height) = (self.width as u64, self.height as u64);
        if width.saturating_mul(height) <= MAX_PIXELS {
            return Ok(());
        }
        Err(MediaError::TooManyPixels { file: self.file.clone(), width, height, limit: MAX_PIXELS })
    }

    /// Only a part of each picture from now on, counted in the picture as it is compared.
    pub(crate) fn crop(&mut self, region: &Region, upright: bool) -> Result<(), MediaError> {
        let refused = |reason: String| MediaError::Picture(format!("{}: {reason}", self.file));
        let format = region.of(&self.format(upright)?).map_err(refused)?;
        let Region { width, height, x, y } = region;
        self.filters.push_str(&format!(",crop={width}:{height}:{x}:{y}:exact=1"));
        let turned = upright && self.rotation % 180 == 90;
        (self.width, self.height) = (format.width(), format.height());
        if turned {
            std::mem::swap(&mut self.width, &mut self.height);
        }
        Ok(())
    }

    /// From now on what tone mapping makes of it; `None` where it is SDR already.
    pub(crate) fn become_sdr(&mut self) -> Option<HdrTransfer> {
        let transfer = match self.hdr()? {
            "PQ" => HdrTransfer::Pq,
            _ => HdrTransfer::Hlg,
        };
        let bt709 = || Some("bt709".to_owned());
        (self.transfer, self.matrix, self.primaries) = (bt709(), bt709(), bt709());
        Some(transfer)
    }

    /// Twice as many frames in the same time.
    pub(crate) fn double_rate(&mut self) {
        self.frame_rate = self
            .frame_rate
            .map(|(num, den)| if den % 2 == 0 { (num, den / 2) } else { (num.saturating_mul(2), den) });
        self.frames = self.frames.map(|frames| 2 * frames);
    }

    /// Size, chroma and depth in which frames arrive, turned upright if `upright`.
    pub fn format(&self, upright: bool) -> Result<Format, MediaError> {
        let turned = upright && self.rotation % 180 == 90;
        let (width, height) = if turned { (self.height, self.width) } else { (self.width, self.height) };
        Format::new(width, height, self.delivery.chroma, self.delivery.depth)
            .map_err(|error| MediaError::Format { file: self.file.clone(), error })
    }

    /// The picture's width to its height, on a screen and as stored.
    pub fn display_aspect(&self) -> f64 {
        let (horizontal, vertical) = self.aspect;
        self.width as f64 * f64::from(horizontal) / (self.height as f64 * f64::from(vertical))
    }

    /// How many frames the stream shows by its own duration, where frames are evenly spaced. MPEG-2 may show a frame for longer
    /// than its rate says.
    pub(crate) fn stated_frames(&self) -> Option<f64> {
        let even = !self.variable_rate && self.codec != "mpeg2video";
        let (num, den) = self.frame_rate.filter(|_| even)?;
        Some((self.own_duration? * f64::from(num) / f64::from(den)).round())
    }

    /// PQ and HLG, the transfer functions of high dynamic range.
    pub fn hdr(&self) -> Option<&'static str> {
        match self.transfer.as_deref()? {
            "smpte2084" => Some("PQ"),
            "arib-std-b67" => Some("HLG"),
            _ => None,
        }
    }
}

/// The size that a decoder refused because of our limit, from ffmpeg's words: `Picture size 16000x16000 exceeds specified max
/// pixel count 134217728`.
pub(crate) fn oversized(stderr: &str) -> Option<(u64, u64)> {
    let refused = |line: &str| {
        let (_, rest) = line.split_once("Picture size ")?;
        let (size, rest) = rest.split_once(' ')?;
        let (width, height) = size.split_once('x')?;
        let size = (width.parse().ok()?, height.parse().ok()?);
        rest.starts_with("exceeds specified max pixel count").then_some(size)
    };
    stderr.lines().find_map(refused)
}

/// Codecs that know no fields.
const ALWAYS_WHOLE: [&str; 7] = ["vp8", "vp9", "av1", "png", "gif", "apng", "webp"];

/// From the answer about a first frame; nothing is concluded from what is not there.
fn interlacing_of_frame(json: &str) -> Interlacing {
    let answer: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let frame = &answer["frames"][0];
    match (frame["interlaced_frame"].as_u64(), frame["top_field_first"].as_u64()) {
        (Some(1), Some(1)) => Interlacing::TopFieldFirst,
        (Some(1), _) => Interlacing::BottomFieldFirst,
        _ => Interlacing::Unknown,
    }
}

/// A line reads `[trace_headers @ 0x5] 130    apply_grain    1 = 1`.
fn grain_in_headers(trace: &str) -> bool {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    trace.lines().map(words).any(|words| {
        words.iter().any(|word| word == "apply_grain") && words.last().is_some_and(|value| value == "1")
    })
}

fn check_file(path: &Path) -> Result<(), MediaError> {
    let metadata = std::fs::metadata(path).map_err(|error| MediaError::open(path, error))?;
    if metadata.is_dir() {
        return Err(MediaError::open(path, "it is a directory"));
    }
    if !metadata.is_file() {
        return Err(MediaError::open(path, "encoded video must be a regular file"));
    }
    if metadata.len() == 0 {
        return Err(MediaError::Empty { file: shown(path) });
    }
    std::fs::File::open(path).map(drop).map_err(|error| MediaError::open(path, error))
}

/// ffprobe's last line, without the file's name that it begins with.
pub(crate) fn why(stderr: &str, file: &str) -> String {
    let line = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason was given");
    let line = line.trim().strip_prefix(&format!("file:{file}: ")).unwrap_or(line.trim());
    line.chars().take(400).collect()
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    streams: Vec<Stream>,
    #[serde(default)]
    format: Container,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Container {
    format_name: String,
    duration: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stream {
    index: u64,
    codec_name: String,
    width: usize,
    height: usize,
    pix_fmt: Option<String>,
    color_range: Option<String>,
    color_space: Option<String>,
    color_transfer: Option<String>,
    color_primaries: Option<String>,
    field_order: Option<String>,
    film_grain: Option<u32>,
    #[cfg(feature = "libav")]
    has_b_frames: Option<u8>,
    sample_aspect_ratio: Option<String>,
    r_frame_rate: Option<String>,
    avg_frame_rate: Option<String>,
    duration: Option<String>,
    start_time: Option<String>,
    nb_frames: Option<String>,
    disposition: Disposition,
    side_data_list: Vec<SideData>,
    tags: Tags,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Disposition {
    default: u32,
    attached_pic: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SideData {
    rotation: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tags {
    #[serde(rename = "DURATION")]
    duration: Option<String>,
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn parse(file: &str, json: &str) -> Result<Probe, MediaError> {
    parse_stream(file, json, None)
}

fn parse_stream(file: &str, json: &str, wanted: Option<u32>) -> Result<Probe, MediaError> {
    let not_video = |reason: String| MediaError::NotVideo { file: file.to_owned(), reason };
    let answer: Answer = serde_json::from_str(json)
        .map_err(|error| not_video(format!("ffprobe's answer is unreadable: {error}")))?;
    let none = || MediaError::NoVideoStream { file: file.to_owned() };
    let videos = || answer.streams.iter().filter(|stream| stream.disposition.attached_pic == 0);
    let usual = || videos().find(|stream| stream.disposition.default != 0).or_else(|| videos().next());
    let stream = match wanted {
        None => usual().ok_or_else(none)?,
        Some(wanted) => videos().nth(wanted as usize).ok_or_else(|| MediaError::NoSuchStream {
            file: file.to_owned(),
            wanted,
            count: videos().count(),
        })?,
    };
    let pix_fmt = stream.pix_fmt.clone().filter(|name| name != "unknown" && stream.width > 0);
    let undecodable =
        || not_video(format!("its {} stream cannot be decoded, or holds no frame", stream.codec_name));
    let pix_fmt = pix_fmt.ok_or_else(undecodable)?;
    let refused = || MediaError::PixelFormat { file: file.to_owned(), pix_fmt: pix_fmt.clone() };
    let delivery = Delivery::of(&pix_fmt).ok_or_else(refused)?;
    let (frame_rate, variable_rate) = rate(stream);
    let duration = duration(stream, &answer.format);
    Ok(Probe {
        file: file.to_owned(),
        stream: stream.index,
        container: answer.format.format_name.clone(),
        codec: stream.codec_name.clone(),
        width: stream.width,
        height: stream.height,
        range: range(stream.color_range.as_deref()).or_else(|| range_in_name(&pix_fmt)),
        pix_fmt,
        delivery,
        matrix: known(&stream.color_space),
        transfer: known(&stream.color_transfer),
        primaries: known(&stream.color_primaries),
        frame_rate,
        variable_rate,
        rotation: rotation(stream),
        aspect: stream.sample_aspect_ratio.as_deref().and_then(|text| ratio(text, ':')).unwrap_or((1, 1)),
        interlacing: interlacing(stream.field_order.as_deref()),
        film_grain: stream.film_grain.unwrap_or(0) != 0,
        duration,
        frames: frames(stream, duration, frame_rate),
        counted: counted(stream).is_some(),
        own_duration: own_duration(stream),
        opening: Opening::file(Path::new(file)),
        filters: String::new(),
        without_grain: false,
        #[cfg(feature = "libav")]
        reordered: stream.has_b_frames,
    })
}

fn known(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| text != "unknown" && text != "reserved")
}

fn range(text: Option<&str>) -> Option<ColourRange> {
    match text? {
        "tv" | "mpeg" | "limited" => Some(ColourRange::Limited),
        "pc" | "jpeg" | "full" => Some(ColourRange::Full),
        _ => None,
    }
}

fn interlacing(text: Option<&str>) -> Interlacing {
    match text {
        Some("progressive") => Interlacing::Progressive,
        Some("tt" | "bt") => Interlacing::TopFieldFirst,
        Some("bb" | "tb") => Interlacing::BottomFieldFirst,
        _ => Interlacing::Unknown,
    }
}

/// Two positive numbers.
fn ratio(text: &str, separator: char) -> Option<(u32, u32)> {
    let (first, second) = text.split_once(separator)?;
    let pair: (u32, u32) = (first.parse().ok()?, second.parse().ok()?);
    (pair.0 > 0 && pair.1 > 0).then_some(pair)
}

/// How far the average may lie from the rate that fits all time stamps before frames count as unevenly spaced.
const UNEVEN: f64 = 0.02;

/// ffprobe's `r_frame_rate` fits all time stamps; fields make it twice the rate of frames.
fn rate(stream: &Stream) -> (Option<(u32, u32)>, bool) {
    let exact = stream.r_frame_rate.as_deref().and_then(|text| ratio(text, '/'));
    let average = stream.avg_frame_rate.as_deref().and_then(|text| ratio(text, '/'));
    let (Some(exact), Some(average)) = (exact, average) else { return (exact.or(average), false) };
    let value = |(num, den): (u32, u32)| f64::from(num) / f64::from(den);
    let times = value(exact) / value(average);
    let near = |factor: f64| (times / factor - 1.0).abs() < UNEVEN;
    match (near(1.0), near(2.0)) {
        (true, _) => (Some(exact), false),
        (_, true) => (Some(average), false),
        _ => (Some(average), true),
    }
}

/// The display matrix tells degrees counter-clockwise.
fn rotation(stream: &Stream) -> u32 {
    let degrees = stream.side_data_list.iter().find_map(|data| data.rotation).unwrap_or(0.0);
    let quarter = (-degrees / 90.0).round();
    if quarter.is_finite() { (quarter as i64).rem_euclid(4) as u32 * 90 } else { 0 }
}

fn duration(stream: &Stream, container: &Container) -> Option<f64> {
    let seconds = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<f64>().ok());
    let tagged = stream.tags.duration.as_deref().and_then(clock);
    let found = seconds(&stream.duration).or(tagged).or_else(|| seconds(&container.duration));
    found.filter(|seconds| seconds.is_finite() && *seconds > 0.0)
}

/// Matroska tells the time at which the stream ends, the others how long it is.
fn own_duration(stream: &Stream) -> Option<f64> {
    let seconds = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<f64>().ok());
    let until =
        || Some(clock(stream.tags.duration.as_deref()?)? - seconds(&stream.start_time).unwrap_or(0.0));
    seconds(&stream.duration).or_else(until).filter(|seconds| seconds.is_finite() && *seconds > 0.0)
}

/// `00:00:02.500000000`, as Matroska writes it.
fn clock(text: &str) -> Option<f64> {
    text.split(':').try_fold(0.0, |seconds, part| Some(seconds * 60.0 + part.parse::<f64>().ok()?))
}

fn counted(stream: &Stream) -> Option<u64> {
    stream.nb_frames.as_deref().and_then(|text| text.parse().ok()).filter(|count| *count > 0)
}

fn frames(stream: &Stream, duration: Option<f64>, rate: Option<(u32, u32)>) -> Option<u64> {
    counted(stream).or_else(|| {
        let (num, den) = rate?;
        Some((duration? * f64::from(num) / f64::from(den)).round() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(more: &str) -> String {
        format!(
            r#"{{"streams":[{{"index":1,"codec_name":"h264","width":320,"height":180,"pix_fmt":"yuv420p","r_frame_rate":"25/1",
            "avg_frame_rate":"25/1"{more}}}],"format":{{"format_name":"mov","duration":"2.0"}}}}"#
        )
    }

    #[test]
    fn sizes_over_the_limit_are_named() {
        let words = "[png @ 0x5] [IMGUTILS @ 0x7] Picture size 16000x16000 exceeds specified max pixel count 134217728, see the\n";
        assert_eq!(oversized(words), Some((16_000, 16_000)));
        assert_eq!(oversized("[png @ 0x5] Picture size 0x0 is invalid\n"), None);
        let claimed = stream("").replace("320", "65000").replace("180", "65000");
        let refused = parse("film.mp4", &claimed).unwrap().check_pixels().unwrap_err().to_string();
        assert!(refused.contains("65000x65000") && refused.contains("134217728 pixels"), "{refused}");
        assert!(parse("film.mp4", &stream("")).unwrap().check_pixels().is_ok());
    }

    #[test]
    fn facts_of_a_stream() {
        let more = r#","color_range":"pc","color_transfer":"smpte2084","field_order":"tt","film_grain":1,
            "sample_aspect_ratio":"4:3","side_data_list":[{"rotation":-90}]"#;
        let probe = parse("a.mp4", &stream(more)).unwrap();
        assert_eq!((probe.range, probe.hdr()), (Some(ColourRange::Full), Some("PQ")));
        assert_eq!((probe.rotation, probe.aspect, probe.film_grain), (90, (4, 3), true));
        assert_eq!((probe.interlacing, probe.frames), (Interlacing::TopFieldFirst, Some(50)));
        assert_eq!(probe.format(true).unwrap().width(), 180);
    }

    #[test]
    fn a_frame_tells_its_fields() {
        let of = |text: &str| interlacing_of_frame(text);
        let frame = r#"{"frames":[{"interlaced_frame":1,"top_field_first":1,"side_data_list":[{}]}]}"#;
        assert_eq!(of(frame), Interlacing::TopFieldFirst);
        assert_eq!(of(&frame.replace("first\":1", "first\":0")), Interlacing::BottomFieldFirst);
        assert_eq!(of(&frame.replace("frame\":1", "frame\":0")), Interlacing::Unknown);
        assert_eq!(
            (of("{}"), of(""), of("[]")),
            (Interlacing::Unknown, Interlacing::Unknown, Interlacing::Unknown)
        );
    }

    #[test]
    fn grain_is_in_the_headers() {
        let trace = "[trace_headers @ 0x5] 96   film_grain_params_present   1 = 1\n[trace_headers @ 0x5] 130   apply_grain   1 = 1\n";
        assert!(grain_in_headers(trace));
        assert!(!grain_in_headers(&trace.replace("1 = 1", "0 = 0")) && !grain_in_headers(""));
    }

    #[test]
    fn rates_of_fields_and_uneven_frames() {
        let uneven = stream("").replace(r#""r_frame_rate":"25/1""#, r#""r_frame_rate":"90000/1""#);
        assert!(parse("a", &uneven).unwrap().variable_rate);
        let fields = stream("").replace(r#""r_frame_rate":"25/1""#, r#""r_frame_rate":"50/1""#);
        let probe = parse("a", &fields).unwrap();
        assert_eq!((probe.frame_rate, probe.variable_rate), (Some((25, 1)), false));
    }

    #[test]
    fn what_is_no_video() {
        let text = |json: &str| parse("a", json).unwrap_err().to_string();
        assert_eq!(text(r#"{"streams":[]}"#), "no video stream found in a");
        assert_eq!(text(&stream(r#","disposition":{"attached_pic":1}"#)), "no video stream found in a");
        assert!(text("{").contains("unreadable"));
        let odd = stream("").replace("yuv420p", "xyz12le");
        assert!(text(&odd).starts_with("pixel format 'xyz12le' cannot be mapped"));
    }
}
