//! Single frames as pictures, to be looked at: found by their number, decoded without what lies before the key frame.
//!
//! A number becomes a time, and ffmpeg seeks to half a frame before it: the frame that it gives first is the one. Files with
//! an even rate need nothing but their start for that. For others the times of all packets are read once. Streams without
//! times, and transport streams, are decoded from their beginning.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

use visus_child::Stream;
use visus_engine::Cancel;
use visus_video::{ColourRange, Frame};

use crate::convert::Shape;

use crate::worst::Region;
use crate::worst::rgb;
use crate::{MediaError, Opening, Probe, Tools};

/// The largest picture that is taken, in bytes: a picture of 8K without compression, and a little.
const MOST_BYTES: u64 = 128 << 20;
/// The longest list of times that is read, in bytes: some three million frames, a day and a half of film.
const MOST_TIMES: u64 = 48 << 20;

/// Containers that only hold a stream, without times, and those in which a seek does not land on a key frame: what is decoded
/// from there on lacks its references. Both are decoded from their beginning.
const WITHOUT_SEEKING: [&str; 12] =
    ["h264", "hevc", "vvc", "evc", "obu", "av1", "m4v", "mpegvideo", "mjpeg", "mpegts", "mpegtsraw", "mpeg"];

/// Where the frames of a file are in time.
#[derive(Clone, Debug, PartialEq)]
enum Times {
    /// The time of the first frame, and seconds from one to the next.
    Even {
        first: f64,
        step: f64,
    },
    /// The time of every frame, in order.
    Listed(Vec<f64>),
    Unknown,
}

/// What must be known of a file before a frame of it can be found.
#[derive(Clone, Debug)]
pub struct StillIndex {
    stream: u64,
    times: Times,
    /// Of the picture as it is shown.
    pub width: usize,
    pub height: usize,
}

impl StillIndex {
    /// Asks ffprobe.
    pub fn of(tools: &Tools, path: &Path, cancel: &Cancel) -> Result<Self, MediaError> {
        let probe = Probe::of(tools, path, cancel)?;
        let stream = probe.stream;
        let times = match (WITHOUT_SEEKING.contains(&&*probe.container), probe.frame_rate) {
            (true, _) => Times::Unknown,
            (false, Some((rate, scale))) if !probe.variable_rate && rate > 0 => {
                let step = f64::from(scale) / f64::from(rate);
                let first = packets(tools, path, stream, &["-read_intervals", "%+#24"], cancel)?;
                match even(&first, step) {
                    Some(times) => times,
                    None => Times::Listed(all_times(tools, path, stream, cancel)?),
                }
            }
            _ => Times::Listed(all_times(tools, path, stream, cancel)?),
        };
        let turned = probe.rotation % 180 == 90;
        let (width, height) = if turned { (probe.height, probe.width) } else { (probe.width, probe.height) };
        Ok(Self { stream, times, width, height })
    }

    /// The memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        match &self.times {
            Times::Listed(times) => size_of_val(times.as_slice()),
            Times::Even { .. } | Times::Unknown => 0,
        }
    }

    /// Where ffmpeg seeks to for a frame, and how many frames it passes over after that.
    fn place(&self, frame: u64) -> (Option<f64>, u64) {
        match &self.times {
            _ if frame == 0 => (None, 0),
            Times::Even { first, step } => (Some(first + (frame as f64 - 0.5) * step), 0),
            Times::Listed(times) => {
                let at = |frame: u64| times.get(usize::try_from(frame).unwrap_or(usize::MAX));
                match (at(frame - 1), at(frame)) {
                    (Some(before), Some(own)) if own > before => (Some((before + own) / 2.0), 0),
                    _ => (None, frame),
                }
            }
            Times::Unknown => (None, frame),
        }
    }
}

/// A frame as PNG, in its own size or scaled.
pub fn still(
    tools: &Tools,
    path: &Path,
    index: &StillIndex,
    frame: u64,
    size: Option<(usize, usize)>,
    cancel: &Cancel,
) -> Result<Vec<u8>, MediaError> {
    let bytes = output(tools, path, arguments(path, index, frame, size), MOST_BYTES, cancel)?;
    if bytes.is_empty() {
        return Err(MediaError::Picture(format!("there is no frame {frame}")));
    }
    Ok(bytes)
}

