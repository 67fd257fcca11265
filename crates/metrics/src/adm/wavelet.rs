//! Row kernels of the wavelet transform: Daubechies' wavelet with four taps in fixed point, one filter down the columns,
//! then one along the row, each keeping every second output.
//!
//! The scales differ in number format and rounding only; [`Wavelet`] is what they have in common. Rows between the two
//! passes carry [`PAD`] samples in front and [`TAIL`] behind, filled with mirrored samples, so that the pass along the
//! row has no edges.

use visus_video::{Plain, Sample};

pub const LOW: [i32; 4] = [15826, 27411, 7345, -4240];
pub const HIGH: [i32; 4] = [-4240, -7345, 27411, -15826];

/// Sum of the low-pass taps; those of the high-pass add up to nothing.
pub const LOW_SUM: i32 = 46342;

/// Samples in front of the first one in a row between the passes.
pub const PAD: usize = 1;
/// Samples behind the last one.
pub const TAIL: usize = 2;

/// A scale's transform. All slices of a call have equal lengths, unless said otherwise.
pub trait Wavelet {
    /// What is transformed.
    type Input: Copy;
    /// What lies between the two passes.
    type Column: Copy + Default;
    /// The approximation that the next scale transforms.
    type Low: Plain + Default;

    /// Low-pass down the columns.
    fn low(&self, rows: [&[Self::Input]; 4], low: &mut [Self::Column]);

    /// High-pass down the columns.
    fn high(&self, rows: [&[Self::Input]; 4], high: &mut [Self::Column]);

    /// Low-pass along a row, which begins one sample before the centre of the first output and has two samples per
    /// output and two more.
    fn approximation(&self, row: &[Self::Column], out: &mut [Self::Low]);

    /// The same as a detail band.
    fn smooth(&self, row: &[Self::Column], out: &mut [i32]);

    /// High-pass along a row.
    fn edges(&self, row: &[Self::Column], out: &mut [i32]);
}

/// The first scale: samples of 8 to 16 bits, centred around zero; 16 bits between the passes.
#[derive(Clone, Copy, Debug)]
pub struct First<S> {
    bits: u32,
    samples: std::marker::PhantomData<S>,
}

impl<S> First<S> {
    pub fn new(bits: u8) -> Self {
        Self { bits: u32::from(bits), samples: std::marker::PhantomData }
    }
}

impl<S: Sample> Wavelet for First<S> {
    type Input = S;
    type Column = i16;
    type Low = i16;

    fn low(&self, rows: [&[S]; 4], low: &mut [i16]) {
        let half = 1 << (self.bits - 1);
        let start = half - LOW_SUM * half;
        down(rows, low, |taps| (wrapping_filter(start, LOW, taps.map(Into::into)) >> self.bits) as i16);
    }

    fn high(&self, rows: [&[S]; 4], high: &mut [i16]) {
        let half = 1 << (self.bits - 1);
        down(rows, high, |taps| (wrapping_filter(half, HIGH, taps.map(Into::into)) >> self.bits) as i16);
    }

    fn approximation(&self, row: &[i16], out: &mut [i16]) {
        along(row, out, |taps| (filter(1 << 15, LOW, taps.map(Into::into)) >> 16) as i16);
    }

    fn smooth(&self, row: &[i16], out: &mut [i32]) {
        along(row, out, |taps| filter(1 << 15, LOW, taps.map(Into::into)) >> 16);
    }

    fn edges(&self, row: &[i16], out: &mut [i32]) {
        along(row, out, |taps| filter(1 << 15, HIGH, taps.map(Into::into)) >> 16);
    }
}

/// The second scale: the 16-bit approximation of the first. The pass down the columns is exact.
#[derive(Clone, Copy, Debug)]
pub struct Second;

impl Wavelet for Second {
    type Input = i16;
    type Column = i32;
    type Low = i32;

    fn low(&self, rows: [&[i16]; 4], low: &mut [i32]) {
        down(rows, low, |taps| filter(0, LOW, taps.map(Into::into)));
    }

