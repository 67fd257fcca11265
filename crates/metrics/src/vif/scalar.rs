//! The kernels in plain Rust.
//!
//! A scale is walked row by row: the vertical filter gives one row of five moments (two means, three products), the
//! horizontal filter finishes them, the statistic adds the pixel's share to four integer sums. The next scale's
//! picture is filtered and thinned in the same way, computing only the samples that are kept.

use visus_video::{Plane, Sample};

use super::score::VifSums;
use super::{SCALES, table::Log2};

/// Gaussian windows of the four scales; each sums to 2^16.
pub const TAPS: [&[u32]; SCALES] = [
    &[489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489],
    &[1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244],
    &[3571, 16004, 26386, 16004, 3571],
    &[10904, 43728, 10904],
];

/// Half of the longest window.
const MAX_RADIUS: usize = 8;

/// Columns that are computed together: enough for the widest vectors, few enough to stay in registers.
const BLOCK: usize = 16;

/// Variance of the visual noise, 2.0 with 16 fractional bits.
pub const SIGMA_NSQ: i32 = 2 << 16;

/// Keeps the division by a variance defined; 1e-10 with 16 fractional bits.
pub const EPSILON: f64 = 65536.0 * 1.0e-10;

/// A sample whose square, times a tap, has an accumulator type of its own.
pub trait Widen: Sample {
    /// Wide enough for a sum of tap·sample².
    type Sum: Copy + Default + std::ops::AddAssign;
    fn product(tap: u32, a: Self, b: Self) -> Self::Sum;
    fn shifted(sum: Self::Sum, round: u64, shift: u32) -> u32;
}

impl Widen for u8 {
    // 2^16 · 255² is below 2^32.
    type Sum = u32;

    #[inline(always)]
    fn product(tap: u32, a: Self, b: Self) -> u32 {
        tap * u32::from(a) * u32::from(b)
    }

    #[inline(always)]
    fn shifted(sum: u32, _round: u64, _shift: u32) -> u32 {
        sum
    }
}

impl Widen for u16 {
    type Sum = u64;

    #[inline(always)]
    fn product(tap: u32, a: Self, b: Self) -> u64 {
        u64::from(tap) * u64::from(u32::from(a) * u32::from(b))
    }

    #[inline(always)]
    fn shifted(sum: u64, round: u64, shift: u32) -> u32 {
        ((sum + round) >> shift) as u32
    }
}

/// What a scale's vertical filter leaves: means and products are scaled so that every depth has 8 integer bits.
#[derive(Clone, Copy, Debug)]
pub struct Shifts {
    mean: u32,
    product: u32,
}

impl Shifts {
    pub fn of_scale(scale: usize, depth: u32) -> Self {
        if scale == 0 {
            Self { mean: depth, product: 2 * (depth - 8) }
        } else {
            Self { mean: 16, product: 16 }
        }
    }
}

/// How far the gain may go, one limit for each set of sums that is wanted, and whether the finest scale is left out.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    pub gains: &'a [f64],
    pub skip_scale0: bool,
}

/// A row of one moment with room for the mirrored columns on both sides.
#[derive(Debug, Default)]
struct Row(Vec<u32>);

impl Row {
    fn new(width: usize) -> Self {
        Self(vec![0; width + 2 * MAX_RADIUS + BLOCK])
    }

    fn inside(&mut self, width: usize) -> &mut [u32] {
        &mut self.0[MAX_RADIUS..MAX_RADIUS + width]
    }

    /// From `radius` columns left of the picture on.
    fn window(&self, radius: usize) -> &[u32] {
        &self.0[MAX_RADIUS - radius..]
    }

    /// Mirrors `radius` columns around the first and the last one, distance by distance: in rows shorter than the
    /// radius a mirrored column is itself mirrored. A row of one column has nothing to mirror; there libvmaf reads what
    /// the previous scale's last row left beside it, and so do we: its figures for tiny pictures are kept.
    fn mirror(&mut self, width: usize, radius: usize) {
        for distance in 1..=radius {
            self.0[MAX_RADIUS - distance] = self.0[MAX_RADIUS + distance];
            self.0[MAX_RADIUS + width - 1 + distance] = self.0[MAX_RADIUS + width - 1 - distance];
        }
    }
}

#[derive(Debug)]
struct Moments {
    mean_ref: Row,
    mean_dis: Row,
    square_ref: Row,
    square_dis: Row,
    product: Row,
}

