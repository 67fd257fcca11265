//! Long sums in their order, in a fraction of the time: `terms.fold(sum, |sum, term| sum + term)`, to the bit.
//!
//! While a sum stays between two powers of two, all its values are multiples of one unit. What a term adds to it is then the
//! multiple of the unit next to the term, whatever the sum is; only where a term lies midway between two multiples, the last
//! bit of the sum decides. So if no term of a group lies midway, and the sum stays below the next power of two, the terms can
//! be rounded each by itself, and then added in any order: nothing is rounded any more. Other groups are added one by one.

/// Terms that are looked at together.
pub const GROUP: usize = 64;

macro_rules! unit {
    ($name:ident, $float:ty, $digits:literal) => {
        /// The power of two below a sum, and what follows from it.
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            /// Half of the unit.
            half: $float,
            /// Adding and subtracting it rounds to multiples of the unit.
            rounder: $float,
            /// The largest term that may be rounded so.
            most: $float,
            /// The next power of two.
            pub end: $float,
        }

        impl $name {
            /// `None` for sums that are zero, next to it, or beyond all terms.
            #[inline(always)]
            pub fn of(sum: $float) -> Option<Self> {
                if !(sum > <$float>::MIN_POSITIVE / <$float>::EPSILON && sum < <$float>::MAX / 8.0) {
                    return None;
                }
                let power = <$float>::from_bits(sum.to_bits() >> ($digits - 1) << ($digits - 1));
                let half = power * (<$float>::EPSILON / 2.0);
                Some(Self { half, rounder: 1.5 * power, most: power / 2.0, end: 2.0 * power })
            }

            /// What a term adds, and whether that is certain.
            #[inline(always)]
            pub fn rounded(&self, term: $float) -> ($float, bool) {
                let rounded = (term + self.rounder) - self.rounder;
                let is_midway = (term - rounded).abs() == self.half;
                (rounded, !is_midway & (term >= 0.0) & (term <= self.most))
            }
        }
    };
}

unit!(SingleUnit, f32, 24);
unit!(DoubleUnit, f64, 53);

/// Adds terms, none of which is negative, one after another.
#[inline(always)]
pub fn add_doubles(sum: f64, terms: &[f64]) -> f64 {
    let mut sum = sum;
    for group in terms.chunks(GROUP) {
        let short_way = group.first_chunk().and_then(|group| add_group(sum, group));
        sum = short_way.unwrap_or_else(|| group.iter().fold(sum, |sum, term| sum + term));
    }
    sum
}

/// The sum with a group of terms, if their order does not matter.
#[inline(always)]
fn add_group(sum: f64, group: &[f64; GROUP]) -> Option<f64> {
    const LANES: usize = 8;
    let unit = DoubleUnit::of(sum)?;
    let (mut totals, mut certain) = ([0.0; LANES], [true; LANES]);
    for terms in group.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            let (rounded, is_certain) = unit.rounded(terms[lane]);
            totals[lane] += rounded;
            certain[lane] &= is_certain;
        }
    }
    let total: f64 = totals.iter().sum();
    let certain = certain.iter().all(|certain| *certain);
    (certain && sum + total < unit.end).then_some(sum + total)
}

/// Adds terms of either sign, one after another.
#[inline(always)]
pub fn add_signed_doubles<T: Copy + Into<f64>>(sum: f64, terms: &[T]) -> f64 {
    const MANY: usize = 8 * GROUP;
    let mut sum = sum;
    for many in terms.chunks(MANY) {
        let short_way = many.first_chunk::<MANY>().and_then(|many| add_signed_group(sum, many));
        sum = short_way.unwrap_or_else(|| {
            many.chunks(GROUP).fold(sum, |sum, group| {
                let short_way = group.first_chunk::<GROUP>().and_then(|group| add_signed_group(sum, group));
                short_way.unwrap_or_else(|| group.iter().fold(sum, |sum, term| sum + (*term).into()))
            })
        });
    }
    sum
}

