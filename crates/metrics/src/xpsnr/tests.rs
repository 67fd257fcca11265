//! The metric against a naive truth and against figures of the reference implementation.

use visus_video::{Chroma, Format, Frame};

use super::INFO;
use crate::simd::level_tests;
use crate::testing;
use crate::{ClipInfo, Emit, Level, Metric, Pair, Window, registry};

/// The generator `x = x * 1664525 + 1013904223`, of which the upper half is used.
struct Lcg(u32);

impl Lcg {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        self.0 >> 16
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Noise,
    /// A moving slope with a little noise.
    Slope,
    NearZero,
    NearPeak,
    /// Light squares of 2x2 pixels on dark, or the other way round: that changes with every picture.
    Checkers,
}

const KINDS: [Kind; 4] = [Kind::Noise, Kind::Slope, Kind::NearZero, Kind::NearPeak];

fn sample(kind: Kind, x: u32, y: u32, time: u32, noise: u32, depth: u32) -> u32 {
    let peak = (1 << depth) - 1;
    match kind {
        Kind::Noise => (noise * 65537) >> (32 - depth),
        Kind::Slope => (x * 3 + y * 2 + time * 5 + noise % 4) % (peak + 1),
        Kind::NearZero => noise % 3 / 2,
        Kind::NearPeak => peak - noise % 3 / 2,
        Kind::Checkers => {
            let apart = 2 + y / 256 % 2;
            let is_light = (x / 2).is_multiple_of(apart) && (y / 2).is_multiple_of(apart);
            if is_light == time.is_multiple_of(2) { peak } else { 0 }
        }
    }
}

fn clip(kind: Kind, format: Format, frames: u32, seed: u32) -> Vec<Frame> {
    let mut random = Lcg(seed);
    let mut picture = |time| {
        let mut frame = Frame::new(format);
        for plane in 0..format.planes() {
            let (width, height) = format.plane_size(plane);
            for y in 0..height {
                let mut next =
                    |x| sample(kind, x as u32, y as u32, time, random.next(), format.depth().into());
                let row: Vec<u32> = (0..width).map(&mut next).collect();
                if let Some(mut plane) = frame.plane_mut_u8(plane) {
                    plane.row_mut(y).iter_mut().zip(&row).for_each(|(out, value)| *out = *value as u8);
                }
                if let Some(mut plane) = frame.plane_mut_u16(plane) {
                    plane.row_mut(y).iter_mut().zip(&row).for_each(|(out, value)| *out = *value as u16);
                }
            }
        }
        frame
    };
    (0..frames).map(&mut picture).collect()
}

#[derive(Default)]
struct Scores {
    frames: Vec<Vec<f64>>,
    aggregates: Vec<(String, f64)>,
}

impl Emit for Scores {
    fn score(&mut self, key: usize, index: u64, value: f64) {
        let index = index as usize;
        self.frames.resize((index + 1).max(self.frames.len()), Vec::new());
        assert_eq!(self.frames[index].len(), key);
        self.frames[index].push(value);
    }

    fn aggregate(&mut self, name: &str, value: f64) {
        self.aggregates.push((name.to_owned(), value));
    }
}

fn build(rate: &str) -> Box<dyn Metric> {
    registry::build(&super::INFO, &[("frame_rate".to_owned(), rate.to_owned())]).unwrap()
}

fn run(rate: &str, reference: &[Frame], distorted: &[Frame]) -> Scores {
    scores_of(&*build(rate), None, Level::Scalar, reference, distorted)
}

level_tests! {
    fn every_level_gives_the_same_bits(level) {
        let formats = [(97, 61, 8), (131, 70, 10), (44, 45, 8), (300, 161, 16), (2100, 1130, 8), (1990, 1099, 8)]
            .map(|(width, height, depth)| testing::format(width, height, Chroma::C420, depth));
        for options in [&[][..], &[("frame_rate", "60")][..]] {
            testing::assert_as_scalar(level, &INFO, options, &formats);
        }
    }
}

