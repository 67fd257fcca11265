//! Bodies of the fuzz targets: MP4 files of any content.

use std::io::{Seek, Write};

/// The boxes of a file, its facts and its fragments.
pub fn mp4(bytes: &[u8]) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(bytes).and_then(|()| file.rewind()).is_err() {
        return;
    }
    if let Ok(boxes) = crate::mp4::top_level(file.as_file_mut()) {
        assert!(boxes.iter().map(|found| found.size).sum::<u64>() <= bytes.len() as u64);
    }
    let _ = crate::mp4::facts(file.path());
    let _ = crate::mp4::fragments(file.path());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_small_file_changed() {
        let one = |kind: &[u8; 4], content: &[u8]| {
            [&(content.len() as u32 + 8).to_be_bytes(), kind.as_slice(), content].concat()
        };
        let moov = one(b"moov", &one(b"trak", &one(b"mdia", &one(b"hdlr", b"\0\0\0\0\0\0\0\0vide\0\0\0\0"))));
        let seed = [one(b"ftyp", b"isom\0\0\0\0"), moov, one(b"sidx", &[0; 32]), one(b"mdat", b"x")].concat();
        for at in 0..seed.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = seed.clone();
                changed[at] = byte;
                mp4(&changed);
            }
            mp4(&seed[..at]);
        }
    }
}
