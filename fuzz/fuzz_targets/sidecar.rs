//! Foreign bytes as the description beside an ONNX model. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_eval::fuzzing::sidecar(data)));
