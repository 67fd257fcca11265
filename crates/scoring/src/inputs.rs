//! What is done to the videos before they are compared, in the words of a request.
//!
//! A front end either parses each option into its type (all have [`FromStr`]), or hands over pairs of a name and a text to
//! [`InputOptions::set`]; both mean the same.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use visus_engine::Side;
use visus_media::{Crop, Deinterlace, Treatment};
use visus_video::{Region, Source};

use crate::range::Moment;
use crate::{RequestError, ScoreError};

/// What was done to each side, in words.
type Conversions = Vec<(Side, String)>;

/// What is done to both videos before they are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputOptions {
    /// The part of each picture that is used, before anything else.
    pub crop: [Option<Crop>; 2],
    /// The part of the compared picture, after scaling and pairing, that is measured.
    pub roi: Option<Region>,
    pub deinterlace: [Deinterlace; 2],
    /// Leave out film grain that decoders would add.
    pub without_grain: bool,
    /// Where the distorted video begins in the reference.
    pub offset: Option<Offset>,
    /// Frames per second, whatever the files say.
    pub frame_rate: [Option<FrameRate>; 2],
    /// Which of a file's video streams, counted from 0.
    pub stream: [Option<u32>; 2],
    /// Also score both brought from HDR to SDR.
    pub tone_map: bool,
}

/// The names that [`InputOptions::set`] knows.
const NAMES: [&str; 7] = ["crop", "roi", "deinterlace", "grain", "offset", "fps", "tone_map"];

impl InputOptions {
    /// One option by its name, as `crop` and `ref=1920x800+0+140`.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), RequestError> {
        let refuse = |reason: String| RequestError::Input(format!("{name}: {reason}"));
        match name {
            "crop" => text.parse::<Sided<Crop>>().map_err(refuse)?.put(&mut self.crop),
            "roi" => self.roi = Some(text.parse().map_err(refuse)?),
            "deinterlace" => text.parse::<DeinterlaceWord>().map_err(refuse)?.put(&mut self.deinterlace),
            "grain" => self.without_grain = text.parse::<Grain>().map_err(refuse)? == Grain::Off,
            "offset" => self.offset = Some(text.parse().map_err(refuse)?),
            "fps" => text.parse::<Sided<FrameRate>>().map_err(refuse)?.put(&mut self.frame_rate),
            "tone_map" => {
                self.tone_map = text.parse().map_err(|_| refuse("it is true or false".to_owned()))?;
            }
            _ => {
                let text = format!("unknown input option '{name}'; there are {}", NAMES.join(", "));
                return Err(RequestError::Input(text));
            }
        }
        Ok(())
    }

    /// The same for a text `NAME=VALUE`.
    pub fn set_pair(&mut self, text: &str) -> Result<(), RequestError> {
        let wrong =
            || RequestError::Input(format!("'{text}' is not NAME=VALUE; there are {}", NAMES.join(", ")));
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        self.set(name.trim(), value.trim())
    }

    /// Whether Y4M must go through ffmpeg.
    pub(crate) fn needs_decoder(&self, side: usize) -> bool {
        self.deinterlace[side] != Deinterlace::Off
    }

    /// Whether the two are declared to have different rates.
    pub(crate) fn rates_differ(&self) -> bool {
        matches!(self.frame_rate, [Some(reference), Some(distorted)] if reference != distorted)
    }

    /// What is done to raw and Y4M video that is read as it is.
    pub(crate) fn plain(
        &self,
        source: Box<dyn Source>,
        side: Side,
    ) -> Result<(Box<dyn Source>, Conversions), ScoreError> {
        let place = usize::from(side == Side::Distorted);
        let rate = self.frame_rate[place].map(|rate| rate.0);
        let declared = rate.map(|(num, den)| format!("declared to have {num}/{den} frames per second"));
        let source = visus_media::declare_rate(source, rate);
        let (source, cropped) = visus_media::crop_source(source, self.crop[place])?;
        Ok((source, declared.into_iter().chain(cropped).map(|words| (side, words)).collect()))
    }

    pub(crate) fn treatments(&self) -> [Treatment; 2] {
        [0, 1].map(|side| Treatment {
            stream: self.stream[side],
            crop: self.crop[side],
            deinterlace: self.deinterlace[side],
            without_grain: self.without_grain,
            frame_rate: self.frame_rate[side].map(|rate| rate.0),
            tone_map: false,
        })
    }
}

/// A value for one video, or for both: `ref=…`, `dis=…`, or the value alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sided<T> {
    pub side: Option<Side>,
    pub value: T,
}

impl<T: Copy> Sided<T> {
    pub fn put(self, into: &mut [Option<T>; 2]) {
        for (place, side) in [Side::Reference, Side::Distorted].into_iter().enumerate() {
            if self.side.is_none_or(|own| own == side) {
                into[place] = Some(self.value);
            }
        }
    }
}

impl<T: FromStr<Err = String>> FromStr for Sided<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (side, value) = match text.split_once('=') {
            Some(("ref" | "reference", value)) => (Some(Side::Reference), value),
            Some(("dis" | "distorted", value)) => (Some(Side::Distorted), value),
            Some((other, _)) => return Err(format!("'{other}' is no side; it is ref or dis")),
            None => (None, text),
        };
        Ok(Self { side, value: value.parse()? })
    }
}

/// Which videos are deinterlaced: `auto` (those that say they are interlaced), `ref`, `dis`, `both` or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeinterlaceWord([Deinterlace; 2]);

impl DeinterlaceWord {
    pub fn put(self, into: &mut [Deinterlace; 2]) {
        *into = self.0;
    }
}

