//! What is done to one video before it is compared: a stream of several, a crop, deinterlacing, no film grain, a declared
//! frame rate.

use std::str::FromStr;

use visus_video::{Format, Frame, Interlacing, Region, Source};

use crate::opening::Opening;
use crate::sync::bars;
use crate::tone;
use crate::{DecodeOptions, Decoder, Facts, MediaError, Probe, Tools};

/// Which part of each picture is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crop {
    /// What black bars leave free, as far as pictures from all over the video show them.
    Auto,
    Region(Region),
}

impl FromStr for Crop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Region).map_err(|error: String| format!("{error}, or auto"))
    }
}

/// Whether fields are made into pictures of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deinterlace {
    #[default]
    Off,
    /// Where the stream says that it is interlaced.
    Auto,
    /// Whatever the stream says.
    On,
}

/// What is done to one video.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Treatment {
    /// Which of its video streams, counted from 0; else the default one.
    pub stream: Option<u32>,
    pub crop: Option<Crop>,
    pub deinterlace: Deinterlace,
    /// Leave out film grain that the decoder would add.
    pub without_grain: bool,
    /// Frames per second, whatever the file says.
    pub frame_rate: Option<(u32, u32)>,
    /// Bring HDR to SDR.
    pub tone_map: bool,
}

impl Treatment {
    /// What a probed stream is from now on; `other_rate` is that of the other video. The second value says what is done.
    pub(crate) fn apply(
        &self,
        probe: &mut Probe,
        upright: bool,
        other_rate: Option<f64>,
        (tools, decode): (&Tools, &DecodeOptions),
    ) -> Result<Vec<String>, MediaError> {
        let mut words = Vec::new();
        if let Some(stream) = self.stream {
            words.push(format!("video stream {stream} of the file"));
        }
        if probe.codec == "exr" {
            words.push("linear light is written with sRGB's curve".to_owned());
        }
        if let Some(rate) = self.frame_rate {
            words.push(declared(probe.frame_rate, rate));
            (probe.frame_rate, probe.variable_rate) = (Some(rate), false);
        }
        words.extend(self.deinterlace(probe, other_rate));
        if self.without_grain && probe.film_grain {
            (probe.without_grain, probe.film_grain) = (true, false);
            words.push("film grain is left out".to_owned());
        }
        let region = match self.crop {
            None => None,
            Some(Crop::Region(region)) => Some(region),
            Some(Crop::Auto) => {
                let found = bars_of_probe(tools, probe, upright, decode)?;
                words.extend(found.is_none().then(|| "no black bars to crop were found".to_owned()));
                found
            }
        };
        if let Some(region) = region {
            let whole = probe.format(upright)?;
            probe.crop(&region, upright)?;
            words.push(cropped(&whole, &region));
        }
        if self.tone_map && probe.hdr().is_some() {
            words.push(tone::WORDS.to_owned());
        }
        Ok(words)
    }

    fn deinterlace(&self, probe: &mut Probe, other_rate: Option<f64>) -> Option<String> {
        let wanted = match self.deinterlace {
            Deinterlace::Off => false,
            Deinterlace::Auto => probe.interlacing.is_interlaced(),
            Deinterlace::On => true,
        };
        if !wanted {
            return None;
        }
        let rate = probe.frame_rate.map(|(num, den)| f64::from(num) / f64::from(den));
        let double = rate.zip(other_rate).is_some_and(|(own, other)| (other / own / 2.0 - 1.0).abs() < 0.01);
        let parity = match probe.interlacing {
            Interlacing::TopFieldFirst => "tff",
            Interlacing::BottomFieldFirst => "bff",
            _ => "auto",
        };
        let mode = if double { "send_field" } else { "send_frame" };
        probe.filters.push_str(&format!(",bwdif=mode={mode}:parity={parity}:deint=all"));
        probe.interlacing = Interlacing::Progressive;
        if double {
            probe.double_rate();
        }
        let how = if double { "a frame for each field" } else { "a frame for each frame" };
        Some(format!("deinterlaced (ffmpeg's bwdif, {how})"))
    }

    /// The same for raw and Y4M video.
    pub(crate) fn apply_to_source(
        &self,
        source: Box<dyn Source>,
        facts: &mut Facts,
    ) -> Result<(Box<dyn Source>, Vec<String>), MediaError> {
        let mut words = Vec::new();
        if let Some(rate) = self.frame_rate {
            words.push(declared(facts.frame_rate, rate));
            facts.frame_rate = Some(rate);
        }
        let (source, cropped) = crop_source(declare_rate(source, self.frame_rate), self.crop)?;
        facts.format = *source.format();
        words.extend(cropped);
        Ok((source, words))
    }
}

/// A raw or Y4M source with the frame rate that was declared, if one was.
pub fn declare_rate(source: Box<dyn Source>, rate: Option<(u32, u32)>) -> Box<dyn Source> {
    match rate {
        Some(rate) => Box::new(visus_video::Declared::new(source, rate)),
        None => source,
    }
}

fn declared(stated: Option<(u32, u32)>, rate: (u32, u32)) -> String {
    let show = |(num, den): (u32, u32)| if den == 1 { num.to_string() } else { format!("{num}/{den}") };
    match stated {
        Some(stated) if stated != rate => {
            format!("declared to have {} frames per second in place of {}", show(rate), show(stated))
        }
        _ => format!("declared to have {} frames per second", show(rate)),
    }
}

