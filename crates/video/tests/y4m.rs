//! Which Y4M files are taken, what is read from them, and the exact words for those that are refused.

use std::error::Error;
use std::io::{self, Cursor, Read};

use visus_video::{
    Chroma, ChromaRounding, ColourRange, Format, Frame, HeaderFault, Interlacing, PlaneView, ReadError,
    Reader, Source, Warning, y4m_seekable, y4m_stream,
};

fn file(bytes: impl AsRef<[u8]>) -> Result<Reader, ReadError> {
    y4m_seekable("clip.y4m", Cursor::new(bytes.as_ref().to_vec()))
}

/// A file of one frame whose bytes count up from 1.
fn counted(tags: &str, bytes: u8) -> Vec<u8> {
    let mut file = format!("YUV4MPEG2 {tags}\nFRAME\n").into_bytes();
    file.extend(1..=bytes);
    file
}

fn header(tags: &str) -> Reader {
    file(format!("YUV4MPEG2 {tags}\n")).unwrap()
}

fn fault(bytes: impl AsRef<[u8]>) -> String {
    file(bytes).unwrap_err().to_string()
}

fn libvmaf(bytes: impl AsRef<[u8]>) -> Option<String> {
    file(bytes).unwrap_err().libvmaf_words()
}

fn rows(frame: &Frame, plane: usize) -> Vec<Vec<u16>> {
    match frame.plane(plane) {
        PlaneView::U8(plane) => plane.rows().map(|row| row.iter().map(|s| u16::from(*s)).collect()).collect(),
        PlaneView::U16(plane) => plane.rows().map(<[u16]>::to_vec).collect(),
    }
}

fn first_frame(bytes: Vec<u8>) -> Frame {
    let mut reader = file(bytes).unwrap();
    let mut frame = Frame::new(*reader.format());
    assert!(reader.read(&mut frame).unwrap());
    assert_eq!(reader.frames_read(), 1);
    assert!(!reader.read(&mut frame).unwrap());
    assert!(!reader.read(&mut frame).unwrap());
    frame
}

#[test]
fn every_chroma_tag_has_its_format() {
    let format = |tag: &str| {
        let reader = header(&format!("W6 H4 F25:1 Ip {tag}"));
        (reader.format().chroma(), reader.format().depth())
    };
    for tag in ["", "C420", "C420jpeg", "C420mpeg2", "C420paldv"] {
        assert_eq!(format(tag), (Chroma::C420, 8), "{tag}");
    }
    assert_eq!(format("C422"), (Chroma::C422, 8));
    assert_eq!(format("C444"), (Chroma::C444, 8));
    assert_eq!(format("C444alpha"), (Chroma::C444, 8));
    assert_eq!(format("Cmono"), (Chroma::C400, 8));
    for depth in 9..=16 {
        assert_eq!(format(&format!("C420p{depth}")), (Chroma::C420, depth));
        assert_eq!(format(&format!("C422p{depth}")), (Chroma::C422, depth));
        assert_eq!(format(&format!("C444p{depth}")), (Chroma::C444, depth));
        assert_eq!(format(&format!("Cmono{depth}")), (Chroma::C400, depth));
    }
}

#[test]
fn planes_are_read_in_order() {
    let frame = first_frame(counted("W4 H2 F25:1 Ip C422", 16));
    assert_eq!(rows(&frame, 0), [[1, 2, 3, 4], [5, 6, 7, 8]]);
    assert_eq!(rows(&frame, 1), [[9, 10], [11, 12]]);
    assert_eq!(rows(&frame, 2), [[13, 14], [15, 16]]);
}

