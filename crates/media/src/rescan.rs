//! Both inputs once more, from their beginnings, as small pictures.

use std::thread::ScopedJoinHandle;

use visus_engine::Side;
use visus_video::{ColourRange, Source};

use crate::sync::signature::View;
use crate::sync::thumbnails::{self, Strip, Thumbnails};
use crate::timestamps;
use crate::{Crop, DecodeOptions, Decoder, Input, MediaError, Probe, Tools, crop_source};

/// What a thread came to; its panic goes on here.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// One input, to be read once more from its beginning.
pub(crate) struct Again {
    pub input: Input,
    pub probe: Option<Probe>,
    pub range: ColourRange,
    pub rate: Option<f64>,
    pub skip: u64,
    /// For raw and Y4M video; what ffmpeg decodes is cropped there.
    pub crop: Option<Crop>,
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
            let mut source = Decoder::open_small(tools, probe, decode, (view, most))?;
            source.skip(self.skip)?;
            return std::thread::scope(|scope| {
                let times = scope.spawn(|| timestamps::read(tools, probe, &decode.cancel));
                let strip = Strip::read(&mut source, self.range, &decode.cancel)?;
                let times = self.timed(&strip, joined(times));
                Ok(Some(strip.with_times(times)))
            });
        }
        let raw = match &self.input {
            Input::Raw(_, format) => Some(*format),
            Input::Y4m(_) | Input::Encoded(_) | Input::Sequence(..) => None,
        };
        if !self.input.path().is_file() {
            return Ok(None);
        }
        let source = visus_video::open(self.input.path(), raw)?;
        let (mut source, _) = crop_source(source, self.crop)?;
        source.skip(self.skip)?;
        let strip = Strip::shrink(&mut *source, self.range, view, &decode.cancel)?;
        Ok(strip.map(|strip| {
            let times = self.rate.map(|rate| timestamps::even(strip.frames(), rate));
            strip.with_times(times)
        }))
    }

    /// Timestamps of the frames that are looked at, if every frame of the file has one.
    fn timed(&self, strip: &Strip, times: Option<Vec<f64>>) -> Option<Vec<f64>> {
        let skip = usize::try_from(self.skip).ok()?;
        let mut times = times.filter(|times| times.len() == strip.frames() + skip)?;
        Some(times.split_off(skip))
    }
}

/// Reads both at once.
pub(crate) fn scan(
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
