//! Foreign bytes as choices of arguments by a tool's schema. The body is shared with a test that runs on stable.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(visus_server::fuzzing::tool_arguments(data)));