#[test]
fn odd_sizes_hand_over_the_top_left_of_rounded_up_chroma() {
    let frame = first_frame(counted("W3 H3 F25:1 Ip C420", 17));
    assert_eq!(rows(&frame, 0), [[1, 2, 3], [4, 5, 6], [7, 8, 9]]);
    assert_eq!(rows(&frame, 1), [[10]]);
    assert_eq!(rows(&frame, 2), [[14]]);
    assert_eq!(header("W3 H3 F1:1").info().rounding, Some(ChromaRounding::Up));
    assert_eq!(header("W4 H2 F1:1").info().rounding, None);
    let frame = first_frame(counted("W1 H1 F25:1 Ip C420", 3));
    assert_eq!(rows(&frame, 0), [[1]]);
    assert_eq!((frame.plane(1).width(), frame.plane(1).height()), (0, 0));
}

#[test]
fn deep_samples_are_little_endian_and_kept_beyond_their_depth() {
    let mut bytes = b"YUV4MPEG2 W2 H1 F25:1 Ip C444p10\nFRAME\n".to_vec();
    bytes.extend([0x34, 0x12, 0xff, 0xff, 1, 0, 2, 0, 3, 0, 4, 0]);
    let frame = first_frame(bytes);
    assert_eq!(rows(&frame, 0), [[0x1234, 0xffff]]);
    assert_eq!((rows(&frame, 1), rows(&frame, 2)), (vec![vec![1, 2]], vec![vec![3, 4]]));
}

#[test]
fn alpha_is_passed_over() {
    let mut bytes = counted("W2 H1 F25:1 Ip C444alpha", 8);
    bytes.extend(b"FRAME\n");
    bytes.extend(11..=18);
    for mut reader in [file(&bytes).unwrap(), y4m_stream("pipe", Cursor::new(bytes.clone())).unwrap()] {
        assert_eq!(reader.info().warnings, [Warning::AlphaIgnored]);
        let mut frame = Frame::new(*reader.format());
        assert!(reader.read(&mut frame).unwrap() && rows(&frame, 2) == [[5, 6]]);
        assert!(reader.read(&mut frame).unwrap() && rows(&frame, 2) == [[15, 16]]);
        assert!(!reader.read(&mut frame).unwrap());
    }
}

#[test]
fn monochrome_has_one_plane() {
    let frame = first_frame(counted("W2 H2 F25:1 Ip Cmono", 4));
    assert_eq!(frame.format().chroma(), Chroma::C400);
    assert_eq!(rows(&frame, 0), [[1, 2], [3, 4]]);
}

#[test]
fn facts_of_the_header_are_kept() {
    let reader =
        header("W6 H4 F30000:1001 It A128:117 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=FULL Xany=thing");
    let info = reader.info();
    assert_eq!((reader.frame_rate(), info.aspect), (Some((30000, 1001)), Some((128, 117))));
    assert_eq!((info.interlacing, info.range), (Interlacing::TopFieldFirst, Some(ColourRange::Full)));
    assert_eq!(info.chroma_tag.as_deref(), Some("420mpeg2"));
    assert_eq!(info.warnings, [Warning::Interlaced(Interlacing::TopFieldFirst)]);
    let plain = header("W6 H4 F0:0 Ip A0:0 XCOLORRANGE=LIMITED");
    assert_eq!((plain.frame_rate(), plain.info().aspect), (None, None));
    assert_eq!(plain.info().range, Some(ColourRange::Limited));
    assert_eq!(plain.info().warnings, []);
}

