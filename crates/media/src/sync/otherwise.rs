//! Doubtful pairs as the alternative pairs them, so that they can be scored that way too.
//!
//! One pass over both files reads them all, one after another; so both numbers must grow from pair to pair. Around every such pair
//! its neighbours are read as well, because motion is measured between frames. The list for a part of a clip is a piece of
//! that for the whole, so that merged parts say what one run says.

use std::ops::Range;

use crate::sync::log::Noted;
use crate::sync::runs::Alternative;

/// Pairs before and after that metrics look at.
const AROUND: u64 = 2;
/// At most so many doubtful pairs are scored again of so many frames: the rest is as they are.
const MOST: u64 = 64;
const AMONG: u64 = 512;

/// Pairs to be scored, in their order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct OtherPairs {
    pub pairs: Vec<(u64, u64)>,
    /// For each the doubtful pair that it is the alternative of; none for those that lie around it.
    pub stands_for: Vec<Option<u64>>,
}

impl OtherPairs {
    /// Alternatives of the doubtful ones among the `scored` pairs.
    pub fn of(noted: &[Noted], scored: Range<usize>) -> Self {
        let mut all = Self::default();
        let (mut block, mut count) = (0, 0);
        for (index, pair) in noted.iter().enumerate().take(scored.end) {
            let Some(Alternative::Shift(shift)) = pair.doubt else { continue };
            if pair.distorted / AMONG != block {
                (block, count) = (pair.distorted / AMONG, 0);
            }
            count += 1;
            if count <= MOST
                && let Some(reference) = pair.reference.checked_add_signed(shift.into())
            {
                all.add((reference, pair.distorted), index as u64);
            }
        }
        all.keep(&scored);
        all
    }

    fn add(&mut self, (reference, distorted): (u64, u64), index: u64) {
        if let Ok(at) = self.pairs.binary_search(&(reference, distorted)) {
            self.stands_for[at] = Some(index);
            return;
        }
        let last = self.pairs.last().copied();
        let follows = |(a, b): (u64, u64)| last.is_none_or(|last| a > last.0 && b > last.1);
        if !follows((reference, distorted)) {
            return;
        }
        let before = (1..=AROUND).rev();
        let before = before.filter_map(|by| Some((reference.checked_sub(by)?, distorted.checked_sub(by)?)));
        let before: Vec<_> = before.filter(|pair| follows(*pair)).collect();
        let after = (1..=AROUND).map(|by| (reference + by, distorted + by));
        for (pair, own) in
            before.into_iter().map(|pair| (pair, None)).chain([((reference, distorted), Some(index))])
        {
            self.pairs.push(pair);
            self.stands_for.push(own);
        }
        for pair in after {
            self.pairs.push(pair);
            self.stands_for.push(None);
        }
    }

    /// Leaves out what the scored pairs do not need.
    fn keep(&mut self, scored: &Range<usize>) {
        let wanted = |index: &Option<u64>| index.is_some_and(|index| scored.contains(&(index as usize)));
        self.stands_for.iter_mut().for_each(|index| *index = index.filter(|index| wanted(&Some(*index))));
        let first = self.stands_for.iter().position(Option::is_some).unwrap_or(self.pairs.len());
        let from = first.saturating_sub(AROUND as usize);
        self.pairs.drain(..from);
        self.stands_for.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(doubts: &[(u64, i32)], frames: u64) -> Vec<Noted> {
        let doubt = |frame: u64| doubts.iter().find(|doubt| doubt.0 == frame).map(|doubt| doubt.1);
        (0..frames)
            .map(|frame| Noted {
                reference: frame,
                distorted: frame,
                doubt: doubt(frame).map(Alternative::Shift),
                ..Noted::default()
            })
            .collect()
    }

    #[test]
    fn neighbours_are_read_too() {
        let all = OtherPairs::of(&noted(&[(5, 1), (6, 1), (20, -3)], 40), 0..40);
        let first: Vec<(u64, u64)> = (3..9).map(|frame| (frame + 1, frame)).collect();
        let second: Vec<(u64, u64)> = (18..23).map(|frame| (frame - 3, frame)).collect();
        assert_eq!(all.pairs, [first, second].concat());
        let marked: Vec<u64> = all.stands_for.iter().flatten().copied().collect();
        assert_eq!(marked, [5, 6, 20]);
    }

    #[test]
    fn parts_have_pieces_of_the_whole() {
        let doubts: Vec<(u64, i32)> = (4..30).map(|frame| (frame, if frame < 11 { 2 } else { -1 })).collect();
        let noted = noted(&doubts, 40);
        let whole = OtherPairs::of(&noted, 0..40);
        for cut in 1..40 {
            let parts = [OtherPairs::of(&noted, 0..cut), OtherPairs::of(&noted, cut..40)];
            for part in parts.iter().filter(|part| !part.pairs.is_empty()) {
                let at = whole.pairs.iter().position(|pair| *pair == part.pairs[0]).unwrap();
                assert_eq!(part.pairs, whole.pairs[at..at + part.pairs.len()], "{cut}");
            }
            let marked = parts.iter().flat_map(|part| part.stands_for.iter().flatten());
            assert!(marked.eq(whole.stands_for.iter().flatten()), "{cut}");
        }
    }

    #[test]
    fn long_doubts_are_sampled() {
        let doubts: Vec<(u64, i32)> = (0..1500).map(|frame| (frame, 1)).collect();
        let all = OtherPairs::of(&noted(&doubts, 1500), 0..1500);
        assert_eq!(all.stands_for.iter().flatten().count() as u64, 3 * MOST);
    }
}