fn arguments(path: &Path, index: &StillIndex, frame: u64, size: Option<(usize, usize)>) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["-hide_banner", "-nostdin", "-nostats", "-v", "error"].map(Into::into).to_vec();
    let (seek, pass_over) = index.place(frame);
    if let Some(seconds) = seek {
        args.extend(["-seek_timestamp".into(), "1".into(), "-ss".into(), format!("{seconds:.6}").into()]);
    }
    args.extend(Opening::file(path).args());
    args.extend(["-map".into(), format!("0:{}", index.stream).into()]);
    let mut filters = Vec::new();
    if pass_over > 0 {
        filters.push(format!("select=gte(n\\,{pass_over})"));
    }
    if let Some((width, height)) = size {
        filters.push(format!("scale={width}:{height}:flags=bicubic"));
    }
    if !filters.is_empty() {
        args.extend(["-vf".into(), filters.join(",").into()]);
    }
    // The quickest that keeps every sample: a page computes differences from it.
    let words =
        ["-frames:v", "1", "-pix_fmt", "rgb24", "-c:v", "png", "-compression_level", "1", "-pred", "sub"];
    args.extend(words.map(OsString::from));
    args.extend(["-f", "image2pipe", "pipe:1"].map(OsString::from));
    args
}

/// A frame that was read already, as PNG.
pub fn of_frame(frame: &Frame, range: ColourRange) -> Result<Vec<u8>, MediaError> {
    let (width, height) = (frame.format().width(), frame.format().height());
    let shape = Shape { format: *frame.format(), range };
    let pixels = rgb(frame, Region { x: 0, y: 0, width, height }, shape);
    encoded(&pixels.concat(), width, height, png::Compression::Fast)
}

/// A PNG of at most so many bytes: one that is larger is halved in size until it fits.
pub fn within(png: Vec<u8>, most: usize) -> Result<Vec<u8>, MediaError> {
    if png.len() <= most {
        return Ok(png);
    }
    let fault = |error: png::DecodingError| MediaError::Picture(format!("the PNG cannot be read: {error}"));
    let mut reader = png::Decoder::new(std::io::Cursor::new(&png)).read_info().map_err(fault)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or(0)];
    reader.next_frame(&mut pixels).map_err(fault)?;
    let (half_width, half_height) = (width / 2, height / 2);
    if half_width == 0 || half_height == 0 || pixels.len() != 3 * width * height {
        return Ok(png);
    }
    let mean = |x: usize, y: usize, channel: usize| {
        let at = |x: usize, y: usize| u16::from(pixels[3 * (y * width + x) + channel]);
        ((at(2 * x, 2 * y) + at(2 * x + 1, 2 * y) + at(2 * x, 2 * y + 1) + at(2 * x + 1, 2 * y + 1) + 2) / 4)
            as u8
    };
    let rows = (0..half_height).flat_map(|y| (0..half_width).map(move |x| (x, y)));
    let halved: Vec<u8> = rows.flat_map(|(x, y)| [0, 1, 2].map(|channel| mean(x, y, channel))).collect();
    within(encoded(&halved, half_width, half_height, png::Compression::Balanced)?, most)
}

/// Pixels of three bytes as PNG.
fn encoded(pixels: &[u8], width: usize, height: usize, how: png::Compression) -> Result<Vec<u8>, MediaError> {
    let fault = |error: png::EncodingError| MediaError::Picture(format!("the PNG cannot be made: {error}"));
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, side(width), side(height));
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(how);
    let mut writer = encoder.write_header().map_err(fault)?;
    writer.write_image_data(pixels).map_err(fault)?;
    writer.finish().map_err(fault)?;
    Ok(out)
}

/// The times of a file whose first packets are where an even rate puts them. Not every file that claims one has it.
fn even(first_packets: &[f64], step: f64) -> Option<Times> {
    const OFF: f64 = 0.2;
    let first = first_packets.iter().copied().reduce(f64::min)?;
    let is_even = |time: &f64| {
        let steps = (time - first) / step;
        (steps - steps.round()).abs() < OFF
    };
    first_packets.iter().all(is_even).then_some(Times::Even { first, step })
}

