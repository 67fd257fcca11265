//! VIF: the thinned pictures of the next scale, and the sums of a scale.

use super::{
    BASE, Chance, LOOKS, Look, Picture, TOTALS, filtered, laid_out, launch, log2_truth, mirrored,
    pictures_of, places, shared,
};
use crate::arguments::{Decimate, MAX_GAINS, Statistic};
use crate::schedule::{Arguments, Kernel};

/// The windows of the four scales.
const TAPS: [&[i64]; 4] = [
    &[489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489],
    &[1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244],
    &[3571, 16004, 26386, 16004, 3571],
    &[10904, 43728, 10904],
];

#[test]
fn thinned_pictures() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(2);
    let kernels = [
        (0, Kernel::DecimateU8, 8),
        (0, Kernel::DecimateU16, 12),
        (1, Kernel::Decimate1, 16),
        (2, Kernel::Decimate2, 16),
    ];
    for ((scale, kernel, depth), look) in
        kernels.into_iter().flat_map(|kernel| LOOKS.map(|look| (kernel, look)))
    {
        let [reference, distorted] = Picture::pair(&mut chance, look, [141, 37], (1 << depth) - 1);
        let out = Picture::empty(141 / 2, 37 / 2);
        let bytes = if depth == 8 { 1 } else { 2 };
        let (memory, addresses) = laid_out(&[(&reference, bytes), (&distorted, bytes), (&out, 2), (&out, 2)]);
        let arguments = Decimate {
            pictures: pictures_of(&reference, addresses[0], addresses[1], depth),
            reference: addresses[2],
            distorted: addresses[3],
            frame: 0,
            pitch: out.pitch as i32,
            unused: 0,
        };
        let left = launch(shared, kernel, Arguments::Decimate(arguments), &memory, &[0]);
        let samples: &[u16] = bytemuck::cast_slice(&left.memory);
        let taps = TAPS[scale + 1];
        for (picture, address) in [(&reference, addresses[2]), (&distorted, addresses[3])] {
            let got = &samples[(address as usize - BASE as usize) / 2..];
            for (x, y) in places(out.width, out.height) {
                let down = |column: isize| {
                    filtered(taps, if scale == 0 { depth as u32 } else { 16 }, |k| {
                        picture.at(column, 2 * y + k)
                    })
                };
                let truth = filtered(taps, 16, |k| down(2 * x + k));
                let got = got[y as usize * out.pitch + x as usize];
                assert_eq!(i64::from(got), truth, "scale {scale}, {look:?}, {x}, {y}");
            }
        }
    }
}

/// Variance of the reference, of the distorted picture, and covariance, with 16 fractional bits.
fn statistics(pair: &[Picture; 2], scale: usize, depth: u32, x: isize, y: isize) -> [i32; 3] {
    let taps = TAPS[scale];
    let (mean_shift, product_shift) = if scale == 0 { (depth, 2 * (depth - 8)) } else { (16, 16) };
    let column = |k: isize| mirrored(x + k, pair[0].width) as isize;
    let mean = |picture: &Picture| {
        filtered(taps, 0, |k| filtered(taps, mean_shift, |j| picture.at(column(k), y + j)))
    };
    let product = |one: &Picture, two: &Picture| {
        let down =
            |k: isize| filtered(taps, product_shift, |j| one.at(column(k), y + j) * two.at(column(k), y + j));
        filtered(taps, 16, down)
    };
    let [reference, distorted] = pair;
    [(reference, reference), (distorted, distorted), (reference, distorted)].map(|(one, two)| {
        let means = (i128::from(mean(one)) * i128::from(mean(two)) + (1 << 31)) >> 32;
        (product(one, two) - means as i64) as i32
    })
}

/// Logarithms of the denominator, what is below the noise (sum, count), and logarithms for each gain limit.
fn truth(pair: &[Picture; 2], scale: usize, depth: u32, gains: &[f64]) -> [i64; 3 + MAX_GAINS] {
    const NOISE: i32 = 2 << 16;
    let mut sums = [0; 3 + MAX_GAINS];
    for (x, y) in places(pair[0].width, pair[0].height) {
        let [reference, distorted, covariance] = statistics(pair, scale, depth, x, y);
        if reference < NOISE {
            sums[1] += i64::from(distorted.max(0));
            sums[2] += 1;
            continue;
        }
        sums[0] += log2_truth((NOISE + reference) as u64) - log2_truth(NOISE as u64);
        if covariance <= 0 || distorted <= 0 {
            continue;
        }
        let [reference, distorted, covariance] = [reference, distorted, covariance].map(f64::from);
        let gain = covariance / (reference + 65536.0 * 1.0e-10);
        let noise = ((distorted - gain * covariance) as i32).max(0) as u64 + NOISE as u64;
        for (sum, limit) in sums[3..].iter_mut().zip(gains) {
            let limited = gain.min(*limit);
            let signal = (limited * limited * reference) as u64;
            *sum += log2_truth(signal + noise) - log2_truth(noise);
        }
    }
    sums
}

#[test]
fn sums_of_a_scale() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(7);
    let kernels = [
        (0, Kernel::StatisticU8, 8, [115, 19]),
        (0, Kernel::StatisticU16, 10, [33, 35]),
        (0, Kernel::StatisticU16, 16, [113, 9]),
        (1, Kernel::Statistic1, 16, [123, 13]),
        (2, Kernel::Statistic2, 16, [127, 7]),
        (3, Kernel::Statistic3, 16, [131, 5]),
    ];
    let (mut plain, mut logarithms) = (0, 0);
    for ((scale, kernel, depth, size), look) in
        kernels.into_iter().flat_map(|kernel| LOOKS.map(|look| (kernel, look)))
    {
        let pair = Picture::pair(&mut chance, look, size, (1 << depth) - 1);
        let bytes = if depth == 8 { 1 } else { 2 };
        let (memory, addresses) = laid_out(&[(&pair[0], bytes), (&pair[1], bytes)]);
        let gains = [100.0, 1.0, 1.2, 1.0 + f64::EPSILON];
        let arguments = Statistic {
            pictures: pictures_of(&pair[0], addresses[0], addresses[1], depth as i32),
            gains,
            gain_count: 4,
            stride: 0,
            sums: u64::from(TOTALS) + 8,
        };
        let left = launch(shared, kernel, Arguments::Statistic(arguments), &memory, &[0; 9]);
        let truth = truth(&pair, scale, depth, &gains);
        let got: Vec<i64> = left.totals.iter().map(|sum| *sum as i64).collect();
        assert_eq!(got[1..8], truth, "scale {scale}, {depth} bits, {look:?}");
        assert_eq!((got[0], got[8]), (0, 0));
        plain += i64::from(matches!(look, Look::Flat)) * truth[2];
        logarithms += truth[3];
    }
    assert!(plain > 1000 && logarithms > 1_000_000, "both branches were taken: {plain}, {logarithms}");
}