#[test]
fn interlacing_is_a_fact_and_a_warning() {
    let kind = |tag: &str| header(&format!("W6 H4 F1:1 {tag}")).info().interlacing;
    assert_eq!(kind("Ip"), Interlacing::Progressive);
    assert_eq!(kind("Ib"), Interlacing::BottomFieldFirst);
    assert_eq!(kind("Im"), Interlacing::Mixed);
    assert_eq!((kind("I?"), kind("")), (Interlacing::Unknown, Interlacing::Unknown));
    let words = |tag: &str| {
        let warnings = &header(&format!("W6 H4 F1:1 {tag}")).info().warnings.clone();
        let [warning] = &warnings[..] else { panic!("one warning expected: {warnings:?}") };
        (warning.to_string(), warning.libvmaf_words().unwrap())
    };
    assert_eq!(
        words(""),
        (
            "interlacing is not stated; the video is taken for progressive".to_owned(),
            "Warning: Input video interlacing format unknown; assuming progressive scan.".to_owned()
        )
    );
    assert_eq!(
        words("Im"),
        (
            "the video is interlaced (mixed); frames are compared as they are, without deinterlacing"
                .to_owned(),
            "Input video is interlaced; Theora only handles progressive scan.".to_owned()
        )
    );
    assert_eq!(Interlacing::Progressive.libvmaf_words(), None);
}

#[test]
fn another_version_and_stray_characters_are_warned_about() {
    let reader = file("YUV4MPEG3 W6x H4 F25:1! Ip\n").unwrap();
    assert_eq!(reader.format().width(), 6);
    assert_eq!(reader.frame_rate(), Some((25, 1)));
    let words: Vec<_> = reader.info().warnings.iter().map(Warning::to_string).collect();
    assert_eq!(
        words,
        [
            "the file is marked YUV4MPEG3; it is read as YUV4MPEG2",
            "characters after the number in header tag \"W6x\" are ignored",
            "characters after the number in header tag \"F25:1!\" are ignored",
        ]
    );
    let libvmaf = reader.info().warnings[0].libvmaf_words();
    assert_eq!(libvmaf.as_deref(), Some("Incorrect YUV input file version; YUV4MPEG2 required."));
}

#[test]
fn mplayers_chroma_tag_counts_only_without_the_official_one() {
    assert_eq!(header("W6 H4 F1:1 XYSCSS=444").format().chroma(), Chroma::C444);
    assert_eq!(header("W6 H4 F1:1 XYSCSS=422P10").format().depth(), 10);
    assert_eq!(header("W6 H4 F1:1 C420 XYSCSS=444").format().chroma(), Chroma::C420);
}

#[test]
fn a_later_tag_replaces_an_earlier_one_and_blanks_may_repeat() {
    assert_eq!(header("W2  H4 W6 F1:1   C444 C422 ").format(), &Format::new(6, 4, Chroma::C422, 8).unwrap());
}

#[test]
fn lines_may_end_in_cr_lf() {
    let mut bytes = b"YUV4MPEG2 W2 H1 F25:1 Ip Cmono\r\nFRAME\r\n".to_vec();
    bytes.extend([7, 8]);
    assert_eq!(rows(&first_frame(bytes), 0), [[7, 8]]);
}

#[test]
fn frame_headers_may_have_parameters_up_to_a_limit() {
    let with_parameters = |length: usize| {
        let mut bytes = b"YUV4MPEG2 W1 H1 F1:1 Ip Cmono\nFRAME ".to_vec();
        bytes.resize(bytes.len() + length - 7, b'x');
        bytes.extend(b"\n5");
        bytes
    };
    for length in [7, 8, 100, 4096] {
        assert_eq!(rows(&first_frame(with_parameters(length)), 0), [[53]], "{length}");
        assert_eq!(file(with_parameters(length)).unwrap().total_frames(), Some(1));
    }
    let mut reader = y4m_stream("clip.y4m", Cursor::new(with_parameters(4097))).unwrap();
    let error = reader.read(&mut Frame::new(*reader.format())).unwrap_err();
    assert_eq!(error.to_string(), "header of frame 0 of \"clip.y4m\" at byte 30 is longer than 4096 bytes");
    assert_eq!(error.libvmaf_words().as_deref(), Some("Error parsing YUV frame header"));
}

