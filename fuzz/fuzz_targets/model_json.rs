//! Foreign bytes as a model file. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_engine::fuzzing::model_json(data)));
