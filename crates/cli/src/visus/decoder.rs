//! Who decodes on the command line, in builds that have a choice.

use clap::{Args, ValueEnum};
use visus_scoring::RequestError;

/// Names a decoder where the command line does not.
const VARIABLE: &str = "VISUS_DECODER";

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
    /// Whether videos are decoded in this process. A variable that names no decoder is an error.
    pub fn is_in_process(&self) -> Result<bool, RequestError> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let who = match self.decoder {
            Some(who) => who,
            None => usual(set(VARIABLE).as_deref(), set("VISUS_FFMPEG").is_some())?,
        };
        Ok(who == Who::Libav)
    }
}

/// Who decodes where the command line does not say. Whoever names an ffmpeg wants that one.
fn usual(variable: Option<&str>, ffmpeg_is_named: bool) -> Result<Who, RequestError> {
    match variable {
        Some(word) => Who::from_str(word, false)
            .map_err(|_| RequestError::Input(format!("{VARIABLE}={word:?}: decoders are libav and ffmpeg"))),
        None if ffmpeg_is_named => Ok(Who::Ffmpeg),
        None => Ok(Who::Libav),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_decides_then_a_named_program() {
        assert_eq!(usual(None, false), Ok(Who::Libav));
        assert_eq!(usual(None, true), Ok(Who::Ffmpeg));
        assert_eq!(usual(Some("libav"), true), Ok(Who::Libav));
        assert_eq!(usual(Some("ffmpeg"), false), Ok(Who::Ffmpeg));
        let error = usual(Some("avconv"), false).unwrap_err().to_string();
        assert!(error.contains("VISUS_DECODER=\"avconv\"") && error.contains("libav and ffmpeg"), "{error}");
    }
}
