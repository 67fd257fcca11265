//! Options of encoded video, and what is said about a pair.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use visus_media::{Comparability, Control, Crop, DEFAULT_LIMIT, Scale, Scaler, Sync, Verdict};
use visus_scoring::inputs::{DeinterlaceWord, FrameRate, Grain, Offset, Sided};
use visus_scoring::{Decoders, InputOptions, PairInfo, Pairing, RequestError};
use visus_video::Region;

/// How two videos are brought together.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Encoded video")]
pub struct MediaArgs {
    /// Pair frames by content: off, offset (find the start) or full (also dropped and repeated frames) [default: full for
    /// encoded video, off for Y4M and raw video]
    #[arg(long, value_name = "HOW")]
    pub sync: Option<Sync>,

    /// Size at which both are scored: auto (the model's display if sizes differ), display, reference, WIDTHxHEIGHT or off
    #[arg(long, value_name = "SIZE")]
    pub scale: Option<Scale>,

    /// Resizing kernel: bicubic (as in ffmpeg's scale filter), keys, lanczos or bilinear
    #[arg(long, value_name = "NAME", default_value = "bicubic")]
    pub scaler: Scaler,

    /// Score even if the videos are not comparable, and ignore decode errors
    #[arg(long)]
    pub force: bool,

    /// Decode in hardware: one of ffmpeg's names (cuda, vaapi, qsv, videotoolbox, …), or auto for the first that works, else
    /// software
    #[arg(long, value_name = "NAME")]
    pub hwaccel: Option<String>,

    #[cfg(feature = "libav")]
    #[command(flatten)]
    pub decoder: super::decoder::DecoderArgs,

    #[command(flatten)]
    pub inputs: InputArgs,
}

impl MediaArgs {
    pub fn pairing(&self) -> Result<Pairing, RequestError> {
        Ok(Pairing {
            sync: self.sync,
            scale: self.scale,
            scaler: self.scaler,
            force: self.force,
            hwaccel: self.hwaccel.clone(),
            decoders: decoders(),
            inputs: self.inputs.options(),
            #[cfg(feature = "libav")]
            in_process: self.decoder.is_in_process()?,
            ..Pairing::default()
        })
    }
}

/// What is done to the videos before they are compared.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Inputs")]
pub struct InputArgs {
    /// Use only this part of each picture, before anything else is done to it: WIDTHxHEIGHT+X+Y from the top left, or auto
    /// (without black bars); `ref=…` or `dis=…` for one of the two; repeatable
    #[arg(long, value_name = "[SIDE=]REGION|auto")]
    pub crop: Vec<Sided<Crop>>,

    /// Measure only this region of both: WIDTHxHEIGHT+X+Y in the compared picture, after cropping, scaling and pairing
    #[arg(long, value_name = "REGION")]
    pub roi: Option<Region>,

    /// Deinterlace with ffmpeg's bwdif: auto (what says that it is interlaced), ref, dis, both or off. Where the other video
    /// has twice the frame rate, each field becomes a frame
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub deinterlace: Option<DeinterlaceWord>,

    /// Film grain that a decoder adds (AV1): on, or off to compare without it
    #[arg(long, value_name = "on|off")]
    pub grain: Option<Grain>,

    /// The distorted video begins this far into the reference, negative if before it: frames or a time. Frames are then paired
    /// one after another, unless --sync says otherwise
    #[arg(long, value_name = "FRAMES|TIME", allow_hyphen_values = true)]
    pub offset: Option<Offset>,

    /// Frames per second, whatever the file says: 24, 23.976 or 24000/1001; `ref=…` or `dis=…` for one of the two; repeatable
    #[arg(long, value_name = "[SIDE=]RATE")]
    pub fps: Vec<Sided<FrameRate>>,

    /// Of HDR pairs (PQ, HLG), also score what tone mapping to SDR makes of them; both are read twice
    #[arg(long)]
    pub tone_map: bool,
}

impl InputArgs {
    fn options(&self) -> InputOptions {
        let mut options = InputOptions {
            roi: self.roi,
            offset: self.offset,
            tone_map: self.tone_map,
            ..InputOptions::default()
        };
        options.without_grain = self.grain == Some(Grain::Off);
        self.crop.iter().for_each(|crop| crop.put(&mut options.crop));
        self.fps.iter().for_each(|rate| rate.put(&mut options.frame_rate));
        self.deinterlace.into_iter().for_each(|word| word.put(&mut options.deinterlace));
        options
    }
}

/// Children end with us, and may take as long as those of the server.
pub fn decoders() -> Decoders {
    let seconds =
        std::env::var("VMAF_MCP_SUBPROCESS_TIMEOUT_S").ok().and_then(|text| text.parse::<f64>().ok());
    let limit = seconds
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(DEFAULT_LIMIT);
    Decoders { launcher: super::launcher(), limit, ..Decoders::default() }
}

/// Verdict, pairing and conversions in a few lines.
pub fn summary(control: &Control) -> String {
    let comparability = control.comparability();
    let mut text = String::new();
    let _ = writeln!(text, "comparable: {}", comparability.verdict());
    let _ = writeln!(text, "  pairing: {}", control.findings().words());
    for reason in comparability.reasons.iter().filter(|reason| reason.code != "offset") {
        let mark = if reason.weight == Verdict::Yes { "" } else { "! " };
        let _ = writeln!(text, "  {mark}{}", reason.text);
    }
    text
}

/// What was done to raw and Y4M video, and where both were measured.
pub fn input_summary(pair: &PairInfo) -> String {
    let done = pair.plain_conversions().iter().map(|(side, words)| format!("{side}: {words}\n"));
    let region = pair.roi().map(|roi| format!("measured in the region {roi} alone\n"));
    done.chain(region).collect()
}

/// The scores of a pair that was tone-mapped.
pub fn tone_mapped_summary(side: &Value) -> String {
    let mut text = String::new();
    for score in side["scores"].as_array().into_iter().flatten() {
        let number = |key: &str| score[key].as_f64().unwrap_or(f64::NAN);
        let (name, mean, p5) = (score["model"].as_str().unwrap_or_default(), number("mean"), number("p5"));
        let _ = writeln!(text, "tone-mapped to SDR: {name}  mean {mean:.4}   p5 {p5:.2}");
    }
    text
}

/// What must be seen also without a summary.
pub fn warnings(comparability: &Comparability) -> impl Iterator<Item = &str> {
    comparability
        .reasons
        .iter()
        .filter(|reason| reason.weight != Verdict::Yes)
        .map(|reason| reason.text.as_str())
}
