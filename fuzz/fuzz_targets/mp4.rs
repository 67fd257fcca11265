//! Foreign bytes as MP4 boxes. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_tune::fuzzing::mp4(data)));
