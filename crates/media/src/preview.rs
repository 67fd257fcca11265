//! Small pictures of a video, made while it is read for another purpose: somebody may want to look at a frame later, and to
//! decode one that lies far behind its key frame takes a second.
//!
//! They hold reading up by little: a frame is reduced where it is read, which takes a fraction of a millisecond, and becomes a
//! JPEG on a thread of its own, and there are few of them however long a video is.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use jpeg_encoder::{ColorType, Encoder};
use visus_video::{ColourRange, Frame, Plane, PlaneView, Sample};

use crate::rgb::Matrix;

/// Pictures of one video, at most.
const MOST: u64 = 240;
/// The width that pictures have at most.
const WIDTH: usize = 480;
/// From 0 to 100.
const QUALITY: u8 = 80;
/// Pictures that wait to be encoded.
const WAITING: usize = 4;
/// From one picture to the next where nobody knows how many frames there are.
const USUALLY: u64 = 24;

/// Where small pictures go.
pub trait PreviewSink: fmt::Debug + Send + Sync {
    /// A frame of the reference (0) or of the distorted video (1), as JPEG.
    fn put(&self, side: usize, frame: u64, jpeg: Vec<u8>);
}

/// What a decoder is to make small pictures for.
#[derive(Clone, Debug)]
pub struct Previews {
    pub sink: Arc<dyn PreviewSink>,
    pub side: usize,
}

/// Takes small pictures of the frames that pass.
#[derive(Debug)]
pub(crate) struct PreviewTap {
    every: u64,
    colours: Colours,
    encoder: SyncSender<(u64, Small)>,
}

impl PreviewTap {
    /// For a video of so many frames.
    pub fn start(previews: &Previews, frames: Option<u64>, colours: Colours) -> Option<Self> {
        let every = frames.map_or(USUALLY, |frames| frames.div_ceil(MOST).max(1));
        let (encoder, pictures) = sync_channel::<(u64, Small)>(WAITING);
        let Previews { sink, side } = previews.clone();
        let encode = move || {
            for (frame, small) in pictures {
                if let Some(jpeg) = small.jpeg() {
                    sink.put(side, frame, jpeg);
                }
            }
        };
        // Without a thread there are no pictures, which nobody is owed.
        let thread = std::thread::Builder::new().name("previews".to_owned()).spawn(encode);
        thread.ok().map(|_| Self { every, colours, encoder })
    }

    pub fn pass(&self, number: u64, frame: &Frame) {
        if number.is_multiple_of(self.every) {
            let _ = self.encoder.send((number, Small::of(frame, self.colours)));
        }
    }
}

/// What samples stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colours {
    pub range: ColourRange,
    /// Red's and blue's part of luma, in thousandths.
    weights: (i32, i32),
}

impl Colours {
    /// By ffmpeg's name of the matrix; without one BT.601, as ffmpeg has it: previews look like the frames that it makes.
    pub fn new(range: ColourRange, matrix: Option<&str>) -> Self {
        let matrix = matrix.and_then(Matrix::named).unwrap_or(Matrix::Bt601);
        let thousandths = |weight: f64| (1000.0 * weight).round() as i32;
        let (red, blue) = matrix.weights();
        Self { range, weights: (thousandths(red), thousandths(blue)) }
    }
}

/// A frame that was reduced by a whole number, 8 bits a sample.
struct Small {
    width: usize,
    height: usize,
    planes: Vec<Reduced>,
    colours: Colours,
    shifts: (u32, u32),
}

struct Reduced {
    width: usize,
    samples: Vec<u8>,
}

impl Small {
    fn of(frame: &Frame, colours: Colours) -> Self {
        let format = frame.format();
        let factor = format.width().div_ceil(WIDTH).max(1);
        let shift = u32::from(format.depth() - 8);
        let reduce = |plane: usize| match frame.plane(plane) {
            PlaneView::U8(view) => Reduced::of(view, factor, shift),
            PlaneView::U16(view) => Reduced::of(view, factor, shift),
        };
        let (sx, sy) = format.chroma().shifts();
        Self {
            width: (format.width() / factor).max(1),
            height: (format.height() / factor).max(1),
            planes: (0..format.planes()).map(reduce).collect(),
            colours,
            shifts: (sx, sy),
        }
    }

    /// Red, green and blue, row after row.
    fn pixels(&self) -> Vec<u8> {
        let (low, luma_span, chroma_span) = match self.colours.range {
            ColourRange::Limited => (16, 219, 224),
            ColourRange::Full => (0, 255, 255),
        };
        let (red, blue) = self.colours.weights;
        let mut pixels = Vec::with_capacity(3 * self.width * self.height);
        for y in 0..self.height {
            for x in 0..self.width {
                let sample = |plane: usize, x: usize, y: usize| self.planes[plane].at(x, y);
                // In thousandths of a level.
                let luma = (sample(0, x, y) - low) * 255_000 / luma_span;
                let (cb, cr) = if self.planes.len() == 3 {
                    let (x, y) = (x >> self.shifts.0, y >> self.shifts.1);
                    let level = |plane| (sample(plane, x, y) - 128) * 255 * 2 / chroma_span;
                    (level(1), level(2))
                } else {
                    (0, 0)
                };
                let (r, b) = (luma + (1000 - red) * cr, luma + (1000 - blue) * cb);
                let green = 1000 - red - blue;
                let g = luma - (red * (1000 - red) / green) * cr - (blue * (1000 - blue) / green) * cb;
                pixels.extend([r, g, b].map(|level| ((level + 500) / 1000).clamp(0, 255) as u8));
            }
        }
        pixels
    }

