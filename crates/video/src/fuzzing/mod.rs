//! Bodies of the fuzz targets, as plain functions so that tests can run them on a stable compiler too. Compiled for
//! tests and with the feature `fuzzing` alone.
//!
//! Each reads foreign bytes in all ways there are (as a file, as a pipe, as a pipe that dribbles, by skipping) and
//! panics if they disagree, if a count is wrong, or if what was read does not survive being written.

#[cfg(test)]
mod smoke;

use std::io::{Cursor, Read};

use crate::synthetic::samples_of;
use crate::{
    Chroma, ChromaRounding, Format, Frame, ReadError, Reader, Source, raw_seekable, raw_stream, write_raw,
    write_y4m, y4m_seekable, y4m_stream,
};

/// Reads bytes as Y4M. Says how that ended.
pub fn y4m(data: &[u8]) -> String {
    let bytes = Cursor::new(data.to_vec());
    let file = Outcome::read(y4m_seekable("f", bytes.clone()), data.len());
    assert_eq!(file, Outcome::read(y4m_stream("f", bytes.clone()), data.len()), "file and pipe differ");
    assert_eq!(file, Outcome::read(y4m_stream("f", Dribble(data.to_vec(), 0)), data.len()), "pipe dribbles");
    file.same_as_skipping(y4m_seekable("f", bytes.clone()));
    file.same_as_skipping(y4m_stream("f", bytes));
    if let Some(format) = file.format {
        let mut copy = Vec::new();
        write_y4m(&mut copy, &format, (1, 1), &file.frames).expect("memory takes all");
        let length = copy.len();
        let again = Outcome::read(y4m_seekable("copy", Cursor::new(copy)), length);
        again.is_whole_copy_of(&file);
    }
    file.words()
}

/// Reads bytes as raw video; the first five choose the format. Says how that ended.
pub fn raw_yuv(data: &[u8]) -> String {
    let Some((choice, data)) = data.split_first_chunk::<5>() else { return "no format".to_owned() };
    let Some((format, wanted)) = raw_format(choice) else { return "no such format".to_owned() };
    let bytes = Cursor::new(data.to_vec());
    let rounding = match raw_seekable("f", bytes.clone(), format, wanted) {
        Ok(reader) => reader.info().rounding.unwrap_or(ChromaRounding::Up),
        Err(_) if wanted == ChromaRounding::Auto => ChromaRounding::Up,
        Err(_) => wanted,
    };
    let file = Outcome::read(raw_seekable("f", bytes.clone(), format, wanted), data.len());
    let pipe = raw_stream("f", bytes.clone(), format, rounding);
    assert_eq!(file, Outcome::read(pipe, data.len()), "file and pipe differ");
    let dribble = raw_stream("f", Dribble(data.to_vec(), 0), format, rounding);
    assert_eq!(file, Outcome::read(dribble, data.len()), "pipe dribbles");
    file.same_as_skipping(raw_seekable("f", bytes.clone(), format, wanted));
    file.same_as_skipping(raw_stream("f", bytes, format, rounding));
    assert_eq!(file.samples(), naive_samples(data, &format, rounding), "samples differ from the file's");
    let mut copy = Vec::new();
    write_raw(&mut copy, rounding, &file.frames).expect("memory takes all");
    let length = copy.len();
    Outcome::read(raw_seekable("copy", Cursor::new(copy), format, rounding), length).is_whole_copy_of(&file);
    file.words()
}

fn raw_format(choice: &[u8; 5]) -> Option<(Format, ChromaRounding)> {
    let chroma = [Chroma::C400, Chroma::C420, Chroma::C422, Chroma::C444][usize::from(choice[2] % 4)];
    let rounding =
        [ChromaRounding::Auto, ChromaRounding::Up, ChromaRounding::Down][usize::from(choice[4] % 3)];
    let format = Format::new(choice[0].into(), choice[1].into(), chroma, choice[3]).ok()?;
    Some((format, rounding))
}

/// What came out of a source: its frames, and the words of the error that ended it.
struct Outcome {
    format: Option<Format>,
    frames: Vec<Frame>,
    end: Option<String>,
}