#[test]
fn headers_may_be_long_up_to_a_limit() {
    let with_comment = |length: usize| {
        let mut bytes = b"YUV4MPEG2 W1 H1 F1:1 Ip Cmono X".to_vec();
        bytes.resize(length - 1, b'x');
        bytes.push(b'\n');
        bytes
    };
    assert_eq!(with_comment(4096).len(), 4096);
    assert!(file(with_comment(300)).is_ok() && file(with_comment(4096)).is_ok());
    assert_eq!(
        fault(with_comment(4097)),
        "header of \"clip.y4m\" at byte 4096: the header is longer than 4096 bytes"
    );
}

#[test]
fn total_frames_comes_from_the_length() {
    let mut bytes = counted("W2 H1 F25:1 Ip Cmono", 2);
    assert_eq!(file(&bytes).unwrap().total_frames(), Some(1));
    bytes.extend(b"FRAME\n12FRAME\n3");
    assert_eq!(file(&bytes).unwrap().total_frames(), Some(2));
    assert_eq!(header("W2 H1 F1:1").total_frames(), Some(0));
    assert_eq!(y4m_stream("pipe", Cursor::new(bytes)).unwrap().total_frames(), None);
}

#[test]
fn skipping_counts_and_leaves_the_next_frame() {
    let mut bytes = counted("W2 H1 F25:1 Ip Cmono", 2);
    bytes.extend(b"FRAME x\n34FRAME\n56");
    for mut reader in [file(&bytes).unwrap(), y4m_stream("pipe", Cursor::new(bytes.clone())).unwrap()] {
        let mut frame = Frame::new(*reader.format());
        assert_eq!(reader.skip(0).unwrap(), 0);
        assert_eq!(reader.skip(2).unwrap(), 2);
        assert!(reader.read(&mut frame).unwrap() && rows(&frame, 0) == [[53, 54]]);
        assert_eq!(reader.skip(5).unwrap(), 0);
        assert_eq!(reader.frames_read(), 3);
    }
}

#[test]
fn refused_headers_say_which_part_is_wrong() {
    let of = |tags: &str| fault(format!("YUV4MPEG2 {tags}\n"));
    let accepted = "accepted are 420, 420jpeg, 420mpeg2, 420paldv, 422, 444, 444alpha, mono, and 420p, 422p, 444p or \
                    mono followed by 9 to 16 bits";
    let cases = [
        (fault(""), "byte 0: the file is empty".to_owned()),
        (
            fault("\x00\x01RIFF\n"),
            "byte 0: this is no Y4M file: it begins with \"\\x00\\x01RIFF\", not with YUV4MPEG2 (for raw video give \
             size, chroma format and bit depth)"
                .to_owned(),
        ),
        (fault("YUV4MPEG2 W4 H"), "byte 14: the file ends within the header, after 14 bytes".to_owned()),
        (of("H4 F1:1"), "byte 0: the width is missing (tag W)".to_owned()),
        (of("W4 F1:1"), "byte 0: the height is missing (tag H)".to_owned()),
        (of("W4 H4"), "byte 0: the frame rate is missing (tag F)".to_owned()),
        (of("Wx H4 F1:1"), "byte 10: \"Wx\" is not a width; expected is for example W1920".to_owned()),
        (of("W4 H-4 F1:1"), "byte 13: \"H-4\" is not a height; expected is for example H1080".to_owned()),
        (of("W4 H4 F25"), "byte 16: \"F25\" is not a frame rate; expected is for example F25:1".to_owned()),
        (
            of("W4 H4 F1:1 A1"),
            "byte 21: \"A1\" is not a sample aspect ratio; expected is for example A1:1".to_owned(),
        ),
        (
            of("W4 H4 F1:1 Ix"),
            "byte 21: \"Ix\" is not a kind of interlacing; expected is for example Ip".to_owned(),
        ),
        (of("W4 H4 F1:1 C411"), format!("byte 21: chroma format \"411\" is not supported; {accepted}")),
        (of("W4 H4 F1:1 C420p8"), format!("byte 21: chroma format \"420p8\" is not supported; {accepted}")),
        (of("W4 H4 F1:1 C420p010"), format!("byte 21: chroma format \"420p010\" is not supported; {accepted}")),
        (of("W4 H4 F1:1 Cmono17"), format!("byte 21: chroma format \"mono17\" is not supported; {accepted}")),
        (of("W4 H4 F1:1 C"), format!("byte 21: chroma format \"\" is not supported; {accepted}")),
        (
            of("W0 H0 F1:1"),
            "byte 0: picture size 0x0 is not usable: each side must be 1 to 32768".to_owned(),
        ),
        (
            of("W99999999999999999999999 H4 F1:1"),
            "byte 0: picture size 9223372036854775807x4 is not usable: each side must be 1 to 32768".to_owned(),
        ),
    ];
    for (words, expected) in cases {
        assert_eq!(words, format!("header of \"clip.y4m\" at {expected}"));
    }
}

