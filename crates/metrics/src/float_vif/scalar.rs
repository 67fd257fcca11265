//! The kernels: local moments under the window, what they say about information, and the step to the next scale, in plain
//! Rust that is compiled for each level.

use super::Model;
use crate::picture::FloatPlane;
use crate::separable::{self, MirroredRow, block, padded};

/// Means of the reference and of the distorted picture, of their squares and of their product.
const MOMENTS: usize = 5;

/// Columns of the vertical pass that are handled together; five sums of this length fit into registers.
const LANES: usize = 8;

/// The information in a scale: what the distorted picture kept of it, and what the reference holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Information {
    pub kept: f32,
    pub held: f32,
}

impl Information {
    #[inline(always)]
    pub fn add(&mut self, more: Self) {
        self.kept += more.kept;
        self.held += more.held;
    }
}

/// The window and the row memory of one scale.
#[derive(Clone, Debug)]
pub struct Scratch {
    taps: Vec<f32>,
    starts: Vec<usize>,
    columns: [MirroredRow; MOMENTS],
    moments: [Vec<f32>; MOMENTS],
    kept: Vec<f32>,
    held: Vec<f32>,
}

impl Scratch {
    /// For planes of `width` and a window of these taps. Precondition: both sides are longer than half of the window.
    pub fn new(width: usize, taps: Vec<f32>) -> Self {
        Self {
            starts: vec![0; taps.len()],
            columns: std::array::from_fn(|_| MirroredRow::new(width, taps.len())),
            moments: std::array::from_fn(|_| vec![0.0; padded(width)]),
            kept: vec![0.0; padded(width)],
            held: vec![0.0; padded(width)],
            taps,
        }
    }
}

/// The information in a pair of planes. Sums run along a row, then over rows.
#[inline(always)]
pub fn information(
    reference: &FloatPlane,
    distorted: &FloatPlane,
    model: &Model,
    scratch: &mut Scratch,
) -> Information {
    let mut sum = Information::default();
    for y in 0..reference.height() {
        sum.add(information_of_row(reference, distorted, y, model, scratch));
    }
    sum
}

/// What row `y` adds to it.
#[inline(always)]
pub fn information_of_row(
    reference: &FloatPlane,
    distorted: &FloatPlane,
    y: usize,
    model: &Model,
    scratch: &mut Scratch,
) -> Information {
    row_moments(reference, distorted, y, scratch);
    row_information(reference.width(), model, scratch)
}

#[inline(always)]
fn row_moments(reference: &FloatPlane, distorted: &FloatPlane, y: usize, scratch: &mut Scratch) {
    separable::row_starts(reference, y, &mut scratch.starts);
    moments_of_columns(
        &scratch.taps,
        [reference.data(), distorted.data()],
        &scratch.starts,
        &mut scratch.columns,
    );
    for (column, moment) in scratch.columns.iter_mut().zip(&mut scratch.moments) {
        column.reflect();
        column.filter(&scratch.taps, moment);
    }
}

/// The vertical pass for all five moments at once.
#[inline(always)]
fn moments_of_columns(
    taps: &[f32],
    planes: [&[f32]; 2],
    starts: &[usize],
    columns: &mut [MirroredRow; MOMENTS],
) {
    let columns = columns.each_mut().map(|row| row.values_mut().as_chunks_mut::<LANES>().0);
    for index in 0..columns[0].len() {
        let mut sums = [[0.0f32; LANES]; MOMENTS];
        for (tap, start) in taps.iter().zip(starts) {
            let at = start + index * LANES;
            let [a, b] = planes.map(|plane| block::<LANES>(plane, at));
            for lane in 0..LANES {
                let (a, b) = (a[lane], b[lane]);
                sums[0][lane] += tap * a;
                sums[1][lane] += tap * b;
                sums[2][lane] += tap * (a * a);
                sums[3][lane] += tap * (b * b);
                sums[4][lane] += tap * (a * b);
            }
        }
        for moment in 0..MOMENTS {
            columns[moment][index] = sums[moment];
        }
    }
}

#[inline(always)]
fn row_information(width: usize, model: &Model, scratch: &mut Scratch) -> Information {
    let [a, b, aa, bb, ab] = scratch.moments.each_ref().map(|moment| &moment[..width]);
    let (kept, held) = (&mut scratch.kept[..width], &mut scratch.held[..width]);
    for x in 0..width {
        let pixel = pixel_information([a[x], b[x], aa[x], bb[x], ab[x]], model);
        kept[x] = pixel.kept;
        held[x] = pixel.held;
    }
    let mut sum = Information::default();
    for (kept, held) in kept.iter().zip(held) {
        sum.kept += *kept;
        sum.held += *held;
    }
    sum
}

