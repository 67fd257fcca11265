//! Encoded video, decoded in this process through FFmpeg's libraries.
//!
//! A pipe from the ffmpeg program costs four copies of every frame. Here the pictures stay where the decoder put them: a
//! [`Picture`] holds a reference on the decoder's own buffer and lends it to a frame ([`visus_video::LentPicture`]).
//!
//! [`Pictures`] does what the ffmpeg program does with the options that `visus-media` gives it: the same order of calls, the same
//! options, every frame once. It forgives nothing: an error code, a packet or picture that is marked as corrupt, a picture of
//! another format, a complaint that the caller calls damage, all of them end it with a [`Trouble`]. The caller then asks the program
//! itself, whose word is the last.
//!
//! All `unsafe` of decoding is in this crate: [`library`] loads the libraries, [`log`] hears their complaints, [`container`],
//! [`codec`] and [`picture`] own one object of C each. Without the feature `bindings` the crate is empty.
#![deny(unsafe_code)]

#[cfg(feature = "bindings")]
mod bindings;
#[cfg(feature = "bindings")]
mod codec;
#[cfg(feature = "bindings")]
mod container;
#[cfg(feature = "bindings")]
mod dictionary;
#[cfg(feature = "bindings")]
mod library;
#[cfg(feature = "bindings")]
mod log;
#[cfg(feature = "bindings")]
mod picture;
#[cfg(feature = "bindings")]
mod pictures;

#[cfg(feature = "bindings")]
pub use library::version;
#[cfg(feature = "bindings")]
pub use picture::Picture;
#[cfg(feature = "bindings")]
pub use pictures::{Pictures, Request, Trouble};
