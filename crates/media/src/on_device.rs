//! Frames of an encoded file that a GPU decodes: ffmpeg takes the stream out of its container, the device's decoder does the
//! rest, and the pictures stay in the device's memory.
//!
//! The pictures are those that ffmpeg's own decoder gives. Whatever could make them differ is left to ffmpeg: formats that
//! the device does not decode, pictures that are turned, cut, filled with grain or converted, streams that do not begin with
//! a picture that stands alone, containers that show fewer pictures than they hold. [`DeviceDecoder::open`] says why. What is
//! found later, damage above all, is a [`ReadError::Device`], after which the caller decodes the file once more by ffmpeg.

use std::ffi::OsString;
use std::io::Read;
use std::sync::Arc;

use visus_child::Stream;
use visus_engine::{Cancel, Device, VideoCodec, VideoDecoder, VideoStream};
use visus_video::{Format, Frame, Info, Interlacing, ReadError, RemotePicture, Source};

use crate::decode::{LOUDNESS, first_damage, info};
use crate::{DecodeOptions, Probe, Tools};

/// Bytes of a stream that are fed at once: a few pictures of small ones, a part of a large one.
const PIECE: usize = 16 << 10;
/// Bytes of one frame of VP9 or AV1, at most.
const LARGEST_FRAME: usize = 64 << 20;

/// A running ffmpeg, a decoder on a device, and the pictures that it gives.
pub struct DeviceDecoder {
    stream: Stream,
    codec: VideoCodec,
    decoder: Box<dyn VideoDecoder>,
    /// Decoded already, to be handed over first.
    first: Option<Arc<dyn RemotePicture>>,
    name: String,
    format: Format,
    info: Info,
    /// Frames of the file, and whether the container has counted them.
    frames: (Option<u64>, bool),
    read: u64,
    /// Of a byte stream: the piece that was read; of others the frame.
    piece: Vec<u8>,
    /// What was fed of a byte stream until its first picture was seen.
    start: Option<Vec<u8>>,
    /// Whether the file header of IVF was read.
    in_frames: bool,
    fed_all: bool,
    failed: bool,
    cancel: Cancel,
}

impl DeviceDecoder {
    /// Starts decoding on the device, and waits for the first picture. The error is the reason why ffmpeg has to decode.
    pub fn open(
        tools: &Tools,
        probe: &Probe,
        options: &DecodeOptions,
        device: &dyn Device,
    ) -> Result<Self, String> {
        let codec = suits(probe, options)?;
        let format = probe.format(options.upright).map_err(|error| error.to_string())?;
        let decoder = device
            .decoder(&VideoStream { codec, format, pictures: probe.frames.filter(|_| probe.counted) })
            .map_err(|error| error.to_string())?;
        let args = arguments(probe, codec);
        let command = tools.command(&tools.ffmpeg, args, tools.limit(), Some(probe.opening.access()));
        let cancel = options.cancel.clone();
        let stream = Stream::start(&command, move || cancel.is_fired())
            .map_err(|error| tools.failure("ffmpeg", error, tools.limit()).to_string())?;
        let mut opened = Self {
            stream,
            codec,
            decoder,
            first: None,
            name: probe.file.clone(),
            format,
            info: info(probe, options),
            frames: (probe.frames, probe.counted),
            read: 0,
            piece: Vec::new(),
            start: codec.is_byte_stream().then(Vec::new),
            in_frames: false,
            fed_all: false,
            failed: false,
            cancel: options.cancel.clone(),
        };
        opened.first = opened.next()?;
        match &opened.first {
            Some(_) => Ok(opened),
            None => Err("the device's decoder finds no picture in it".to_owned()),
        }
    }

