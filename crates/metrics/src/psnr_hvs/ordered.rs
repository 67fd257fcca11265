//! Adds up the errors of many blocks, block by block and coefficient by coefficient, without waiting for each addition.

use super::dct::Block;
use crate::ordered::SingleUnit;

/// Adds the errors of a row of `across` blocks to the sum, from its left. How that can be done in another order is told in
/// [`crate::ordered`]: each block is rounded by itself, in its own lane.
#[inline(always)]
pub fn add_groups<const LANES: usize>(sum: f32, groups: &[Block<f32, LANES>], across: usize) -> f32 {
    let mut sum = sum;
    for (number, group) in groups.iter().enumerate() {
        let blocks = (across - number * LANES).min(LANES);
        sum = add_group(sum, group, blocks);
    }
    sum
}

#[inline(always)]
fn add_group<const LANES: usize>(sum: f32, group: &Block<f32, LANES>, blocks: usize) -> f32 {
    let mut sum = sum;
    let unit = SingleUnit::of(sum);
    let (totals, certain) = match &unit {
        Some(unit) => rounded(unit, group),
        None => ([0.0; LANES], [false; LANES]),
    };
    for lane in 0..blocks {
        let end = unit.map_or(0.0, |unit| unit.end);
        // Beyond the power of two the unit is another one: then this is not below the end.
        if certain[lane] && sum + totals[lane] < end {
            sum += totals[lane];
        } else {
            sum = group.iter().fold(sum, |sum, terms| sum + terms[lane]);
        }
    }
    sum
}

/// What the terms of each lane add, and whether that is certain.
#[inline(always)]
fn rounded<const LANES: usize>(
    unit: &SingleUnit,
    group: &Block<f32, LANES>,
) -> ([f32; LANES], [bool; LANES]) {
    let (mut totals, mut certain) = ([0.0; LANES], [true; LANES]);
    for terms in group {
        for lane in 0..LANES {
            let (rounded, is_certain) = unit.rounded(terms[lane]);
            totals[lane] += rounded;
            certain[lane] &= is_certain;
        }
    }
    (totals, certain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    #[test]
    fn groups_add_up_as_one_term_after_another() {
        let mut noise = Noise::new(3);
        for (shift, across) in [(0, 37), (3, 16), (9, 1), (14, 30)] {
            let mut term = || (noise.next() >> shift) as f32 / [1.0, 3.0, 1024.0][noise.below(3) as usize];
            let groups: Vec<Block<f32, 16>> =
                (0..3).map(|_| std::array::from_fn(|_| std::array::from_fn(|_| term()))).collect();
            for start in [0.0f32, 1.0, 65_000.0, 3e7] {
                let mut naive = start;
                for block in 0..across {
                    for terms in &groups[block / 16] {
                        naive += terms[block % 16];
                    }
                }
                let groups = &groups[..usize::div_ceil(across, 16)];
                assert_eq!(add_groups(start, groups, across).to_bits(), naive.to_bits(), "{shift} {start}");
            }
        }
    }
}