    fn high(&self, rows: [&[i16]; 4], high: &mut [i32]) {
        down(rows, high, |taps| filter(0, HIGH, taps.map(Into::into)));
    }

    fn approximation(&self, row: &[i32], out: &mut [i32]) {
        along(row, out, |taps| wide_filter::<15>(LOW, taps));
    }

    fn smooth(&self, row: &[i32], out: &mut [i32]) {
        along(row, out, |taps| wide_filter::<15>(LOW, taps));
    }

    fn edges(&self, row: &[i32], out: &mut [i32]) {
        along(row, out, |taps| wide_filter::<15>(HIGH, taps));
    }
}

/// The third and fourth scale: 32 bits throughout; `ALONG` is how many bits the pass along the row drops.
#[derive(Clone, Copy, Debug)]
pub struct Later<const ALONG: u32>;

pub type Third = Later<16>;
pub type Fourth = Later<15>;

impl<const ALONG: u32> Wavelet for Later<ALONG> {
    type Input = i32;
    type Column = i32;
    type Low = i32;

    fn low(&self, rows: [&[i32]; 4], low: &mut [i32]) {
        down(rows, low, |taps| wide_filter::<16>(LOW, taps));
    }

    fn high(&self, rows: [&[i32]; 4], high: &mut [i32]) {
        down(rows, high, |taps| wide_filter::<16>(HIGH, taps));
    }

    fn approximation(&self, row: &[i32], out: &mut [i32]) {
        along(row, out, |taps| wide_filter::<ALONG>(LOW, taps));
    }

    fn smooth(&self, row: &[i32], out: &mut [i32]) {
        along(row, out, |taps| wide_filter::<ALONG>(LOW, taps));
    }

    fn edges(&self, row: &[i32], out: &mut [i32]) {
        along(row, out, |taps| wide_filter::<ALONG>(HIGH, taps));
    }
}

/// Fits for all 16-bit taps: the filters' absolute sum is 54822.
#[inline(always)]
fn filter(start: i32, filter: [i32; 4], taps: [i32; 4]) -> i32 {
    start + filter[0] * taps[0] + filter[1] * taps[1] + filter[2] * taps[2] + filter[3] * taps[3]
}

/// The same for unsigned samples. Those of the announced depth fit; larger ones wrap, as they do in libvmaf.
#[inline(always)]
fn wrapping_filter(start: i32, filter: [i32; 4], taps: [i32; 4]) -> i32 {
    (0..4).fold(start, |sum, k| sum.wrapping_add(filter[k].wrapping_mul(taps[k])))
}

/// Rounded to the nearest, halves up; what does not fit 32 bits wraps (samples of the announced depth always fit).
#[inline(always)]
fn wide_filter<const SHIFT: u32>(filter: [i32; 4], taps: [i32; 4]) -> i32 {
    let sum = (0..4).fold(1 << (SHIFT - 1), |sum: i64, k| sum + i64::from(filter[k]) * i64::from(taps[k]));
    (sum >> SHIFT) as i32
}

#[inline(always)]
fn down<T: Copy, U>(rows: [&[T]; 4], out: &mut [U], filter: impl Fn([T; 4]) -> U) {
    let [a, b, c, d] = rows.map(|row| &row[..out.len()]);
    for (j, out) in out.iter_mut().enumerate() {
        *out = filter([a[j], b[j], c[j], d[j]]);
    }
}

#[inline(always)]
fn along<T: Copy, U>(row: &[T], out: &mut [U], filter: impl Fn([T; 4]) -> U) {
    let (pairs, _) = row[..2 * out.len() + 2].as_chunks::<2>();
    let (first, second) = (&pairs[..out.len()], &pairs[1..out.len() + 1]);
    for (j, out) in out.iter_mut().enumerate() {
        *out = filter([first[j][0], first[j][1], second[j][0], second[j][1]]);
    }
}
