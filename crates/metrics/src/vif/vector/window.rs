//! The Gaussian windows as taps of word pairs.
//!
//! A dot product takes two neighbouring words (rows or columns) at a time. Words start at even places, so an output at
//! an even place and the one after it look at the same pairs, with taps shifted by one.

use crate::simd::Splats;
use crate::vif::{SCALES, scalar::TAPS};

/// Pairs in the longest window.
pub const MAX_PAIRS: usize = 9;

/// The window of one scale.
#[derive(Clone, Copy, Debug)]
pub struct Window<const SCALE: usize>;

impl<const SCALE: usize> Window<SCALE> {
    /// Pairs on each side of the one that holds the output.
    pub const REACH: usize = Self::RADIUS.div_ceil(2);
    pub const PAIRS: usize = 2 * Self::REACH + 1;
    pub const RADIUS: usize = Self::taps().len() / 2;
    /// Taps for outputs at even places, two words each.
    pub const EVEN: [i32; MAX_PAIRS] = Self::pairs(0);
    /// Taps for the outputs after those.
    pub const ODD: [i32; MAX_PAIRS] = Self::pairs(1);
    /// Half of the centre tap where the whole would not fit a signed word; the other half is left in `EVEN` and `ODD`.
    pub const HALF_CENTRE: Option<i32> =
        if Self::centre() > i16::MAX as i32 { Some(Self::centre() / 2) } else { None };

    /// No taps beyond the last scale.
    const fn taps() -> &'static [u32] {
        if SCALE < SCALES { TAPS[SCALE] } else { &[] }
    }

    const fn centre() -> i32 {
        if SCALE < SCALES { TAPS[SCALE][TAPS[SCALE].len() / 2] as i32 } else { 0 }
    }

    const fn pairs(shift: usize) -> [i32; MAX_PAIRS] {
        let mut pairs = [0; MAX_PAIRS];
        let mut pair = 0;
        while pair < Self::PAIRS {
            pairs[pair] = two_words(Self::tap(2 * pair, shift), Self::tap(2 * pair + 1, shift));
            pair += 1;
        }
        pairs
    }

    /// The tap at a place of the window that starts `2 * REACH` before the output at `shift`.
    const fn tap(place: usize, shift: usize) -> i32 {
        let first = 2 * Self::REACH - Self::RADIUS + shift;
        let last = first + 2 * Self::RADIUS;
        if SCALE >= SCALES || place < first || place > last {
            return 0;
        }
        let tap = TAPS[SCALE][place - first] as i32;
        if tap > i16::MAX as i32 { tap - tap / 2 } else { tap }
    }
}

/// Taps of a window that is folded at its centre: from its ends to the centre, for outputs at even and at odd places by turns.
pub const FOLDED_PAIRS: usize = 10;

/// The finest scale's window, and the same doubled.
pub static FOLDED: [Splats<FOLDED_PAIRS>; 2] = [Splats::new(folded(0, 1)), Splats::new(folded(0, 2))];

/// The next scale's window. It is shorter: its ends are at places 4 and 5.
pub static FOLDED_THIN: Splats<FOLDED_PAIRS> = Splats::new(folded(1, 1));

const fn folded(scale: usize, factor: i32) -> [i32; FOLDED_PAIRS] {
    let taps = TAPS[scale];
    let centre = taps.len() / 2;
    let mut pairs = [0; FOLDED_PAIRS];
    let mut place = FOLDED_PAIRS - 2 - centre;
    let mut tap = 0;
    while tap <= centre {
        let first = factor * taps[tap] as i32;
        let second = if tap < centre { factor * taps[tap + 1] as i32 } else { 0 };
        pairs[place] = two_words(first, second);
        pairs[place + 1] = two_words(second, first);
        (place, tap) = (place + 2, tap + 2);
    }
    pairs
}

/// Two signed words in one lane.
pub const fn two_words(low: i32, high: i32) -> i32 {
    (low & 0xffff) | (high << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds up what the pairs do to the words around an output.
    fn unpaired<const SCALE: usize>(shift: usize) -> Vec<i32> {
        let pairs = if shift == 0 { Window::<SCALE>::EVEN } else { Window::<SCALE>::ODD };
        let words =
            pairs[..Window::<SCALE>::PAIRS].iter().flat_map(|pair| [*pair as i16 as i32, *pair >> 16]);
        let mut taps: Vec<i32> = words.collect();
        taps[2 * Window::<SCALE>::REACH + shift] += Window::<SCALE>::HALF_CENTRE.unwrap_or(0);
        let first = 2 * Window::<SCALE>::REACH + shift - Window::<SCALE>::RADIUS;
        let taken = taps.drain(first..=first + 2 * Window::<SCALE>::RADIUS).collect();
        assert!(taps.iter().all(|rest| *rest == 0));
        taken
    }

    #[test]
    fn folded_pairs_end_with_the_centre() {
        let two = |pair: i32| [i32::from(pair as i16), pair >> 16];
        let thin = folded(1, 1);
        assert_eq!(thin[..4], [0; 4]);
        let words: Vec<u32> =
            thin[4..].iter().step_by(2).flat_map(|pair| two(*pair)).map(|word| word as u32).collect();
        assert_eq!(words, [&TAPS[1][..5], &[0]].concat());
        assert!(thin.chunks(2).all(|pair| two(pair[0]) == [two(pair[1])[1], two(pair[1])[0]]));
        assert_eq!(two(folded(0, 1)[0]), [489, 935]);
        assert_eq!(two(folded(0, 2)[8]), [2 * 7784, 0]);
    }

    #[test]
    fn pairs_hold_every_tap_at_its_place() {
        let expected = TAPS.map(|taps| taps.iter().map(|tap| *tap as i32).collect::<Vec<_>>());
        for shift in [0, 1] {
            assert_eq!(unpaired::<0>(shift), expected[0]);
            assert_eq!(unpaired::<1>(shift), expected[1]);
            assert_eq!(unpaired::<2>(shift), expected[2]);
            assert_eq!(unpaired::<3>(shift), expected[3]);
        }
        assert_eq!(
            [Window::<0>::PAIRS, Window::<1>::PAIRS, Window::<2>::PAIRS, Window::<3>::PAIRS],
            [9, 5, 3, 3]
        );
    }
}
