//! Bodies of the fuzz targets: MP4 files of any content. Each says what became of them.

use std::io::{Seek, Write};

/// The boxes of a file, its facts and its fragments.
pub fn mp4(bytes: &[u8]) -> String {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return "no room".to_owned() };
    if file.write_all(bytes).and_then(|()| file.rewind()).is_err() {
        return "no room".to_owned();
    }
    if let Ok(boxes) = crate::mp4::top_level(file.as_file_mut()) {
        assert!(boxes.iter().map(|found| found.size).sum::<u64>() <= bytes.len() as u64);
    }
    let words = |error: crate::TuneError| error.to_string().replace(&*file.path().to_string_lossy(), "");
    let facts = crate::mp4::facts(file.path()).map_or_else(words, |_| "read".to_owned());
    let fragments = crate::mp4::fragments(file.path()).map_or_else(words, |_| "read".to_owned());
    format!("{facts}; {fragments}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_fuzzing::Fuzz;

    #[test]
    fn mutated_files() {
        let one = |kind: &[u8; 4], content: &[u8]| {
            [&(content.len() as u32 + 8).to_be_bytes(), kind.as_slice(), content].concat()
        };
        let moov = one(b"moov", &one(b"trak", &one(b"mdia", &one(b"hdlr", b"\0\0\0\0\0\0\0\0vide\0\0\0\0"))));
        let seed = [one(b"ftyp", b"isom\0\0\0\0"), moov, one(b"sidx", &[0; 32]), one(b"mdat", b"x")].concat();
        let kinds: &[&[u8]] = &[b"moov", b"trak", b"mdia", b"stsz", b"stts", b"sidx", b"moof", b"\0\0\0\x01"];
        Fuzz::new("mp4", mp4).seed(seed).words(kinds).rounds(1500).run();
    }
}
