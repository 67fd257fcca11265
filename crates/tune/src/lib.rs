//! Tuning: encoders, the search for a quality, comparison of encoders, ladders and plans per shot.

#![forbid(unsafe_code)]
