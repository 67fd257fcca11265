//! The metric against figures of the published tool, and against the plainest way to compute it.

use proptest::prelude::*;
use visus_video::{Chroma, Format, Frame};

use super::colour::linearise;
use super::fused::Portable;
use super::score::{COMPONENTS, Norms, scale_count, score};
use super::{INFO, Pyramid, SIDES, scale, xyb};
use crate::testing::{self, Noise};
use crate::{Level, Metric, MetricError, registry};

/// An RGB picture, 8 bits per sample.
#[derive(Clone)]
struct Picture {
    width: usize,
    height: usize,
    data: Vec<[u8; 3]>,
}

impl Picture {
    fn new(width: usize, height: usize, mut colour: impl FnMut(usize, usize) -> [u8; 3]) -> Self {
        let data = (0..width * height).map(|at| colour(at % width, at / width)).collect();
        Self { width, height, data }
    }

    fn grey(width: usize, height: usize, value: impl Fn(usize, usize) -> usize) -> Self {
        Self::new(width, height, |x, y| [value(x, y) as u8; 3])
    }

    fn flat(side: usize, value: usize) -> Self {
        Self::grey(side, side, |_, _| value)
    }

    fn gradient() -> Self {
        Self::grey(64, 64, |x, _| x * 255 / 63)
    }

    /// Noise from the generator that the tool's figures were made with.
    fn noise(side: usize, seed: u64) -> Self {
        let mut state = seed;
        let mut sample = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        Self::new(side, side, |_, _| [sample(), sample(), sample()])
    }

    /// The colour at a position that is moved into the picture.
    fn at(&self, x: isize, y: isize) -> [i32; 3] {
        let inside = |at: isize, len: usize| at.clamp(0, len as isize - 1) as usize;
        self.data[inside(y, self.height) * self.width + inside(x, self.width)].map(i32::from)
    }

    /// Each sample by a function of its neighbourhood.
    fn changed(&self, change: impl Fn(&dyn Fn(isize, isize) -> i32) -> i32) -> Self {
        Self::new(self.width, self.height, |x, y| {
            [0, 1, 2].map(|colour| {
                change(&|dx, dy| self.at(x as isize + dx, y as isize + dy)[colour]).clamp(0, 255) as u8
            })
        })
    }

    fn box_blurred(&self) -> Self {
        self.changed(|at| (-4..4).flat_map(|dy| (-4..4).map(move |dx| at(dx, dy))).sum::<i32>() / 64)
    }

    fn sharpened(&self) -> Self {
        self.changed(|at| 5 * at(0, 0) - at(0, -1) - at(0, 1) - at(-1, 0) - at(1, 0))
    }

    fn linear_row(&self, y: usize, colour: usize) -> Vec<f32> {
        let row = &self.data[y * self.width..][..self.width];
        let mut row: Vec<f32> = row.iter().map(|sample| f32::from(sample[colour]) * (1.0 / 255.0)).collect();
        linearise::<Portable>(&mut row);
        row
    }
}

fn score_of(reference: &Picture, distorted: &Picture) -> f64 {
    let mut pyramid = Pyramid::new(reference.width, reference.height);
    for y in 0..reference.height {
        let rows =
            [reference, distorted].map(|picture| [0, 1, 2].map(|colour| picture.linear_row(y, colour)));
        pyramid.push::<Portable>(&rows);
    }
    pyramid.score::<Portable>()
}

/// Figures of the tool, which prints eight decimals.
fn assert_is_the_tools(score: f64, figure: f64, what: &str) {
    assert!((score - figure).abs() < 5.1e-9, "{what}: {score} instead of {figure}");
}