level_tests! {
    fn bytes_equal_the_naive_truth(level) {
        for (width, height, chroma) in [(97, 61, Chroma::C420), (65, 130, Chroma::C422), (700, 403, Chroma::C444)] {
            for kind in KINDS {
                let format = Format::new(width, height, chroma, 8).unwrap();
                compare_at(level, format, kind, 2, "25", false);
                compare_at(level, format, kind, 3, "50", true);
            }
        }
    }
}

fn scores_of(
    metric: &dyn Metric,
    frame_rate: Option<(u32, u32)>,
    level: Level,
    reference: &[Frame],
    distorted: &[Frame],
) -> Scores {
    let format = *reference[0].format();
    let mut extractor = metric.extractor(&ClipInfo { format, frame_rate }, level).unwrap();
    let (mut fold, mut scores) = (metric.fold(&format), Scores::default());
    let pair = |index: usize| Pair { reference: &reference[index], distorted: &distorted[index] };
    for index in 0..reference.len() {
        let window = Window {
            index: index as u64,
            current: pair(index),
            previous: index.checked_sub(1).map(pair),
            before_previous: index.checked_sub(2).map(pair),
        };
        let mut raw = vec![0.0; metric.raw_len()];
        extractor.extract(&window, &mut raw).unwrap();
        fold.push(index as u64, &raw, &mut scores);
    }
    fold.finish(&mut scores);
    scores
}

mod naive {
    //! The definition, block by block and pixel by pixel.

    use visus_video::{Frame, PlaneView};

    /// A sample; outside of the picture the nearest one.
    fn at(frame: Option<&Frame>, plane: usize, x: usize, y: usize) -> i64 {
        match frame.map(|frame| frame.plane(plane)) {
            Some(PlaneView::U8(p)) => p.row(y.min(p.height() - 1))[x.min(p.width() - 1)].into(),
            Some(PlaneView::U16(p)) => p.row(y.min(p.height() - 1))[x.min(p.width() - 1)].into(),
            None => 0,
        }
    }

    const HIGH_PASS: [[i64; 3]; 3] = [[-1, -2, -1], [-2, 12, -2], [-1, -2, -1]];
    /// Begins two pixels before the group.
    const GROUP_HIGH_PASS: [[i64; 6]; 6] = [
        [0, -1, -1, -1, -1, 0],
        [-1, -2, -3, -3, -2, -1],
        [-1, -3, 12, 12, -3, -1],
        [-1, -3, 12, 12, -3, -1],
        [-1, -2, -3, -3, -2, -1],
        [0, -1, -1, -1, -1, 0],
    ];

    fn filtered<const N: usize>(source: &Frame, taps: &[[i64; N]; N], x: usize, y: usize) -> f64 {
        let reach = (N - 1) / 2;
        let mut sum = 0;
        for (dy, row) in taps.iter().enumerate() {
            for (dx, tap) in row.iter().enumerate() {
                sum += tap * at(Some(source), 0, x + dx - reach, y + dy - reach);
            }
        }
        sum.abs() as f64
    }

    pub struct Naive<'a> {
        /// The source, and the ones before it.
        pub pictures: [Option<&'a Frame>; 3],
        pub distorted: &'a Frame,
        pub second: bool,
    }

    impl Naive<'_> {
        fn source(&self) -> &Frame {
            self.pictures[0].unwrap()
        }

        fn change(&self, x: usize, y: usize, group: usize) -> f64 {
            let mut sum = 0;
            for (dx, dy) in (0..group).flat_map(|dy| (0..group).map(move |dx| (dx, dy))) {
                let [now, before, earlier] = self.pictures.map(|frame| at(frame, 0, x + dx, y + dy));
                sum += if self.second { now - 2 * before + earlier } else { now - before };
            }
            sum.abs() as f64
        }

