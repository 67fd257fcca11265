//! Kernels against the naive truth on whole pictures.

use std::iter::once;

use super::super::loader::nearest;
use super::super::pooling::{Pooling, Sum, ordered_sum};
use super::super::scalar::contrast::{Contrast, Sieve};
use super::super::scalar::histogram::Histogram;
use super::super::scalar::mask::{FlatSums, MASK_DELAY, mask_threshold};
use super::super::scalar::runs::RunRows;
use super::super::scalar::strengths::Strengths;
use super::super::steps::Steps;
use super::naive::{self, Grid};
use super::pictures::{KINDS, Lcg, picture};
use crate::simd::{Target, level_tests};

fn mask_by_kernel(target: Target, image: &Grid<u16>) -> Grid<bool> {
    let row = |y: usize| &image.data[y * image.width..][..image.width];
    let threshold = mask_threshold(image.width, image.height);
    let mut sums = FlatSums::new(image.width, target);
    let (mut out, mut line) = (Vec::new(), vec![0; image.width]);
    sums.start();
    for y in 0..image.height + MASK_DELAY {
        if y < image.height {
            sums.push(row(y), row((y + 1).min(image.height - 1)));
        } else {
            sums.push_blank();
        }
        if y >= MASK_DELAY {
            sums.mask_row(threshold, &mut line);
            out.extend(line.iter().map(|kept| *kept == 1));
        }
    }
    Grid { data: out, ..Grid::from_fn(image.width, image.height, |_, _| false) }
}

level_tests! {
    fn masks_are_square_sums(level) {
        for (width, height) in [(1, 1), (1, 9), (9, 2), (64, 64), (65, 20), (131, 70), (200, 129)] {
            for kind in KINDS {
                let image = picture(kind, width, height, 10, 1);
                let found = mask_by_kernel(Target::new(level), &image);
                assert_eq!(found, naive::mask(&image), "{width}x{height} {kind:?}");
            }
        }
    }
}

#[test]
fn mask_thresholds() {
    for (width, height, threshold) in
        [(216, 40, 7), (216, 64, 10), (480, 270, 15), (1920, 1080, 21), (3840, 2160, 24), (32768, 32768, 34)]
    {
        assert_eq!(mask_threshold(width, height), threshold, "{width}x{height}");
    }
}

level_tests! {
    fn strengths_are_found_by_sliding(level) {
        for steps in [2, 1, 3] {
            slide(Target::new(level), steps);
        }
    }
}

/// Slides windows over pictures and compares the strength at every pixel with counting in the window.
fn slide(target: Target, log_steps: u32) {
    for (width, height, window) in [
        (1, 1, 1),
        (7, 40, 9),
        (90, 5, 11),
        (70, 33, 1),
        (83, 41, 5),
        (120, 50, 33),
        (150, 70, 17),
        (200, 80, 65),
    ] {
        for kind in KINDS {
            let image = picture(kind, width, height, 10, 9);
            let mut random = Lcg(5);
            let mask = Grid::from_fn(width, height, |_, _| !random.next().is_multiple_of(16));
            let settings = naive::Settings { steps: 1 << log_steps, ..super::defaults(window, 10) };
            let truth = naive::strengths(&image, &mask, &settings);
            let steps = Steps::new(log_steps, settings.threshold, settings.floor, settings.eotf);
            let found = strengths_by_kernel(target, &image, &mask, window, &steps);
            assert_eq!(found, truth, "{width}x{height} {kind:?} window {window}");
        }
    }
}

fn strengths_by_kernel(
    target: Target,
    image: &Grid<u16>,
    mask: &Grid<bool>,
    window: usize,
    steps: &Steps,
) -> Grid<f32> {
    let (width, height) = (image.width, image.height);
    let mut runs = RunRows::new(width, height, target);
    for (row, mask) in image.data.chunks_exact(width).zip(mask.data.chunks_exact(width)) {
        let mask: Vec<u8> = mask.iter().map(|kept| u8::from(*kept)).collect();
        runs.push(row, &mask, steps.base(), steps.levels() as u16);
    }
    let mut histogram = Histogram::new(steps.levels(), steps.count(), width, window, target);
    histogram.start(width);
    let (mut sieve, mut strengths) = (Sieve::new(width, target), Strengths::new(width, height));
    for y in 0..height + window {
        histogram.add(runs.row(y));
        (y >= window).then(|| histogram.remove());
        let Some(centre) = y.checked_sub(window / 2) else { continue };
        Contrast::new(steps).add_row(runs.row(centre), centre, &histogram, &mut sieve, &mut strengths);
    }
    // It checks that everything that was counted has left again.
    histogram.start(width);
    let mut out = Grid::from_fn(width, height, |_, _| 0.0);
    strengths.spread(width, &mut out.data);
    out
}

