//! What `build.rs` makes of the headers of FFmpeg's libraries.
#![allow(
    unsafe_code,
    dead_code,
    missing_debug_implementations,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks
)]

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