impl Moments {
    fn new(width: usize) -> Self {
        let row = || Row::new(width);
        Self { mean_ref: row(), mean_dis: row(), square_ref: row(), square_dis: row(), product: row() }
    }

    fn mirror(&mut self, width: usize, radius: usize) {
        let rows = [
            &mut self.mean_ref,
            &mut self.mean_dis,
            &mut self.square_ref,
            &mut self.square_dis,
            &mut self.product,
        ];
        for row in rows {
            row.mirror(width, radius);
        }
    }
}

/// Everything a frame needs, allocated once.
#[derive(Debug)]
pub struct Scratch {
    moments: Moments,
    thinned: Row,
    /// Reference and distorted picture of the scale in hand and of the next one.
    pictures: [[Vec<u16>; 2]; 2],
}

impl Scratch {
    pub fn new(width: usize, height: usize) -> Self {
        let (half_width, half_height) = (width / 2, height / 2);
        let picture = |width: usize, height: usize| vec![0u16; width * height];
        let first = || picture(half_width, half_height);
        let second = || picture(half_width / 2, half_height / 2);
        Self {
            moments: Moments::new(width),
            thinned: Row::new(width),
            pictures: [[first(), first()], [second(), second()]],
        }
    }

    /// The sums of all scales, for each limit.
    pub fn scales<T: Widen>(
        &mut self,
        reference: Plane<'_, T>,
        distorted: Plane<'_, T>,
        depth: u32,
        limits: Limits<'_>,
        sums: &mut Sums,
    ) {
        clear(sums, limits.gains.len());
        let Self { moments, thinned, pictures } = self;
        if !limits.skip_scale0 {
            statistic(Rows::new(reference), Rows::new(distorted), 0, depth, limits.gains, moments, sums);
        }
        let (mut width, mut height) = (reference.width() / 2, reference.height() / 2);
        let mut finer_width = width;
        let [current, next] = pictures;
        decimate(reference, 0, depth, thinned, &mut current[0]);
        decimate(distorted, 0, depth, thinned, &mut current[1]);
        for scale in 1..SCALES {
            let reference = Plane::new(&current[0], width, height, width);
            let distorted = Plane::new(&current[1], width, height, width);
            // Only the coarsest picture can have a single row; the finer one then has two or three.
            let [beyond_ref, beyond_dis] =
                next.each_ref().map(|finer| if height == 1 { finer.get(finer_width..) } else { None });
            statistic(
                Rows { plane: reference, beyond: beyond_ref },
                Rows { plane: distorted, beyond: beyond_dis },
                scale,
                depth,
                limits.gains,
                moments,
                sums,
            );
            if scale + 1 < SCALES {
                decimate(reference, scale, depth, thinned, &mut next[0]);
                decimate(distorted, scale, depth, thinned, &mut next[1]);
                finer_width = width;
                (width, height) = (width / 2, height / 2);
                std::mem::swap(current, next);
            }
        }
    }
}

/// The sums of all scales, once for each limit of the gain.
pub type Sums = Vec<[VifSums; SCALES]>;

/// Zeros for so many limits; memory is taken the first time only.
pub fn clear(sums: &mut Sums, limits: usize) {
    sums.clear();
    sums.resize(limits, [VifSums::default(); SCALES]);
}

/// The rows of a picture, mirrored around the first and the last one.
#[derive(Clone, Copy, Debug)]
struct Rows<'a, T> {
    plane: Plane<'a, T>,
    /// What stands above and below a picture of one row, which has nothing to mirror: the second row of the finer
    /// scale, since libvmaf thins its pictures in place and reads that row.
    beyond: Option<&'a [T]>,
}

impl<'a, T> Rows<'a, T> {
    fn new(plane: Plane<'a, T>) -> Self {
        Self { plane, beyond: None }
    }

    #[inline]
    fn at(&self, row: isize) -> &'a [T] {
        match self.beyond {
            Some(beyond) if row != 0 => &beyond[..self.plane.width()],
            _ => self.plane.row(mirrored(row, self.plane.height())),
        }
    }
}

/// The row that stands at `row` when `height` rows are mirrored around the first and the last one.
#[inline]
pub fn mirrored(row: isize, height: usize) -> usize {
    let last = height as isize - 1;
    let mut row = row;
    while !(0..=last).contains(&row) {
        row = if row < 0 { -row } else { 2 * last - row };
        if last == 0 {
            return 0;
        }
    }
    row as usize
}

