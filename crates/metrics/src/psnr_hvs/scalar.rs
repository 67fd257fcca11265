//! The error of a plane, block by block, in plain Rust that is compiled for each level.
//!
//! Several blocks of a row of blocks are worked on side by side, one per lane; all sums within a block keep libvmaf's
//! order, and the blocks' errors are added up one after another in `f32`, as libvmaf does. That last sum is one long
//! chain of additions, each waiting for the one before: it is taken in pieces while the next blocks are transformed.

use std::sync::atomic::{AtomicU32, Ordering};

use visus_video::Plane;

use super::blocks::{Packed, SIDE, STEP, load_blocks};
use super::dct::{Block, LINES, transform_block};
use super::ordered::RowErrors;
use super::tables::Weights;
use crate::Spread;
use crate::bands::{InOrder, Spares};
use crate::simd::Target;

/// How many blocks lie along a side.
pub fn blocks_along(side: usize) -> usize {
    side.saturating_sub(SIDE - 1).div_ceil(STEP)
}

/// The sum of all weighted squared errors.
pub fn sum_errors<T: Packed>(
    target: Target,
    reference: Plane<'_, T>,
    distorted: Plane<'_, T>,
    weights: &Weights,
    rows: &Spares<RowErrors>,
    spread: &dyn Spread,
) -> f32 {
    if spread.width() > 1 {
        return match target.lanes_of_singles() {
            16 => shared_sum::<T, Fused, 16>(target, [reference, distorted], weights, rows, spread),
            8 => shared_sum::<T, Fused, 8>(target, [reference, distorted], weights, rows, spread),
            _ => shared_sum::<T, Divided, 4>(target, [reference, distorted], weights, rows, spread),
        };
    }
    target.run(
        #[inline(always)]
        || match target.lanes_of_singles() {
            16 => sum_lanes::<T, Fused, 16>(reference, distorted, weights),
            8 => sum_lanes::<T, Fused, 8>(reference, distorted, weights),
            _ => sum_lanes::<T, Divided, 4>(reference, distorted, weights),
        },
    )
}

#[inline(always)]
fn sum_lanes<T: Packed, Q: Quotient, const LANES: usize>(
    reference: Plane<'_, T>,
    distorted: Plane<'_, T>,
    weights: &Weights,
) -> f32 {
    let across = blocks_along(reference.width());
    let mut errors = Errors::<LANES> { errors: [[0.0; LANES]; 64], blocks: 0, sum: 0.0 };
    let mut blocks = [[[0; LANES]; 64]; 2];
    for row in 0..blocks_along(reference.height()) {
        for first in (0..across).step_by(LANES) {
            let last = (first + LANES).min(across) - 1;
            load_blocks(reference, row * STEP, first, last, &mut blocks[0]);
            load_blocks(distorted, row * STEP, first, last, &mut blocks[1]);
            errors.measure::<Q>(&mut blocks, weights);
            errors.blocks = last + 1 - first;
        }
    }
    errors.finish()
}

