//! Foreign bytes as the texts of options. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_engine::fuzzing::specifications(data)));