#[test]
fn scores_are_those_of_the_published_tool() {
    let (grey, gradient) = (Picture::flat(64, 128), Picture::gradient());
    let (noise, other_noise) = (Picture::noise(64, 42), Picture::noise(64, 999));
    let edge = Picture::grey(64, 64, |x, _| if x < 32 { 0 } else { 255 });
    assert_is_the_tools(score_of(&gradient, &grey), -64.56872148, "gradient and grey");
    assert_is_the_tools(score_of(&noise, &grey), -47.33572558, "noise and grey");
    assert_is_the_tools(score_of(&gradient, &gradient.box_blurred()), 94.34090315, "blurred gradient");
    assert_is_the_tools(score_of(&other_noise, &other_noise.sharpened()), -5.81017556, "sharpened noise");
    assert_is_the_tools(score_of(&edge, &edge.box_blurred()), 24.27333552, "blurred edge");
    assert_eq!(score_of(&noise, &noise), 100.0);
}

/// In flat pictures there is little but rounding errors, so these figures show every difference of arithmetic.
#[test]
fn flat_pictures_have_the_published_tools_scores() {
    let figures = [
        (32, [97.74921430, 98.80827382, 96.53114090, 93.79823220, 85.01409588]),
        (64, [97.98672126, 91.52357693, 80.24289393, 56.05855584, -8.75942256]),
        (128, [96.78920738, 88.54070876, 77.84296299, 54.27883917, -9.82383315]),
        (256, [96.15027098, 89.73209436, 80.29149136, 59.77892918, -0.39085784]),
    ];
    for (side, figures) in figures {
        for (shift, figure) in [1, 5, 10, 20, 50].into_iter().zip(figures) {
            let score = score_of(&Picture::flat(side, 128), &Picture::flat(side, 128 + shift));
            assert_is_the_tools(score, figure, &format!("{side} and {shift}"));
        }
    }
}

type Plane = Vec<Vec<f32>>;

/// The recursion, sample by sample, in the order of a column.
fn naive_column(column: &[f32]) -> Vec<f32> {
    let n = [0.055295235726086633f64, -0.058836687026949969, 0.012955819110517089].map(|n| n as f32);
    let d = [-1.9021130325903071f64, -1.1755705045849463, -1.2246467991473532e-16].map(|d| d as f32);
    let (mut last, mut before) = ([0.0f32; 3], [0.0f32; 3]);
    let mut out = Vec::new();
    for ahead in 0..column.len() + 4 {
        let newest = column.get(ahead).copied().unwrap_or(0.0);
        let oldest = ahead.checked_sub(10).map_or(0.0, |at| column[at]);
        let next = [0, 1, 2].map(|k| n[k].mul_add(newest + oldest, (-d[k]).mul_add(last[k], -before[k])));
        (before, last) = (last, next);
        out.push(next[0] + (next[1] + next[2]));
    }
    out.split_off(4)
}

fn naive_blur(plane: &Plane) -> Plane {
    let along = |row: &Vec<f32>| {
        let mut out = vec![0.0; row.len()];
        super::blur::blur_along::<Portable>(row, &mut out);
        out
    };
    let rows: Plane = plane.iter().map(along).collect();
    let columns: Plane = (0..rows[0].len())
        .map(|x| naive_column(&rows.iter().map(|row| row[x]).collect::<Vec<_>>()))
        .collect();
    (0..rows.len()).map(|y| columns.iter().map(|column| column[y]).collect()).collect()
}

