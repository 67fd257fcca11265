//! Many small pairs of videos, and a list of them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

const SIDE: usize = 64;
/// Pairs that share a reference.
const ENCODES: usize = 50;

/// Different clips of a long run; further names are links to them, so that no disk is filled.
const LONG: usize = 200;
/// A clip of more frames is long.
const SHORT: usize = 10;

/// Writes the clips and the list of pairs; its path.
pub fn write(folder: &Path, pairs: usize, frames: usize) -> Result<PathBuf> {
    let mut list = String::from("reference,distorted\n");
    for pair in 0..pairs {
        let scene = if frames > SHORT { pair % LONG / ENCODES } else { pair / ENCODES };
        let reference = folder.join(format!("r{scene}.y4m"));
        let distorted = folder.join(format!("d{pair}.y4m"));
        if frames > SHORT && pair >= LONG {
            std::fs::hard_link(folder.join(format!("d{}.y4m", pair % LONG)), &distorted)?;
        } else {
            if pair % ENCODES == 0 {
                std::fs::write(&reference, clip(scene, 0, frames))?;
            }
            std::fs::write(&distorted, clip(scene, 1 + pair, frames))?;
        }
        writeln!(list, "{},{}", reference.display(), distorted.display())?;
    }
    let path = folder.join("pairs.csv");
    std::fs::write(&path, list)?;
    Ok(path)
}

/// A moving pattern, with as much noise as the encode has; the reference is number 0.
fn clip(scene: usize, encode: usize, frames: usize) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{SIDE} H{SIDE} F25:1 C420jpeg\n").into_bytes();
    let mut noise = (encode as u32).wrapping_mul(2_654_435_761).wrapping_add(1);
    for frame in 0..frames {
        bytes.extend_from_slice(b"FRAME\n");
        for place in 0..SIDE * SIDE {
            let (x, y) = (place % SIDE + 2 * frame, place / SIDE);
            let pattern = (x * (3 + scene % 7) + y * (2 + scene % 5) + (x * y) / 16) % 200;
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let error = if encode == 0 { 0 } else { (noise >> 24) as usize % (2 + encode % 40) };
            bytes.push((16 + pattern + error).min(255) as u8);
        }
        bytes.extend(std::iter::repeat_n(128, SIDE * SIDE / 2));
    }
    bytes
}
