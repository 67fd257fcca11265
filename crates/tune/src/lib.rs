//! Tuning: encoders, the search for a quality, comparison of encoders, ladders and plans per shot.

#![forbid(unsafe_code)]

pub mod bd;
pub mod hull;
pub mod search;