fn naive_norms(planes: [&Plane; SIDES]) -> Norms {
    let product = |a: &Plane, b: &Plane| -> Plane {
        a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).collect()).collect()
    };
    let [a, b] = planes;
    let blurred = [a, b, &product(a, a), &product(b, b), &product(a, b)].map(naive_blur);
    let (mut means, mut fourths) = ([0.0f64; 3], [0.0f64; 3]);
    for y in 0..a.len() {
        for x in 0..a[0].len() {
            let [mean_a, mean_b, aa, bb, ab] = [0, 1, 2, 3, 4].map(|at| blurred[at][y][x]);
            let luminance = (1.0 - f64::from((mean_a - mean_b) * (mean_a - mean_b))) as f32;
            let denominator = (aa - mean_a * mean_a) + (bb - mean_b * mean_b) + 0.0009;
            let structure = luminance * (2.0 * (ab - mean_a * mean_b) + 0.0009) / denominator;
            let edge = |sample: f32, mean: f32| 1.0 + f64::from((sample - mean).abs());
            let change = edge(b[y][x], mean_b) / edge(a[y][x], mean_a) - 1.0;
            for (map, error) in [1.0 - f64::from(structure), change, -change].into_iter().enumerate() {
                let error = error.max(0.0);
                means[map] += error;
                fourths[map] += (error * error) * (error * error);
            }
        }
    }
    let share = 1.0 / (a.len() * a[0].len()) as f64;
    let [mean, fourth] = [means.map(|sum| share * sum), fourths.map(|sum| (share * sum).sqrt().sqrt())];
    [mean[0], mean[1], mean[2], fourth[0], fourth[1], fourth[2]]
}

fn naive_half(plane: &Plane) -> Plane {
    let (width, height) = (plane[0].len(), plane.len());
    let at = |x: usize, y: usize| plane[y.min(height - 1)][x.min(width - 1)];
    let mean = |x: usize, y: usize| (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)) * 0.25;
    (0..height).step_by(2).map(|y| (0..width).step_by(2).map(|x| mean(x, y)).collect()).collect()
}

/// Whole pictures, scale by scale.
fn naive_score(pictures: [&Picture; SIDES]) -> f64 {
    let mut sides = pictures.map(|picture| {
        [0, 1, 2].map(|colour| (0..picture.height).map(|y| picture.linear_row(y, colour)).collect::<Plane>())
    });
    let mut norms = Vec::new();
    for _ in 0..scale_count(pictures[0].width, pictures[0].height) {
        let xyb = sides.each_ref().map(naive_xyb);
        norms.push([0, 1, 2].map(|component| naive_norms([&xyb[0][component], &xyb[1][component]])));
        sides = sides.map(|planes| planes.map(|plane| naive_half(&plane)));
    }
    score(&norms)
}

