//! Raw planar video: which chroma planes odd sizes have, and what a length that does not fit means.

use std::io::Cursor;

use visus_video::{
    Chroma, ChromaRounding, Format, Frame, PlaneView, ReadError, Reader, Source, Warning, raw_seekable,
    raw_stream,
};

use ChromaRounding::{Auto, Down, Up};

fn file(bytes: usize, format: Format, rounding: ChromaRounding) -> Result<Reader, ReadError> {
    let bytes: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
    raw_seekable("clip.yuv", Cursor::new(bytes), format, rounding)
}

fn odd() -> Format {
    Format::new(5, 3, Chroma::C420, 8).unwrap()
}

/// The first samples of the planes of the next frame.
fn firsts(reader: &mut Reader) -> Option<[u8; 3]> {
    let mut frame = Frame::new(*reader.format());
    reader.read(&mut frame).unwrap().then(|| {
        [0, 1, 2].map(|plane| match frame.plane(plane) {
            PlaneView::U8(plane) => plane.row(0)[0],
            PlaneView::U16(_) => panic!("8-bit frame expected"),
        })
    })
}

#[test]
fn odd_sizes_are_decided_by_the_length() {
    // Rounded up a frame has 15 + 2 * 6 bytes, rounded down 15 + 2 * 2.
    let mut up = file(54, odd(), Auto).unwrap();
    assert_eq!((up.info().rounding, up.total_frames()), (Some(Up), Some(2)));
    assert_eq!(firsts(&mut up), Some([0, 15, 21]));
    assert_eq!(firsts(&mut up), Some([27, 42, 48]));
    assert_eq!(firsts(&mut up), None);
    let mut down = file(38, odd(), Auto).unwrap();
    assert_eq!((down.info().rounding, down.total_frames()), (Some(Down), Some(2)));
    assert_eq!(firsts(&mut down), Some([0, 15, 17]));
    assert_eq!(firsts(&mut down), Some([19, 34, 36]));
    assert_eq!(firsts(&mut down), None);
    assert!(up.info().warnings.is_empty() && down.info().warnings.is_empty());
}

#[test]
fn if_both_or_neither_fit_it_is_up() {
    assert_eq!(file(27 * 19, odd(), Auto).unwrap().info().rounding, Some(Up));
    let neither = file(30, odd(), Auto).unwrap();
    assert_eq!(neither.info().rounding, Some(Up));
    assert_eq!(
        neither.info().warnings,
        [Warning::Length { length: 30, frame_bytes: 27, whole_frames: 1, rest: 3 }]
    );
    assert_eq!(
        neither.info().warnings[0].to_string(),
        "30 bytes are not a whole number of frames of 27 bytes: 1 frames and 3 bytes; are size, chroma format and bit \
         depth right?"
    );
}

#[test]
fn a_setting_overrides_and_pipes_round_up() {
    assert_eq!(file(38, odd(), Up).unwrap().info().rounding, Some(Up));
    assert_eq!(file(54, odd(), Down).unwrap().info().rounding, Some(Down));
    let pipe = raw_stream("pipe", Cursor::new(vec![0; 38]), odd(), Auto).unwrap();
    assert_eq!((pipe.info().rounding, pipe.total_frames()), (Some(Up), None));
    let even = Format::new(4, 2, Chroma::C420, 8).unwrap();
    assert_eq!(file(12, even, Auto).unwrap().info().rounding, None);
}

#[test]
fn samples_above_8_bits_are_little_endian() {
    for depth in 9..=16 {
        let format = Format::new(2, 1, Chroma::C400, depth).unwrap();
        let mut reader = raw_seekable("x", Cursor::new(vec![0x34, 0x12, 0, 0xff]), format, Auto).unwrap();
        let mut frame = Frame::new(format);
        assert!(reader.read(&mut frame).unwrap());
        let PlaneView::U16(plane) = frame.plane(0) else { panic!("16-bit frame expected") };
        assert_eq!(plane.row(0), [0x1234, 0xff00]);
    }
}

#[test]
fn an_empty_file_has_no_frames_and_one_that_is_too_short_is_refused() {
    let mut empty = file(0, odd(), Auto).unwrap();
    assert_eq!((empty.total_frames(), firsts(&mut empty)), (Some(0), None));
    let huge = Format::new(32_768, 32_768, Chroma::C444, 16).unwrap();
    assert_eq!(
        file(10, huge, Auto).unwrap_err().to_string(),
        "\"clip.yuv\" is cut short: frame 0 at byte 0 has 10 of 6442450944 bytes, after 0 whole frames"
    );
}

#[test]
fn a_rest_is_a_cut_frame_after_the_whole_ones() {
    let mut reader = file(30, odd(), Auto).unwrap();
    assert_eq!(reader.total_frames(), Some(1));
    assert!(firsts(&mut reader).is_some());
    let error = reader.read(&mut Frame::new(odd())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"clip.yuv\" is cut short: frame 1 at byte 27 has 3 of 27 bytes, after 1 whole frames"
    );
    let mut skipping = file(30, odd(), Auto).unwrap();
    assert!(matches!(skipping.skip(2), Err(ReadError::Truncated { whole_frames: 1, got: 3, .. })));
    assert!(matches!(skipping.skip(2), Err(ReadError::Failed { .. })));
}

#[test]
fn skipping_is_the_same_in_files_and_pipes() {
    let bytes: Vec<u8> = (0..108).collect();
    let readers = [
        raw_seekable("f", Cursor::new(bytes.clone()), odd(), Auto).unwrap(),
        raw_stream("p", Cursor::new(bytes), odd(), Auto).unwrap(),
    ];
    for mut reader in readers {
        assert_eq!(reader.skip(1).unwrap(), 1);
        assert_eq!(firsts(&mut reader), Some([27, 42, 48]));
        assert_eq!(reader.skip(9).unwrap(), 2);
        assert_eq!((reader.frames_read(), firsts(&mut reader)), (4, None));
    }
}

#[test]
fn reading_begins_where_the_input_stands() {
    let mut bytes = Cursor::new((0..40u8).collect::<Vec<_>>());
    bytes.set_position(13);
    let mut reader = raw_seekable("rest", bytes, odd(), Auto).unwrap();
    assert_eq!(reader.total_frames(), Some(1));
    assert_eq!(firsts(&mut reader), Some([13, 28, 34]));
}
