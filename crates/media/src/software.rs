//! Who decodes a file in software: the ffmpeg program, or this process where that is wanted and possible.

use visus_child::StderrTail;
use visus_video::Source;

use crate::{DecodeOptions, Decoder, MediaError, PairOptions, Probe, Tools};

/// The frames of a file, and what ffmpeg says of them if it decodes.
pub(crate) type Decoded = (Box<dyn Source>, Option<StderrTail>);

/// Starts decoding.
pub(crate) fn open(tools: &Tools, probe: &Probe, options: &DecodeOptions) -> Result<Decoded, MediaError> {
    #[cfg(feature = "libav")]
    if options.in_process
        && let Ok(decoder) = crate::InProcess::open(tools, probe, options)
    {
        return Ok((Box::new(decoder), None));
    }
    let decoder = Decoder::open(tools, probe, options)?;
    let words = decoder.stderr();
    Ok((Box::new(decoder), Some(words)))
}

/// Whether videos of such a pair are decoded in this process, as far as they can be.
pub(crate) fn is_in_process(options: &PairOptions) -> bool {
    cfg!(feature = "libav") && options.in_process && !options.forgive && options.hwaccel.is_none()
}

/// The version of ffmpeg, or of its libraries where only they were used.
pub(crate) fn version(tools: &Tools) -> String {
    #[cfg(feature = "libav")]
    if !tools.was_asked()
        && let Some(version) = visus_libav::version()
    {
        return version;
    }
    tools.version().to_owned()
}
