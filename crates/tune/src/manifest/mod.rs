//! Manifests of a ladder: HLS (RFC 8216) and DASH (ISO/IEC 23009-1, on-demand profile), and the files they name.

mod dash;
mod hls;
mod package;

pub use package::{Package, package};

use crate::ladder::{Ladder, Rendition};

/// A rendition's file, if there is one: where its pieces lie.
pub type Pieces = Option<crate::mp4::Fragments>;

/// The name of a rendition's files, without ending.
pub fn stem(rendition: &Rendition) -> String {
    format!("video_{}x{}_{}k", rendition.width, rendition.height, rendition.bitrate_kbps.round())
}

/// The HLS master playlist.
pub fn hls_master(ladder: &Ladder) -> String {
    hls::master(ladder, &ladder.renditions)
}

/// The DASH description. Without files it names those that a packager will make.
pub fn dash(ladder: &Ladder) -> String {
    let pieces = vec![None; ladder.renditions.len()];
    dash::mpd(ladder, &ladder.renditions, &pieces)
}

#[cfg(test)]
mod tests;
