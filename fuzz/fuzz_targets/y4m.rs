//! Foreign bytes as Y4M. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_video::fuzzing::y4m(data)));
