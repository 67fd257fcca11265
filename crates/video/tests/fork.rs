//! A file can be read by several readers at once, each with a place of its own.
#![cfg(unix)]

use std::fs::File;

use visus_video::synthetic::Clip;
use visus_video::{Chroma, ChromaRounding, Format, Frame, Source, open, raw_stream, write_raw, write_y4m};

const FRAMES: u64 = 7;

fn format(depth: u8) -> Format {
    Format::new(37, 23, Chroma::C420, depth).unwrap()
}

fn frames(depth: u8) -> Vec<Frame> {
    let clip = Clip::scene(format(depth), FRAMES, 3);
    (0..FRAMES).map(|index| clip.frame(index)).collect()
}

/// The frame that comes next, by its place in the clip.
fn next(source: &mut dyn Source, frames: &[Frame]) -> Option<usize> {
    let mut frame = Frame::new(*source.format());
    let read = source.read(&mut frame).unwrap();
    let shown = format!("{frame:?}");
    read.then(|| frames.iter().position(|known| format!("{known:?}") == shown).unwrap())
}

#[test]
fn readers_of_one_file_do_not_disturb_each_other() {
    for depth in [8, 10] {
        let folder = tempfile::tempdir().unwrap();
        let (y4m, raw) = (folder.path().join("clip.y4m"), folder.path().join("clip.yuv"));
        let frames = frames(depth);
        write_y4m(File::create(&y4m).unwrap(), &format(depth), (25, 1), &frames).unwrap();
        write_raw(File::create(&raw).unwrap(), ChromaRounding::Up, &frames).unwrap();
        for mut first in [open(&y4m, None).unwrap(), open(&raw, Some(format(depth))).unwrap()] {
            assert_eq!(next(&mut *first, &frames), Some(0));
            let mut second = first.fork().expect("a file");
            assert_eq!(second.frames_read(), 1);
            assert_eq!(second.total_frames(), Some(FRAMES));
            assert_eq!(second.skip(3).unwrap(), 3);
            assert_eq!(next(&mut *second, &frames), Some(4));
            assert_eq!(next(&mut *first, &frames), Some(1));
            let mut third = second.fork().expect("a file");
            drop(second);
            assert_eq!(next(&mut *third, &frames), Some(5));
            assert_eq!(next(&mut *first, &frames), Some(2));
            assert_eq!(third.skip(9).unwrap(), 1);
            assert_eq!(next(&mut *third, &frames), None);
        }
    }
}

#[test]
fn what_can_be_read_once_cannot_be_forked() {
    let source = raw_stream("bytes", &[0u8; 2000][..], format(8), ChromaRounding::Up).unwrap();
    assert!(source.fork().is_none());
}
