//! Kernels against their definitions, bit for bit.

use proptest::prelude::*;
use visus_video::{Plane, PlaneView};

use super::covariance::Covariance;
use super::eigen::{EPSILON, eigenvalues};
use super::front::{Front, Source};
use super::geometry::{BLOCK, CELLS, Geometry};
use super::solve::{Decomposition, WIDE};
use super::stats::{Analyser, Stats, UNIT_ENTROPY};
use super::taps;
use crate::math;
use crate::picture::FloatPlane;
use crate::resize::{Method, Resizer};
use crate::testing::{self, Noise};

type Matrix = Vec<Vec<f32>>;

/// What pictures are made of: any sample, or only such as lie near an end of the range.
#[derive(Clone, Copy, Debug)]
enum Content {
    Noise,
    NearZero,
    NearMaximum,
}

fn contents() -> impl Strategy<Value = Content> {
    prop::sample::select(&[Content::Noise, Content::NearZero, Content::NearMaximum][..])
}

fn samples(content: Content, len: usize, depth: u8, seed: u32) -> Vec<u16> {
    let range = 1u32 << depth;
    let mut generator = Noise::new(seed);
    let mut sample = || match content {
        Content::Noise => generator.below(range),
        Content::NearZero => generator.below(3),
        Content::NearMaximum => range - 1 - generator.below(3),
    };
    (0..len).map(|_| sample() as u16).collect()
}

fn mirrored(at: isize, len: usize) -> usize {
    (if at < 0 { -at } else { at.min(2 * len as isize - 2 - at) }) as usize
}

/// A filter down the columns, then along the rows, of a whole plane.
fn filtered(taps: &[f32], plane: &Matrix) -> Matrix {
    let reach = taps.len() as isize / 2;
    let (width, height) = (plane[0].len(), plane.len());
    let sum =
        |value: &dyn Fn(isize) -> f32| (-reach..).zip(taps).fold(0.0, |sum, (at, tap)| sum + tap * value(at));
    let cells = |value: &dyn Fn(usize, usize) -> f32| -> Matrix {
        (0..height).map(|y| (0..width).map(|x| value(x, y)).collect()).collect()
    };
    let down = cells(&|x, y| sum(&|at| plane[mirrored(y as isize + at, height)][x]));
    cells(&|x, y| sum(&|at| down[y][mirrored(x as isize + at, width)]))
}

/// What [`Front`] makes of a scaled plane.
fn naive_field(plane: &Matrix, kernel_scale: f32) -> Matrix {
    let low = filtered(&taps::antialias(kernel_scale), plane);
    let (width, height) = (plane[0].len() / 16, plane.len() / 16);
    let small: Matrix = (0..height).map(|y| (0..width).map(|x| low[16 * y][16 * x]).collect()).collect();
    let mean = filtered(&taps::local_mean(kernel_scale), &small);
    let difference = |y: usize| small[y].iter().zip(&mean[y]).map(|(value, mean)| value - mean).collect();
    (0..height).map(difference).collect()
}

fn rows(plane: &FloatPlane) -> Matrix {
    (0..plane.height()).map(|y| plane.row(y).to_vec()).collect()
}

