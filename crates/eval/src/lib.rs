//! Models against opinion scores: ONNX models, feature tables, splits and statistics.

#![forbid(unsafe_code)]
