//! What is written is read back the same, in every format, and a file cut at any byte errs as it should.

use std::io::Cursor;

use proptest::prelude::*;
use visus_video::synthetic::{Clip, Pattern};
use visus_video::{
    Chroma, ChromaRounding, Format, Frame, PlaneView, ReadError, Reader, Source, raw_seekable, raw_stream,
    write_raw, write_y4m, y4m_seekable, y4m_stream,
};

fn formats() -> impl Strategy<Value = Format> {
    let chroma = prop::sample::select(vec![Chroma::C400, Chroma::C420, Chroma::C422, Chroma::C444]);
    // Sides around multiples of 64 meet rows with and without padding between them.
    let side = prop_oneof![1..20usize, 62..67usize, 126..131usize];
    (side.clone(), side, chroma, 8..=16u8)
        .prop_map(|(width, height, chroma, depth)| Format::new(width, height, chroma, depth).unwrap())
}

fn noise(format: Format, frames: u64) -> Clip {
    Clip::pattern(format, frames, Pattern::Noise { seed: 99 })
}

fn samples(frame: &Frame) -> Vec<Vec<u32>> {
    let rows = |plane| match frame.plane(plane) {
        PlaneView::U8(plane) => plane.rows().map(|row| row.iter().map(|s| u32::from(*s)).collect()).collect(),
        PlaneView::U16(plane) => {
            plane.rows().map(|row| row.iter().map(|s| u32::from(*s)).collect()).collect()
        }
    };
    (0..3).flat_map(|plane| -> Vec<Vec<u32>> { rows(plane) }).collect()
}

fn expect(mut reader: Reader, clip: &Clip) -> Result<(), TestCaseError> {
    prop_assert_eq!(reader.format(), clip.format());
    let mut frame = Frame::new(*clip.format());
    for expected in clip.frames() {
        prop_assert!(reader.read(&mut frame).unwrap());
        prop_assert_eq!(samples(&frame), samples(&expected));
    }
    prop_assert!(!reader.read(&mut frame).unwrap());
    Ok(())
}

proptest! {
    #[test]
    fn y4m_is_read_as_it_was_written(format in formats(), count in 0..4u64) {
        let clip = noise(format, count);
        let mut bytes = Vec::new();
        write_y4m(&mut bytes, &format, (30, 1), clip.frames()).unwrap();
        let file = y4m_seekable("file", Cursor::new(bytes.clone())).unwrap();
        prop_assert_eq!(file.total_frames(), Some(count));
        prop_assert_eq!(file.frame_rate(), Some((30, 1)));
        prop_assert!(file.info().warnings.is_empty());
        expect(file, &clip)?;
        expect(y4m_stream("pipe", Cursor::new(bytes)).unwrap(), &clip)?;
    }

    #[test]
    fn raw_is_read_as_it_was_written(format in formats(), count in 0..4u64, up in any::<bool>()) {
        let rounding = if up { ChromaRounding::Up } else { ChromaRounding::Down };
        let clip = noise(format, count);
        let mut bytes = Vec::new();
        write_raw(&mut bytes, rounding, clip.frames()).unwrap();
        let file = raw_seekable("file", Cursor::new(bytes.clone()), format, rounding).unwrap();
        prop_assert_eq!(file.total_frames(), Some(count));
        expect(file, &clip)?;
        expect(raw_stream("pipe", Cursor::new(bytes), format, rounding).unwrap(), &clip)?;
    }

    #[test]
    fn auto_finds_the_rounding_that_was_written(format in formats(), up in any::<bool>()) {
        let rounding = if up { ChromaRounding::Up } else { ChromaRounding::Down };
        let clip = noise(format, 1);
        let mut bytes = Vec::new();
        write_raw(&mut bytes, rounding, clip.frames()).unwrap();
        expect(raw_seekable("file", Cursor::new(bytes), format, ChromaRounding::Auto).unwrap(), &clip)?;
    }
}

/// How many whole frames came, and how it ended.
fn drain(opened: Result<Reader, ReadError>) -> (u64, Result<(), ReadError>) {
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => return (0, Err(error)),
    };
    let mut frame = Frame::new(*reader.format());
    loop {
        match reader.read(&mut frame) {
            Ok(true) => {}
            Ok(false) => return (reader.frames_read(), Ok(())),
            Err(error) => return (reader.frames_read(), Err(error)),
        }
    }
}

/// Cuts a file at every byte. Up to `header` bytes it must not open; then only whole frames end regularly.
fn cut_everywhere(
    bytes: &[u8],
    header: usize,
    frame_bytes: usize,
    open: impl Fn(Vec<u8>) -> Result<Reader, ReadError>,
) {
    for length in 0..=bytes.len() {
        let (whole, end) = drain(open(bytes[..length].to_vec()));
        if length < header {
            assert!(matches!(end, Err(ReadError::Header { .. })), "{length}: {end:?}");
            continue;
        }
        let (frames, rest) = ((length - header) / frame_bytes, (length - header) % frame_bytes);
        assert_eq!(whole, frames as u64, "{length}");
        match end {
            Ok(()) => assert_eq!(rest, 0, "{length}"),
            Err(ReadError::Truncated { frame, whole_frames, byte, expected, got, file }) => {
                assert_eq!((frame, whole_frames, file.as_str()), (whole, whole, "cut"));
                assert_eq!(byte as usize, header + frames * frame_bytes);
                assert_eq!((expected as usize, got as usize), (frame_bytes, rest));
                assert_ne!(rest, 0);
            }
            Err(error) => panic!("{length}: {error:?}"),
        }
    }
}

#[test]
fn y4m_cut_at_every_byte_errs_with_the_right_figures() {
    for (chroma, depth) in [(Chroma::C420, 8), (Chroma::C422, 10), (Chroma::C400, 16)] {
        let format = Format::new(5, 3, chroma, depth).unwrap();
        let mut bytes = Vec::new();
        write_y4m(&mut bytes, &format, (25, 1), noise(format, 3).frames()).unwrap();
        let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let frame_bytes = (bytes.len() - header) / 3;
        cut_everywhere(&bytes, header, frame_bytes, |cut| y4m_seekable("cut", Cursor::new(cut)));
        cut_everywhere(&bytes, header, frame_bytes, |cut| y4m_stream("cut", Cursor::new(cut)));
    }
}

#[test]
fn raw_cut_at_every_byte_errs_with_the_right_figures() {
    for rounding in [ChromaRounding::Up, ChromaRounding::Down] {
        let format = Format::new(5, 3, Chroma::C420, 12).unwrap();
        let mut bytes = Vec::new();
        write_raw(&mut bytes, rounding, noise(format, 3).frames()).unwrap();
        let frame_bytes = bytes.len() / 3;
        cut_everywhere(&bytes, 0, frame_bytes, |cut| raw_seekable("cut", Cursor::new(cut), format, rounding));
        cut_everywhere(&bytes, 0, frame_bytes, |cut| raw_stream("cut", Cursor::new(cut), format, rounding));
    }
}

#[test]
fn a_writer_refuses_a_frame_of_another_format() {
    let format = Format::new(4, 4, Chroma::C420, 8).unwrap();
    let other = Format::new(4, 2, Chroma::C420, 8).unwrap();
    let error = write_y4m(Vec::new(), &format, (25, 1), [Frame::new(other)]).unwrap_err();
    assert_eq!(error.to_string(), "a frame of 4x2 4:2:0 8-bit in a file of 4x4 4:2:0 8-bit");
}
