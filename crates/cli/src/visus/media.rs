//! Options of encoded video, and what is said about a pair.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use visus_media::{Comparability, Control, DEFAULT_LIMIT, Scale, Scaler, Sync, Verdict};
use visus_scoring::{Decoders, Pairing};

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
}

impl MediaArgs {
    pub fn pairing(&self) -> Pairing {
        Pairing {
            sync: self.sync,
            scale: self.scale,
            scaler: self.scaler,
            force: self.force,
            hwaccel: self.hwaccel.clone(),
            decoders: decoders(),
        }
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

/// What must be seen also without a summary.
pub fn warnings(comparability: &Comparability) -> impl Iterator<Item = &str> {
    comparability
        .reasons
        .iter()
        .filter(|reason| reason.weight != Verdict::Yes)
        .map(|reason| reason.text.as_str())
}