        fn weight(&self, left: usize, top: usize, right: usize, bottom: usize) -> f64 {
            let format = self.source().format();
            let (width, height) = (format.width(), format.height());
            let group = if width * height > 2048 * 1152 { 2 } else { 1 };
            let (x0, y0) = (left.max(group), top.max(group));
            let x1 = if right == width { right.saturating_sub(group) } else { right };
            let y1 = if bottom == height { bottom.saturating_sub(group) } else { bottom };
            if x1 <= x0 || y1 <= y0 {
                return 1.0;
            }
            let (mut spatial, mut temporal) = (0.0, 0.0);
            for (x, y) in grid(x0..x1, y0..y1, group) {
                spatial += match group {
                    1 => filtered(self.source(), &HIGH_PASS, x, y),
                    _ if x1 - left <= 12 => 0.0,
                    _ => filtered(self.source(), &GROUP_HIGH_PASS, x, y),
                };
            }
            for (x, y) in grid(left..right, top..bottom, group) {
                temporal += 2.0 * self.change(x, y, group);
            }
            let activity = spatial / ((x1 - x0) * (y1 - y0)) as f64
                + temporal / ((right - left) * (bottom - top)) as f64;
            1.0 / activity.max((1 << (format.depth() - 6)).into())
        }

        fn squared_error(&self, plane: usize, left: usize, top: usize, right: usize, bottom: usize) -> f64 {
            let error = |(x, y)| {
                let difference = at(self.pictures[0], plane, x, y) - at(Some(self.distorted), plane, x, y);
                difference * difference
            };
            grid(left..right, top..bottom, 1).map(error).sum::<i64>() as f64
        }

        /// Decibels of every plane.
        pub fn scores(&self) -> Vec<f64> {
            let format = *self.source().format();
            let ratio = (format.width() * format.height()) as f64 / (3840.0 * 2160.0);
            let block = 4 * (32.0 * ratio.sqrt() + 0.5) as usize;
            let weights = if block > 0 { self.weights(block) } else { Vec::new() };
            let gain = (16.0 * f64::from(1 << (2 * format.depth() - 9)) / ratio.max(0.00001).sqrt()).sqrt();
            let error = |plane: usize| {
                let (width, height) = format.plane_size(plane);
                if block == 0 {
                    return self.squared_error(plane, 0, 0, width, height);
                }
                let (sx, sy) = if plane == 0 { (0, 0) } else { format.chroma().shifts() };
                let mut sum = 0.0;
                for (row, weights) in weights.iter().enumerate() {
                    for (column, weight) in weights.iter().enumerate() {
                        let x = |column: usize| (column * (block >> sx)).min(width);
                        let y = |row: usize| (row * (block >> sy)).min(height);
                        sum +=
                            weight * self.squared_error(plane, x(column), y(row), x(column + 1), y(row + 1));
                    }
                }
                (sum * gain + 0.5).floor()
            };
            let level = |plane: usize| {
                let (width, height) = format.plane_size(plane);
                let limit = (width * height) as f64 * f64::from(format.peak()).powi(2);
                let root = error(plane).sqrt();
                if root < 1.0 { f64::INFINITY } else { 10.0 * crate::math::log10(limit / (root * root)) }
            };
            (0..format.planes()).map(level).collect()
        }

        fn weights(&self, block: usize) -> Vec<Vec<f64>> {
            let (width, height) = (self.source().format().width(), self.source().format().height());
            let row = |top: usize| {
                let weight = |left: usize| {
                    self.weight(left, top, (left + block).min(width), (top + block).min(height))
                };
                (0..width).step_by(block).map(weight).collect()
            };
            let mut weights: Vec<Vec<f64>> = (0..height).step_by(block).map(row).collect();
            if width * height <= 640 * 480 {
                limit_by_neighbours(&mut weights);
            }
            weights
        }
    }

    /// At most the largest of left (done already), right (not yet) and above (done). The last one has no right.
    fn limit_by_neighbours(weights: &mut [Vec<f64>]) {
        for row in 0..weights.len() {
            for column in 0..weights[row].len() {
                let left = column.checked_sub(1).map(|column| weights[row][column]);
                let right = weights[row].get(column + 1).copied();
                let above = row.checked_sub(1).map(|row| weights[row][column]);
                let largest = [left, right, above].into_iter().flatten().fold(0.0, f64::max);
                weights[row][column] = weights[row][column].min(largest);
            }
        }
    }

    fn grid(
        across: std::ops::Range<usize>,
        down: std::ops::Range<usize>,
        step: usize,
    ) -> impl Iterator<Item = (usize, usize)> {
        down.step_by(step).flat_map(move |y| across.clone().step_by(step).map(move |x| (x, y)))
    }
}

