//! Frames of an encoded file that FFmpeg's libraries decode in this process, without a copy.
//!
//! The pictures are those of the ffmpeg program, and so are the errors: whatever goes wrong or only looks like it, the program is
//! started, passes over the frames that were handed out already, and goes on. It decides whether the file is damaged, and says so
//! in its own words. What the program does beyond decoding is left to it from the start: filters, rotation, conversions of
//! samples, hardware, damage that is to be forgiven. [`InProcess::open`] says why.
//!
//! There is no sandbox around such a decoder: it is for files that whoever runs the program trusts.

use std::sync::Arc;

use visus_libav::{Pictures, Request, Trouble};
use visus_video::{Format, Frame, Info, Interlacing, ReadError, Source};

use crate::decode::{info, is_damage};
use crate::tools::{FORMATS, MAX_PIXELS};
use crate::{DecodeOptions, Decoder, MediaError, Probe, Tools};

/// A decoder in this process, or the ffmpeg program that took over.
#[derive(Debug)]
pub struct InProcess {
    decoder: Who,
    tools: Tools,
    probe: Probe,
    options: DecodeOptions,
    format: Format,
    info: Info,
    read: u64,
}

#[derive(Debug)]
enum Who {
    Libav(Box<Pictures>),
    /// With the reason why it took over.
    Ffmpeg(Box<Decoder>, String),
    Ended,
    Failed,
}

impl InProcess {
    /// Opens a file. The error is the reason why the ffmpeg program has to decode it.
    pub fn open(tools: &Tools, probe: &Probe, options: &DecodeOptions) -> Result<Self, String> {
        suits(probe, options)?;
        let format = probe.format(options.upright).map_err(|error| error.to_string())?;
        let pictures = Pictures::open(&Request {
            path: probe.opening.access(),
            stream: usize::try_from(probe.stream).map_err(|error| error.to_string())?,
            format,
            pix_fmt: &probe.delivery.pix_fmt,
            containers: FORMATS,
            most_pixels: MAX_PIXELS,
            start: start(probe, options)?,
            reordered: described(probe, options),
            is_damage,
        })?;
        Ok(Self {
            decoder: Who::Libav(Box::new(pictures)),
            tools: tools.clone(),
            info: info(probe, options),
            probe: probe.clone(),
            options: options.clone(),
            format,
            read: 0,
        })
    }

    /// Why the ffmpeg program took over, if it did.
    pub fn taken_over(&self) -> Option<&str> {
        match &self.decoder {
            Who::Ffmpeg(_, reason) => Some(reason),
            _ => None,
        }
    }

    /// The next frame, into `frame` if somebody wants it; `false` at the end.
    fn step(&mut self, mut frame: Option<&mut Frame>) -> Result<bool, ReadError> {
        let more = match self.here(frame.as_deref_mut()) {
            Some(Err(Trouble::Found(reason))) => self.take_over(reason).and_then(|()| self.there(frame)),
            Some(Err(Trouble::Cancelled)) => Err(self.failed("cancelled".to_owned())),
            Some(Ok(more)) => Ok(more),
            None => self.there(frame),
        };
        match &more {
            Ok(true) => self.read += 1,
            Ok(false) => self.decoder = Who::Ended,
            Err(_) => self.decoder = Who::Failed,
        }
        more
    }

    /// The next frame of the decoder in this process; `None` if that is not the one.
    fn here(&mut self, frame: Option<&mut Frame>) -> Option<Result<bool, Trouble>> {
        let Who::Libav(pictures) = &mut self.decoder else { return None };
        let picture = match pictures.next(&|| self.options.cancel.is_fired()) {
            Ok(Some(picture)) => picture,
            Ok(None) if self.read == 0 => return Some(Err(Trouble::Found("it holds no frames".to_owned()))),
            Ok(None) => return Some(Ok(false)),
            Err(trouble) => return Some(Err(trouble)),
        };
        let taken = frame.map_or(Ok(()), |frame| frame.become_lent(Arc::new(picture)));
        Some(taken.map(|()| true).map_err(|error| Trouble::Found(error.to_string())))
    }

    /// The next frame of the ffmpeg program.
    fn there(&mut self, frame: Option<&mut Frame>) -> Result<bool, ReadError> {
        match (&mut self.decoder, frame) {
            (Who::Ffmpeg(decoder, _), Some(frame)) => decoder.read(frame),
            (Who::Ffmpeg(decoder, _), None) => decoder.skip(1).map(|skipped| skipped == 1),
            (Who::Ended, _) => Ok(false),
            (Who::Failed | Who::Libav(_), _) => Err(ReadError::Failed { file: self.probe.file.clone() }),
        }
    }

    /// Starts the ffmpeg program, and lets it pass over what was handed out.
    fn take_over(&mut self, reason: String) -> Result<(), ReadError> {
        self.decoder = Who::Failed;
        let opened = Decoder::open(&self.tools, &self.probe, &self.options);
        let mut decoder = opened.map_err(|error| match error {
            MediaError::Read(error) => error,
            error => self.failed(error.to_string()),
        })?;
        let passed = decoder.skip(self.read)?;
        if passed < self.read {
            let read = self.read;
            return Err(self.failed(format!("ffmpeg gave {passed} frames, its libraries {read} ({reason})")));
        }
        self.decoder = Who::Ffmpeg(Box::new(decoder), reason);
        Ok(())
    }

    fn failed(&self, reason: String) -> ReadError {
        ReadError::Decoder { file: self.probe.file.clone(), frame: self.read, reason }
    }
}

impl Source for InProcess {
    fn format(&self) -> &Format {
        &self.format
    }