/// The scaled plane of floats that the front begins with.
fn naive_source(
    data: &[u16],
    other: Option<&[u16]>,
    geometry: &Geometry,
    depth: u8,
    method: Option<Method>,
) -> Matrix {
    let value = |sample: u16| f32::from(sample) / f32::from(1u16 << (depth - 8)) - 128.0;
    let mut plane = FloatPlane::new(geometry.source.0, geometry.source.1);
    for y in 0..geometry.source.1 {
        for x in 0..geometry.source.0 {
            let at = y * geometry.source.0 + x;
            plane.row_mut(y)[x] = value(data[at]) - other.map_or(0.0, |other| value(other[at]));
        }
    }
    let mut scaled = FloatPlane::new(geometry.scaled.0, geometry.scaled.1);
    match method {
        Some(method) => Resizer::new(method, geometry.source, geometry.scaled).resize(&plane, &mut scaled),
        None => scaled = plane,
    }
    rows(&scaled)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_front_is_a_filter_over_the_whole_plane(
        width in 160usize..230, height in 160usize..230, padding in 0usize..40, seed: u32,
        depth in prop::sample::select(&[8u8, 10, 12, 16][..]),
        kernel_scale in prop::sample::select(&[1.0f32, 0.5, 2.0, 360.0 / 97.0][..]),
        prescale in prop::sample::select(&[None, Some((0.6, Method::Bilinear)), Some((1.3, Method::Nearest))][..]),
        content in contents(), change: bool,
    ) {
        let geometry = Geometry::new((width, height), prescale.map_or(1.0, |(factor, _)| factor)).unwrap();
        let method = prescale.map(|(_, method)| method);
        let [one, other] = [0, 1].map(|plus| samples(content, width * height, depth, seed.wrapping_add(plus)));
        let expected = naive_field(
            &naive_source(&one, change.then_some(&other[..]), &geometry, depth, method), kernel_scale);

        let mut front = Front::new(geometry, depth, kernel_scale, method);
        let mut field = front.field();
        let stride = width + padding;
        let [one, other] = [one, other].map(|plane| padded(&plane, width, stride));
        let [one_u8, other_u8] = [&one, &other].map(|plane| plane.iter().map(|s| *s as u8).collect::<Vec<_>>());
        let [before, after] = if depth == 8 {
            [&one_u8, &other_u8].map(|data| PlaneView::U8(Plane::new(data, width, height, stride)))
        } else {
            [&one, &other].map(|data| PlaneView::U16(Plane::new(data, width, height, stride)))
        };
        front.run(if change { Source::Change { before, after } } else { Source::Plane(before) }, &mut field);
        for y in 0..field.height() {
            for x in 0..field.width() {
                prop_assert_eq!(field.row(y)[x].to_bits(), expected[y][x].to_bits(), "at {}, {}", x, y);
            }
        }
    }

    #[test]
    fn covariances_are_sums_over_positions(across in 1usize..9, down in 1usize..7, seed: u32, scale in 0.001f32..200.0) {
        let field = noise_field(across, down, seed, scale);
        let expected = naive_covariance(&field);
        for wide in [false, true] {
            let mut out = [[f32::NAN; CELLS]; CELLS];
            Covariance::default().matrix(&field, wide, &mut out);
            for x in 0..CELLS {
                for y in 0..CELLS {
                    prop_assert_eq!(out[x][y].to_bits(), expected[x][y].to_bits(), "cells {} and {}", x, y);
                }
            }
        }
    }

    #[test]
    fn solutions_are_those_of_whole_matrices(seed: u32, scale in 0.01f32..100.0) {
        let field = noise_field(8, 6, seed, scale);
        let matrix = naive_covariance(&field);
        let right: Matrix = (0..CELLS).map(|cell| field.row(cell)[..WIDE].to_vec()).collect();
        let expected = naive_solution(&matrix, &right).unwrap();
        let got = Decomposition::new(&square(&matrix)).unwrap().solve(&std::array::from_fn(|cell| {
            right[cell][..].try_into().unwrap()
        }));
        for at in 0..CELLS {
            for column in 0..WIDE {
                prop_assert_eq!(got[at][column].to_bits(), expected[at][column].to_bits(), "{} {}", at, column);
            }
        }
    }

    #[test]
    fn eigenvalues_are_those_the_matrix_was_made_of(seed: u32) {
        let mut generator = Noise::new(seed);
        let mut expected: Vec<f32> = (0..CELLS).map(|_| generator.below(5000) as f32 / 50.0 - 20.0).collect();
        let mut got = eigenvalues(&mut with_eigenvalues(&expected, &mut generator)).to_vec();
        expected.sort_by(f32::total_cmp);
        got.sort_by(f32::total_cmp);
        for (got, expected) in got.iter().zip(&expected) {
            prop_assert!((got - expected).abs() < 5e-4, "{} instead of {}", got, expected);
        }
    }

    #[test]
    fn statistics_follow_the_definition(across in 7usize..12, down in 5usize..8, seed: u32, noise in 0.1f32..2.0) {
        let field = noise_field(across, down, seed, 20.0);
        let geometry = Geometry::new((across * BLOCK * 16, down * BLOCK * 16), 1.0).unwrap();
        let mut stats = Stats::new(across * down);
        prop_assert!(Analyser::new(&geometry, noise).run(&field, true, &mut stats).is_ok());
        let (variances, entropies) = naive_stats(&field, noise);
        prop_assert_eq!(bits(&stats.variances), bits(&variances));
        prop_assert_eq!(bits(&stats.entropies), bits(&entropies));
    }
}