/// The same with rows of blocks side by side.
fn shared_sum<T: Packed, Q: Quotient, const LANES: usize>(
    target: Target,
    [reference, distorted]: [Plane<'_, T>; 2],
    weights: &Weights,
    rows: &Spares<RowErrors>,
    spread: &dyn Spread,
) -> f32 {
    let across = blocks_along(reference.width());
    let mut sum = 0.0;
    // What is known of the sum while rows are still measured.
    let known = AtomicU32::new(0);
    let in_order = InOrder::new(rows, |row: &RowErrors| {
        sum = target.run(
            #[inline(always)]
            || row.add::<LANES>(sum),
        );
        known.store(sum.to_bits(), Ordering::Relaxed);
    });
    spread.each(blocks_along(reference.height()), &|row| {
        let mut errors = rows.take(RowErrors::default);
        target.run(
            #[inline(always)]
            || {
                let groups = errors.groups_mut::<LANES>(across);
                row_of_blocks::<T, Q, LANES>([reference, distorted], weights, row, groups);
                errors.prepare::<LANES>(f32::from_bits(known.load(Ordering::Relaxed)));
            },
        );
        in_order.hand_in(row, errors);
    });
    drop(in_order);
    sum
}

/// The errors of the coefficients in a row of blocks.
#[inline(always)]
fn row_of_blocks<T: Packed, Q: Quotient, const LANES: usize>(
    [reference, distorted]: [Plane<'_, T>; 2],
    weights: &Weights,
    row: usize,
    groups: &mut [Block<f32, LANES>],
) {
    let across = blocks_along(reference.width());
    // Nothing is summed up here.
    let mut errors = Errors::<LANES> { errors: [[0.0; LANES]; 64], blocks: 0, sum: 0.0 };
    let mut blocks = [[[0; LANES]; 64]; 2];
    for (first, group) in (0..across).step_by(LANES).zip(groups) {
        let last = (first + LANES).min(across) - 1;
        load_blocks(reference, row * STEP, first, last, &mut blocks[0]);
        load_blocks(distorted, row * STEP, first, last, &mut blocks[1]);
        errors.measure::<Q>(&mut blocks, weights);
        *group = errors.errors;
    }
}

/// What each coefficient of some blocks adds to the error of the plane, and the sum of all before them.
struct Errors<const LANES: usize> {
    errors: Block<f32, LANES>,
    /// How many lanes hold blocks.
    blocks: usize,
    sum: f32,
}

impl<const LANES: usize> Errors<LANES> {
    /// Terms that are added after each line of the two transforms.
    const PIECE: usize = 64 * LANES / (2 * LINES);

    #[inline(always)]
    fn add_piece(&mut self, piece: usize) {
        let first = piece * Self::PIECE;
        let (lane, first) = (first / 64, first % 64);
        if lane < self.blocks {
            let terms = &self.errors[first..first + Self::PIECE];
            self.sum = terms.iter().fold(self.sum, |sum, term| sum + term[lane]);
        }
    }

    fn finish(mut self) -> f32 {
        (0..2 * LINES).for_each(|piece| self.add_piece(piece));
        self.sum
    }

    /// Adds what it holds to the sum, and then holds the errors of other blocks.
    #[inline(always)]
    fn measure<Q: Quotient>(&mut self, blocks: &mut [Block<i32, LANES>; 2], weights: &Weights) {
        let activities = [variance_ratio(&blocks[0]), variance_ratio(&blocks[1])];
        transform_block(
            &mut blocks[0],
            #[inline(always)]
            |line| self.add_piece(line),
        );
        transform_block(
            &mut blocks[1],
            #[inline(always)]
            |line| self.add_piece(LINES + line),
        );
        let mask = masking(blocks, &activities, weights);
        for at in (0..64).step_by(SIDE) {
            self.row_errors::<Q>(blocks, &mask, weights, at);
        }
        // The constant coefficient is not masked.
        for lane in 0..LANES {
            let error = blocks[0][0][lane].wrapping_sub(blocks[1][0][lane]).wrapping_abs() as f32;
            self.errors[0][lane] = weighted_square(error, weights.sensitivity[0]);
        }
    }

    /// Errors below the threshold are not seen.
    #[inline(always)]
    fn row_errors<Q: Quotient>(
        &mut self,
        blocks: &[Block<i32, LANES>; 2],
        mask: &[f32; LANES],
        weights: &Weights,
        first: usize,
    ) {
        for lane in 0..LANES {
            for at in first..first + SIDE {
                let error = blocks[0][at][lane].wrapping_sub(blocks[1][at][lane]).wrapping_abs() as f32;
                let threshold = Q::divide(mask[lane], weights.masking[at], weights.reciprocal[at]);
                let visible = if error < threshold { 0.0 } else { error - threshold };
                self.errors[at][lane] = weighted_square(visible, weights.sensitivity[at]);
            }
        }
    }
}

#[inline(always)]
fn weighted_square(error: f32, sensitivity: f32) -> f32 {
    (error * sensitivity) * (error * sensitivity)
}

/// How a number is divided by a weight whose reciprocal is known.
trait Quotient {
    fn divide(number: f32, weight: f32, reciprocal: f32) -> f32;
}

struct Divided;

impl Quotient for Divided {
    #[inline(always)]
    fn divide(number: f32, weight: f32, _reciprocal: f32) -> f32 {
        number / weight
    }
}

/// By fused multiplications, which take a fraction of the time: the rest that a first quotient leaves is exact, and
/// corrects it to the last bit (Markstein, 1990). A test tries every number.
struct Fused;

impl Quotient for Fused {
    #[inline(always)]
    fn divide(number: f32, weight: f32, reciprocal: f32) -> f32 {
        let quotient = number * reciprocal;
        let rest = (-quotient).mul_add(weight, number);
        rest.mul_add(reciprocal, quotient)
    }
}

/// How much of the block's variance lies inside its quarters: near 1 for texture, less for an edge between them.
#[inline(always)]
fn variance_ratio<const LANES: usize>(block: &Block<i32, LANES>) -> [f32; LANES] {
    let sums = quarter_sums(block);
    let mut squares = [[0.0f32; LANES]; 5];
    for (y, row) in block.as_chunks::<SIDE>().0.iter().enumerate() {
        let (left, right) = (y / 4, y / 4 + 2);
        for lane in 0..LANES {
            let whole_sum = sums[0][lane] + sums[1][lane] + sums[2][lane] + sums[3][lane];
            let means = [sums[left][lane] as f32 / 16.0, sums[right][lane] as f32 / 16.0];
            let whole_mean = whole_sum as f32 / 64.0;
            let mut quarters = [squares[left][lane], squares[right][lane]];
            let mut whole = squares[4][lane];
            for x in 0..SIDE {
                let sample = row[x][lane] as f32;
                whole += (sample - whole_mean) * (sample - whole_mean);
                quarters[x / 4] += (sample - means[x / 4]) * (sample - means[x / 4]);
            }
            (squares[left][lane], squares[right][lane], squares[4][lane]) = (quarters[0], quarters[1], whole);
        }
    }
    ratios(&squares)
}

/// Sums of the quarters: upper left, lower left, upper right, lower right. They are small whole numbers, so that the
/// means are exact.
#[inline(always)]
fn quarter_sums<const LANES: usize>(block: &Block<i32, LANES>) -> [[i32; LANES]; 4] {
    let mut sums = [[0; LANES]; 4];
    for (y, row) in block.as_chunks::<SIDE>().0.iter().enumerate() {
        let (left, right) = (y / 4, y / 4 + 2);
        for lane in 0..LANES {
            sums[left][lane] += row[0][lane] + row[1][lane] + row[2][lane] + row[3][lane];
            sums[right][lane] += row[4][lane] + row[5][lane] + row[6][lane] + row[7][lane];
        }
    }
    sums
}

#[inline(always)]
fn ratios<const LANES: usize>(squares: &[[f32; LANES]; 5]) -> [f32; LANES] {
    let mut ratios = [0.0; LANES];
    for lane in 0..LANES {
        let quarter = |n: usize| squares[n][lane] * (1.0 / 15.0 * 16.0);
        let inside = quarter(0) + quarter(1) + quarter(2) + quarter(3);
        let whole = squares[4][lane] * (1.0 / 63.0 * 64.0);
        ratios[lane] = if whole > 0.0 { inside / whole } else { whole };
    }
    ratios
}

/// How large an error the detail of either block hides.
#[inline(always)]
fn masking<const LANES: usize>(
    blocks: &[Block<i32, LANES>; 2],
    activities: &[[f32; LANES]; 2],
    weights: &Weights,
) -> [f32; LANES] {
    // The constant coefficient is no detail.
    let mut detail_weights = weights.masking;
    detail_weights[0] = 0.0;
    let mut energies = [[0.0f32; LANES]; 2];
    for first in (0..64).step_by(SIDE) {
        for lane in 0..LANES {
            let mut energy = [energies[0][lane], energies[1][lane]];
            for at in first..first + SIDE {
                for side in 0..2 {
                    let value = blocks[side][at][lane];
                    energy[side] += value.wrapping_mul(value) as f32 * detail_weights[at];
                }
            }
            (energies[0][lane], energies[1][lane]) = (energy[0], energy[1]);
        }
    }
    let mut masks = [0.0; LANES];
    for lane in 0..LANES {
        let mask = |side: usize| (energies[side][lane] * activities[side][lane]).sqrt() / 32.0;
        masks[lane] = if mask(1) > mask(0) { mask(1) } else { mask(0) };
    }
    masks
}

#[cfg(test)]
mod tests {
    use visus_video::{Chroma, PlaneView};

    use super::*;
    use crate::Alone;
    use crate::simd::level_tests;
    use crate::testing::{self, Content, Hands};

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
        let mut block = samples.map(|sample| [sample; 1]);
        transform_block(&mut block, |_| ());
        let block = block.map(|[value]| value);
        let energy =
            (1..64).fold(0.0f32, |sum, at| sum + (block[at] * block[at]) as f32 * weights.masking[at]);
        (block, ((f64::from(energy * ratio)).sqrt() / 32.0) as f32)
    }

    /// All weights, against the naive sum.
    fn check_size(target: Target, (width, height): (usize, usize), depth: u8, contents: (Content, Content)) {
        let wide = testing::format(width, height, Chroma::C400, depth);
        let (one, two) = (testing::frame(wide, contents.0, 1), testing::frame(wide, contents.1, 2));
        let (PlaneView::U16(one), PlaneView::U16(two)) = (one.plane(0), two.plane(0)) else {
            unreachable!("more than 8 bits")
        };
        for weights in [0, 1, 2].map(Weights::of_plane) {
            let expected = naive(one, two, &weights);
            let got = sum_errors(target, one, two, &weights, &Spares::default(), &Alone);
            assert_eq!(
                got.to_bits(),
                expected.to_bits(),
                "{width}x{height}, {depth} bits: {got} for {expected}"
            );
        }
    }

    level_tests! {
        fn equals_the_naive_sum(level) {
            let target = Target::new(level);
            for size in [(8, 8), (9, 15), (14, 8), (15, 22), (36, 9), (71, 16), (72, 30), (130, 16), (230, 23)] {
                for (depth, one, two) in [
                    (9, Content::Noise, Content::Noise),
                    (10, Content::Waves, Content::Waves),
                    (12, Content::Dark, Content::Bright),
                    (12, Content::Waves, Content::Noise),
                    (12, Content::Noise, Content::Bright),
                    (10, Content::Dark, Content::Dark),
                ] {
                    check_size(target, size, depth, (one, two));
                }
            }
        }

        fn bytes_and_words_give_the_same(level) {
            let target = Target::new(level);
            for (width, height) in [(8, 8), (119, 22), (121, 16), (66, 9)] {
                let [bytes, words] = [8, 9].map(|depth| testing::format(width, height, Chroma::C400, depth));
                let mut noise = testing::Noise::new(5);
                let mut frames = [bytes, words, bytes, words].map(visus_video::Frame::new);
                for y in 0..height {
                    for x in 0..width {
                        for pair in frames.as_chunks_mut::<2>().0 {
                            let sample = noise.below(256) as u8;
                            pair[0].plane_mut_u8(0).unwrap().row_mut(y)[x] = sample;
                            pair[1].plane_mut_u16(0).unwrap().row_mut(y)[x] = u16::from(sample);
                        }
                    }
                }
                let weights = Weights::of_plane(1);
                let planes = frames.each_ref().map(|frame| frame.plane(0));
                let [PlaneView::U8(one), PlaneView::U16(wide), PlaneView::U8(two), PlaneView::U16(other)] = planes
                else {
                    unreachable!("bytes and words by turns")
                };
                let got = sum_errors(target, one, two, &weights, &Spares::default(), &Hands::new(3));
                assert_eq!(got.to_bits(), sum_errors(target, wide, other, &weights, &Spares::default(), &Alone).to_bits());
            }
        }

        fn every_number_is_divided_to_the_last_bit(level) {
            let target = Target::new(level);
            if !target.is_wide() {
                return;
            }
            let mut divisors: Vec<f32> = [0, 1, 2].map(|plane| Weights::of_plane(plane).masking).concat();
            divisors.sort_by(f32::total_cmp);
            divisors.dedup();
            for weight in divisors {
                let wrong = target.run(
                    #[inline(always)]
                    || {
                        let mut wrong = 0;
                        for bits in 1.0f32.to_bits()..2.0f32.to_bits() {
                            let number = f32::from_bits(bits);
                            let got = Fused::divide(number, weight, 1.0 / weight);
                            wrong += u32::from(got.to_bits() != (number / weight).to_bits());
                        }
                        wrong
                    },
                );
                assert_eq!(wrong, 0, "divided by {weight}");
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