fn compare(format: Format, kind: Kind, frames: u32, rate: &str, second: bool) {
    compare_at(Level::Scalar, format, kind, frames, rate, second);
}

fn compare_at(level: Level, format: Format, kind: Kind, frames: u32, rate: &str, second: bool) {
    let reference = clip(kind, format, frames, 1);
    let distorted = clip(KINDS[(kind as usize + 1) % 4], format, frames, 2);
    let found = scores_of(&*build(rate), None, level, &reference, &distorted);
    for (index, found) in found.frames.iter().enumerate() {
        let picture = |back: usize| index.checked_sub(back).map(|index| &reference[index]);
        let pictures = [picture(0), picture(1), picture(2)];
        let truth = naive::Naive { pictures, distorted: &distorted[index], second }.scores();
        assert_eq!(*found, truth, "{format} {kind:?} frame {index} at {rate}, {level}");
    }
}

#[test]
fn small_pictures_of_every_kind_and_depth() {
    let chroma = [Chroma::C420, Chroma::C422, Chroma::C444, Chroma::C400];
    for (index, (width, height)) in
        [(64, 48), (65, 49), (45, 45), (44, 45), (8, 8), (200, 33), (301, 77)].into_iter().enumerate()
    {
        for kind in KINDS {
            let depth = [8, 10, 12, 16][(index + kind as usize) % 4];
            let format = Format::new(width, height, chroma[index % 4], depth).unwrap();
            compare(format, kind, 4, "25", false);
            compare(format, kind, 4, "50", true);
        }
    }
}

#[test]
fn larger_pictures_are_not_smoothed() {
    let format = Format::new(800, 400, Chroma::C420, 8).unwrap();
    compare(format, Kind::Slope, 2, "31.9", false);
    compare(format, Kind::Noise, 3, "32", true);
}

level_tests! {
    fn the_largest_pictures_are_grouped(level) {
        // Tiles are 1024 columns wide: the last ones are short, full but for a column, or four columns wide.
        for (width, height, depth) in [(2050, 1152, 10), (2049, 1153, 8), (4093, 601, 8), (4100, 577, 16)] {
            let format = Format::new(width, height, Chroma::C420, depth).unwrap();
            compare_at(level, format, Kind::Slope, 2, "25", false);
            compare_at(level, format, Kind::Slope, 3, "60", true);
        }
    }
}

level_tests! {
    fn the_largest_values_of_groups(level) {
        // Sums of few bits must not overflow: lone groups have the largest high-pass, blinking the largest changes.
        for (width, height, depth) in [(2049, 1153, 8), (2051, 1153, 16)] {
            let format = Format::new(width, height, Chroma::C400, depth).unwrap();
            for (rate, second) in [("25", false), ("50", true)] {
                compare_at(level, format, Kind::Checkers, 3, rate, second);
            }
        }
    }
}

/// Bits from the authors' implementation, with the two changes that FFmpeg made to it.
#[test]
fn figures_of_the_reference() {
    let cases = [
        (176, 144, Chroma::C420, 8, "25"),
        (720, 576, Chroma::C422, 10, "50"),
        (2560, 1440, Chroma::C420, 8, "24"),
    ];
    for ((width, height, chroma, depth, rate), bits) in cases.into_iter().zip(FIGURES) {
        let format = Format::new(width, height, chroma, depth).unwrap();
        let scores = run(rate, &clip(Kind::Slope, format, 3, 5), &clip(Kind::Slope, format, 3, 6));
        let averages = scores.aggregates[..3].iter().map(|(_, value)| *value);
        let found: Vec<u64> = scores.frames[2].iter().copied().chain(averages).map(f64::to_bits).collect();
        assert_eq!(found, bits, "{format} at {rate}");
    }
}

