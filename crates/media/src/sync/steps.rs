//! Steps through two streams: what is done with the frames at their fronts.

use std::collections::VecDeque;

use crate::sync::plan::Fate;

/// What is to be done with the frames at the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Pair,
    /// A frame of the reference has no counterpart.
    Missing,
    /// A frame of the distorted video has none.
    Extra,
}

/// The steps that fates ask for: at most `most` pairs unless all are wanted, and never half of a gap.
pub fn steps(fates: &[Fate], most: usize, all: bool) -> Vec<Step> {
    let (mut steps, mut whole, mut pairs, mut next) = (Vec::new(), 0, 0, 0);
    for fate in fates {
        match fate {
            Fate::Extra | Fate::Repeat => steps.push(Step::Extra),
            Fate::Pair(place) | Fate::InPlace(place) => {
                steps.extend((next..*place).map(|_| Step::Missing));
                steps.push(Step::Pair);
                (whole, pairs, next) = (steps.len(), pairs + 1, place + 1);
                if !all && pairs >= most {
                    break;
                }
            }
        }
    }
    steps.truncate(whole);
    steps
}

/// The steps that lead to these pairs.
pub fn steps_to(pairs: &[(u64, u64)]) -> VecDeque<Step> {
    let (mut steps, mut next) = (VecDeque::new(), (0, 0));
    for (reference, distorted) in pairs {
        steps.extend((next.0..*reference).map(|_| Step::Missing));
        steps.extend((next.1..*distorted).map(|_| Step::Extra));
        steps.push_back(Step::Pair);
        next = (reference + 1, distorted + 1);
    }
    steps
}
