//! Foreign bytes as what a client sends. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_server::fuzzing::http_gate(data)));
