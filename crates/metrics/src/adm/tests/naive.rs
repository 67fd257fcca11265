//! The truth: every stage over whole pictures, a coefficient at a time, as its definition reads.

use crate::adm::score::AdmSums;
use crate::adm::settings::Settings;

/// Rows of samples or coefficients.
pub type Picture = Vec<Vec<i64>>;

const LOW: [i64; 4] = [15826, 27411, 7345, -4240];
const HIGH: [i64; 4] = [-4240, -7345, 27411, -15826];

fn picture(width: usize, height: usize, at: impl Fn(usize, usize) -> i64) -> Picture {
    (0..height).map(|y| (0..width).map(|x| at(x, y)).collect()).collect()
}

fn rounded(value: i64, shift: u32) -> i64 {
    (value + ((1 << shift) >> 1)) >> shift
}

/// An output of a filter over `len` samples, mirrored without the edge at the start, with it at the end.
fn filtered(taps: [i64; 4], len: usize, output: usize, at: impl Fn(usize) -> i64) -> i64 {
    let tap = |k: usize| match (2 * output + k).checked_sub(1) {
        None => 1,
        Some(index) if index < len => index,
        Some(index) => 2 * len - 1 - index,
    };
    (0..4).map(|k| taps[k] * at(tap(k))).sum()
}

/// Approximation, horizontal, vertical and diagonal band.
pub fn transformed(input: &Picture, down: u32, along: u32) -> [Picture; 4] {
    let (width, height) = (input[0].len(), input.len());
    let pass = |first: [i64; 4], second: [i64; 4]| {
        let columns = picture(width, height.div_ceil(2), |x, y| {
            rounded(filtered(first, height, y, |tap| input[tap][x]), down)
        });
        picture(width.div_ceil(2), height.div_ceil(2), |x, y| {
            rounded(filtered(second, width, x, |tap| columns[y][tap]), along)
        })
    };
    [pass(LOW, LOW), pass(HIGH, LOW), pass(LOW, HIGH), pass(HIGH, HIGH)]
}

/// The restored coefficients.
pub fn restored(o: [i64; 3], t: [i64; 3], gain: f64) -> [i64; 3] {
    let dot = |a: [i64; 3], b: [i64; 3]| f64::from((a[0] * b[0] + a[1] * b[1]) as f32) / 4096.0;
    let cosine = crate::math::cos(1.0 * std::f64::consts::PI / 180.0);
    let limit = f64::from((cosine * cosine) as f32);
    let parallel = dot(o, t) >= 0.0 && dot(o, t) * dot(o, t) >= limit * dot(o, o) * dot(t, t);
    std::array::from_fn(|band| {
        let (o, t) = (o[band], t[band]);
        let share = share(o, t);
        let rest = (share * o + 16384) >> 15;
        match (parallel && share > 0, o.signum()) {
            (true, 1) => (rest as f64 * gain).min(t as f64) as i64,
            (true, -1) => (rest as f64 * gain).max(t as f64) as i64,
            _ => rest,
        }
    })
}

fn share(o: i64, t: i64) -> i64 {
    if o == 0 {
        return 32768;
    }
    let shift = (64 - o.abs().leading_zeros()).saturating_sub(15);
    let reciprocal = (1 << 30) / rounded(o.abs(), shift);
    rounded(reciprocal * t * o.signum(), 15 + shift).clamp(0, 32768)
}

fn log2_up(count: usize) -> u32 {
    (count as f64).log2().ceil() as u32
}

/// A coefficient after the CSF of one kind of scale: its magnitude, and a thirtieth and a fifteenth of it.
type Csf<'a> = &'a dyn Fn(usize, i64) -> (i64, i64, i64);

fn csf_short(weights: [u16; 2], band: usize, value: i64) -> (i64, i64, i64) {
    let x = value * i64::from([weights[0], weights[0], weights[1]][band]);
    let short = i64::from(((x + [16384, 16384, 65535][band]) >> [15, 15, 17][band]) as i16).abs();
    let part = |fraction: i64| i64::from(rounded(fraction * short, 12) as i16);
    (x.abs(), part(4369), part(8738))
}

fn csf_long(weights: [u32; 2], band: usize, value: i64) -> (i64, i64, i64) {
    let x = rounded(value * i64::from([weights[0], weights[0], weights[1]][band]), 28).abs();
    let part = |fraction: i64| (fraction * x - (1 << 31)) >> 32;
    (x, part(143165577), part(286331153))
}

