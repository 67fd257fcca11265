//! Encoded video: probing, decoding through ffmpeg, whether two videos can be compared, and which frames belong together.

#![forbid(unsafe_code)]
