//! Who decodes on the command line, in builds that have a choice.

use clap::{Args, ValueEnum};

/// Who decodes encoded video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Who {
    /// FFmpeg's libraries, in this process.
    Libav,
    /// The ffmpeg program, in a sandbox.
    Ffmpeg,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Encoded video")]
pub struct DecoderArgs {
    /// Who decodes: libav (FFmpeg's libraries in this process: quicker, without a sandbox around them) or ffmpeg (the program); what
    /// needs more than decoding is always the program's [default: VISUS_DECODER, else libav unless VISUS_FFMPEG names a program]
    #[arg(long, value_name = "WHO")]
    pub decoder: Option<Who>,
}

impl DecoderArgs {
    pub fn is_in_process(&self) -> bool {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let usual = || match named("VISUS_DECODER") {
            // Whatever else it says: the one with the sandbox.
            Some(word) => word == "libav",
            None => named("VISUS_FFMPEG").is_none(),
        };
        self.decoder.map_or_else(usual, |who| who == Who::Libav)
    }
}