/// Below this, a variance counts as none.
const EPSILON: f32 = 1.0e-10;

/// The distorted picture is modelled as `gain * reference + residual`, and both are seen through noise. Comparisons
/// stand where libvmaf has them, so that numbers that do not compare take the same way.
#[inline(always)]
fn pixel_information(moments: [f32; MOMENTS], model: &Model) -> Information {
    let [a, b, aa, bb, ab] = moments;
    let mut variance = above_zero(aa - a * a);
    let distorted_variance = above_zero(bb - b * b);
    let covariance = ab - a * b;

    let mut gain = covariance / (variance + EPSILON);
    let mut residual = distorted_variance - gain * covariance;
    if variance < EPSILON {
        (gain, residual, variance) = (0.0, distorted_variance, 0.0);
    }
    if distorted_variance < EPSILON {
        (gain, residual) = (0.0, 0.0);
    }
    if gain < 0.0 {
        (gain, residual) = (0.0, distorted_variance);
    }
    let residual = if residual > EPSILON { residual } else { EPSILON };
    let gain = if gain < model.gain_limit { gain } else { model.gain_limit };

    let passed = f64::from(gain * gain * variance) / (f64::from(residual) + model.noise);
    let kept = log2((1.0 + passed) as f32);
    let held = log2((1.0 + f64::from(variance) / model.noise) as f32);
    let kept = if covariance < 0.0 { 0.0 } else { kept };
    // Where the noise hides the reference, only what was added to it counts.
    if f64::from(variance) < model.noise {
        Information { kept: 1.0 - distorted_variance * model.flat_penalty, held: 1.0 }
    } else {
        Information { kept, held }
    }
}

#[inline(always)]
fn above_zero(value: f32) -> f32 {
    if value > 0.0 { value } else { 0.0 }
}

/// Coefficients of log2(1 + x) on 0..1, highest power first; the constant term is zero.
const LOG2_POLYNOMIAL: [f32; 9] = [
    -0.012671635276421,
    0.064841182402670,
    -0.157048836463065,
    0.257167726303123,
    -0.353800560300520,
    0.480131410397451,
    -0.721314327952201,
    1.442694803896991,
    0.0,
];

/// libvmaf's approximate logarithm. Precondition: `x` is not below zero and not zero. Infinity and NaN are read like
/// numbers with an exponent of 128, as there.
#[inline(always)]
fn log2(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = ((bits >> 23) & 0xff) as i32 - 127;
    let mantissa = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000) - 1.0;
    let fraction = LOG2_POLYNOMIAL.iter().fold(0.0, |sum, coefficient| sum * mantissa + coefficient);
    exponent as f32 + fraction
}

/// Low-passes a plane with the window of the next scale and keeps every second row and column. Precondition: `scratch`
/// was made for the width of `source`.
#[inline(always)]
pub fn halve(source: &FloatPlane, scratch: &mut Halving, out: &mut FloatPlane) {
    for y in 0..out.height() {
        halve_row(source, y, scratch, out.row_mut(y));
    }
}

/// Row `y` of it.
#[inline(always)]
pub fn halve_row(source: &FloatPlane, y: usize, scratch: &mut Halving, out: &mut [f32]) {
    separable::row_starts(source, 2 * y, &mut scratch.starts);
    let column = scratch.column.values_mut();
    separable::filter_columns(&scratch.taps, source.data(), &scratch.starts, column);
    scratch.column.reflect();
    scratch.column.filter(&scratch.taps, &mut scratch.row);
    for (out, value) in out.iter_mut().zip(scratch.row.iter().step_by(2)) {
        *out = *value;
    }
}

/// The filter and the row memory of the step from one scale to the next.
#[derive(Clone, Debug)]
pub struct Halving {
    taps: Vec<f32>,
    starts: Vec<usize>,
    column: MirroredRow,
    row: Vec<f32>,
}

impl Halving {
    /// For planes of `width`, before they are halved.
    pub fn new(width: usize, taps: Vec<f32>) -> Self {
        Self {
            starts: vec![0; taps.len()],
            column: MirroredRow::new(width, taps.len()),
            row: vec![0.0; padded(width)],
            taps,
        }
    }
}
