//! Encoded video: probing, decoding through ffmpeg, whether two videos can be compared, and which frames belong together.
//!
//! [`open_pair`] makes two sources of two names, ready for the engine: decoded at once, converted where they differ, paired
//! by content. Its [`Control`] stays with the caller and knows the verdict ([`Comparability`]) and what was found on the way
//! ([`Findings`]). [`Decoder`] alone is a source over one ffmpeg process.
//!
//! This crate refuses raw files on disk, silent conversions, and to go on over damage unless told so.

#![forbid(unsafe_code)]

mod compare;
mod control;
mod convert;
mod decode;
mod error;
mod facts;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod geometry;
#[cfg(feature = "libav")]
mod in_process;
mod input;
mod known;
mod memory;
mod on_device;
mod open;
mod opening;
mod packets;
mod pixfmt;
mod preview;
mod probe;
mod rescan;
mod rgb;
mod scale;
mod seek;
mod share;
mod software;
mod steps;
pub mod still;
mod sync;
mod timestamps;
mod tone;
mod tools;
mod treatment;
pub mod worst;

pub use compare::{Comparability, Reason, Verdict};
pub use control::{Control, OpenPair, Otherwise};
pub use convert::{Converter, Shape};
pub use decode::{DecodeOptions, Decoder};
pub use error::MediaError;
pub use facts::Facts;
pub use geometry::{HD, Scale, UHD, display_of};
#[cfg(feature = "libav")]
pub use in_process::InProcess;
pub use input::Input;
pub use open::{PairOptions, Probed, judge, open_one, open_pair};
pub use opening::{Opening, Sequence};
pub use packets::Packet;
pub use pixfmt::Delivery;
pub use preview::{PreviewSink, Previews};
pub use probe::Probe;
pub use rgb::{Matrix, RgbTarget};
pub use scale::Scaler;
pub use share::{JoinedPairing, join_shares};
pub use steps::{Step, Steps};
pub use sync::findings::{Findings, Sync};
pub use sync::found::FoundPairs;
pub use sync::plan::Start;
pub use sync::runs::{Alternative, DoubtfulRun, Doubts, Run, Runs};
pub use tone::WORDS as TONE_MAPPING;
pub use tools::{DEFAULT_LIMIT, Launch, MAX_PIXELS, Tools};
pub use treatment::{Crop, Deinterlace, Treatment, crop_source, declare_rate};
