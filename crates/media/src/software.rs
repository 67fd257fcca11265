//! Who decodes a file in software: the ffmpeg program, or this process where that is wanted and possible.

use visus_child::StderrTail;
use visus_video::Source;

use crate::{DecodeOptions, Decoder, MediaError, Probe, Tools};

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