impl FromStr for DeinterlaceWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        use Deinterlace::{Auto, Off, On};
        Ok(Self(match text {
            "auto" => [Auto, Auto],
            "ref" | "reference" => [On, Off],
            "dis" | "distorted" => [Off, On],
            "both" => [On, On],
            "off" => [Off, Off],
            _ => return Err(format!("'{text}' is none of auto, ref, dis, both, off")),
        }))
    }
}

/// Film grain that decoders add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    #[default]
    On,
    Off,
}

impl FromStr for Grain {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(format!("'{text}' is neither on nor off")),
        }
    }
}

/// Frames per second as a ratio: `24`, `23.976` or `24000/1001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate(pub (u32, u32));

impl FromStr for FrameRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ratio = || {
            let (num, den) = text.split_once('/')?;
            Some((num.parse::<u32>().ok()?, den.parse::<u32>().ok()?))
        };
        let decimal = || {
            let value: f64 = text.parse().ok().filter(|value| (0.001..=100_000.0).contains(value))?;
            // The rates of television are whole numbers of frames in 1.001 seconds.
            let slowed = (value * 1.001).round();
            let near = |rate: f64| (rate - value).abs() < 0.0006;
            if near(value.round()) {
                return Some((value.round() as u32, 1));
            }
            if near(slowed / 1.001) {
                return Some((slowed as u32 * 1000, 1001));
            }
            Some(((value * 1000.0).round() as u32, 1000))
        };
        let fits = |(num, den): &(u32, u32)| *num > 0 && *den > 0 && num / den <= 100_000;
        let rate = if text.contains('/') { ratio() } else { decimal() };
        rate.filter(fits)
            .map(Self)
            .ok_or_else(|| format!("'{text}' is no frame rate; it is written 24, 23.976 or 24000/1001"))
    }
}

/// How far into the reference the distorted video begins; negative where it begins earlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    pub earlier: bool,
    pub distance: Moment,
}

impl FromStr for Offset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (earlier, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        Ok(Self { earlier, distance: rest.parse()? })
    }
}

impl Offset {
    /// Frames to leave out at the start of reference and distorted video.
    pub(crate) fn skip(self, frame_rate: Option<(u32, u32)>) -> Result<[u64; 2], RequestError> {
        let frames = self.distance.frame(frame_rate)?;
        Ok(if self.earlier { [0, frames] } else { [frames, 0] })
    }
}

/// A path that names one of several video streams, `film.mkv#v:1`, without that ending. A file that is called so is
/// itself.
pub fn split_stream(path: &Path) -> (PathBuf, Option<u32>) {
    match path.to_str().and_then(named_stream) {
        Some((file, stream)) if !path.exists() => (PathBuf::from(file), Some(stream)),
        _ => (path.to_path_buf(), None),
    }
}

/// The file and the stream that a text such as `film.mkv#v:1` names.
pub fn named_stream(text: &str) -> Option<(&str, u32)> {
    let (file, stream) = text.rsplit_once("#v:")?;
    Some((file, stream.parse().ok()?)).filter(|(file, _)| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_by_name() {
        let mut options = InputOptions::default();
        for text in [
            "crop=ref=64x32+0+8",
            "roi=16x16+4+4",
            "deinterlace=auto",
            "grain=off",
            "offset=-12",
            "fps=dis=23.976",
            "tone_map=true",
        ] {
            options.set_pair(text).unwrap();
        }
        assert_eq!(options.crop[1], None);
        assert_eq!(options.crop[0], Some("64x32+0+8".parse().unwrap()));
        assert_eq!(options.deinterlace, [Deinterlace::Auto; 2]);
        assert_eq!(options.frame_rate, [None, Some(FrameRate((24000, 1001)))]);
        assert!(options.without_grain && options.tone_map);
        assert_eq!(options.offset.unwrap().skip(None).unwrap(), [0, 12]);
        for text in [
            "crop",
            "crop=left=1x1+0+0",
            "zoom=2",
            "grain=maybe",
            "offset=x",
            "fps=0",
            "tone_map=1",
            "roi=auto",
        ] {
            assert!(options.set_pair(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_offsets() {
        let rate = |text: &str| text.parse::<FrameRate>().map(|rate| rate.0).ok();
        assert_eq!(rate("25"), Some((25, 1)));
        assert_eq!(rate("29.97"), Some((30000, 1001)));
        assert_eq!(rate("59.94"), Some((60000, 1001)));
        assert_eq!(rate("24000/1001"), Some((24000, 1001)));
        assert_eq!(rate("12.5"), Some((12500, 1000)));
        assert_eq!(
            (rate("0"), rate("1/0"), rate("-5"), rate("nan"), rate("1e9")),
            (None, None, None, None, None)
        );
        let skip = |text: &str, rate| text.parse::<Offset>().unwrap().skip(rate).ok();
        assert_eq!(skip("5", None), Some([5, 0]));
        assert_eq!(skip("+2s", Some((25, 1))), Some([50, 0]));
        assert_eq!((skip("-1s", Some((24, 1))), skip("1s", None)), (Some([0, 24]), None));
    }

    #[test]
    fn streams_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("odd#v:1");
        std::fs::write(&named, "x").unwrap();
        assert_eq!(split_stream(&named), (named.clone(), None));
        let other = folder.path().join("a.mkv#v:12");
        assert_eq!(split_stream(&other), (folder.path().join("a.mkv"), Some(12)));
        for name in ["a.mkv", "#v:1", "a#v:x", "a#v:-1"] {
            assert_eq!(split_stream(Path::new(name)), (PathBuf::from(name), None));
        }
    }
}
