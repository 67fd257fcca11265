//! Scores of pairs of planes, one after the other or shared among threads.

use std::sync::{Mutex, PoisonError};

use super::front::{Front, Source};
use super::score::Comparison;
use super::stats::{Analyser, Singular, Stats};
use crate::Spread;
use crate::picture::FloatPlane;
use crate::simd::Target;

/// Scores pairs of planes of one size.
#[derive(Debug)]
pub struct Comparer {
    comparison: Comparison,
    side: Side,
    /// Of the reference, while the distorted plane is measured.
    reference: Stats,
    /// One for every plane, from the first frame on that is shared.
    hands: Vec<Mutex<Hand>>,
}

/// What measures a plane, and what it found.
#[derive(Clone, Debug)]
pub struct Side {
    pub target: Target,
    pub front: Front,
    pub field: FloatPlane,
    pub analyser: Analyser,
    pub stats: Stats,
}

#[derive(Debug)]
struct Hand {
    side: Side,
    outcome: Result<(), Singular>,
}

impl Side {
    fn measure(&mut self, source: Source<'_>) -> Result<(), Singular> {
        let Self { target, front, field, analyser, stats } = self;
        let wide = target.is_wide();
        target.run(
            #[inline(always)]
            || {
                front.run(source, field);
                analyser.run(field, wide, stats)
            },
        )
    }
}

impl Comparer {
    pub fn new(side: Side, comparison: Comparison) -> Self {
        Self { comparison, reference: side.stats.clone(), side, hands: Vec::new() }
    }

    /// The scores of pairs of reference and distorted.
    pub fn scores<const N: usize>(
        &mut self,
        pairs: [[Source<'_>; 2]; N],
        spread: &dyn Spread,
    ) -> [Result<f32, Singular>; N] {
        if spread.width() == 1 {
            return pairs.map(|[reference, distorted]| self.score(reference, distorted));
        }
        let hand = || Mutex::new(Hand { side: self.side.clone(), outcome: Ok(()) });
        self.hands.resize_with(2 * N, hand);
        spread.each(2 * N, &|index| {
            let mut hand = self.hands[index].lock().unwrap_or_else(PoisonError::into_inner);
            hand.outcome = hand.side.measure(pairs[index / 2][index % 2]);
        });
        std::array::from_fn(|pair| self.compare_hands(2 * pair))
    }

    /// A singular side leaves nothing to compare, so the other side is then not looked at.
    fn score(&mut self, reference: Source<'_>, distorted: Source<'_>) -> Result<f32, Singular> {
        self.side.measure(reference)?;
        std::mem::swap(&mut self.side.stats, &mut self.reference);
        self.side.measure(distorted)?;
        Ok(self.comparison.score(&self.reference, &self.side.stats))
    }

    /// The score of a hand and the next one.
    fn compare_hands(&self, first: usize) -> Result<f32, Singular> {
        let [reference, distorted] =
            [first, first + 1].map(|index| self.hands[index].lock().unwrap_or_else(PoisonError::into_inner));
        reference.outcome?;
        distorted.outcome?;
        Ok(self.comparison.score(&reference.side.stats, &distorted.side.stats))
    }
}
