//! The error of a plane, block by block, in plain Rust.
//!
//! Several blocks of a row of blocks are worked on side by side, one per lane; all sums within a block keep libvmaf's
//! order, and the blocks' errors are added up one after another in `f32`, as libvmaf does.

use visus_video::{Plane, Sample};

use super::dct::{Ints, LANES, transform_block};
use super::tables::Weights;

/// Blocks overlap by one row and one column.
const STEP: usize = 7;
const SIDE: usize = 8;

type Floats = [f32; LANES];
type Block<T> = [T; SIDE * SIDE];

/// How many blocks lie along a side.
pub fn blocks_along(side: usize) -> usize {
    side.saturating_sub(SIDE - 1).div_ceil(STEP)
}

/// The sum of all weighted squared errors.
pub fn sum_errors<T: Sample>(reference: Plane<'_, T>, distorted: Plane<'_, T>, weights: &Weights) -> f32 {
    let across = blocks_along(reference.width());
    let mut sum = 0.0f32;
    for row in 0..blocks_along(reference.height()) {
        for first in (0..across).step_by(LANES) {
            let last = (first + LANES).min(across) - 1;
            let load = |plane| load_blocks(plane, row * STEP, first, last);
            let errors = block_errors(load(reference), load(distorted), weights);
            sum = (0..=last - first).fold(sum, |sum, lane| add_lane(sum, &errors, lane));
        }
    }
    sum
}

fn add_lane(sum: f32, errors: &Block<Floats>, lane: usize) -> f32 {
    errors.iter().fold(sum, |sum, error| sum + error[lane])
}

/// Samples of the blocks `first..=last` from the left; lanes beyond repeat the last block.
fn load_blocks<T: Sample>(plane: Plane<'_, T>, top: usize, first: usize, last: usize) -> Block<Ints> {
    let lefts: [usize; LANES] = std::array::from_fn(|lane| (first + lane).min(last) * STEP);
    let mut block = [Ints::default(); SIDE * SIDE];
    for (y, out) in block.chunks_exact_mut(SIDE).enumerate() {
        let row = plane.row(top + y);
        for (lane, left) in lefts.into_iter().enumerate() {
            for (out, sample) in out.iter_mut().zip(&row[left..left + SIDE]) {
                out.0[lane] = (*sample).into();
            }
        }
    }
    block
}

/// What each coefficient of each block adds to the error of the plane.
fn block_errors(mut reference: Block<Ints>, mut distorted: Block<Ints>, weights: &Weights) -> Block<Floats> {
    let activity = variance_ratio(&reference);
    let other_activity = variance_ratio(&distorted);
    transform_block(&mut reference);
    transform_block(&mut distorted);
    let mask = masking(&reference, &activity, weights);
    let other_mask = masking(&distorted, &other_activity, weights);
    let mask = larger(&mask, &other_mask);
    let mut errors = [[0.0; LANES]; SIDE * SIDE];
    for at in 0..SIDE * SIDE {
        let difference = reference[at].minus(distorted[at]);
        // The constant coefficient is not masked.
        let threshold = if at == 0 { [0.0; LANES] } else { mask.map(|mask| mask / weights.masking[at]) };
        errors[at] = coefficient_errors(difference, &threshold, weights.sensitivity[at]);
    }
    errors
}

fn larger(one: &Floats, two: &Floats) -> Floats {
    std::array::from_fn(|lane| if two[lane] > one[lane] { two[lane] } else { one[lane] })
}

/// Errors below the threshold are not seen.
#[inline(always)]
fn coefficient_errors(difference: Ints, threshold: &Floats, sensitivity: f32) -> Floats {
    let mut errors = [0.0; LANES];
    for lane in 0..LANES {
        let error = difference.0[lane].wrapping_abs() as f32;
        let visible = if error < threshold[lane] { 0.0 } else { error - threshold[lane] };
        errors[lane] = (visible * sensitivity) * (visible * sensitivity);
    }
    errors
}

/// How much of the block's variance lies inside its quarters: near 1 for texture, less for an edge between them.
fn variance_ratio(block: &Block<Ints>) -> Floats {
    let quarters = [(0, 0), (4, 0), (0, 4), (4, 4)].map(|(top, left)| quarter_variance(block, top, left));
    let whole = variance(block.iter(), 64.0, 1.0 / 63.0 * 64.0);
    std::array::from_fn(|lane| {
        let inside = quarters[0][lane] + quarters[1][lane] + quarters[2][lane] + quarters[3][lane];
        if whole[lane] > 0.0 { inside / whole[lane] } else { whole[lane] }
    })
}

fn quarter_variance(block: &Block<Ints>, top: usize, left: usize) -> Floats {
    let rows = block.chunks_exact(SIDE).skip(top).take(SIDE / 2);
    variance(rows.flat_map(|row| &row[left..left + SIDE / 2]), 16.0, 1.0 / 15.0 * 16.0)
}

