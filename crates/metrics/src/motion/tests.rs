//! The kernel against a naive truth, and the fold against the definition.

use visus_video::{Chroma, Format, Plane, Sample};

use super::{Blend, MotionSettings, dispatch::Kernel, fold::MotionFold, scalar};
use crate::simd::{Words, level_tests};
use crate::testing::Backwards;
use crate::{Alone, Emit, Fold, Level};

fn naive<T: Sample>(earlier: &[T], current: &[T], width: usize, height: usize, depth: u32) -> u64 {
    let mirror = |i: i64, n: i64| -> i64 {
        let i = if i < 0 { -i } else { i };
        (if i >= n { 2 * n - i - 2 } else { i }).abs()
    };
    let difference = |x: i64, y: i64| -> i64 {
        let at = (mirror(y, height as i64) * width as i64 + mirror(x, width as i64)) as usize;
        let (a, b): (i32, i32) = (earlier[at].into(), current[at].into());
        i64::from(a - b)
    };
    let blurred = |x: i64, y: i64| -> i64 {
        let column = |x: i64| {
            let sum: i64 =
                (0..5).map(|k| i64::from(scalar::TAPS[k as usize]) * difference(x, y + k - 2)).sum();
            (sum + (1 << (depth - 1))) >> depth
        };
        let sum: i64 = (0..5)
            .map(|k| i64::from(scalar::TAPS[k as usize]) * column(mirror(x + k - 2, width as i64)))
            .sum();
        (sum + 32768) >> 16
    };
    let pixels = (0..height as i64).flat_map(|y| (0..width as i64).map(move |x| (x, y)));
    pixels.map(|(x, y)| blurred(x, y).unsigned_abs()).sum()
}

fn check_size<T: Words + TryFrom<u32>>(
    level: Level,
    (width, height): (usize, usize),
    depth: u32,
    (base, spread): (u32, u32),
) {
    let mut state = 1u32;
    let mut picture = || -> Vec<T> {
        (0..width * height)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                T::try_from(base + (state >> 16) % spread).ok().unwrap_or_default()
            })
            .collect()
    };
    let (a, b) = (picture(), picture());
    let plane = |samples| Plane::new(samples, width, height, width);
    let want = naive(&a, &b, width, height, depth);
    let mut kernel = Kernel::new(level, width, height, depth);
    let got = kernel.blurred_difference(plane(&a), plane(&b), &Alone);
    assert_eq!(got, want, "{width}x{height} {depth}-bit {base}+{spread}");
    assert_eq!(kernel.blurred_difference(plane(&a), plane(&a), &Alone), 0);
}

level_tests! {
    fn kernel_equals_the_naive_truth(level) {
        for size in [(2, 2), (3, 2), (5, 7), (16, 9), (33, 18), (130, 17), (64, 16), (95, 31)] {
            for depth in [8u32, 10, 12, 16] {
                let full = 1u32 << depth;
                for range in [(0, full), (0, full / 2), (0, 2), (full - 2, 2)] {
                    if depth == 8 {
                        check_size::<u8>(level, size, depth, range);
                    } else {
                        check_size::<u16>(level, size, depth, range);
                    }
                }
            }
        }
    }

    fn extreme_changes_equal_the_naive_truth(level) {
        // Every sample changes by the whole range, down and up, or a part of the picture does.
        let (width, height) = (70, 21);
        for changed in [0..height, 0..1, 7..9, height - 1..height] {
            let rows = |value: u8| {
                let row = |y: usize| if changed.contains(&y) { value } else { 9 };
                (0..width * height).map(|at| row(at / width)).collect::<Vec<u8>>()
            };
            let (black, white) = (rows(0), rows(255));
            let plane = |samples| Plane::new(samples, width, height, width);
            let mut kernel = Kernel::new(level, width, height, 8);
            for (a, b) in [(&black, &white), (&white, &black)] {
                let want = naive(a, b, width, height, 8);
                assert_eq!(kernel.blurred_difference(plane(a), plane(b), &Alone), want, "{changed:?}");
            }
        }
    }

    fn samples_beyond_their_depth_equal_the_scalar_kernel(level) {
        // Words a little beyond the depth are not samples, but are counted all the same.
        let (width, height) = (67, 19);
        let noise = |seed: u32, limit: u32| -> Vec<u16> {
            let sample = |i: u32| ((i + 1).wrapping_mul(seed).wrapping_mul(2_654_435_761) >> 8) % limit;
            (0..(width * height) as u32).map(|i| sample(i) as u16).collect()
        };
        for depth in [10, 12] {
            let limit = (1 << depth) + 50;
            let (a, b) = (noise(3, limit), noise(7, limit));
            let plane = |samples| Plane::new(samples, width, height, width);
            let mut row = scalar::Row::new(width);
            let want = scalar::blurred_difference(plane(&a), plane(&b), 0..height, depth, &mut row);
            let mut kernel = Kernel::new(level, width, height, depth);
            assert_eq!(kernel.blurred_difference(plane(&a), plane(&b), &Alone), want, "{depth}-bit");
        }
    }
}

