//! The kernels against a few lines of naive truth.

use visus_video::Plane;

use super::scalar::{Limits, Residuals, Scratch, TAPS, mirrored};
use super::table::Log2;

/// A picture of 64-bit numbers: nothing can overflow, nothing is fused or blocked.
#[derive(Clone)]
struct Picture {
    width: usize,
    height: usize,
    samples: Vec<i64>,
}

impl Picture {
    fn at(&self, x: isize, y: isize) -> i64 {
        self.samples[mirrored(y, self.height) * self.width + mirrored(x, self.width)]
    }

    /// Window-weighted sum of `value` down a column, rounded and shifted.
    fn column(
        &self,
        x: isize,
        y: isize,
        taps: &[u32],
        shift: u32,
        value: impl Fn(isize, isize) -> i64,
    ) -> i64 {
        let radius = taps.len() as isize / 2;
        let sum: i64 = (0..).zip(taps).map(|(k, tap)| i64::from(*tap) * value(x, y + k - radius)).sum();
        (sum + ((1i64 << shift) >> 1)) >> shift
    }
}

fn naive_thinned(picture: &Picture, scale: usize, depth: u32) -> Picture {
    let taps = TAPS[scale + 1];
    let shift = if scale == 0 { depth } else { 16 };
    let (width, height) = (picture.width / 2, picture.height / 2);
    let sample = |i: usize| {
        let (x, y) = (2 * (i % width) as isize, 2 * (i / width) as isize);
        let radius = taps.len() as isize / 2;
        let sum: i64 = (0..)
            .zip(taps)
            .map(|(k, tap)| {
                let x = mirrored(x + k - radius, picture.width) as isize;
                i64::from(*tap) * picture.column(x, y, taps, shift, |x, y| picture.at(x, y))
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
) -> Residuals {
    let taps = TAPS[scale];
    let (mean, square) = if scale == 0 { (depth, 2 * (depth - 8)) } else { (16, 16) };
    let log2 = |n: i64| Log2::get().of(n as u64);
    let mut sums = Residuals::default();
    for i in 0..reference.width * reference.height {
        let (x, y) = ((i % reference.width) as isize, (i / reference.width) as isize);
        let moment = |shift: u32, value: &dyn Fn(isize, isize) -> i64| -> i64 {
            let radius = taps.len() as isize / 2;
            (0..)
                .zip(taps)
                .map(|(k, tap)| {
                    let x = mirrored(x + k - radius, reference.width) as isize;
                    i64::from(*tap) * reference.column(x, y, taps, shift, value)
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
            sums.num_plain += s2;
            sums.den_plain += 1;
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

fn naive(mut reference: Picture, mut distorted: Picture, depth: u32, gain_limit: f64) -> [Residuals; 4] {
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

fn check<T: super::scalar::Widen + TryFrom<u32>>(
    width: usize,
    height: usize,
    depth: u32,
    base: u32,
    spread: u32,
) {
    let mut noise = Noise(width as u32 * 77 + height as u32 + depth);
    let stride = width + 5;
    let mut plane = || -> Vec<T> {
        (0..stride * height)
            .map(|_| T::try_from(base + noise.below(spread)).ok().unwrap_or_default())
            .collect()
    };
    let (reference, distorted) = (plane(), plane());
    let picture = |samples: &[T]| Picture {
        width,
        height,
        samples: samples
            .chunks(stride)
            .flat_map(|row| &row[..width])
            .map(|s| i64::from(Into::<u32>::into(*s)))
            .collect(),
    };
    let view = |samples| Plane::new(samples, width, height, stride);
    for gain in [100.0, 1.0] {
        let limits = Limits { gain, skip_scale0: false };
        let got = Scratch::new(width, height).scales(view(&reference), view(&distorted), depth, limits);
        let want = naive(picture(&reference), picture(&distorted), depth, gain);
        assert_eq!(got, want, "{width}x{height} {depth}-bit, {base}+{spread}, gain {gain}");
    }
}

#[test]
fn sums_equal_the_naive_truth() {
    for (width, height) in [(16, 16), (17, 33), (40, 19), (64, 24), (35, 50)] {
        for depth in [8u32, 10, 12, 16] {
            let full = 1 << depth;
            for (base, spread) in [(0, full), (0, 2), (full - 2, 2), (full / 2, full / 16)] {
                if depth == 8 {
                    check::<u8>(width, height, depth, base, spread);
                } else {
                    check::<u16>(width, height, depth, base, spread);
                }
            }
        }
    }
}

#[test]
fn mirrored_rows_turn_at_both_ends() {
    let rows: Vec<usize> = (-4..8).map(|row| mirrored(row, 3)).collect();
    assert_eq!(rows, [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1]);
    assert_eq!(mirrored(-3, 1), 0);
}

#[test]
fn log_table_keeps_the_single_precision_rounding() {
    let log2 = Log2::get();
    assert_eq!(log2.of(1 << 15), 15 * 2048);
    assert_eq!(log2.of(1 << 40), 40 * 2048);
    assert_eq!(log2.of(65535), 32768);
    let correctly_rounded = |n: u64| ((n as f64).log2() * 2048.0).round() as i64;
    let different = (1u64 << 15..1 << 16).filter(|n| log2.of(*n) != correctly_rounded(*n)).count();
    assert_eq!(different, 38);
}