/// The third picture's scores and the averages.
const FIGURES: [[u64; 6]; 3] = [
    [
        0x403916774f383eed,
        0x40372f58fda062f6,
        0x40347ebaaec3044b,
        0x403980ece62baa45,
        0x4038afa4f656601c,
        0x4038297d3719f126,
    ],
    [
        0x403d33b14af5b0f3,
        0x403042e6fc57b05c,
        0x4030abf04a1b5327,
        0x403fef111bfb9d18,
        0x40373ecc75598668,
        0x40379dc5ddbdbaa0,
    ],
    [
        0x4037bcd461024882,
        0x4037a460ede6a7b3,
        0x4037a6f0d8220d40,
        0x40396bf8216a17cb,
        0x40396c87987d374f,
        0x403967f161f7da8c,
    ],
];

#[test]
fn equal_pictures_are_infinitely_good() {
    let format = Format::new(64, 64, Chroma::C420, 8).unwrap();
    let same = clip(Kind::Noise, format, 2, 1);
    let scores = run("25", &same, &same);
    assert!(scores.frames.iter().flatten().all(|score| *score == f64::INFINITY));
    let names: Vec<_> = scores.aggregates.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["axpsnr_y", "axpsnr_cb", "axpsnr_cr", "axpsnr_min"]);
    assert!(scores.aggregates.iter().all(|(_, value)| *value == f64::INFINITY));
}

#[test]
fn averages_are_those_of_the_error() {
    let format = Format::new(64, 64, Chroma::C400, 8).unwrap();
    let (reference, mut distorted) = (clip(Kind::Slope, format, 2, 1), clip(Kind::Slope, format, 2, 2));
    distorted[0] = reference[0].clone();
    let scores = run("25", &reference, &distorted);
    assert_eq!(scores.frames[0], [f64::INFINITY]);
    // The error of the first picture is 0, so the mean is half of the second one's: 6.02 dB more.
    let (name, average) = &scores.aggregates[0];
    assert_eq!((name.as_str(), scores.aggregates.len()), ("axpsnr_y", 1));
    assert!((average - scores.frames[1][0] - 20.0 * 2f64.log10()).abs() < 1e-9);
}

#[test]
fn history_follows_the_frame_rate() {
    assert_eq!(build("31.97").needs().history, 1);
    assert_eq!(build("32").needs().history, 2);
    let names: Vec<_> = build("60").keys().iter().map(|key| key.name.clone()).collect();
    assert_eq!(names, ["xpsnr_y", "xpsnr_cb", "xpsnr_cr"]);
}

#[test]
fn the_rate_is_the_clips_unless_the_option_says_otherwise() {
    let format = Format::new(64, 64, Chroma::C420, 8).unwrap();
    let (reference, distorted) = (clip(Kind::Slope, format, 4, 1), clip(Kind::Slope, format, 4, 2));
    let plain = registry::build(&super::INFO, &[]).unwrap();
    let scores =
        |metric: &dyn Metric, rate| scores_of(metric, rate, Level::Scalar, &reference, &distorted).frames;
    let (slow, fast) = (run("25", &reference, &distorted).frames, run("60", &reference, &distorted).frames);
    assert_ne!(slow, fast, "the frame rate has no effect on this clip");
    assert_eq!(scores(&*plain, Some((60, 1))), fast);
    assert_eq!(scores(&*plain, Some((30000, 1001))), slow);
    assert_eq!(scores(&*plain, None), slow);
    assert_eq!(scores(&*build("25"), Some((60, 1))), slow);
    assert_eq!(plain.needs().history, 2);
}