#[test]
fn libvmafs_words_are_known_for_what_it_refuses_too() {
    let words = |tags: &str| libvmaf(format!("YUV4MPEG2 {tags}\n")).unwrap();
    assert_eq!(libvmaf("RIFF\n").unwrap(), "Incomplete magic for YUV4MPEG file.");
    assert_eq!(libvmaf(""), None);
    assert_eq!(words("W4 H4"), "Error parsing YUV4MPEG2 header.");
    assert_eq!(words("W4 H4 Fx"), "Error parsing YUV4MPEG2 header.");
    assert_eq!(words("W4 H4 F1:1 C420p1000"), "Unknown chroma sampling type: 420p1000");
    assert_eq!(words("W4 H4 F1:1 C420p10000000000000"), "Error parsing YUV4MPEG2 header.");
    assert_eq!(words("W4 H4 F1:1 Ix"), "Input video is interlaced; Theora only handles progressive scan.");
}

#[test]
fn a_cut_frame_says_how_many_whole_frames_there_were() {
    let mut bytes = counted("W2 H2 F25:1 Ip C420", 6);
    bytes.extend(b"FRAME\nabc");
    let mut reader = file(&bytes).unwrap();
    let mut frame = Frame::new(*reader.format());
    assert!(reader.read(&mut frame).unwrap());
    let error = reader.read(&mut frame).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"clip.y4m\" is cut short: frame 1 at byte 42 has 9 of 12 bytes, after 1 whole frames"
    );
    assert_eq!(error.libvmaf_words().as_deref(), Some("Error reading YUV frame data."));
    let ReadError::Truncated { frame: 1, whole_frames: 1, byte: 42, expected: 12, got: 9, .. } = error else {
        panic!("{error:?}")
    };
    let again = reader.read(&mut frame).unwrap_err();
    assert_eq!(again.to_string(), "\"clip.y4m\" cannot be read on after an earlier error");
    assert!(reader.skip(1).is_err());
}

#[test]
fn lost_framing_says_what_stands_there() {
    let mut bytes = counted("W2 H2 F25:1 Ip C420", 7);
    bytes.extend(b"FRAME\n");
    let mut reader = file(&bytes).unwrap();
    let mut frame = Frame::new(*reader.format());
    assert!(reader.read(&mut frame).unwrap());
    let error = reader.read(&mut frame).unwrap_err();
    assert_eq!(
        error.to_string(),
        "framing of \"clip.y4m\" is lost at byte 42: frame 1 begins with \"\\x07FRAME\", not with FRAME"
    );
    assert_eq!(error.libvmaf_words().as_deref(), Some("Loss of framing in YUV input data"));
}

#[test]
fn a_size_that_the_file_cannot_hold_is_refused_when_it_is_opened() {
    let error = file("YUV4MPEG2 W32768 H32768 F1:1 C444p16\nFRAME\nabc").unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"clip.y4m\" is cut short: frame 0 at byte 37 has 9 of 6442450950 bytes, after 0 whole frames"
    );
    assert!(matches!(
        file("YUV4MPEG2 W32768 H32768 F1:1 C444p16\nabc"),
        Err(ReadError::LostFraming { byte: 37, .. })
    ));
}