    fn jpeg(&self) -> Option<Vec<u8>> {
        let (width, height) = (u16::try_from(self.width).ok()?, u16::try_from(self.height).ok()?);
        let mut jpeg = Vec::new();
        Encoder::new(&mut jpeg, QUALITY).encode(&self.pixels(), width, height, ColorType::Rgb).ok()?;
        Some(jpeg)
    }
}

impl Reduced {
    /// The mean of every square of `factor` samples a side; what is left over at the edges counts for itself.
    fn of<T: Sample>(plane: Plane<'_, T>, factor: usize, shift: u32) -> Self {
        let (width, height) = (plane.width().div_ceil(factor), plane.height().div_ceil(factor));
        let mut samples = Vec::with_capacity(width * height);
        let mut sums = vec![0u32; plane.width()];
        for y in 0..height {
            sums.fill(0);
            let rows = y * factor..((y + 1) * factor).min(plane.height());
            for row in rows.clone() {
                for (sum, sample) in sums.iter_mut().zip(plane.row(row)) {
                    let sample: u32 = (*sample).into();
                    *sum += sample;
                }
            }
            samples.extend(sums.chunks(factor).map(|square| {
                let count = (square.len() * rows.len()) as u32;
                ((square.iter().sum::<u32>() / count) >> shift).min(255) as u8
            }));
        }
        Self { width, samples }
    }

    fn at(&self, x: usize, y: usize) -> i32 {
        let place =
            (y * self.width + x.min(self.width.saturating_sub(1))).min(self.samples.len().saturating_sub(1));
        self.samples.get(place).copied().map_or(0, i32::from)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use visus_video::synthetic::Clip;
    use visus_video::{Chroma, Format};

    use super::*;

    /// Side, frame, JPEG.
    type Picture = (usize, u64, Vec<u8>);

    #[derive(Debug, Default)]
    struct Kept(Mutex<Vec<Picture>>);

    impl PreviewSink for Kept {
        fn put(&self, side: usize, frame: u64, jpeg: Vec<u8>) {
            self.0.lock().unwrap().push((side, frame, jpeg));
        }
    }

    #[test]
    fn every_nth_frame_becomes_a_small_picture() {
        let format = Format::new(1000, 400, Chroma::C420, 10).unwrap();
        let kept = Arc::new(Kept::default());
        let previews = Previews { sink: Arc::clone(&kept) as Arc<dyn PreviewSink>, side: 1 };
        let tap = PreviewTap::start(&previews, Some(480), Colours::new(ColourRange::Limited, None)).unwrap();
        let frame = Clip::scene(format, 1, 3).frames().next().unwrap();
        (0..4).for_each(|number| tap.pass(number, &frame));
        let until = Instant::now() + Duration::from_secs(20);
        while kept.0.lock().unwrap().len() < 2 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let kept = kept.0.lock().unwrap();
        let places: Vec<_> = kept.iter().map(|(side, frame, _)| (*side, *frame)).collect();
        assert_eq!(places, [(1, 0), (1, 2)]);
        assert!(kept.iter().all(|(.., jpeg)| jpeg.starts_with(&[0xff, 0xd8, 0xff])));
    }

    /// Uniform pictures keep their colour, at any subsampling, depth and range.
    #[test]
    fn colours_are_those_of_whole_pictures() {
        for (chroma, depth, range, height) in [
            (Chroma::C420, 8, ColourRange::Limited, 1080),
            (Chroma::C422, 10, ColourRange::Full, 480),
            (Chroma::C444, 12, ColourRange::Limited, 720),
            (Chroma::C400, 8, ColourRange::Limited, 720),
        ] {
            let format = Format::new(1600, height, chroma, depth).unwrap();
            let mut frame = Frame::new(format);
            for (plane, level) in [140u16, 100, 160].into_iter().enumerate().take(format.planes()) {
                for y in 0..format.plane_size(plane).1 {
                    if let Some(mut plane) = frame.plane_mut_u8(plane) {
                        plane.row_mut(y).fill(level as u8);
                    }
                    if let Some(mut plane) = frame.plane_mut_u16(plane) {
                        plane.row_mut(y).fill(level << (depth - 8));
                    }
                }
            }
            // What the other conversion assumes.
            let matrix = if height >= 720 { "bt709" } else { "smpte170m" };
            let small = Small::of(&frame, Colours::new(range, Some(matrix)));
            let found = small.pixels();
            assert_eq!(found.len(), 3 * small.width * small.height);
            let region = crate::worst::Region { x: 0, y: 0, width: 1, height: 1 };
            let whole = crate::worst::rgb(&frame, region, crate::convert::Shape { format, range })[0];
            for pixel in found.chunks(3) {
                let apart = pixel.iter().zip(whole).map(|(a, b)| a.abs_diff(b)).max();
                assert!(apart <= Some(2), "{pixel:?}, not {whole:?}");
            }
            assert!(small.width <= WIDTH);
        }
    }

    #[test]
    fn small_videos_are_not_reduced() {
        let format = Format::new(64, 36, Chroma::C420, 8).unwrap();
        let small = Small::of(&Frame::new(format), Colours::new(ColourRange::Limited, None));
        assert_eq!((small.width, small.height), (64, 36));
        assert!(small.jpeg().is_some());
    }
}
