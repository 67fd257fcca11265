//! The kernels against a few lines of naive truth.

use visus_video::{Chroma, Format, Plane};

use super::dispatch::{self, Kernels};
use super::scalar::{self, Limits, Sums};
use super::score::{VifSettings, VifSums};
use super::table::Log2;
use crate::device::DeviceTask;
use crate::simd::level_tests;
use crate::testing::Backwards;
use crate::{Alone, Level, Spread, registry};

/// The windows of the scales, in units of 2^-16.
const WINDOWS: [&[i64]; 4] = [
    &[489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489],
    &[1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244],
    &[3571, 16004, 26386, 16004, 3571],
    &[10904, 43728, 10904],
];

/// Where the pattern 0, 1, …, n-1, n-2, …, 1, repeated without end, is at `index`.
fn reflected(index: isize, length: usize) -> usize {
    let period = (2 * (length as isize - 1)).max(1);
    let place = index.rem_euclid(period);
    place.min(period - place) as usize
}

/// 2048 · log2 of the leading 16 bits, whose logarithm is rounded to single precision before it is scaled.
fn log2(number: i64) -> i64 {
    let shift = number.ilog2() - 15;
    let logarithm = ((number >> shift) as f64).log2() as f32;
    (logarithm * 2048.0).round() as i64 + 2048 * i64::from(shift)
}

/// A picture of 64-bit numbers: nothing can overflow, nothing is fused or blocked.
#[derive(Clone)]
struct Picture {
    width: usize,
    height: usize,
    samples: Vec<i64>,
}

impl Picture {
    fn at(&self, x: isize, y: isize) -> i64 {
        self.samples[reflected(y, self.height) * self.width + reflected(x, self.width)]
    }

    /// Window-weighted sum of `value` down a column, rounded and shifted.
    fn column(
        &self,
        x: isize,
        y: isize,
        taps: &[i64],
        shift: u32,
        value: impl Fn(isize, isize) -> i64,
    ) -> i64 {
        let radius = taps.len() as isize / 2;
        let sum: i64 = (0..).zip(taps).map(|(k, tap)| tap * value(x, y + k - radius)).sum();
        (sum + ((1i64 << shift) >> 1)) >> shift
    }
}

fn naive_thinned(picture: &Picture, scale: usize, depth: u32) -> Picture {
    let taps = WINDOWS[scale + 1];
    let shift = if scale == 0 { depth } else { 16 };
    let (width, height) = (picture.width / 2, picture.height / 2);
    let sample = |i: usize| {
        let (x, y) = (2 * (i % width) as isize, 2 * (i / width) as isize);
        let radius = taps.len() as isize / 2;
        let sum: i64 = (0..)
            .zip(taps)
            .map(|(k, tap)| {
                let x = reflected(x + k - radius, picture.width) as isize;
                tap * picture.column(x, y, taps, shift, |x, y| picture.at(x, y))
            })
            .sum();
        (sum + 32768) >> 16
    };
    Picture { width, height, samples: (0..width * height).map(sample).collect() }
}

fn naive_scale(
    reference: &Picture,
    distorted: &Picture,
    scale: usize,
    depth: u32,
    gain_limit: f64,
) -> VifSums {
    let taps = WINDOWS[scale];
    let (mean, square) = if scale == 0 { (depth, 2 * (depth - 8)) } else { (16, 16) };
    let mut sums = VifSums::default();
    for i in 0..reference.width * reference.height {
        let (x, y) = ((i % reference.width) as isize, (i / reference.width) as isize);
        let moment = |shift: u32, value: &dyn Fn(isize, isize) -> i64| -> i64 {
            let radius = taps.len() as isize / 2;
            (0..)
                .zip(taps)
                .map(|(k, tap)| {
                    let x = reflected(x + k - radius, reference.width) as isize;
                    tap * reference.column(x, y, taps, shift, value)
                })
                .sum()
        };
        let mu1 = moment(mean, &|x, y| reference.at(x, y));
        let mu2 = moment(mean, &|x, y| distorted.at(x, y));
        let rounded = |value: i64| (value + 32768) >> 16;
        let product = |a: i64, b: i64| ((i128::from(a) * i128::from(b) + (1 << 31)) >> 32) as i64;
        let s1 = rounded(moment(square, &|x, y| reference.at(x, y).pow(2))) - product(mu1, mu1);
        let s2 = (rounded(moment(square, &|x, y| distorted.at(x, y).pow(2))) - product(mu2, mu2)).max(0);
        let s12 =
            rounded(moment(square, &|x, y| reference.at(x, y) * distorted.at(x, y))) - product(mu1, mu2);
        if s1 < 131072 {
            sums.num_non_log += s2;
            sums.den_non_log += 1;
            continue;
        }
        sums.den_log += log2(s1 + 131072) - 17 * 2048;
        if s12 > 0 && s2 > 0 {
            let g = s12 as f64 / (s1 as f64 + 65536.0 * 1.0e-10);
            let noise = ((s2 as f64 - g * s12 as f64) as i64).max(0) + 131072;
            let g = g.min(gain_limit);
            sums.num_log += log2(noise + (g * g * s1 as f64) as i64) - log2(noise);
        }
    }
    sums
}

