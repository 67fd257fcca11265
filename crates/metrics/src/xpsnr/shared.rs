//! A picture whose rows several threads share. All sums of blocks are whole numbers; weighted errors are added up in the order of
//! the blocks.

use std::ops::Range;

use visus_video::Plane;

use super::layout::part;
use super::measure::{History, Measure, squared_error};
use super::vectors::Samples;
use crate::simd::Target;
use crate::{Spread, bands};

/// Rows of a piece: an even number, for groups of 2x2 pixels.
const ROWS: usize = 32;

/// Threads that share a picture.
#[derive(Clone, Copy)]
pub struct Hands<'a> {
    pub target: Target,
    pub spread: &'a dyn Spread,
}

/// A part of a row of blocks.
struct Piece {
    row: usize,
    down: Range<usize>,
}

/// Cuts every row of blocks.
fn pieces(rows: usize, down: impl Fn(usize) -> Range<usize>) -> Vec<Piece> {
    let cut = |row: usize| {
        let whole = down(row);
        let end = whole.end;
        whole.step_by(ROWS).map(move |first| Piece { row, down: first..(first + ROWS).min(end) })
    };
    (0..rows).flat_map(cut).collect()
}

/// Adds up the sums of pieces, by row of blocks and column.
fn add_up(pieces: &[Piece], sums: Vec<Vec<u64>>, rows: usize, columns: usize) -> Vec<u64> {
    let mut all = vec![0; rows * columns];
    for (piece, sums) in pieces.iter().zip(sums) {
        let row = &mut all[piece.row * columns..][..columns];
        row.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
    }
    all
}

impl Measure {
    /// The same as [`weigh`](Self::weigh).
    pub fn weigh_shared<'a, T: Samples>(
        &mut self,
        source: Plane<'a, T>,
        distorted: Plane<'a, T>,
        history: &History<'a, T>,
        hands: Hands<'_>,
    ) -> f64 {
        let (rows, columns) = (self.layout().rows, self.layout().columns);
        let pieces = pieces(rows, |row| self.layout().down(row));
        let sums = bands::map(pieces.len(), hands.spread, |index| {
            let mut measure = self.clone();
            let Piece { row, down } = &pieces[index];
            hands.target.run(
                #[inline(always)]
                || measure.measured([source, distorted], history, *row, down.clone()),
            )
        });
        let (mut spatial, mut temporal, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for sums in sums {
            spatial.push(sums.spatial);
            temporal.push(sums.temporal);
            errors.extend(sums.errors);
        }
        let [spatial, temporal] = [spatial, temporal].map(|sums| add_up(&pieces, sums, rows, columns));
        self.set_weights(|column, row| (spatial[row * columns + column], temporal[row * columns + column]));
        if errors.is_empty() {
            return self.error_shared(0, source, distorted, hands);
        }
        self.weighted_root(&add_up(&pieces, errors, rows, columns))
    }

    /// The same as [`error`](Self::error).
    pub fn error_shared<T: Samples>(
        &self,
        plane: usize,
        source: Plane<'_, T>,
        distorted: Plane<'_, T>,
        hands: Hands<'_>,
    ) -> f64 {
        if self.layout().block == 0 {
            let sum: u64 = bands::sum(source.height(), ROWS, hands.spread, |rows| {
                squared_error(source, distorted, rows)
            });
            return (sum as f64).sqrt();
        }
        let block = self.block_height(plane);
        let (rows, columns) = (self.layout().rows, self.layout().columns);
        let pieces = pieces(rows, |row| part(row, block, source.height()));
        let sums = bands::map(pieces.len(), hands.spread, |index| {
            let (mut sums, down) = (vec![0; columns], pieces[index].down.clone());
            hands.target.run(
                #[inline(always)]
                || self.add_errors(source, distorted, down, plane.min(1), &mut sums),
            );
            sums
        });
        self.weighted_root(&add_up(&pieces, sums, rows, columns))
    }
}