/// Lanes in which a group of terms of either sign is added: its length must be a multiple.
const LANES: usize = 16;

/// The sum with a group of terms, if their order does not matter. The sum must not leave its two powers of two on the way, in
/// whatever order: it must be further from both than so many of the largest term are.
#[inline(always)]
pub fn add_signed_group<T: Copy + Into<f64>>(sum: f64, group: &[T]) -> Option<f64> {
    debug_assert!(group.len().is_multiple_of(LANES), "{} terms", group.len());
    let unit = DoubleUnit::of(sum)?;
    // Sizes are compared as bits, in which what is no number is larger than all that are.
    let (mut totals, mut rests, mut largest) = ([0.0; LANES], [0u64; LANES], [0u64; LANES]);
    for terms in group.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            let term: f64 = terms[lane].into();
            let rounded = (term + unit.rounder) - unit.rounder;
            totals[lane] += rounded;
            rests[lane] = rests[lane].max((term - rounded).abs().to_bits());
            largest[lane] = largest[lane].max(term.abs().to_bits());
        }
    }
    let rest = f64::from_bits(rests.into_iter().fold(0, u64::max));
    let largest = f64::from_bits(largest.into_iter().fold(0, u64::max));
    let reach = (group.len() + 1) as f64 * largest;
    let stays = sum - reach > unit.end / 2.0 && sum + reach < unit.end;
    // All sums are whole multiples of the unit, so that these have any order as well.
    (stays && rest < unit.half && largest <= unit.most).then(|| sum + totals.iter().sum::<f64>())
}

/// As [`add_signed_group`], for terms from zero to `most`.
#[inline(always)]
pub fn add_small_group(sum: f64, group: &[f64], most: f64) -> Option<f64> {
    debug_assert!(group.len().is_multiple_of(LANES), "{} terms", group.len());
    let unit = DoubleUnit::of(sum)?;
    let (mut totals, mut rests) = ([0.0; LANES], [0u64; LANES]);
    for terms in group.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            let rounded = (terms[lane] + unit.rounder) - unit.rounder;
            totals[lane] += rounded;
            rests[lane] = rests[lane].max((terms[lane] - rounded).abs().to_bits());
        }
    }
    let rest = f64::from_bits(rests.into_iter().fold(0, u64::max));
    let stays = sum + (group.len() + 1) as f64 * most < unit.end && most <= unit.most;
    (stays && rest < unit.half).then(|| sum + totals.iter().sum::<f64>())
}