fn naive(mut reference: Picture, mut distorted: Picture, depth: u32, gain_limit: f64) -> [VifSums; 4] {
    std::array::from_fn(|scale| {
        if scale > 0 {
            reference = naive_thinned(&reference, scale - 1, depth);
            distorted = naive_thinned(&distorted, scale - 1, depth);
        }
        naive_scale(&reference, &distorted, scale, depth, gain_limit)
    })
}

struct Noise(u32);

impl Noise {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0 >> 8) * u64::from(limit)) >> 24) as u32
    }
}

/// Two planes of noise in a range, with rows further apart than they are long.
struct Planes<T> {
    width: usize,
    height: usize,
    stride: usize,
    samples: [Vec<T>; 2],
}

impl<T: super::scalar::Widen + TryFrom<u32>> Planes<T> {
    fn noise(width: usize, height: usize, base: u32, spread: u32) -> Self {
        let mut noise = Noise(width as u32 * 77 + height as u32 + base);
        let stride = width + 5;
        let mut plane = || -> Vec<T> {
            (0..stride * height)
                .map(|_| T::try_from(base + noise.below(spread)).ok().unwrap_or_default())
                .collect()
        };
        Self { width, height, stride, samples: [plane(), plane()] }
    }

    fn view(&self, side: usize) -> Plane<'_, T> {
        Plane::new(&self.samples[side], self.width, self.height, self.stride)
    }

    fn picture(&self, side: usize) -> Picture {
        let samples = self.view(side).rows().flatten().map(|s| i64::from(Into::<u32>::into(*s))).collect();
        Picture { width: self.width, height: self.height, samples }
    }
}

const GAINS: [f64; 3] = [100.0, 1.0, 1.2];

fn sums(level: Level, planes: &AnyPlanes, depth: u32) -> Sums {
    spread_sums(level, planes, depth, &Alone)
}

fn spread_sums(level: Level, planes: &AnyPlanes, depth: u32, spread: &dyn Spread) -> Sums {
    let (width, height) = planes.size();
    sums_of(dispatch::kernels(level, width, height, depth), planes, spread)
}

fn sums_of(mut kernels: Box<dyn Kernels>, planes: &AnyPlanes, spread: &dyn Spread) -> Sums {
    let limits = Limits { gains: &GAINS, skip_scale0: false };
    let mut sums = Sums::new();
    match planes {
        AnyPlanes::Bytes(planes) => kernels.bytes(planes.view(0), planes.view(1), limits, spread, &mut sums),
        AnyPlanes::Words(planes) => kernels.words(planes.view(0), planes.view(1), limits, spread, &mut sums),
    }
    sums
}

enum AnyPlanes {
    Bytes(Planes<u8>),
    Words(Planes<u16>),
}

impl AnyPlanes {
    fn size(&self) -> (usize, usize) {
        match self {
            Self::Bytes(planes) => (planes.width, planes.height),
            Self::Words(planes) => (planes.width, planes.height),
        }
    }
}

fn planes(size: (usize, usize), depth: u32, base: u32, spread: u32) -> AnyPlanes {
    if depth == 8 {
        AnyPlanes::Bytes(Planes::noise(size.0, size.1, base, spread))
    } else {
        AnyPlanes::Words(Planes::noise(size.0, size.1, base, spread))
    }
}

/// Full range, nearly black, nearly white, a narrow band in the middle.
fn ranges(depth: u32) -> [(u32, u32); 4] {
    let full = 1 << depth;
    [(0, full), (0, 2), (full - 2, 2), (full / 2, full / 16)]
}

level_tests! {
    fn sums_equal_the_naive_truth(level) {
        for size in [(16, 16), (17, 33), (40, 19), (64, 24), (35, 50), (67, 65)] {
            for depth in [8u32, 10, 12, 16] {
                for (base, spread) in ranges(depth) {
                    let planes = planes(size, depth, base, spread);
                    let (a, b) = match &planes {
                        AnyPlanes::Bytes(planes) => (planes.picture(0), planes.picture(1)),
                        AnyPlanes::Words(planes) => (planes.picture(0), planes.picture(1)),
                    };
                    let truth = |gain: &f64| naive(a.clone(), b.clone(), depth, *gain);
                    let want: Sums = GAINS.iter().map(truth).collect();
                    assert_eq!(sums(level, &planes, depth), want, "{size:?} {depth}-bit {base}+{spread}");
                }
            }
        }
    }

    fn sums_equal_those_of_the_scalar_kernels(level) {
        for size in [(64, 64), (65, 66), (97, 80), (130, 71), (191, 69), (256, 68), (333, 75)] {
            for depth in [8u32, 9, 10, 12, 14, 16] {
                for (base, spread) in ranges(depth) {
                    let planes = planes(size, depth, base, spread);
                    let want = sums(Level::Scalar, &planes, depth);
                    assert_eq!(sums(level, &planes, depth), want, "{size:?} {depth}-bit {base}+{spread}");
                }
            }
        }
    }

    fn stripes_give_the_sums_of_the_whole(level) {
        for size in [(70, 256), (65, 389), (96, 1030)] {
            for depth in [8, 10, 16] {
                let planes = planes(size, depth, 0, 1 << depth);
                let want = sums(level, &planes, depth);
                for hands in [2, 3, 7] {
                    let got = spread_sums(level, &planes, depth, &Backwards(hands));
                    assert_eq!(got, want, "{size:?} {depth}-bit, {hands} hands");
                }
            }
        }
    }
}

