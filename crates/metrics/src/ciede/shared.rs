//! The differences of a frame that several threads share: a few rows at a time, added up in the order of the pixels.

use visus_video::Format;

use super::rows::Differences;
use crate::bands::{InOrder, Spares};
use crate::ordered::add_doubles;
use crate::simd::Target;
use crate::{Pair, Spread};

/// Rows that a thread takes at a time.
const ROWS: usize = 4;

/// Sums differences over pictures of one format.
#[derive(Debug)]
pub struct SharedDifferences {
    format: Format,
    target: Target,
    spares: Spares<Differences>,
    /// Differences of some rows.
    terms: Spares<Vec<f64>>,
}

impl SharedDifferences {
    /// Memory is taken with the first frame that is shared.
    pub fn new(format: &Format, target: Target) -> Self {
        Self { format: *format, target, spares: Spares::default(), terms: Spares::default() }
    }

    /// The same as [`Differences::sum`].
    pub fn sum(&self, pair: Pair<'_>, spread: &dyn Spread) -> f64 {
        let height = self.format.height();
        let mut sum = 0.0;
        let target = self.target;
        let in_order = InOrder::new(&self.terms, |terms: &Vec<f64>| {
            sum = target.run(
                #[inline(always)]
                || add_doubles(sum, terms),
            );
        });
        spread.each(height.div_ceil(ROWS), &|piece| {
            let mut terms = self.terms.take(Vec::new);
            terms.clear();
            let make = || Differences::new(&self.format, target);
            self.spares.with(make, |differences| {
                for y in piece * ROWS..((piece + 1) * ROWS).min(height) {
                    let row = differences.row(pair.reference, pair.distorted, y);
                    terms.extend(row.iter().map(|difference| f64::from(*difference)));
                }
            });
            in_order.hand_in(piece, terms);
        });
        drop(in_order);
        sum
    }
}
