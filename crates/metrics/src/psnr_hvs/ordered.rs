//! Adds up the errors of many blocks, block by block and coefficient by coefficient, without waiting for each addition.

use super::dct::Block;
use crate::ordered::SingleUnit;

/// The errors of a row of blocks, in groups of as many as there are lanes, and what each group adds to a sum that is about as
/// large as the one that was known when the row was measured. How errors can be added in another order is told in
/// [`crate::ordered`].
#[derive(Debug, Default)]
pub struct RowErrors {
    terms: Vec<f32>,
    /// How many blocks there are.
    across: usize,
    near: Option<SingleUnit>,
    /// Not a number where the order may matter.
    totals: Vec<f32>,
}

impl RowErrors {
    /// Room for the errors of `across` blocks.
    pub fn groups_mut<const LANES: usize>(&mut self, across: usize) -> &mut [Block<f32, LANES>] {
        self.across = across;
        self.terms.resize(across.div_ceil(LANES) * 64 * LANES, 0.0);
        self.terms.as_chunks_mut::<LANES>().0.as_chunks_mut::<64>().0
    }

    /// The groups, and how many blocks each has.
    #[inline(always)]
    fn groups<const LANES: usize>(&self) -> impl Iterator<Item = (&Block<f32, LANES>, usize)> {
        let groups = self.terms.as_chunks::<LANES>().0.as_chunks::<64>().0;
        groups.iter().enumerate().map(|(number, group)| (group, (self.across - number * LANES).min(LANES)))
    }

    /// Adds up each group as far as that can be done before the sum is known.
    #[inline(always)]
    pub fn prepare<const LANES: usize>(&mut self, sum: f32) {
        let mut totals = std::mem::take(&mut self.totals);
        totals.clear();
        self.near = SingleUnit::of(sum);
        if let Some(unit) = self.near {
            for (group, blocks) in self.groups::<LANES>() {
                let (sums, certain) = rounded(&unit, group);
                let certain = certain[..blocks].iter().all(|certain| *certain);
                totals.push(if certain { sums[..blocks].iter().sum() } else { f32::NAN });
            }
        }
        self.totals = totals;
    }

    /// Adds the errors to the sum, from the left of the row.
    #[inline(always)]
    pub fn add<const LANES: usize>(&self, sum: f32) -> f32 {
        let mut sum = sum;
        let near = self.near.map_or(f32::NAN, |unit| unit.end);
        for (number, (group, blocks)) in self.groups::<LANES>().enumerate() {
            let end = SingleUnit::of(sum).map_or(0.0, |unit| unit.end);
            let total = if end == near { self.totals[number] } else { f32::NAN };
            sum = if sum + total < end { sum + total } else { add_group(sum, group, blocks) };
        }
        sum
    }
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
            let mut row = RowErrors::default();
            for group in row.groups_mut::<16>(across) {
                for term in group.iter_mut().flatten() {
                    *term = (noise.next() >> shift) as f32 / [1.0, 3.0, 1024.0][noise.below(3) as usize];
                }
            }
            for start in [0.0f32, 1.0, 65_000.0, 3e7] {
                let mut naive = start;
                for block in 0..across {
                    let (group, _) = row.groups::<16>().nth(block / 16).unwrap();
                    group.iter().for_each(|terms| naive += terms[block % 16]);
                }
                for known in [0.0, start, 1.5 * start, 1e9] {
                    row.prepare::<16>(known);
                    assert_eq!(row.add::<16>(start).to_bits(), naive.to_bits(), "{shift} {start} {known}");
                }
            }
        }
    }
}