/// Filters the picture for the next scale and keeps every second sample of every second row.
fn decimate<T: Widen>(source: Plane<'_, T>, scale: usize, depth: u32, line: &mut Row, out: &mut [u16]) {
    let taps = TAPS[scale + 1];
    let shift = Shifts::of_scale(scale, depth).mean;
    let radius = taps.len() / 2;
    let (width, out_width) = (source.width(), source.width() / 2);
    for y in 0..source.height() / 2 {
        vertical_mean(source, 2 * y, taps, shift, line.inside(width));
        line.mirror(width, radius);
        let columns = line.window(radius);
        for (x, out) in out[y * out_width..][..out_width].iter_mut().enumerate() {
            let sum: u32 = taps.iter().zip(&columns[2 * x..]).map(|(tap, value)| tap * value).sum();
            *out = ((sum + (1 << 15)) >> 16) as u16;
        }
    }
}

fn vertical_mean<T: Widen>(source: Plane<'_, T>, y: usize, taps: &[u32], shift: u32, out: &mut [u32]) {
    let radius = (taps.len() / 2) as isize;
    out.fill(1 << (shift - 1));
    for (k, tap) in taps.iter().enumerate() {
        let row = source.row(mirrored(y as isize + k as isize - radius, source.height()));
        for (sum, sample) in out.iter_mut().zip(row) {
            let sample: u32 = (*sample).into();
            *sum += tap * sample;
        }
    }
    for value in out {
        *value >>= shift;
    }
}

/// Adds up one scale.
fn statistic<T: Widen>(
    reference: Rows<'_, T>,
    distorted: Rows<'_, T>,
    scale: usize,
    depth: u32,
    gain_limits: &[f64],
    moments: &mut Moments,
    sums: &mut Sums,
) {
    let taps = TAPS[scale];
    let shifts = Shifts::of_scale(scale, depth);
    let width = reference.plane.width();
    let log2 = Log2::get();
    for y in 0..reference.plane.height() {
        vertical(reference, distorted, y, taps, shifts, moments);
        moments.mirror(width, taps.len() / 2);
        horizontal(moments, width, taps, |pixel| {
            for (sums, gain_limit) in sums.iter_mut().zip(gain_limits) {
                sums[scale].add(pixel, *gain_limit, log2);
            }
        });
    }
}

/// One row of the five moments, filtered down the columns.
fn vertical<T: Widen>(
    reference: Rows<'_, T>,
    distorted: Rows<'_, T>,
    y: usize,
    taps: &[u32],
    shifts: Shifts,
    out: &mut Moments,
) {
    let first = y as isize - (taps.len() / 2) as isize;
    let mut rows: [(&[T], &[T]); 2 * MAX_RADIUS + 1] = [(&[], &[]); 2 * MAX_RADIUS + 1];
    let rows = &mut rows[..taps.len()];
    for (k, row) in rows.iter_mut().enumerate() {
        *row = (reference.at(first + k as isize), distorted.at(first + k as isize));
    }
    let width = reference.plane.width();
    for start in (0..width).step_by(BLOCK) {
        let columns = start..width.min(start + BLOCK);
        if columns.len() == BLOCK {
            vertical_block::<T, BLOCK>(rows, start, taps, shifts, out);
        } else {
            columns.for_each(|column| vertical_block::<T, 1>(rows, column, taps, shifts, out));
        }
    }
}

/// `N` columns from `start` on.
#[inline(always)]
fn vertical_block<T: Widen, const N: usize>(
    rows: &[(&[T], &[T])],
    start: usize,
    taps: &[u32],
    shifts: Shifts,
    out: &mut Moments,
) {
    let (mut mean_ref, mut mean_dis) = ([0u32; N], [0u32; N]);
    let mut products = [[T::Sum::default(); N]; 3];
    for (tap, (reference, distorted)) in taps.iter().zip(rows) {
        let (reference, distorted) = (&reference[start..start + N], &distorted[start..start + N]);
        for i in 0..N {
            let (a, b) = (reference[i], distorted[i]);
            mean_ref[i] += tap * Into::<u32>::into(a);
            mean_dis[i] += tap * Into::<u32>::into(b);
            products[0][i] += T::product(*tap, a, a);
            products[1][i] += T::product(*tap, b, b);
            products[2][i] += T::product(*tap, a, b);
        }
    }
    let place = MAX_RADIUS + start..MAX_RADIUS + start + N;
    let round = 1u32 << (shifts.mean - 1);
    for (row, sums) in [(&mut out.mean_ref, mean_ref), (&mut out.mean_dis, mean_dis)] {
        for (out, sum) in row.0[place.clone()].iter_mut().zip(sums) {
            *out = (sum + round) >> shifts.mean;
        }
    }
    let round = (1u64 << shifts.product) >> 1;
    for (row, sums) in [&mut out.square_ref, &mut out.square_dis, &mut out.product].into_iter().zip(products)
    {
        for (out, sum) in row.0[place.clone()].iter_mut().zip(sums) {
            *out = T::shifted(sum, round, shifts.product);
        }
    }
}