fn naive_xyb(planes: &[Plane; COMPONENTS]) -> [Plane; COMPONENTS] {
    let mut out = planes.clone();
    for y in 0..planes[0].len() {
        let [x, luma, b] = out.each_mut().map(|plane| plane[y].as_mut_slice());
        xyb::convert_row::<Portable>([0, 1, 2].map(|colour| planes[colour][y].as_slice()), [x, luma, b]);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn streaming_rows_gives_the_score_of_whole_pictures(width in 8usize..150, height in 8usize..150, seed: u32) {
        let mut generator = Noise::new(seed);
        let reference = Picture::new(width, height, |x, y| [x, y, x + y].map(|at| (at * 3) as u8 ^ generator.below(16) as u8));
        let distorted = Picture::new(width, height, |x, y| {
            reference.data[y * width + x].map(|sample| sample.saturating_add(generator.below(30) as u8))
        });
        let (streamed, whole) = (score_of(&reference, &distorted), naive_score([&reference, &distorted]));
        prop_assert_eq!(streamed.to_bits(), whole.to_bits(), "{} and {}", streamed, whole);
    }
}

fn frames(chroma: Chroma, depth: u8, picture: &Picture) -> Frame {
    let format = Format::new(picture.width, picture.height, chroma, depth).unwrap();
    let mut luma = picture.data.iter().map(|sample| u32::from(sample[0]) << (depth - 8));
    let neutral = 128 << (depth - 8);
    testing::frame_of(format, || luma.next().unwrap_or(neutral))
}

fn frame_score(options: &str, reference: Frame, distorted: Frame) -> f64 {
    testing::score_clips(&INFO, options, &(vec![reference], vec![distorted])).scores[0][0]
}

/// Grey pictures of full range keep their values as RGB, so the tool's figures hold for frames as well.
#[test]
fn grey_frames_have_the_published_tools_scores() {
    let (grey, gradient) = (Picture::flat(64, 128), Picture::gradient());
    for chroma in [Chroma::C400, Chroma::C420, Chroma::C422, Chroma::C444] {
        for matrix in ["bt601", "bt709", "bt2020"] {
            let options = format!("range=full:matrix={matrix}");
            let score = frame_score(&options, frames(chroma, 8, &gradient), frames(chroma, 8, &grey));
            assert_is_the_tools(score, -64.56872148, &format!("{chroma} {matrix}"));
        }
    }
    let limited = frame_score("", frames(Chroma::C420, 8, &gradient), frames(Chroma::C420, 8, &grey));
    assert!((limited - -64.56872148).abs() > 1.0, "{limited}");
}

#[test]
fn an_extractor_remembers_nothing() {
    let format = Format::new(75, 61, Chroma::C420, 10).unwrap();
    let clips = testing::clips(format, 2);
    let both = testing::score_clips(&INFO, "", &clips).scores[0].clone();
    let second = frame_score("", clips.0[1].clone(), clips.1[1].clone());
    assert_eq!(both[1].to_bits(), second.to_bits());
    assert!(both[0] < 50.0 && both[0] != both[1]);
    assert_eq!(frame_score("", clips.0[0].clone(), clips.0[0].clone()), 100.0);
}

fn build(options: &[(&str, &str)]) -> Result<Box<dyn Metric>, MetricError> {
    let given: Vec<_> =
        options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    registry::build(&INFO, &given)
}

#[test]
fn small_pictures_and_unknown_names_are_refused() {
    let metric = build(&[]).unwrap();
    for (width, height) in [(7, 8), (8, 7), (1, 1)] {
        let format = Format::new(width, height, Chroma::C420, 8).unwrap();
        let text = metric.extractor(&format.into(), Level::Scalar).err().unwrap().to_string();
        assert!(text.contains("at least 8x8"), "{text}");
    }
    assert!(metric.extractor(&Format::new(8, 8, Chroma::C420, 8).unwrap().into(), Level::Scalar).is_ok());
    let text = build(&[("matrix", "bt470")]).err().unwrap().to_string();
    assert_eq!(text, "ssimulacra2: matrix=bt470 is refused: it must be one of bt601, bt709, bt2020");
    assert!(build(&[("range", "tv")]).err().unwrap().to_string().contains("limited, full"));
}

#[test]
fn names_carry_the_options() {
    let name = |options: &[(&str, &str)]| build(options).unwrap().keys()[0].name.clone();
    assert_eq!(name(&[("matrix", "bt709")]), "ssimulacra2");
    assert_eq!(name(&[("range", "full"), ("matrix", "bt601")]), "ssimulacra2_matrix_bt601_range_full");
}

/// The pyramid of the smallest picture: one scale of 8 x 8 and one of 4 x 4.
#[test]
fn the_smallest_picture_has_two_scales() {
    let mut pyramid = Pyramid::new(8, 8);
    assert_eq!(pyramid.scales.len(), 2);
    let rows = [0.25, 0.5].map(|value| [(); COMPONENTS].map(|()| vec![value; 8]));
    (0..8).for_each(|_| pyramid.push::<Portable>(&rows));
    assert!(pyramid.score::<Portable>() < 100.0);
    assert_eq!(pyramid.scales[1].norms().len(), COMPONENTS);
    assert_eq!(scale::borrowed(&rows)[1][2].len(), 8);
}

crate::simd::level_tests! {
    fn every_level_gives_the_same_bits(level) {
        let formats = [
            testing::format(67, 45, Chroma::C420, 8),
            testing::format(130, 33, Chroma::C422, 10),
            testing::format(16, 90, Chroma::C400, 8),
            testing::format(9, 8, Chroma::C444, 16),
        ];
        testing::assert_as_scalar(level, &INFO, &[], &formats);
    }
}
