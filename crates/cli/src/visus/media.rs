//! Options of encoded video, and what is said about a pair.

use std::fmt::{self, Write};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use visus_engine::model::automatic;
use visus_media::{
    Comparability, Control, DEFAULT_LIMIT, Facts, HD, Input, Launch, PairOptions, Scale, Sync, UHD, Verdict,
    display_of,
};

use super::mcp;

/// How two videos are brought together.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Encoded video")]
pub struct MediaArgs {
    /// Pair frames by content: off, offset (find the start) or full (drops and repeated frames too) [default: full for
    /// encoded video, off for Y4M and raw]
    #[arg(long, value_name = "HOW")]
    pub sync: Option<Sync>,

    /// Size in which both are scored: auto (the model's display if sizes differ), display, reference, WIDTHxHEIGHT or off
    #[arg(long, value_name = "SIZE")]
    pub scale: Option<Scale>,

    /// Score also what cannot be compared, and go on over damaged data
    #[arg(long)]
    pub force: bool,

    /// Decode in hardware: one of ffmpeg's names (cuda, vaapi, qsv, videotoolbox, …), or auto for the first that works, else
    /// software
    #[arg(long, value_name = "NAME")]
    pub hwaccel: Option<String>,
}

impl MediaArgs {
    /// Whether Y4M or raw video is to be paired or scaled.
    pub fn asked(&self) -> bool {
        self.sync.is_some() || self.scale.is_some()
    }

    pub fn options(&self, skip: [u64; 2], inputs: &[Input; 2]) -> PairOptions {
        let encoded = inputs.iter().any(Input::is_encoded);
        let usual = if encoded { Sync::Full } else { Sync::Off };
        PairOptions {
            sync: self.sync.unwrap_or(usual),
            scale: self.scale.unwrap_or_default(),
            forgive: self.force,
            hwaccel: self.hwaccel.clone(),
            skip,
            launch: launch(),
            ..PairOptions::default()
        }
    }
}

/// Children die with us, and have as long as the server gives them.
pub fn launch() -> Launch {
    let seconds =
        std::env::var("VMAF_MCP_SUBPROCESS_TIMEOUT_S").ok().and_then(|text| text.parse::<f64>().ok());
    let limit = seconds
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(DEFAULT_LIMIT);
    Launch { launcher: mcp::launcher(), limit, ..Launch::default() }
}

/// The display that the first model stands for.
pub fn display(models: &[String], reference: &Facts) -> Result<(usize, usize)> {
    Ok(match models.first().map(String::as_str) {
        Some("auto") => display_of(automatic(&reference.format, reference.frame_rate).0),
        Some("all") if reference.format.height() > 1440 => UHD,
        Some(name) => display_of(name),
        None => HD,
    })
}

/// The error that ends with its own exit code.
#[derive(Debug)]
pub struct NotComparable {
    pub reasons: Vec<String>,
}

impl fmt::Display for NotComparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the two videos cannot be compared: {}; --force scores them anyway",
            self.reasons.join("; ")
        )
    }
}

impl std::error::Error for NotComparable {}

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