#[test]
fn a_prescale_of_almost_one_repeats_the_edge() {
    let (width, height, kernel_scale) = (1007, 511, 360.0 / 97.0);
    let geometry = Geometry::new((width, height), 1.0011).unwrap();
    assert_eq!(geometry.scaled, (width + 1, height + 1));
    let data = samples(Content::Noise, width * height, 10, 3);
    let mut extended = naive_source(&data, None, &geometry, 10, None);
    extended.iter_mut().for_each(|row| row.push(row[width - 1]));
    extended.push(extended[height - 1].clone());
    let expected = naive_field(&extended, kernel_scale);

    let mut front = Front::new(geometry, 10, kernel_scale, None);
    let mut field = front.field();
    front.run(Source::Plane(PlaneView::U16(Plane::new(&data, width, height, width))), &mut field);
    for y in 0..field.height() {
        assert_eq!(bits(field.row(y)), bits(&expected[y][..field.width()]), "row {y}");
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The plane with rows further apart, and rubbish in between.
fn padded(plane: &[u16], width: usize, stride: usize) -> Vec<u16> {
    plane
        .chunks(width)
        .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(77, stride - width)))
        .collect()
}

fn noise_field(across: usize, down: usize, seed: u32, scale: f32) -> FloatPlane {
    let mut field = testing::plane(across * BLOCK, down * BLOCK, -1.0, 2, &mut Noise::new(seed));
    for y in 0..field.height() {
        field.row_mut(y).iter_mut().for_each(|value| *value *= scale);
    }
    field
}

fn naive_covariance(field: &FloatPlane) -> Matrix {
    let (width, height) = (field.width() - BLOCK + 1, field.height() - BLOCK + 1);
    let value = |cell: usize, x: usize, y: usize| field.row(y + cell / BLOCK)[x + cell % BLOCK];
    let positions = || (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let mean =
        |cell| positions().fold(0.0f32, |sum, (x, y)| sum + value(cell, x, y)) / (width * height) as f32;
    let means: Vec<f64> = (0..CELLS).map(|cell| f64::from(mean(cell))).collect();
    let centred = |cell: usize, x, y| f64::from(value(cell, x, y)) - means[cell];
    let covariance = |a: usize, b: usize| {
        let sum = positions().fold(0.0f64, |sum, (x, y)| sum + centred(a, x, y) * centred(b, x, y));
        (sum / (width * height) as f64) as f32
    };
    (0..CELLS).map(|a| (0..CELLS).map(|b| covariance(a, b)).collect()).collect()
}

fn square(matrix: &Matrix) -> [[f32; CELLS]; CELLS] {
    std::array::from_fn(|row| matrix[row][..].try_into().unwrap())
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let cell = |row: &[f32], column: usize| row.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b[column]);
    a.iter().map(|row| (0..b[0].len()).map(|column| cell(row, column)).collect()).collect()
}

fn identity() -> Matrix {
    (0..CELLS).map(|row| (0..CELLS).map(|column| if row == column { 1.0 } else { 0.0 }).collect()).collect()
}

/// Householder QR with whole matrices, and backward substitution. `None` for a singular matrix.
fn naive_solution(matrix: &Matrix, right: &Matrix) -> Option<Matrix> {
    let length = |v: &[f32]| v.iter().fold(0.0f32, |sum, v| sum + v * v).sqrt();
    let (mut q, mut rest) = (identity(), matrix.clone());
    for at in 0..CELLS - 1 {
        for row in 0..CELLS {
            for column in 0..CELLS {
                if row < at || column < at {
                    rest[row][column] = if row == column { 1.0 } else { 0.0 };
                }
            }
        }
        let mut v: Vec<f32> = rest.iter().map(|row| row[at]).collect();
        v[at] += if matrix[at][at] >= 0.0 { length(&v) } else { -length(&v) };
        let unit: Vec<f32> = v.iter().map(|x| x / length(&v)).collect();
        let cell = |a: usize, b: usize| -2.0 * unit[a] * unit[b] + if a == b { 1.0 } else { 0.0 };
        let reflection = (0..CELLS).map(|a| (0..CELLS).map(|b| cell(a, b)).collect()).collect();
        rest = product(&reflection, &rest);
        q = product(&reflection, &q);
    }
    let (r, mut x) = (product(&q, matrix), product(&q, right));
    for at in (0..CELLS).rev() {
        if f64::from(r[at][at].abs()) < EPSILON {
            return None;
        }
        for column in 0..x[at].len() {
            let rest = (at + 1..CELLS).fold(x[at][column], |rest, k| rest - x[k][column] * r[at][k]);
            x[at][column] = rest / r[at][at];
        }
    }
    Some(x)
}