level_tests! {
    fn parts_of_a_frame_add_up_to_the_whole(level) {
        for (width, height, depth, limit) in [(67, 259, 8, 256), (40, 320, 10, 1024), (35, 200, 10, 1100)] {
            let noise = |seed: u32| -> Vec<u16> {
                let sample = |i: u32| ((i + 1).wrapping_mul(seed).wrapping_mul(2_654_435_761) >> 8) % limit;
                (0..(width * height) as u32).map(|i| sample(i) as u16).collect()
            };
            let (a, b) = (noise(3), noise(7));
            let plane = |samples| Plane::new(samples, width, height, width);
            let want = scalar::blurred_difference(plane(&a), plane(&b), 0..height, depth, &mut scalar::Row::new(width));
            let mut kernel = Kernel::new(level, width, height, depth);
            for parts in [2, 3, 9, 1] {
                let got = kernel.blurred_difference(plane(&a), plane(&b), &Backwards(parts));
                assert_eq!(got, want, "{width}x{height} in {parts} parts");
            }
        }
    }
}

#[derive(Default)]
struct Scores(Vec<(usize, u64, f64)>);

impl Emit for Scores {
    fn score(&mut self, key: usize, index: u64, value: f64) {
        self.0.push((key, index, value));
    }
    fn aggregate(&mut self, _name: &str, _value: f64) {}
}

fn fold(settings: MotionSettings, differences: &[f64], key: usize) -> Vec<f64> {
    let mut fold = MotionFold::new(settings);
    let mut scores = Scores::default();
    for (index, difference) in (0..).zip(differences) {
        fold.push(index, &[*difference], &mut scores);
    }
    fold.finish(&mut scores);
    let mut column: Vec<_> =
        scores.0.into_iter().filter(|(k, ..)| *k == key).map(|(_, i, v)| (i, v)).collect();
    column.sort_by_key(|(index, _)| *index);
    assert_eq!(
        column.iter().map(|(index, _)| *index).collect::<Vec<_>>(),
        (0..differences.len() as u64).collect::<Vec<_>>()
    );
    column.into_iter().map(|(_, value)| value).collect()
}

fn settings(distance: u64) -> MotionSettings {
    MotionSettings {
        force_zero: false,
        blend: Blend { factor: 1.0, offset: 40.0, max: 10000.0 },
        fps_weight: 1.0,
        distance,
        moving_average: false,
        debug: false,
    }
}

#[test]
fn motion2_is_the_minimum_of_both_sides() {
    assert_eq!(fold(settings(1), &[0.0, 5.0, 3.0, 4.0], 1), [0.0, 3.0, 3.0, 4.0]);
    assert_eq!(fold(settings(1), &[0.0, 5.0, 3.0, 4.0], 2), [5.0, 3.0, 3.0, 4.0]);
    assert_eq!(fold(settings(1), &[0.0], 2), [0.0]);
}

#[test]
fn five_frame_window_looks_at_the_neighbours() {
    let differences = [0.0, 0.0, 7.0, 5.0, 9.0, 4.0];
    assert_eq!(fold(settings(2), &differences, 1), [0.0, 0.0, 5.0, 7.0, 4.0, 4.0]);
    assert_eq!(fold(settings(2), &differences, 2), [7.0, 7.0, 5.0, 7.0, 4.0, 4.0]);
    assert_eq!(fold(settings(2), &differences[..2], 2), [0.0, 0.0]);
}

#[test]
fn motion3_is_blended_clipped_and_averaged() {
    let mut settings = settings(1);
    settings.blend = Blend { factor: 0.5, offset: 2.0, max: 4.0 };
    settings.moving_average = true;
    // Blended and clipped: 6 -> 4, 4 -> 3, 8 -> 4 (clipped from 5).
    assert_eq!(fold(settings, &[0.0, 6.0, 4.0, 8.0], 2), [4.0, (3.0 + 4.0) / 2.0, 3.0, (4.0 + 3.0) / 2.0]);
}

#[test]
fn a_sum_becomes_the_mean_difference() {
    let format = Format::new(32, 16, Chroma::C420, 10).unwrap();
    let row = |settings: MotionSettings, sad: Option<u64>| {
        let mut raw = [f64::NAN];
        settings.finish(sad, &format, &mut raw);
        raw[0]
    };
    let doubled = MotionSettings { fps_weight: 2.0, ..settings(1) };
    assert_eq!(row(settings(1), Some(256 * 512 * 7)), 7.0);
    assert_eq!(row(doubled, Some(256 * 512 * 7)), 14.0);
    assert_eq!(row(doubled, Some(u64::MAX)), 10000.0);
    assert_eq!(row(doubled, None), 0.0);
    assert_eq!(row(MotionSettings { force_zero: true, ..doubled }, Some(256 * 512)), 0.0);
}