/// Variances and covariance of one pixel, with 16 fractional bits.
#[derive(Clone, Copy, Debug)]
struct Pixel {
    variance_ref: i32,
    variance_dis: i32,
    covariance: i32,
}

/// Finishes a row: filters the moments along it and hands each pixel to `take`.
#[inline(always)]
fn horizontal(moments: &Moments, width: usize, taps: &[u32], mut take: impl FnMut(Pixel)) {
    let radius = taps.len() / 2;
    for start in (0..width).step_by(BLOCK) {
        let mean_ref = filter_means(&moments.mean_ref.window(radius)[start..], taps);
        let mean_dis = filter_means(&moments.mean_dis.window(radius)[start..], taps);
        let square_ref = filter_products(&moments.square_ref.window(radius)[start..], taps);
        let square_dis = filter_products(&moments.square_dis.window(radius)[start..], taps);
        let product = filter_products(&moments.product.window(radius)[start..], taps);
        for i in 0..BLOCK.min(width - start) {
            take(Pixel {
                variance_ref: square_ref[i].wrapping_sub(squared(mean_ref[i], mean_ref[i])) as i32,
                variance_dis: square_dis[i].wrapping_sub(squared(mean_dis[i], mean_dis[i])) as i32,
                covariance: product[i].wrapping_sub(squared(mean_ref[i], mean_dis[i])) as i32,
            });
        }
    }
}

/// The product of two means that carry 24 fractional bits, rounded to 16.
#[inline(always)]
fn squared(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b) + (1 << 31)) >> 32) as u32
}

/// A block of columns; beyond the picture's end its values are of no meaning and are not used.
#[inline(always)]
fn filter_means(columns: &[u32], taps: &[u32]) -> [u32; BLOCK] {
    let mut sums = [0u32; BLOCK];
    for (k, tap) in taps.iter().enumerate() {
        for (sum, value) in sums.iter_mut().zip(&columns[k..k + BLOCK]) {
            *sum = sum.wrapping_add(tap.wrapping_mul(*value));
        }
    }
    sums
}

#[inline(always)]
fn filter_products(columns: &[u32], taps: &[u32]) -> [u32; BLOCK] {
    let mut sums = [1u64 << 15; BLOCK];
    for (k, tap) in taps.iter().enumerate() {
        for (sum, value) in sums.iter_mut().zip(&columns[k..k + BLOCK]) {
            *sum += u64::from(*tap) * u64::from(*value);
        }
    }
    sums.map(|sum| (sum >> 16) as u32)
}

impl VifSums {
    /// Adds one pixel's information.
    #[inline(always)]
    fn add(&mut self, pixel: Pixel, gain_limit: f64, log2: &Log2) {
        let variance_dis = pixel.variance_dis.max(0);
        if pixel.variance_ref < SIGMA_NSQ {
            self.num_non_log += i64::from(variance_dis);
            self.den_non_log += 1;
            return;
        }
        self.den_log += log2.of(pixel.variance_ref as u64 + SIGMA_NSQ as u64) - 2048 * 17;
        if pixel.covariance > 0 && variance_dis > 0 {
            self.num_log += num_log(pixel, variance_dis, gain_limit, log2);
        }
    }
}

/// 2048 · log2(1 + g²·σ₁² / (σᵥ² + σₙ²)): the distorted picture as the reference with gain g plus noise σᵥ².
#[inline(always)]
fn num_log(pixel: Pixel, variance_dis: i32, gain_limit: f64, log2: &Log2) -> i64 {
    let (variance_ref, covariance) = (f64::from(pixel.variance_ref), f64::from(pixel.covariance));
    let gain = covariance / (variance_ref + EPSILON);
    let noise = (f64::from(variance_dis) - gain * covariance) as i32;
    let noise = u64::from(noise.max(0).wrapping_add(SIGMA_NSQ) as u32);
    let gain = gain.min(gain_limit);
    let signal = (gain * gain * variance_ref) as i64;
    log2.of(signal as u64 + noise) - log2.of(noise)
}
