//! Foreign bytes as a CSV table. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_eval::fuzzing::csv(data)));
