//! Encoded video: probing, decoding through ffmpeg, whether two videos can be compared, and which frames belong together.

#![forbid(unsafe_code)]

mod decode;
mod error;
mod pixfmt;
mod probe;
mod rgb;
mod tools;

pub use decode::{DecodeOptions, Decoder};
pub use error::MediaError;
pub use pixfmt::Delivery;
pub use probe::Probe;
pub use rgb::{Matrix, RgbTarget};
pub use tools::{DEFAULT_LIMIT, Launch, Tools};
