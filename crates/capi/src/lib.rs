//! libvmaf's C API, version 3: what ffmpeg, PyAV, GStreamer and others link as `libvmaf.so.3`.
//!
//! The files in `entry` are the boundary: they check pointers, turn C's arguments into Rust's and results into negative
//! `errno` values, and let no panic out. Behind them everything is safe code over [`PushSession`](visus_engine::PushSession):
//! [`context`] holds what a `VmafContext` is, [`model`] and [`picture`] the other objects.
//!
//! Contexts, models, collections and dictionaries are numbers in a [table](handles), dressed as pointers. Whoever uses one
//! that is closed gets an error code, not a crash. Pictures are real memory, since callers write into it; what the caller has
//! is a struct with pointers into it, and a number that says who owns it.
//!
//! Where libvmaf crashes or reads memory that is not its own, this library returns `-EINVAL`. Pictures that are handed to
//! `vmaf_read_pictures` are consumed and their structs zeroed, whether the call succeeds or not.
#![deny(unsafe_code)]

mod abi;
mod columns;
mod context;
mod dictionary;
mod entry;
mod handles;
mod log;
mod model;
mod picture;
mod pool;
mod registered;