    /// The next picture, `None` at the end.
    fn next(&mut self) -> Result<Option<Arc<dyn RemotePicture>>, String> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            if let Some(picture) = self.decoder.next().map_err(|error| error.to_string())? {
                return Ok(Some(picture));
            }
            if self.fed_all {
                return Ok(None);
            }
            if self.cancel.is_fired() {
                return Err("cancelled".to_owned());
            }
            let more = if self.codec.is_byte_stream() { self.read_piece() } else { self.read_frame() }?;
            if more {
                self.decoder.feed(&self.piece).map_err(|error| error.to_string())?;
            } else {
                self.end()?;
            }
        }
    }

    /// A piece of a byte stream; `false` at its end.
    fn read_piece(&mut self) -> Result<bool, String> {
        self.piece.resize(PIECE, 0);
        let count = self.stream.read(&mut self.piece).map_err(|error| error.to_string())?;
        self.piece.truncate(count);
        if let Some(start) = &mut self.start {
            start.extend_from_slice(&self.piece);
            match stands_alone(start, self.codec) {
                Some(true) => self.start = None,
                Some(false) => {
                    return Err("the stream does not begin with a picture that stands alone".to_owned());
                }
                None if start.len() > LARGEST_FRAME => return Err("the stream holds no picture".to_owned()),
                None => {}
            }
        }
        Ok(count > 0)
    }

    /// A frame of IVF, which ffmpeg makes of VP9 and AV1; `false` at the end.
    fn read_frame(&mut self) -> Result<bool, String> {
        if !self.in_frames {
            self.in_frames = true;
            if !self.fill(IVF_HEADER)? || !self.piece.starts_with(b"DKIF") {
                return Err("ffmpeg gave no stream".to_owned());
            }
        }
        if !self.fill(IVF_FRAME_HEADER)? {
            return Ok(false);
        }
        let size = u32::from_le_bytes([self.piece[0], self.piece[1], self.piece[2], self.piece[3]]) as usize;
        if size > LARGEST_FRAME {
            return Err(format!("a frame has {size} bytes"));
        }
        if !self.fill(size)? {
            return Err("the stream ends within a frame".to_owned());
        }
        Ok(true)
    }

    /// Reads so many bytes into the piece; `false` if there are none at all.
    fn fill(&mut self, bytes: usize) -> Result<bool, String> {
        self.piece.resize(bytes, 0);
        let mut filled = 0;
        while filled < bytes {
            match self.stream.read(&mut self.piece[filled..]).map_err(|error| error.to_string())? {
                0 if filled == 0 => return Ok(false),
                0 => return Err("the stream ends within a frame".to_owned()),
                count => filled += count,
            }
        }
        Ok(true)
    }

    /// What ffmpeg said last counts: a file that is cut short is damaged.
    fn end(&mut self) -> Result<(), String> {
        self.fed_all = true;
        let finished = self.stream.finish();
        match first_damage(&finished.stderr) {
            Some(damage) => Err(damage),
            None if finished.code != 0 => Err(format!("ffmpeg {}", visus_child::describe_end(finished.code))),
            None => self.decoder.end().map_err(|error| error.to_string()),
        }
    }

    fn step(&mut self) -> Result<Option<Arc<dyn RemotePicture>>, ReadError> {
        if self.failed {
            return Err(ReadError::Failed { file: self.name.clone() });
        }
        let next = self.next().and_then(|picture| match (&picture, self.frames) {
            (None, (Some(counted), true)) if counted != self.read => {
                Err(format!("it gave {} pictures, but the container counts {counted}", self.read))
            }
            _ => Ok(picture),
        });
        match next {
            Ok(picture) => {
                self.read += u64::from(picture.is_some());
                Ok(picture)
            }
            Err(reason) => {
                self.failed = true;
                Err(ReadError::Device { file: self.name.clone(), frame: self.read, reason })
            }
        }
    }
}

/// Bytes of the header of an IVF file, and of each of its frames.
const IVF_HEADER: usize = 32;
const IVF_FRAME_HEADER: usize = 12;