/// The level's own tests run the kernels with AVX-VNNI where the machine has it.
#[cfg(target_arch = "x86_64")]
#[test]
fn avx2_without_vnni_gives_the_sums_of_the_scalar_kernels() {
    crate::simd::with_level(Level::Avx2, |level| {
        for (size, depth) in [((97, 80), 8), ((130, 71), 10), ((65, 66), 16)] {
            let planes = planes(size, depth, 0, 1 << depth);
            let plain = crate::simd::avx2::Avx2::new(level).unwrap();
            let kernels = dispatch::in_vectors(plain, size.0, size.1, depth);
            assert_eq!(sums_of(kernels, &planes, &Alone), sums(Level::Scalar, &planes, depth), "{depth}-bit");
        }
    });
}

/// A score in reports and the sums it comes from, worked out by hand.
#[test]
fn sums_become_ratios() {
    let flat = VifSums { num_non_log: 65025 * 16384 * 3, den_non_log: 12, ..VifSums::default() };
    let busy = VifSums { num_log: 2048 * 3, den_log: 2048 * 4, ..flat };
    let settings = VifSettings { gain_limit: 100.0, skip_scale0: false, debug: true };
    let mut raw = [f64::NAN; 15];
    settings.finish(&[flat, busy, busy, VifSums::default()], &mut raw);
    assert_eq!(raw[..3], [0.75, 0.75, 0.75]);
    assert!(raw[3].is_nan());
    assert_eq!(raw[4..11], [0.75, 33.0, 44.0, 9.0, 12.0, 12.0, 16.0]);
    VifSettings { skip_scale0: true, ..settings }.finish(&[flat, busy, busy, busy], &mut raw);
    assert_eq!(raw[..9], [0.0, 0.75, 0.75, 0.75, 0.75, 36.0, 48.0, 0.0, -1.0]);
}

#[test]
fn a_device_task_has_the_options() {
    let given = [("vif_enhn_gain_limit".to_owned(), "1.5".to_owned())];
    let metric = registry::build(&super::INFO, &given).unwrap();
    let task = |side| metric.device_task(&Format::new(side, 64, Chroma::C400, 8).unwrap().into());
    let Some(DeviceTask::Vif(settings)) = task(8) else { panic!("no task") };
    assert_eq!(settings, VifSettings { gain_limit: 1.5, skip_scale0: false, debug: false });
    assert!(task(7).is_none());
}

#[test]
fn mirrored_rows_turn_at_both_ends() {
    let rows: Vec<usize> = (-4..8).map(|row| scalar::mirrored(row, 3)).collect();
    assert_eq!(rows, [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1]);
    assert_eq!(scalar::mirrored(-3, 1), 0);
    for (row, height) in (-20..40).flat_map(|row| (2..12).map(move |height| (row, height))) {
        assert_eq!(scalar::mirrored(row, height), reflected(row, height), "{row} of {height}");
    }
}

#[test]
fn windows_are_gaussian() {
    for (scale, window) in WINDOWS.iter().enumerate() {
        let kernel: Vec<i64> = scalar::TAPS[scale].iter().copied().map(i64::from).collect();
        assert_eq!(kernel, *window, "scale {scale}");
        assert_eq!(window.iter().sum::<i64>(), 1 << 16);
        let (length, deviation) = (window.len() as f64, window.len() as f64 / 5.0);
        let bell = |k: usize| (-0.5 * ((k as f64 - (length - 1.0) / 2.0) / deviation).powi(2)).exp();
        let total: f64 = (0..window.len()).map(bell).sum();
        for (k, tap) in window.iter().enumerate() {
            assert!((*tap as f64 - 65536.0 * bell(k) / total).abs() < 1.0, "scale {scale}, tap {k}");
        }
    }
}

#[test]
fn log_table_keeps_the_single_precision_rounding() {
    let table = Log2::get();
    assert_eq!(table.of(1 << 15), 15 * 2048);
    assert_eq!(table.of(1 << 40), 40 * 2048);
    assert_eq!(table.of(65535), 32768);
    let correctly_rounded = |n: i64| ((n as f64).log2() * 2048.0).round() as i64;
    let entries = || 1i64 << 15..1 << 16;
    assert!(entries().all(|n| table.of(n as u64) == log2(n)));
    assert_eq!(entries().filter(|n| log2(*n) != correctly_rounded(*n)).count(), 38);
}