fn all_times(tools: &Tools, path: &Path, stream: u64, cancel: &Cancel) -> Result<Vec<f64>, MediaError> {
    let mut times = packets(tools, path, stream, &[], cancel)?;
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// Times of packets that are shown, in the order of the file.
fn packets(
    tools: &Tools,
    path: &Path,
    stream: u64,
    words: &[&str],
    cancel: &Cancel,
) -> Result<Vec<f64>, MediaError> {
    let stream = stream.to_string();
    let fixed = ["-v", "error", "-hide_banner", "-of", "csv=p=0", "-select_streams", &stream];
    let shown = ["-show_entries", "packet=pts_time,flags"];
    let mut args: Vec<OsString> =
        fixed.iter().chain(words).chain(&shown).map(|word| OsString::from(*word)).collect();
    args.extend(Opening::file(path).args());
    let command = tools.command(&tools.ffprobe, args, tools.limit(), Some(path));
    let bytes = read(tools, "ffprobe", &command, MOST_TIMES, cancel)?;
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(shown_time).collect())
}

/// `1.040000,K__`, and perhaps more; a `D` among the flags says that the packet is decoded and not shown.
fn shown_time(line: &str) -> Option<f64> {
    let mut fields = line.trim().split(',');
    let (time, flags) = (fields.next()?, fields.next()?);
    let time: f64 = time.parse().ok()?;
    (time.is_finite() && !flags.contains('D')).then_some(time)
}

fn output(
    tools: &Tools,
    path: &Path,
    args: Vec<OsString>,
    most: u64,
    cancel: &Cancel,
) -> Result<Vec<u8>, MediaError> {
    let command = tools.command(&tools.ffmpeg, args, tools.limit(), Some(path));
    read(tools, "ffmpeg", &command, most, cancel)
}

fn read(
    tools: &Tools,
    tool: &'static str,
    command: &visus_child::ChildCommand,
    most: u64,
    cancel: &Cancel,
) -> Result<Vec<u8>, MediaError> {
    let fired = cancel.clone();
    let mut stream = Stream::start(command, move || fired.is_fired())
        .map_err(|error| tools.failure(tool, error, command.limit))?;
    let mut bytes = Vec::new();
    let taken = (&mut stream).take(most).read_to_end(&mut bytes);
    let finished = stream.finish();
    if cancel.is_fired() {
        return Err(MediaError::Cancelled);
    }
    if let Err(error) = taken {
        return Err(MediaError::Picture(format!("{tool}: {error}")));
    }
    match finished.code {
        0 => Ok(bytes),
        _ => {
            let words = finished.stderr.lines().last().unwrap_or("it gave no reason").to_owned();
            Err(MediaError::Picture(format!("{tool} cannot read the frame: {words}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(times: Times) -> StillIndex {
        StillIndex { stream: 0, times, width: 16, height: 16 }
    }

    #[test]
    fn frames_are_sought_between_two() {
        let even = index(Times::Even { first: 10.0, step: 0.04 });
        assert_eq!(even.place(0), (None, 0));
        let (Some(seconds), 0) = even.place(25) else { panic!("{:?}", even.place(25)) };
        assert!((seconds - 10.98).abs() < 1e-9);
        let listed = index(Times::Listed(vec![0.0, 0.1, 0.5]));
        assert_eq!(listed.place(2), (Some(0.3), 0));
        assert_eq!(listed.place(3), (None, 3));
        assert_eq!(index(Times::Unknown).place(4), (None, 4));
    }

    #[test]
    fn large_pictures_are_halved() {
        let noise: Vec<u8> =
            (0..3 * 64 * 48u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let png = encoded(&noise, 64, 48, png::Compression::Balanced).unwrap();
        let size = |png: &[u8]| {
            let reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
            (reader.info().width, reader.info().height)
        };
        assert_eq!(size(&within(png.clone(), png.len()).unwrap()), (64, 48));
        let smaller = within(png.clone(), png.len() - 1).unwrap();
        assert!(smaller.len() < png.len());
        assert!(size(&smaller).0 <= 32);
        assert!(within(png, 900).unwrap().len() <= 900);
    }

    #[test]
    fn packets_that_are_not_shown_do_not_count() {
        assert_eq!(shown_time("1.040000,K__"), Some(1.04));
        assert_eq!(shown_time("-0.080000,KD_"), None);
        assert_eq!(shown_time("N/A,K__"), None);
        assert_eq!(shown_time("3.080000,K_,MPEGTS Stream ID,224"), Some(3.08));
    }

    #[test]
    fn a_rate_that_only_seems_even_is_not_trusted() {
        let reordered = [3.0, 3.16, 3.08, 3.04, 3.12];
        assert_eq!(even(&reordered, 0.04), Some(Times::Even { first: 3.0, step: 0.04 }));
        assert_eq!(even(&[0.0, 0.056, 0.112, 0.12], 0.04), None);
        assert_eq!(even(&[], 0.04), None);
    }
}