    fn name(&self) -> &str {
        &self.probe.file
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.read
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.check_frame(frame)?;
        self.step(Some(frame))
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        for done in 0..count {
            if !self.step(None)? {
                return Ok(done);
            }
        }
        Ok(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.probe.frames
    }

    /// Frames need no memory of their own.
    fn is_remote(&self) -> bool {
        true
    }
}

/// Whether a file can be decoded here, as far as its description tells; else why not.
fn suits(probe: &Probe, options: &DecodeOptions) -> Result<(), String> {
    let converted = probe.delivery.pix_fmt != probe.pix_fmt || probe.delivery.rgb;
    let fields = matches!(probe.interlacing, Interlacing::TopFieldFirst | Interlacing::BottomFieldFirst);
    for (fault, reason) in [
        (probe.opening.is_pictures(), "it is pictures"),
        (!probe.filters.is_empty(), "its pictures are filtered by ffmpeg"),
        (options.upright && probe.rotation != 0, "its pictures are turned by ffmpeg"),
        (converted, "its samples are converted by ffmpeg"),
        (probe.without_grain, "its decoder leaves film grain out"),
        (fields, "it has fields"),
        (options.hwaccel.is_some() || options.device.is_some(), "hardware decodes it"),
        (options.forgive, "damage is to be forgiven, which is ffmpeg's work"),
        (options.previews.is_some(), "small pictures are made of it"),
    ] {
        if fault {
            return Err(reason.to_owned());
        }
    }
    Ok(())
}

/// By how many frames a stream is reordered, where its container and its own headers tell everything else that a decoder needs:
/// then nothing of it has to be decoded beforehand, as ffprobe has done already. Times of a file are found by that, too.
fn described(probe: &Probe, options: &DecodeOptions) -> Option<u8> {
    let container = probe.container.split(',').next().unwrap_or_default();
    let tells = ["mov", "matroska"].contains(&container)
        && ["h264", "hevc", "vp9", "av1"].contains(&&*probe.codec)
        && options.start == 0;
    probe.reordered.filter(|_| tells)
}

/// Where it begins, in microseconds: the digits that the ffmpeg program would be given.
fn start(probe: &Probe, options: &DecodeOptions) -> Result<Option<i64>, String> {
    let microseconds = |seconds: String| seconds.replace('.', "").parse();
    let start = options.start_time(probe.frame_rate).map(microseconds).transpose();
    start.map_err(|error| format!("frame {}: {error}", options.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(codec: &str, pix_fmt: &str, more: &str) -> Probe {
        let json = format!(
            r#"{{"streams":[{{"index":0,"codec_name":"{codec}","width":64,"height":36,"pix_fmt":"{pix_fmt}",
            "r_frame_rate":"25/1","avg_frame_rate":"25/1","nb_frames":"50","duration":"2.0"{more}}}],
            "format":{{"format_name":"mov,mp4,m4a,3gp,3g2,mj2","duration":"2.0"}}}}"#
        );
        crate::probe::parse("a.mp4", &json).unwrap()
    }

    #[test]
    fn what_is_left_to_ffmpeg() {
        let plain = DecodeOptions::default();
        for pix_fmt in ["yuv420p", "yuvj420p", "yuv422p10le", "yuv444p12le", "gray", "gray10le"] {
            assert_eq!(suits(&probe("h264", pix_fmt, ""), &plain), Ok(()), "{pix_fmt}");
        }
        for pix_fmt in ["nv12", "yuva420p", "yuv420p10be", "rgb24", "gbrp", "yuv411p", "ya8"] {
            assert!(
                suits(&probe("h264", pix_fmt, ""), &plain).unwrap_err().contains("converted"),
                "{pix_fmt}"
            );
        }
        let fields = probe("h264", "yuv420p", r#","field_order":"tt""#);
        assert!(suits(&fields, &plain).unwrap_err().contains("fields"));
        let forgiving = DecodeOptions { forgive: true, ..plain.clone() };
        assert!(suits(&probe("h264", "yuv420p", ""), &forgiving).unwrap_err().contains("forgiven"));
        let hardware = DecodeOptions { hwaccel: Some("vaapi".to_owned()), ..plain.clone() };
        assert!(suits(&probe("h264", "yuv420p", ""), &hardware).unwrap_err().contains("hardware"));
        let mut turned = probe("h264", "yuv420p", "");
        turned.rotation = 90;
        assert_eq!(suits(&turned, &plain), Ok(()));
        let upright = DecodeOptions { upright: true, ..plain };
        assert!(suits(&turned, &upright).unwrap_err().contains("turned"));
    }

    #[test]
    fn only_plain_streams_are_opened_unseen() {
        let seen = |codec, more, start| {
            described(&probe(codec, "yuv420p", more), &DecodeOptions { start, ..DecodeOptions::default() })
        };
        assert_eq!(seen("h264", r#","has_b_frames":2"#, 0), Some(2));
        assert_eq!(seen("h264", r#","has_b_frames":2"#, 7), None);
        assert_eq!((seen("mpeg4", r#","has_b_frames":1"#, 0), seen("h264", "", 0)), (None, None));
    }

    #[test]
    fn the_start_has_the_digits_that_ffmpeg_gets() {
        let options = |start| DecodeOptions { start, ..DecodeOptions::default() };
        let probe = probe("h264", "yuv420p", "");
        assert_eq!(start(&probe, &options(0)), Ok(None));
        assert_eq!(options(10).start_time(probe.frame_rate).as_deref(), Some("0.390000"));
        assert_eq!(start(&probe, &options(10)), Ok(Some(390_000)));
    }
}