fn cropped(whole: &Format, region: &Region) -> String {
    format!("cropped from {}x{} to {region}", whole.width(), whole.height())
}

/// A raw or Y4M source of which only a part is used, and what was done in words.
pub fn crop_source(
    source: Box<dyn Source>,
    crop: Option<Crop>,
) -> Result<(Box<dyn Source>, Option<String>), MediaError> {
    let region = match crop {
        None => return Ok((source, None)),
        Some(Crop::Region(region)) => region,
        Some(Crop::Auto) => match bars_of_source(&*source)? {
            Some(region) => region,
            None => return Ok((source, Some("no black bars to crop were found".to_owned()))),
        },
    };
    let words = cropped(source.format(), &region);
    let named = |reason: String, file: &str| MediaError::Picture(format!("{file}: {reason}"));
    let file = source.name().to_owned();
    let part = visus_video::Cropped::new(source, region).map_err(|reason| named(reason, &file))?;
    Ok((Box::new(part), Some(words)))
}

/// Pictures that are looked at for black bars.
const LOOKS: u64 = 16;

fn bars_of_source(source: &dyn Source) -> Result<Option<Region>, MediaError> {
    let once = || {
        let reason = "black bars are looked for in pictures from all over it, and it can be read only once; give the region";
        MediaError::Picture(format!("{}: {reason}", source.name()))
    };
    let mut again = source.fork().ok_or_else(once)?;
    let step = (source.total_frames().unwrap_or(1) / LOOKS).max(1);
    let mut frames = Vec::new();
    for _ in 0..LOOKS {
        let mut frame = Frame::new(*again.format());
        if !again.read(&mut frame)? {
            break;
        }
        frames.push(frame);
        if again.skip(step - 1)? < step - 1 {
            break;
        }
    }
    let range = source.info().range.unwrap_or(visus_video::ColourRange::Limited);
    Ok(within(bars::of(frames.iter(), range), source.format()))
}

fn bars_of_probe(
    tools: &Tools,
    probe: &Probe,
    upright: bool,
    decode: &DecodeOptions,
) -> Result<Option<Region>, MediaError> {
    let range = probe.range.unwrap_or(visus_video::ColourRange::Limited);
    let format = probe.format(upright)?;
    let decode = DecodeOptions { forgive: true, hwaccel: None, upright, ..decode.clone() };
    let mut frames = Vec::new();
    // Key frames from four places; a short video is read from its beginning alone.
    let starts: &[f64] = match probe.duration {
        Some(seconds) if seconds > 60.0 => &[0.1, 0.35, 0.6, 0.85],
        _ => &[0.0],
    };
    for start in starts {
        let seconds = probe.duration.unwrap_or(0.0) * start;
        let mut source = Decoder::open_keys(tools, probe, &decode, seconds, LOOKS / starts.len() as u64)?;
        loop {
            let mut frame = Frame::new(format);
            // A place behind the last key frame has no picture.
            if !matches!(source.read(&mut frame), Ok(true)) {
                break;
            }
            frames.push(frame);
        }
    }
    if frames.is_empty() {
        let text = format!("{}: no picture could be decoded to look for black bars", probe.file);
        return Err(MediaError::Picture(text));
    }
    Ok(within(bars::of(frames.iter(), range), &format))
}

/// What bars leave free, in whole chroma samples. Bars of fewer than two lines are edges of a picture, not bars.
fn within([top, bottom, left, right]: [usize; 4], format: &Format) -> Option<Region> {
    let (across, down) = format.chroma().shifts();
    let up = |value: usize, shift: u32| value.next_multiple_of(1 << shift);
    let (x, y) = (up(left, across), up(top, down));
    let (width, height) = (
        format.width().checked_sub(x + up(right, across))?,
        format.height().checked_sub(y + up(bottom, down))?,
    );
    let bars = [top, bottom, left, right].iter().any(|bar| *bar > 1);
    (bars && width >= 16 && height >= 16).then_some(Region { width, height, x, y })
}

/// Whether both are pictures whose order is known, with as many on both sides: then there is no start to look for.
pub(crate) fn are_numbered_alike(openings: [Option<&Opening>; 2]) -> bool {
    let [Some(reference), Some(distorted)] = openings else { return false };
    let counts = (reference.frames(), distorted.frames());
    reference.is_pictures() && distorted.is_pictures() && counts.0.unwrap_or(1) == counts.1.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;

    #[test]
    fn bars_become_regions() {
        let format = Format::new(64, 48, Chroma::C420, 8).unwrap();
        let region = |bars| within(bars, &format).map(|region| region.to_string());
        assert_eq!(region([8, 8, 0, 0]).as_deref(), Some("64x32+0+8"));
        assert_eq!(region([7, 9, 3, 0]).as_deref(), Some("60x30+4+8"));
        assert_eq!((region([0, 0, 0, 0]), region([1, 1, 0, 0]), region([20, 20, 0, 0])), (None, None, None));
    }

    #[test]
    fn crops_by_word() {
        assert_eq!("auto".parse(), Ok(Crop::Auto));
        assert_eq!("8x8+2+2".parse(), Ok(Crop::Region(Region { width: 8, height: 8, x: 2, y: 2 })));
        assert!("whole".parse::<Crop>().unwrap_err().contains("or auto"));
    }
}