#[test]
fn a_vanishing_reflection_gives_no_number() {
    // The first reflection leaves a negative second diagonal element and nothing below it.
    let mut matrix = identity();
    (matrix[0][1], matrix[1][0]) = (2.0, 2.0);
    let right = vec![vec![1.0; WIDE]; CELLS];
    assert!(naive_solution(&matrix, &right).unwrap().iter().flatten().all(|x| x.is_nan()));
    let solution = Decomposition::new(&square(&matrix)).unwrap().solve(&[[1.0; WIDE]; CELLS]);
    assert!(solution.iter().flatten().all(|x| x.is_nan()));
}

#[test]
fn singular_matrices_are_noticed() {
    let mut matrix = identity();
    matrix[7][7] = 1e-7;
    assert!(naive_solution(&matrix, &vec![vec![1.0; WIDE]; CELLS]).is_none());
    assert!(Decomposition::new(&square(&matrix)).is_none());
    matrix[7][7] = 2e-6;
    assert!(Decomposition::new(&square(&matrix)).is_some());
}

/// A diagonal matrix, rotated about many axes. Symmetric to the last bit.
fn with_eigenvalues(values: &[f32], generator: &mut Noise) -> [[f32; CELLS]; CELLS] {
    let mut matrix = [[0.0f64; CELLS]; CELLS];
    (0..CELLS).for_each(|at| matrix[at][at] = f64::from(values[at]));
    for _ in 0..400 {
        let [a, b] = [0, 1].map(|_| generator.below(CELLS as u32) as usize);
        let (c, s) = (0.8, 0.6);
        if a != b {
            for k in 0..CELLS {
                let (x, y) = (matrix[k][a], matrix[k][b]);
                (matrix[k][a], matrix[k][b]) = (c * x - s * y, s * x + c * y);
            }
            for k in 0..CELLS {
                let (x, y) = (matrix[a][k], matrix[b][k]);
                (matrix[a][k], matrix[b][k]) = (c * x - s * y, s * x + c * y);
            }
        }
    }
    std::array::from_fn(|row| std::array::from_fn(|column| matrix[row.max(column)][row.min(column)] as f32))
}

/// Variances and entropies, block by block.
fn naive_stats(field: &FloatPlane, noise: f32) -> (Vec<f32>, Vec<f32>) {
    let (across, blocks) = (field.width() / BLOCK, field.width() * field.height() / CELLS);
    let value = |cell: usize, block: usize| {
        field.row(block / across * BLOCK + cell / BLOCK)[block % across * BLOCK + cell % BLOCK]
    };
    let right: Matrix =
        (0..CELLS).map(|cell| (0..blocks).map(|block| value(cell, block)).collect()).collect();
    let covariance = naive_covariance(field);
    let solution = naive_solution(&covariance, &right).unwrap();
    let variance = |block: usize| {
        (0..CELLS).fold(0.0f32, |sum, cell| sum + solution[cell][block] * right[cell][block] / 25.0)
    };
    let variances: Vec<f32> = (0..blocks).map(variance).collect();
    let eigenvalues = eigenvalues(&mut square(&covariance));
    let entropy = |variance: &f32| {
        eigenvalues.iter().fold(0.0f32, |sum, eigenvalue| {
            let log = math::log2(f64::from(eigenvalue * variance + noise)) + UNIT_ENTROPY;
            (f64::from(sum) + log) as f32
        })
    };
    (variances.clone(), variances.iter().map(entropy).collect())
}

#[test]
fn flat_and_repeating_fields_are_singular() {
    let geometry = Geometry::new((800, 800), 1.0).unwrap();
    let mut stats = Stats::new(geometry.block_count());
    let mut analyser = Analyser::new(&geometry, 0.29);
    let mut field = FloatPlane::new(50, 50);
    assert!(analyser.run(&field, true, &mut stats).is_err());
    for y in 0..50 {
        field.row_mut(y).iter_mut().enumerate().for_each(|(x, value)| *value = ((x + y) % 3) as f32);
    }
    assert!(analyser.run(&field, true, &mut stats).is_err());
    assert!(analyser.run(&noise_field(10, 10, 5, 1.0), false, &mut stats).is_ok());
}