#[test]
fn a_frame_of_another_format_is_refused_and_nothing_is_lost() {
    let mut reader = file(counted("W2 H1 F25:1 Ip Cmono", 2)).unwrap();
    let error = reader.read(&mut Frame::new(Format::new(2, 1, Chroma::C400, 10).unwrap())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"clip.y4m\" has frames of 2x1 4:0:0 8-bit, they cannot be read into a frame of 2x1 4:0:0 10-bit"
    );
    assert!(reader.read(&mut Frame::new(*reader.format())).unwrap());
}

/// Gives some bytes and then fails.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::Error::new(io::ErrorKind::ConnectionReset, "the cable was pulled")),
            count => Ok(count),
        }
    }
}

#[test]
fn a_failing_input_is_reported_with_its_cause() {
    let mut bytes = counted("W2 H1 F25:1 Ip Cmono", 2);
    bytes.extend(b"FRAME\n1");
    let mut reader = y4m_stream("clip.y4m", Failing(Cursor::new(bytes))).unwrap();
    let mut frame = Frame::new(*reader.format());
    assert!(reader.read(&mut frame).unwrap());
    let error = reader.read(&mut frame).unwrap_err();
    assert_eq!(error.to_string(), "cannot read frame 1 of \"clip.y4m\" at byte 46");
    assert_eq!(error.source().unwrap().to_string(), "the cable was pulled");
    assert!(matches!(reader.read(&mut frame), Err(ReadError::Failed { .. })));
    let error = y4m_stream("clip.y4m", Failing(Cursor::new(b"YUV4".to_vec()))).unwrap_err();
    assert_eq!(error.to_string(), "cannot read frame 0 of \"clip.y4m\" at byte 4");
}

#[test]
fn faults_are_distinct() {
    let error = file("YUV4MPEG2 W4 H4 F1:1 C411\n").unwrap_err();
    assert!(
        matches!(&error, ReadError::Header { fault: HeaderFault::Chroma { tag }, .. } if tag == "411"),
        "{error:?}"
    );
}

/// Long jumps end where single steps do, whatever the headers of frames are.
#[test]
fn many_frames_are_passed_over_at_once() {
    let frames = |header: &dyn Fn(u64) -> String| {
        let mut bytes = b"YUV4MPEG2 W4 H4 F25:1 C420jpeg\n".to_vec();
        for frame in 0..200u64 {
            bytes.extend_from_slice(header(frame).as_bytes());
            bytes.extend(std::iter::repeat_n(frame as u8, 24));
        }
        bytes
    };
    let plain = |_: u64| "FRAME\n".to_owned();
    let longer = |_: u64| "FRAME Ip\n".to_owned();
    // As long as 205 frames of 30 bytes: only a look at the end of the jump tells.
    let uneven = |frame: u64| match frame {
        3 | 199 => format!("FRAME X{}\n", "y".repeat(73)),
        _ => "FRAME\n".to_owned(),
    };
    for (name, bytes) in [("plain", frames(&plain)), ("longer", frames(&longer)), ("uneven", frames(&uneven))]
    {
        for skip in [63, 64, 150, 199] {
            let mut source = y4m_seekable(name, Cursor::new(bytes.clone())).unwrap();
            assert_eq!(source.skip(skip).unwrap(), skip, "{name}");
            assert_eq!(source.frames_read(), skip);
            let mut frame = Frame::new(*source.format());
            assert!(source.read(&mut frame).unwrap(), "{name} {skip}");
            assert_eq!(rows(&frame, 0)[0][0], skip as u16, "{name} {skip}");
        }
        let mut source = y4m_seekable(name, Cursor::new(bytes)).unwrap();
        assert_eq!(source.skip(1000).unwrap(), 200, "{name}");
    }
}