impl Outcome {
    fn read(opened: Result<Reader, ReadError>, length: usize) -> Self {
        let mut outcome = Self { format: None, frames: Vec::new(), end: None };
        outcome.end = opened.and_then(|reader| outcome.read_all(reader, length)).err().map(|e| e.to_string());
        outcome
    }

    fn words(&self) -> String {
        let chroma = self.format.map(|format| (format.chroma(), format.depth() > 8));
        format!("{chroma:?}, frames: {}, {:?}", !self.frames.is_empty(), self.end).replace('"', "")
    }

    fn read_all(&mut self, mut reader: Reader, length: usize) -> Result<(), ReadError> {
        let format = *reader.format();
        // A picture that is larger than the input cannot be in it; the fault is found without making room for it.
        if format.width() * format.height() > length {
            assert_eq!(reader.skip(1)?, 0, "a frame came out of nothing");
            return Ok(());
        }
        self.format = Some(format);
        let mut frame = Frame::new(format);
        while reader.read(&mut frame)? {
            self.frames.push(frame.clone());
            assert_eq!(reader.frames_read(), self.frames.len() as u64);
        }
        assert!(!reader.read(&mut frame)?, "a frame came after the end");
        Ok(())
    }

    fn same_as_skipping(&self, opened: Result<Reader, ReadError>) {
        let mut skipped = 0;
        let end = opened.and_then(|mut reader| {
            while reader.skip(1)? == 1 {
                skipped += 1;
            }
            assert_eq!(reader.skip(u64::MAX)?, 0, "a frame came after the end");
            Ok(())
        });
        assert_eq!(end.err().map(|error| error.to_string()), self.end, "skipping ends differently");
        assert_eq!(skipped, self.frames.len(), "skipping counts differently");
    }

    fn is_whole_copy_of(&self, other: &Self) {
        assert_eq!(self.end, None, "a copy is whole");
        assert_eq!(self.samples(), other.samples(), "a copy has the same samples");
    }

    /// All samples of all frames in order.
    fn samples(&self) -> Vec<u16> {
        let planes = |frame| (0..3).flat_map(move |plane| samples_of(frame, plane));
        self.frames.iter().flat_map(planes).collect()
    }
}

impl PartialEq for Outcome {
    fn eq(&self, other: &Self) -> bool {
        self.end == other.end && self.frames.len() == other.frames.len() && self.samples() == other.samples()
    }
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {} frames, {:?}", self.format, self.frames.len(), self.end)
    }
}

/// The samples that a reader should hand over, by the plainest arithmetic.
fn naive_samples(data: &[u8], format: &Format, rounding: ChromaRounding) -> Vec<u16> {
    let (sx, sy) = format.chroma().shifts();
    let bytes = format.sample_bytes();
    let sizes: Vec<_> = (0..format.planes())
        .map(|plane| match (plane, rounding) {
            (0, _) | (_, ChromaRounding::Down) => format.plane_size(plane),
            _ => (format.width().div_ceil(1 << sx), format.height().div_ceil(1 << sy)),
        })
        .collect();
    let frame_bytes = sizes.iter().map(|(width, height)| width * height * bytes).sum();
    let mut samples = Vec::new();
    for frame in data.chunks_exact(frame_bytes) {
        let mut start = 0;
        for (plane, (width, height)) in sizes.iter().enumerate() {
            let (seen_width, seen_height) = format.plane_size(plane);
            for (x, y) in (0..seen_height).flat_map(|y| (0..seen_width).map(move |x| (x, y))) {
                let at = &frame[start + (y * width + x) * bytes..];
                samples.push(if bytes == 1 { at[0].into() } else { u16::from_le_bytes([at[0], at[1]]) });
            }
            start += width * height * bytes;
        }
    }
    samples
}

/// Gives its bytes a few at a time, with an interruption now and then, as a slow pipe would.
struct Dribble(Vec<u8>, usize);

impl Read for Dribble {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let piece = 1 + self.1 % 7;
        self.1 += piece;
        if piece == 4 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let count = piece.min(into.len()).min(self.0.len());
        into[..count].copy_from_slice(&self.0[..count]);
        self.0.drain(..count);
        Ok(count)
    }
}