/// As [`add_signed_group`], for `f32`. In units of the sum these are rounded by one instruction, and most are whole already.
#[inline(always)]
pub fn add_singles(sum: f64, group: &[f32]) -> Option<f64> {
    debug_assert!(group.len().is_multiple_of(LANES), "{} terms", group.len());
    let unit = DoubleUnit::of(sum)?;
    // Of these sums a unit and its reciprocal are floats, and terms become no smaller.
    if !(1e-9..1e12).contains(&sum) {
        return None;
    }
    let units = (0.5 / unit.half) as f32;
    let (mut totals, mut rests, mut largest) = ([0.0f64; LANES], [0u32; LANES], [0u32; LANES]);
    for terms in group.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            let term = terms[lane] * units;
            let rounded = term.round_ties_even();
            totals[lane] += f64::from(rounded);
            rests[lane] = rests[lane].max((term - rounded).abs().to_bits());
            largest[lane] = largest[lane].max(terms[lane].abs().to_bits());
        }
    }
    let rest = f32::from_bits(rests.into_iter().fold(0, u32::max));
    let largest = f64::from(f32::from_bits(largest.into_iter().fold(0, u32::max)));
    let reach = (group.len() + 1) as f64 * largest;
    let stays = sum - reach > unit.end / 2.0 && sum + reach < unit.end;
    // Whole numbers below 2^52, and then multiples of the unit: none of these sums is rounded.
    (stays && rest < 0.5).then(|| sum + totals.iter().sum::<f64>() * (2.0 * unit.half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;
    use proptest::prelude::*;

    fn naive(sum: f64, terms: &[f64]) -> f64 {
        terms.iter().fold(sum, |sum, term| sum + term)
    }

    proptest! {
        /// Terms of few bits lie midway often; terms of many sizes take the sum over many powers of two.
        #[test]
        fn sums_are_those_of_one_addition_after_another(
            start in prop_oneof![Just(0.0f64), 0.0..1.0f64, 1e-300..1e-290f64, 1e3..1e9f64],
            bits in 1u32..53,
            sizes in -40i32..2,
            seed: u32,
        ) {
            let mut noise = Noise::new(seed);
            let term = |noise: &mut Noise| {
                let digits = u64::from(noise.next()) << 32 | u64::from(noise.next()) << 16 | u64::from(noise.next());
                let whole = (digits & ((1 << bits) - 1)) as f64;
                whole * 2f64.powi(sizes - bits as i32 - noise.below(4) as i32) * start.max(1.0)
            };
            let terms: Vec<f64> = (0..1000).map(|_| term(&mut noise)).collect();
            prop_assert_eq!(add_doubles(start, &terms).to_bits(), naive(start, &terms).to_bits());
            prop_assert_eq!(add_signed_doubles(start, &terms).to_bits(), naive(start, &terms).to_bits());
            let (group, most) = (&terms[..480], terms[..480].iter().fold(0.0, |most: f64, term| most.max(*term)));
            if let Some(sum) = add_small_group(start, group, most) {
                prop_assert_eq!(sum.to_bits(), naive(start, group).to_bits());
            }
            // A third is negative, and zeros of either sign are among them.
            let signed: Vec<f64> = terms
                .iter()
                .map(|term| match noise.below(8) {
                    0 => 0.0,
                    1 => -0.0,
                    2..5 => -term,
                    _ => *term,
                })
                .collect();
            for start in [start, -start] {
                prop_assert_eq!(add_signed_doubles(start, &signed).to_bits(), naive(start, &signed).to_bits());
            }
            let singles: Vec<f32> = signed.iter().map(|term| *term as f32).collect();
            let same: Vec<f64> = singles.iter().map(|term| f64::from(*term)).collect();
            prop_assert_eq!(add_signed_doubles(start, &singles).to_bits(), naive(start, &same).to_bits());
            if let Some(sum) = add_singles(start, &singles[..480]) {
                prop_assert_eq!(sum.to_bits(), naive(start, &same[..480]).to_bits());
            }
        }
    }

    #[test]
    fn most_groups_take_the_short_way() {
        let unit = DoubleUnit::of(1e6).unwrap();
        let mut noise = Noise::new(1);
        let certain = (0..1000).filter(|_| unit.rounded(f64::from(noise.next()) / 3e5).1).count();
        assert!(certain > 990, "{certain}");
        let terms: [f64; 480] = std::array::from_fn(|_| f64::from(noise.next()) / 4.3e9);
        let singles = terms.map(|term| term as f32 - 0.3);
        let same = singles.map(f64::from);
        assert_eq!(add_small_group(6e5, &terms, 1.5), Some(naive(6e5, &terms)));
        assert_eq!(add_singles(6e5, &singles), Some(naive(6e5, &same)));
        assert!(DoubleUnit::of(0.0).is_none() && SingleUnit::of(f32::NAN).is_none());
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let mut terms = [1.0f64; 300];
        terms[100] = f64::NAN;
        assert!(add_doubles(1e6, &terms).is_nan());
        terms[100] = f64::INFINITY;
        assert_eq!(add_doubles(1e6, &terms), f64::INFINITY);
        assert_eq!(add_signed_doubles(1e6, &terms), f64::INFINITY);
        terms[100] = f64::NAN;
        assert!(add_signed_doubles(1e6, &terms).is_nan());
    }
}
