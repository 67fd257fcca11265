//! Which frames of two files belong to a pair, in few numbers: from one break in the rhythm to the next, both sides go on
//! frame by frame.

use serde::{Deserialize, Serialize};

/// From pair `pair` on, both files advance by one frame per pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The number of the pair.
    pub pair: u64,
    /// The frame of the reference that it holds.
    pub reference: u64,
    /// The frame of the distorted video.
    pub distorted: u64,
}

/// The frames of every pair. Without a step, pair and frame numbers are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps(Vec<Step>);

impl Steps {
    /// Frames one after another, behind those that were skipped.
    pub fn unpaired([reference, distorted]: [u64; 2]) -> Self {
        Self(vec![Step { pair: 0, reference, distorted }])
    }

    /// Of the frame numbers of all pairs, in order.
    pub(crate) fn of(pairs: impl Iterator<Item = [u64; 2]>) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for (pair, [reference, distorted]) in (0u64..).zip(pairs) {
            let goes_on = steps.last().is_some_and(|last| last.at(pair) == [reference, distorted]);
            if !goes_on {
                steps.push(Step { pair, reference, distorted });
            }
        }
        Self(steps)
    }

    /// The frames of a pair in both files.
    pub fn at(&self, pair: u64) -> [u64; 2] {
        let after = self.0.partition_point(|step| step.pair <= pair);
        after.checked_sub(1).map_or([pair, pair], |place| self.0[place].at(pair))
    }

    /// Bytes that they take in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

impl Step {
    fn at(&self, pair: u64) -> [u64; 2] {
        let ahead = pair.saturating_sub(self.pair);
        [self.reference.saturating_add(ahead), self.distorted.saturating_add(ahead)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_and_doubles_are_steps() {
        let pairs = [[2, 0], [3, 1], [5, 2], [6, 3], [7, 5]];
        let steps = Steps::of(pairs.into_iter());
        assert_eq!(steps.0.len(), 3);
        for (pair, expected) in (0u64..).zip(pairs) {
            assert_eq!(steps.at(pair), expected);
        }
        assert_eq!(steps.at(6), [9, 7]);
    }

    #[test]
    fn without_pairing_numbers_are_the_same_but_for_skips() {
        assert_eq!(Steps::default().at(7), [7, 7]);
        assert_eq!(Steps::unpaired([3, 0]).at(7), [10, 7]);
    }
}
