//! Foreign bytes as a foreign report. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_report::fuzzing::record(data)));
