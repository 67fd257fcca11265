//! Parts of a scale that are worked on at the same time.

use std::sync::{Mutex, PoisonError};

use super::PartRows;
use crate::Spread;
use crate::adm::geometry::{Axis, Span};
use crate::adm::scale::parts;
use crate::adm::score::AdmSums;

/// The steps of each part, with its rows. A whole scale is one part, without memory of its own.
pub enum Parts<T> {
    Whole(T, Span),
    Several(Vec<Mutex<(T, Span)>>),
}

impl<T: Send> Parts<T> {
    /// At most as many parts as there are scratch rows. `steps` gets those of a part, and the end of what it writes.
    pub fn new<'a>(
        down: &Axis,
        rows: &'a mut [PartRows],
        mut steps: impl FnMut(&'a mut PartRows, usize) -> T,
    ) -> Self {
        if let [rows] = rows {
            let whole = down.written();
            return Self::Whole(steps(rows, whole.end), whole);
        }
        let parts = parts(down, rows.len());
        let parts = parts.into_iter().zip(rows).map(|(part, rows)| Mutex::new((steps(rows, part.end), part)));
        Self::Several(parts.collect())
    }

    /// The sums of all parts, and whether any of them says yes.
    pub fn run(
        self,
        spread: &dyn Spread,
        run: impl Fn(&mut T, Span) -> (AdmSums, bool) + Sync,
    ) -> (AdmSums, bool) {
        let parts = match self {
            Self::Whole(mut steps, whole) => return run(&mut steps, whole),
            Self::Several(parts) => parts,
        };
        let all = Mutex::new((AdmSums::default(), false));
        spread.each(parts.len(), &|index| {
            let mut part = parts[index].lock().unwrap_or_else(PoisonError::into_inner);
            let (steps, span) = &mut *part;
            let (sums, is_so) = run(steps, *span);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.0.add(&sums);
            all.1 |= is_so;
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