/// The sum of squared distances from the mean, times `scale`. The mean's sum is a small whole number, so it is exact.
#[inline(always)]
fn variance<'a>(samples: impl Iterator<Item = &'a Ints> + Clone, count: f32, scale: f32) -> Floats {
    let sum = samples.clone().fold(Ints::default(), |sum, sample| sum.plus(*sample));
    let mean = sum.0.map(|sum| sum as f32 / count);
    let mut squares = [0.0f32; LANES];
    for sample in samples {
        for lane in 0..LANES {
            let distance = sample.0[lane] as f32 - mean[lane];
            squares[lane] += distance * distance;
        }
    }
    squares.map(|squares| squares * scale)
}

/// How large an error the block's own detail hides.
fn masking(coefficients: &Block<Ints>, activity: &Floats, weights: &Weights) -> Floats {
    let mut energy = [0.0f32; LANES];
    for (coefficient, weight) in coefficients.iter().zip(weights.masking).skip(1) {
        for lane in 0..LANES {
            let value = coefficient.0[lane];
            energy[lane] += value.wrapping_mul(value) as f32 * weight;
        }
    }
    std::array::from_fn(|lane| (energy[lane] * activity[lane]).sqrt() / 32.0)
}

#[cfg(test)]
mod tests {
    use visus_video::{Chroma, PlaneView};

    use super::*;
    use crate::made::{self, Content};

    /// One block after another and one coefficient after another, as the reference does it. Only the transform is ours.
    fn naive(reference: Plane<'_, u16>, distorted: Plane<'_, u16>, weights: &Weights) -> f32 {
        let mut sum = 0.0f32;
        for y in (0..reference.height().saturating_sub(7)).step_by(7) {
            for x in (0..reference.width().saturating_sub(7)).step_by(7) {
                let [(one, mask), (two, other_mask)] =
                    [reference, distorted].map(|plane| naive_block(plane, x, y, weights));
                let mask = if other_mask > mask { other_mask } else { mask };
                for at in 0..64 {
                    let mut error = (one[at] - two[at]).abs() as f32;
                    if at != 0 {
                        let hidden = mask / weights.masking[at];
                        error = if error < hidden { 0.0 } else { error - hidden };
                    }
                    sum += (error * weights.sensitivity[at]) * (error * weights.sensitivity[at]);
                }
            }
        }
        sum
    }

    fn naive_block(plane: Plane<'_, u16>, x: usize, y: usize, weights: &Weights) -> ([i32; 64], f32) {
        let samples: [i32; 64] = std::array::from_fn(|at| i32::from(plane.row(y + at / 8)[x + at % 8]));
        let (mut means, mut variances) = ([0.0f32; 5], [0.0f32; 5]);
        let quarter = |at: usize| at / 32 + at % 8 / 4 * 2;
        for (at, sample) in samples.iter().enumerate() {
            means[4] += *sample as f32;
            means[quarter(at)] += *sample as f32;
        }
        let means: [f32; 5] = std::array::from_fn(|n| means[n] / if n == 4 { 64.0 } else { 16.0 });
        for (at, sample) in samples.iter().enumerate() {
            for n in [4, quarter(at)] {
                variances[n] += (*sample as f32 - means[n]) * (*sample as f32 - means[n]);
            }
        }
        let quarters = variances.map(|variance| variance * (1.0f32 / 15.0 * 16.0));
        let whole = variances[4] * (1.0f32 / 63.0 * 64.0);
        let inside = quarters[0] + quarters[1] + quarters[2] + quarters[3];
        let ratio = if whole > 0.0 { inside / whole } else { 0.0 };
        let mut block = samples.map(|sample| Ints([sample; LANES]));
        transform_block(&mut block);
        let block = block.map(|ints| ints.0[0]);
        let energy =
            (1..64).fold(0.0f32, |sum, at| sum + (block[at] * block[at]) as f32 * weights.masking[at]);
        (block, ((f64::from(energy * ratio)).sqrt() / 32.0) as f32)
    }

    #[test]
    fn equals_the_naive_sum() {
        for (width, height) in [(8, 8), (9, 15), (14, 8), (15, 22), (36, 9), (71, 16), (72, 30)] {
            for (depth, one, two) in [
                (9, Content::Noise, Content::Noise),
                (10, Content::Waves, Content::Waves),
                (12, Content::Dark, Content::Bright),
                (12, Content::Waves, Content::Noise),
                (10, Content::Dark, Content::Dark),
            ] {
                let format = made::format(width, height, Chroma::C400, depth);
                let (one, two) = (made::frame(format, one, 1), made::frame(format, two, 2));
                let (PlaneView::U16(one), PlaneView::U16(two)) = (one.plane(0), two.plane(0)) else {
                    unreachable!("more than 8 bits")
                };
                for weights in [0, 1, 2].map(Weights::of_plane) {
                    let expected = naive(one, two, &weights);
                    assert_eq!(sum_errors(one, two, &weights), expected, "{width}x{height}, {depth} bits");
                }
            }
        }
    }

    #[test]
    fn counts_blocks_as_the_reference_walks() {
        for side in 0..60usize {
            let walked = (0..side.saturating_sub(7)).step_by(7).count();
            assert_eq!(blocks_along(side), walked, "side {side}");
        }
    }
}
