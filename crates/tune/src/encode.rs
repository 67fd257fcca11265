//! One encode: from a window of the source to an MP4 file in an owned folder.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use visus_engine::Cancel;
use visus_video::budget::{Budget, OverBudget, Reservation};

use crate::TuneError;
use crate::encoders::{Adapter, Choices, Quality, reason};
use crate::mp4::{self, Mp4Facts};
use crate::source::{Source, Window};
use crate::tools::{Files, Tools, file_url};

/// Pictures that an encoder keeps for looking ahead and as references; slow presets keep some more, small pictures fewer.
const ENCODER_PICTURES: u64 = 48;
/// Pictures that the decoder of the source keeps.
const DECODER_PICTURES: u64 = 18;
/// What the process takes before its first picture.
const PROCESS_BYTES: u64 = 64 << 20;

/// How a source is encoded.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub adapter: &'static Adapter,
    pub choices: Choices,
    /// Another size than the source's.
    pub size: Option<(u32, u32)>,
}

impl Recipe {
    /// ffmpeg's arguments for a window at a quality, without the program and the output.
    pub fn arguments(&self, source: &Source, window: Window, quality: Quality) -> Vec<OsString> {
        self.with_input(source.input(window, self.scale()), quality)
    }

    fn scale(&self) -> Option<String> {
        self.size.map(|(width, height)| format!("scale={width}:{height}:flags=bicubic"))
    }

    fn with_input(&self, input: Vec<OsString>, quality: Quality) -> Vec<OsString> {
        let mut args: Vec<OsString> = ["-hide_banner", "-nostdin", "-y"].map(OsString::from).to_vec();
        args.extend(input);
        args.extend(["-an", "-sn", "-dn", "-map_metadata", "-1"].map(OsString::from));
        args.extend(self.adapter.arguments(quality, &self.choices).into_iter().map(OsString::from));
        args
    }

    /// The container's name for ffmpeg. ProRes stands in QuickTime files.
    pub fn container(&self) -> &'static str {
        if self.adapter.codec == "prores" { "mov" } else { "mp4" }
    }

    /// A command that a person can run to make the same encode.
    pub fn command(
        &self,
        source: &Source,
        window: Window,
        quality: impl Into<Quality>,
        output: &Path,
    ) -> Vec<String> {
        let mut args = vec!["ffmpeg".to_owned()];
        let shown = |word: OsString| word.to_string_lossy().into_owned();
        let input = source.shown_input(window, self.scale());
        args.extend(self.with_input(input, quality.into()).into_iter().map(shown));
        args.extend(["-f".to_owned(), self.container().to_owned(), shown(file_url(output))]);
        args
    }
}

/// A finished encode.
#[derive(Clone, Debug)]
pub struct Encoded {
    pub facts: Mp4Facts,
    pub elapsed: Duration,
}

/// Encodes into `output`, which lies in an owned folder. `frames` hears the progress.
pub fn encode(
    recipe: &Recipe,
    source: &Source,
    window: Window,
    quality: Quality,
    output: &Path,
    tools: &Tools,
    cancel: &Cancel,
    frames: impl FnMut(u64),
) -> Result<Encoded, TuneError> {
    let failed = |reason: String| TuneError::Encode {
        encoder: recipe.adapter.name.to_owned(),
        knob: recipe.adapter.knob.name.to_owned(),
        quality,
        reason,
    };
    let _room = room(source, recipe, cancel).map_err(|error| match error {
        OverBudget::Cancelled => TuneError::Cancelled,
        other => failed(other.to_string()),
    })?;
    let started = Instant::now();
    let mut args = recipe.arguments(source, window, quality);
    args.extend(
        ["-v", "error", "-nostats", "-progress", "pipe:1", "-f", recipe.container()].map(OsString::from),
    );
    args.push(file_url(output));
    let files = Files { read: &[source.place()], folder: output.parent() };
    let finished = tools.work(&args, files, cancel, frames)?;
    if is_full(&finished.stderr) {
        return Err(TuneError::DiskFull { path: output.parent().unwrap_or(output).to_owned() });
    }
    if finished.code != 0 {
        return Err(failed(ending(finished.code, &finished.stderr)));
    }
    let facts = mp4::facts(output)?;
    match window.count {
        Some(count) if facts.frames != count => {
            Err(failed(format!("{} frames were asked for, {} came out", count, facts.frames)))
        }
        _ if facts.frames == 0 => Err(failed("no frame came out".to_owned())),
        _ => Ok(Encoded { facts, elapsed: started.elapsed() }),
    }
}

/// Room for the encoder and the decoder before it, estimated by the size of their pictures. Whoever has no budget gets it.
fn room(source: &Source, recipe: &Recipe, cancel: &Cancel) -> Result<Reservation, OverBudget> {
    let format = &source.format;
    let samples = |plane| format.plane_size(plane).0 as u64 * format.plane_size(plane).1 as u64;
    let picture = (0..format.planes()).map(samples).sum::<u64>() * format.sample_bytes() as u64;
    let (width, height) = recipe.size.unwrap_or(source.size());
    // A rendition is never larger than its source.
    let pictures = if recipe.size.is_some() { ENCODER_PICTURES / 2 } else { ENCODER_PICTURES };
    let bytes = picture.saturating_mul(pictures + DECODER_PICTURES).saturating_add(PROCESS_BYTES);
    let what = format!("encoding pictures of {width}x{height} with {}", recipe.adapter.name);
    Budget::process().wait(bytes, &what, Duration::MAX, &|| cancel.is_fired())
}

fn is_full(log: &str) -> bool {
    log.contains("No space left on device") || log.contains("Disk quota exceeded")
}

/// How a child ended, in words. A file that grows over the process's limit ends it with a signal.
fn ending(code: i32, log: &str) -> String {
    match code {
        -25 => "the encode grew over the limit on file sizes (SIGXFSZ)".to_owned(),
        _ if log.contains("File too large") => "the encode grew over the limit on file sizes".to_owned(),
        code if code < 0 => format!("ffmpeg was ended by signal {}", -code),
        _ => reason(log),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_told_in_words() {
        assert!(is_full("av_interleaved_write_frame(): No space left on device\n"));
        assert!(ending(-25, "").contains("limit on file sizes"));
        assert_eq!(ending(-9, ""), "ffmpeg was ended by signal 9");
        assert_eq!(
            ending(1, "[libx264 @ 0x1] width not divisible by 2 (321x180)\nError initializing"),
            "libx264: width not divisible by 2 (321x180)"
        );
    }
}