impl Source for DeviceDecoder {
    fn format(&self) -> &Format {
        &self.format
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.read
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.check_frame(frame)?;
        let Some(picture) = self.step()? else { return Ok(false) };
        frame.become_remote(picture);
        Ok(true)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        for done in 0..count {
            if self.step()?.is_none() {
                return Ok(done);
            }
        }
        Ok(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.frames.0
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// Whether a file can be decoded on a device at all, as far as its description tells; else why not.
fn suits(probe: &Probe, options: &DecodeOptions) -> Result<VideoCodec, String> {
    let codec = VideoCodec::by_name(&probe.codec)
        .ok_or_else(|| format!("{} is not decoded on a device", probe.codec))?;
    if !["yuv420p", "yuvj420p", "yuv420p10le"].contains(&&*probe.pix_fmt) {
        return Err(format!("{} is not decoded on a device", probe.pix_fmt));
    }
    let turned = options.upright && probe.rotation != 0;
    let changed = !probe.filters.is_empty() || turned;
    for (fault, reason) in [
        (changed, "its pictures are turned, cut or filtered by ffmpeg"),
        (probe.film_grain || probe.without_grain, "its decoder adds film grain"),
        (
            matches!(probe.interlacing, Interlacing::TopFieldFirst | Interlacing::BottomFieldFirst),
            "it has fields",
        ),
        (options.forgive, "damage is to be forgiven, which is ffmpeg's work"),
        (options.start > 0, "it is not read from its start"),
        (shows_less(probe), "its container may show fewer pictures than it holds"),
    ] {
        if fault {
            return Err(reason.to_owned());
        }
    }
    Ok(codec)
}

/// Edit lists of MP4 leave pictures out, which only a decoder behind the demuxer knows.
fn shows_less(probe: &Probe) -> bool {
    let edited = probe.container.split(',').any(|name| name == "mp4" || name == "mov");
    let stated = probe.stated_frames();
    edited && !probe.frames.zip(stated).is_some_and(|(frames, stated)| frames as f64 == stated)
}

fn arguments(probe: &Probe, codec: VideoCodec) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["-hide_banner", "-nostdin", "-nostats", "-v", LOUDNESS].map(Into::into).to_vec();
    args.extend(probe.opening.args());
    args.extend(["-map".into(), format!("0:{}", probe.stream).into()]);
    let muxer = match codec {
        VideoCodec::H264 => "h264",
        VideoCodec::Hevc => "hevc",
        VideoCodec::Vp9 | VideoCodec::Av1 => "ivf",
    };
    args.extend(["-c", "copy", "-flush_packets", "0", "-f", muxer, "pipe:1"].map(OsString::from));
    args
}

/// Whether the first picture of a byte stream needs no other (an IDR picture); `None` if none has been seen yet.
fn stands_alone(stream: &[u8], codec: VideoCodec) -> Option<bool> {
    let codes = stream.windows(4).filter(|four| four[..3] == [0, 0, 1]);
    codes.map(|four| four[3]).find_map(|header| match codec {
        VideoCodec::H264 => match header & 31 {
            kind @ 1..=5 => Some(kind == 5),
            _ => None,
        },
        _ => match header >> 1 & 63 {
            kind @ 0..=31 => Some(matches!(kind, 19 | 20)),
            _ => None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_picture_stands_alone_or_not() {
        let h264 =
            |kinds: &[u8]| kinds.iter().flat_map(|kind| [0, 0, 0, 1, 0x60 | kind, 9, 9]).collect::<Vec<_>>();
        assert_eq!(stands_alone(&h264(&[7, 8, 6, 5, 1]), VideoCodec::H264), Some(true));
        assert_eq!(stands_alone(&h264(&[7, 8, 1, 5]), VideoCodec::H264), Some(false));
        assert_eq!(stands_alone(&h264(&[7, 8, 6]), VideoCodec::H264), None);
        let hevc = |kinds: &[u8]| kinds.iter().flat_map(|kind| [0, 0, 1, kind << 1, 1]).collect::<Vec<_>>();
        assert_eq!(stands_alone(&hevc(&[32, 33, 34, 39, 19]), VideoCodec::Hevc), Some(true));
        assert_eq!(stands_alone(&hevc(&[32, 33, 34, 21]), VideoCodec::Hevc), Some(false));
        assert_eq!(stands_alone(&hevc(&[32, 33]), VideoCodec::Hevc), None);
    }

    #[test]
    fn what_is_left_to_ffmpeg() {
        let json = |codec: &str, pix_fmt: &str, more: &str| {
            format!(
                r#"{{"streams":[{{"index":0,"codec_name":"{codec}","width":64,"height":36,"pix_fmt":"{pix_fmt}",
                "r_frame_rate":"25/1","avg_frame_rate":"25/1","nb_frames":"50","duration":"2.0"{more}}}],
                "format":{{"format_name":"mov,mp4,m4a,3gp,3g2,mj2","duration":"2.0"}}}}"#
            )
        };
        let of = |codec: &str, pix_fmt: &str, more: &str| {
            let probe = crate::probe::parse("a.mp4", &json(codec, pix_fmt, more)).unwrap();
            suits(&probe, &DecodeOptions::default())
        };
        assert_eq!(of("h264", "yuv420p", ""), Ok(VideoCodec::H264));
        assert_eq!(of("hevc", "yuv420p10le", ""), Ok(VideoCodec::Hevc));
        assert!(of("h264", "yuv422p", "").unwrap_err().contains("yuv422p"));
        assert!(of("prores", "yuv420p", "").unwrap_err().contains("prores"));
        assert!(of("h264", "yuv420p", r#","field_order":"tt""#).unwrap_err().contains("fields"));
        let probe = crate::probe::parse("a.mp4", &json("h264", "yuv420p", "").replace("\"2.0\"", "\"1.0\""));
        assert!(suits(&probe.unwrap(), &DecodeOptions::default()).unwrap_err().contains("fewer pictures"));
        let forgiving = DecodeOptions { forgive: true, ..DecodeOptions::default() };
        let probe = crate::probe::parse("a.mp4", &json("h264", "yuv420p", "")).unwrap();
        assert!(suits(&probe, &forgiving).unwrap_err().contains("forgiven"));
    }
}
