//! Pictures and clips for tests, made by a fixed generator, and the scores that a metric gives them.

use visus_video::{Format, Frame};

use crate::picture::FloatPlane;
use crate::{Emit, Info, Level, Pair, Window, registry};

/// A linear congruential generator, so that other programs can make the same pictures.
#[derive(Clone, Debug)]
pub struct Generator(pub u32);

impl Generator {
    /// A whole number below `bound`, which is at most 65536.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) % bound
    }
}

/// A plane of values from `low` on, in steps of 1/256, less than `range` apart.
pub fn plane(width: usize, height: usize, low: f32, range: u32, generator: &mut Generator) -> FloatPlane {
    let mut plane = FloatPlane::new(width, height);
    for y in 0..height {
        plane.row_mut(y).fill_with(|| low + generator.below(range * 256) as f32 / 256.0);
    }
    plane
}

/// A frame whose samples come from `sample`, plane by plane and row by row.
pub fn frame(format: Format, mut sample: impl FnMut() -> u32) -> Frame {
    let mut frame = Frame::new(format);
    for plane in 0..format.planes() {
        for y in 0..format.plane_size(plane).1 {
            if let Some(mut rows) = frame.plane_mut_u8(plane) {
                rows.row_mut(y).fill_with(|| sample() as u8);
            }
            if let Some(mut rows) = frame.plane_mut_u16(plane) {
                rows.row_mut(y).fill_with(|| sample() as u16);
            }
        }
    }
    frame
}

/// A clip of noise, and one that is a quarter other noise.
pub fn clips(format: Format, frames: usize) -> (Vec<Frame>, Vec<Frame>) {
    let range = format.peak() + 1;
    let (mut same, mut original, mut other) = (Generator(1), Generator(1), Generator(2));
    (0..frames)
        .map(|_| {
            let reference = frame(format, || same.below(range));
            let distorted = frame(format, || (3 * original.below(range) + other.below(range)) / 4);
            (reference, distorted)
        })
        .unzip()
}

/// Scores by column and frame.
#[derive(Debug, Default, PartialEq)]
pub struct Scores(pub Vec<(String, Vec<f64>)>);

impl Emit for Scores {
    fn score(&mut self, key: usize, index: u64, value: f64) {
        let column = &mut self.0[key].1;
        column.resize(column.len().max(index as usize + 1), f64::NAN);
        assert!(column[index as usize].is_nan(), "a score is written once");
        column[index as usize] = value;
    }

    fn aggregate(&mut self, _name: &str, _value: f64) {}
}

/// Scores two clips with options given as `name=value` pairs, separated by colons.
pub fn score(info: &'static Info, options: &str, clips: &(Vec<Frame>, Vec<Frame>)) -> Scores {
    let given: Vec<_> = options
        .split(':')
        .filter_map(|option| option.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let metric = registry::build(info, &given).expect("a well-formed test");
    let format = *clips.0[0].format();
    let mut extractor = metric.extractor(&format.into(), Level::Scalar).expect("a well-formed test");
    let mut fold = metric.fold(&format);
    let mut scores = Scores(metric.keys().iter().map(|key| (key.name.clone(), Vec::new())).collect());
    let pair = |index: usize| Pair { reference: &clips.0[index], distorted: &clips.1[index] };
    for index in 0..clips.0.len() {
        let window = Window {
            index: index as u64,
            current: pair(index),
            previous: index.checked_sub(1).map(pair),
            before_previous: index.checked_sub(2).map(pair),
        };
        let mut raw = vec![f64::NAN; metric.raw_len()];
        extractor.extract(&window, &mut raw).expect("a well-formed test");
        fold.push(window.index, &raw, &mut scores);
    }
    fold.finish(&mut scores);
    scores
}