/// Where neighbour `step` of `index` is.
fn neighbour(index: usize, step: isize, len: usize) -> usize {
    match index as isize + step {
        -1 => 1,
        past if past == len as isize => len - 1,
        inside => inside as usize,
    }
}

fn scored(len: usize) -> std::ops::Range<usize> {
    let border = (len as f64 * 0.1 - 0.5) as usize;
    border..len - border
}

/// Cubes of the signal above the threshold that the mask makes. The first scale's threshold and magnitudes are 32-bit
/// numbers that wrap.
fn masked(signal: &[Picture; 3], mask: &[Picture; 3], first: bool, csf: Csf) -> [i64; 3] {
    let (width, height) = (signal[0][0].len(), signal[0].len());
    let row_shift = log2_up(height);
    let mut sums = [0; 3];
    for y in scored(height) {
        let mut row = [0; 3];
        for x in scored(width) {
            let mut threshold = 0;
            for (band, mask) in mask.iter().enumerate() {
                for (dy, dx) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dy, dx))) {
                    let value = mask[neighbour(y, dy, height)][neighbour(x, dx, width)];
                    let (_, thirtieth, fifteenth) = csf(band, value);
                    threshold += if (dy, dx) == (0, 0) { fifteenth } else { thirtieth };
                }
            }
            for band in 0..3 {
                let diagonal = u32::from(band == 2);
                let (lift, square, cube) = if first {
                    (10 + 2 * diagonal, 29 + diagonal, log2_up(width) - 4 + diagonal)
                } else {
                    (0, 30, log2_up(width))
                };
                let above = (csf(band, signal[band][y][x]).0 - (threshold << lift)) as i32;
                let above = i64::from(above.max(0));
                let squared = i64::from(rounded(above * above, square) as i32);
                row[band] += rounded(squared * above, cube);
            }
        }
        for band in 0..3 {
            sums[band] += rounded(row[band], row_shift);
        }
    }
    sums
}

fn csf_den(bands: &[Picture; 3], scale: usize) -> [u64; 3] {
    let (columns, rows) = (scored(bands[0][0].len()), scored(bands[0].len()));
    let (width, height) = (log2_up(columns.len()), log2_up(rows.len()));
    let area = log2_up(columns.len() * rows.len()).saturating_sub(20);
    std::array::from_fn(|band| {
        let row = |y: usize| {
            let cubes = bands[band][y][columns.clone()].iter().map(|value| match scale {
                0 => value.abs().pow(3),
                _ => {
                    let shift = [31, 30, 31][scale - 1];
                    let square = (value * value + (1 << shift)) >> shift;
                    rounded(square * value.abs(), width)
                }
            });
            rounded(cubes.sum(), if scale == 0 { area } else { height })
        };
        rows.clone().map(row).sum::<i64>() as u64
    })
}

/// The sums of every scale.
pub fn sums(pictures: [&Picture; 2], bits: u32, settings: &Settings) -> [AdmSums; 4] {
    let mut inputs =
        pictures.map(|input| picture(input[0].len(), input.len(), |x, y| input[y][x] - (1 << (bits - 1))));
    std::array::from_fn(|scale| {
        let (down, along) = [(bits, 16), (0, 15), (16, 16), (16, 15)][scale];
        let [[a, o @ ..], [b, t @ ..]] = inputs.each_ref().map(|input| transformed(input, down, along));
        inputs = [a, b];
        let at = |bands: &[Picture; 3], x: usize, y: usize| bands.each_ref().map(|band| band[y][x]);
        let (width, height) = (o[0][0].len(), o[0].len());
        let restored_image: [Picture; 3] = std::array::from_fn(|band| {
            picture(width, height, |x, y| restored(at(&o, x, y), at(&t, x, y), settings.gain_limit)[band])
        });
        let additive: [Picture; 3] = std::array::from_fn(|band| {
            picture(width, height, |x, y| t[band][y][x] - restored_image[band][y][x])
        });
        let short = |band: usize, value: i64| csf_short(settings.first_fixed, band, value);
        let fixed = settings.fixed(scale);
        let long = |band: usize, value: i64| csf_long(fixed, band, value);
        let csf: Csf = if scale == 0 { &short } else { &long };
        AdmSums {
            restored: masked(&restored_image, &additive, scale == 0, csf),
            additive: masked(&additive, &restored_image, scale == 0, csf),
            reference: csf_den(&o, scale),
        }
    })
}
