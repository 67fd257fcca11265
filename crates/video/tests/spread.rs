//! Files that several hands read give the frames, the end and the errors of one reader.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use visus_video::synthetic::Clip;
use visus_video::{
    Alone, Chroma, ChromaRounding, Format, Frame, PlaneSet, PlaneView, Source, Spread, open, write_raw,
    write_y4m,
};

/// Threads that count the pieces they did.
struct Hands(AtomicUsize);

impl Spread for Hands {
    fn width(&self) -> usize {
        3
    }

    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        self.0.fetch_add(count, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for first in 0..3 {
                scope.spawn(move || (first..count).step_by(3).for_each(work));
            }
        });
    }
}

const FRAMES: u64 = 3;

fn write(path: &Path, clip: &Clip, raw: bool) {
    let frames: Vec<Frame> = clip.frames().collect();
    let mut file = File::create(path).unwrap();
    if raw {
        write_raw(&mut file, ChromaRounding::Up, frames.iter()).unwrap();
    } else {
        write_y4m(&mut file, clip.format(), (25, 1), frames.iter()).unwrap();
    }
    file.flush().unwrap();
}

/// Every frame, as text, and how it ended.
fn all(
    source: &mut dyn Source,
    mut read: impl FnMut(&mut dyn Source, &mut Frame) -> Result<bool, String>,
) -> Vec<String> {
    let mut frame = Frame::new(*source.format());
    let mut seen = Vec::new();
    loop {
        match read(source, &mut frame) {
            Ok(true) => seen.push(format!("{frame:?}")),
            Ok(false) => return seen,
            Err(error) => {
                seen.push(error);
                return seen;
            }
        }
    }
}

/// The samples of a plane.
fn plane(frame: &Frame, index: usize) -> Vec<u16> {
    match frame.plane(index) {
        PlaneView::U8(plane) => plane.rows().flatten().map(|sample| u16::from(*sample)).collect(),
        PlaneView::U16(plane) => plane.rows().flatten().copied().collect(),
    }
}

/// Reads these planes of every frame and compares them with what the file holds; how it ended.
fn compare(
    source: &mut dyn Source,
    clip: &Clip,
    planes: PlaneSet,
    hands: &dyn Spread,
) -> Result<u64, String> {
    for (number, expected) in (0..).zip(clip.frames()) {
        let mut frame = Frame::new(*source.format());
        let more = source.read_planes(&mut frame, planes, hands).map_err(|error| error.to_string())?;
        if !more {
            return Ok(number);
        }
        for index in planes.range(3) {
            assert!(plane(&frame, index) == plane(&expected, index), "plane {index} of frame {number}");
        }
    }
    Ok(FRAMES)
}

#[test]
fn chosen_planes_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip");
    for (width, height, depth) in [(128, 66, 8), (129, 33, 8), (256, 64, 12)] {
        let format = Format::new(width, height, Chroma::C420, depth).unwrap();
        let clip = Clip::scene(format, FRAMES, 4);
        for raw in [false, true] {
            write(&path, &clip, raw);
            let length = std::fs::metadata(&path).unwrap().len();
            let sets = [PlaneSet::ALL, PlaneSet::LUMA, PlaneSet::CHROMA, PlaneSet::NONE];
            for (cut, planes) in [0, 100].into_iter().flat_map(|cut| sets.map(|planes| (cut, planes))) {
                File::options().write(true).open(&path).unwrap().set_len(length - cut).unwrap();
                for hands in [&Alone as &dyn Spread, &Hands(AtomicUsize::new(0))] {
                    let mut source = open(&path, raw.then_some(format)).unwrap();
                    let end = compare(&mut *source, &clip, planes, hands);
                    match cut {
                        0 => assert_eq!(end, Ok(FRAMES), "{format}, raw {raw}, {planes:?}"),
                        _ => assert!(end.unwrap_err().contains("frame 2"), "{format}, raw {raw}, {planes:?}"),
                    }
                }
                write(&path, &clip, raw);
            }
        }
    }
}

#[test]
fn several_hands_read_what_one_reads() {
    let folder = tempfile::tempdir().unwrap();
    for (width, height, depth, shared) in [
        (128, 66, 8, true),
        (64, 40, 10, false),
        (70, 30, 8, false),
        (129, 33, 8, false),
        (256, 64, 12, true),
    ] {
        let format = Format::new(width, height, Chroma::C420, depth).unwrap();
        let clip = Clip::scene(format, FRAMES, 4);
        for raw in [false, true] {
            let path = folder.path().join("clip");
            write(&path, &clip, raw);
            let length = std::fs::metadata(&path).unwrap().len();
            // Whole, and cut within the last frame.
            for cut in [0, 100] {
                File::options().write(true).open(&path).unwrap().set_len(length - cut).unwrap();
                let opened = || open(&path, raw.then_some(format)).unwrap();
                let error =
                    |result: Result<bool, visus_video::ReadError>| result.map_err(|error| error.to_string());
                let alone = all(&mut *opened(), |source, frame| error(source.read(frame)));
                let hands = Hands(AtomicUsize::new(0));
                let together = all(&mut *opened(), |source, frame| {
                    error(source.read_planes(frame, PlaneSet::ALL, &hands))
                });
                assert!(alone == together, "{format}, raw {raw}, cut {cut}");
                assert_eq!(hands.0.into_inner() > 0, shared && cfg!(unix), "{format}, raw {raw}");
            }
        }
    }
}
