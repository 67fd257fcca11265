//! Foreign bytes as ffmpeg's standard error. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_media::fuzzing::decoder_words(data)));