/// Values as they occur: 0, or counts of two levels in a window.
fn some_strengths(count: usize, most: u32, seed: u32) -> Vec<f32> {
    let mut random = Lcg(seed);
    let mut value = || {
        let (p, q) = (random.next() % most, random.next() % most);
        if p * q == 0 { 0.0 } else { (p * q) as f32 * (1.0 / (p + q) as f32) }
    };
    (0..count).map(|_| value()).collect()
}

#[test]
fn sums_of_the_largest() {
    for (count, most) in [(1, 3), (2, 60), (9, 3), (1000, 2), (1000, 60), (5003, 2000), (5003, 4)] {
        for share in [0.0001, 0.1, 0.6, 0.75, 0.99, 1.0] {
            let values = some_strengths(count, most, 11);
            let largest = ((count as f64 * share) as usize).max(1);
            let truth = naive::pooled(&values, share) * largest as f64;
            let sum = Pooling::new().sum_of_largest(once(&values[..]), Sum::of(&values), largest).unwrap();
            assert!((sum - truth).abs() <= truth * 1e-15, "{count} {most} {share}");
            assert_eq!(sum / largest as f64, naive::pooled(&values, share), "{count} {most} {share}");
            assert_eq!(ordered_sum(&mut values.clone(), largest), sum);
        }
    }
}

#[test]
fn sums_that_depend_on_the_order_are_left_to_the_ordered_sum() {
    let mut pooling = Pooling::new();
    let large = vec![9000.3f32; 70_000];
    assert_eq!(
        pooling.sum_of_largest(once(&large[..]), Sum::of(&large), 70_000),
        Some(f64::from(9000.3f32) * 70_000.0)
    );
    let mixed: Vec<f32> = [0.6666667].into_iter().chain(large).collect();
    assert_eq!(pooling.sum_of_largest(once(&mixed[..]), Sum::of(&mixed), 70_001), None);
    assert!(
        pooling.sum_of_largest(once(&mixed[..]), Sum::of(&mixed), 70_000).is_some(),
        "the small one is not among the largest"
    );
}

/// Sums made by libvmaf's selection. Added from the largest to the smallest, the second one ends in 70.
#[test]
fn the_order_of_large_sums() {
    let values = some_strengths(1_000_000, 4200, 11);
    for (count, bits) in [
        (999_500, 0x41c91db9f002cd0f),
        (999_600, 0x41c91db9f6dbbe5f),
        (999_900, 0x41c91db9f6dbbe68),
        (1_000_000, 0x41c91db9f6dbbe67),
    ] {
        assert_eq!(Pooling::new().sum_of_largest(once(&values[..]), Sum::of(&values), count), None);
        assert_eq!(ordered_sum(&mut values.clone(), count).to_bits(), bits, "{count}");
    }
    let sum = Pooling::new().sum_of_largest(once(&values[..]), Sum::of(&values), 600_000).map(f64::to_bits);
    assert_eq!(sum, Some(0x41c51bb0cd9d3a00));
}

#[test]
fn nearest_samples() {
    assert_eq!(nearest(6, 3), [1, 3, 5]);
    assert_eq!(nearest(3, 6), [0, 0, 1, 1, 2, 2]);
    assert_eq!(nearest(480, 320)[..6], [0, 2, 3, 5, 6, 8]);
    assert_eq!(nearest(5, 5), [0, 1, 2, 3, 4]);
    // The sum of 7679 rounded ratios runs ahead of the picture.
    assert!(nearest(8191, 7680).iter().all(|column| *column < 8191));
}
