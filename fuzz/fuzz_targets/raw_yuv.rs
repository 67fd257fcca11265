//! Foreign bytes as raw video. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_video::fuzzing::raw_yuv(data)));
