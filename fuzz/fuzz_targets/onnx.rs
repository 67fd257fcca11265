//! Foreign bytes as an ONNX file: wire format, scan, tensors outside. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_eval::fuzzing::onnx(data)));
