//! A decoder for a stream, and how many of the device's engines share it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::api::Api;
use super::{Nvdec, Result, check_caps, check_format, refused};
use crate::cuda::driver::Context;
use crate::cuda::kernels::Kernels;
use crate::decoder::{VideoDecoder, VideoStream};
use crate::engines::Engines;

/// Names how many engines share a stream, instead of what is found best.
const ENGINES_VARIABLE: &str = "VISUS_DECODERS";
/// Engines that one stream takes, at most: there are two inputs, and others may use the device.
const MOST_ENGINES: usize = 3;
/// Pictures for every engine of a stream: to set up a decoder takes the driver 0.4 s of processor time.
const PICTURES_PER_ENGINE: u64 = 3000;
/// Bytes of pictures that wait for their turn, of one stream: at most so many, and this share of the free memory.
const MOST_WAITING: usize = 2 << 30;
const WAITING_SHARE: usize = 32;
/// Pictures that an engine may be ahead, at least and at most.
const AHEAD: RangeInclusive<usize> = 4..=256;

/// A decoder for a stream: on several engines, where the device has them and the stream can be cut.
pub fn open(
    context: &Context,
    kernels: &Arc<Kernels>,
    stream: &VideoStream,
) -> Result<Box<dyn VideoDecoder>> {
    let VideoStream { codec, format, pictures } = *stream;
    let api = Api::get().map_err(refused)?;
    context.make_current()?;
    check_format(&format)?;
    let present = usize::from(check_caps(api, codec, &format)?);
    let open = || Nvdec::open(api, context, kernels, codec, &format);
    let engines = match pictures.filter(|_| codec.is_byte_stream()) {
        Some(pictures) => wanted_engines()?.unwrap_or_else(|| best_engines(present, pictures)),
        None => 1,
    };
    if engines < 2 {
        return Ok(Box::new(open()?));
    }
    let decoders = (0..engines).map(|_| Ok(Box::new(open()?) as Box<dyn VideoDecoder>));
    let decoders = decoders.collect::<Result<Vec<_>>>()?;
    let memory = (context.free_memory()? / WAITING_SHARE).min(MOST_WAITING);
    let picture = format.width() * format.height() * 3 / 2 * format.sample_bytes();
    let room = (memory / decoders.len() / picture).clamp(*AHEAD.start(), *AHEAD.end());
    Ok(Box::new(Engines::new(codec, decoders, room)?))
}

/// Leaves engines to the other input, and does not set up more than pay.
fn best_engines(present: usize, pictures: u64) -> usize {
    let paying = usize::try_from(pictures / PICTURES_PER_ENGINE).unwrap_or(usize::MAX);
    (present / 2).min(paying).clamp(1, MOST_ENGINES)
}

fn wanted_engines() -> Result<Option<usize>> {
    let Some(word) = std::env::var_os(ENGINES_VARIABLE).filter(|word| !word.is_empty()) else {
        return Ok(None);
    };
    match word.to_string_lossy().parse() {
        Ok(engines @ 1..=16) => Ok(Some(engines)),
        _ => Err(refused(format!("{ENGINES_VARIABLE} is '{}', not a number from 1 to 16", word.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_shared_where_it_pays() {
        assert_eq!(best_engines(7, 100), 1);
        assert_eq!(best_engines(7, 6_000), 2);
        assert_eq!(best_engines(7, 170_000), 3);
        assert_eq!(best_engines(2, 170_000), 1);
        assert_eq!(best_engines(0, 170_000), 1);
    }
}
