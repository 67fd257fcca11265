//! Cutting the work on a picture into pieces that run at the same time, and bringing what they give into order.
//!
//! Sums of floats keep their order, whoever computes the terms: pieces hand their terms in, and [`InOrder`] passes them on by
//! rising number. Nothing here is used where a frame has one thread.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Spread;

/// Pieces for each thread: with more, threads that are slow or late cost less.
const PIECES: usize = 4;

/// A panic in a piece ends the whole frame; until then its data are not looked at.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cuts rows into bands of a multiple of `step` rows, at least `least`; one band if there is one thread.
pub fn bands(rows: usize, step: usize, least: usize, spread: &dyn Spread) -> Vec<Range<usize>> {
    let width = spread.width();
    let count = if width > 1 { (PIECES * width).min(rows / least.max(1)).max(1) } else { 1 };
    let length = rows.div_ceil(count).next_multiple_of(step.max(1)).max(1);
    (0..rows).step_by(length).map(|first| first..(first + length).min(rows)).collect()
}

/// The sum of what `of` says of each band of rows: for sums that are exact in any order.
pub fn sum<T: Send + Sum>(
    rows: usize,
    least: usize,
    spread: &dyn Spread,
    of: impl Fn(Range<usize>) -> T + Sync,
) -> T {
    if spread.width() <= 1 {
        return of(0..rows);
    }
    let bands = bands(rows, 1, least, spread);
    map(bands.len(), spread, |index| of(bands[index].clone())).into_iter().sum()
}

/// What `work` gives for each number below `count`, by number.
pub fn map<T: Send>(count: usize, spread: &dyn Spread, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    spread.each(count, &|index| {
        let result = work(index);
        *lock(&results[index]) = Some(result);
    });
    results
        .into_iter()
        .filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// Gives each item to one call of `work`.
pub fn for_each<T: Send>(items: Vec<T>, spread: &dyn Spread, work: impl Fn(T) + Sync) {
    let items: Vec<_> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    spread.each(items.len(), &|index| {
        let item = lock(&items[index]).take();
        if let Some(item) = item {
            work(item);
        }
    });
}

/// Cuts memory of whole rows into that of bands, which follow one another from row 0 on.
pub fn split<'a, T>(
    mut rows: &'a mut [T],
    stride: usize,
    bands: &[Range<usize>],
) -> Vec<(Range<usize>, &'a mut [T])> {
    let mut parts = Vec::with_capacity(bands.len());
    for band in bands {
        let (part, rest) = std::mem::take(&mut rows).split_at_mut(band.len() * stride);
        parts.push((band.clone(), part));
        rows = rest;
    }
    parts
}

/// Scratch that pieces take and give back: as many as run at the same time are made, and kept.
#[derive(Debug)]
pub struct Spares<T>(Mutex<Vec<T>>);

impl<T> Default for Spares<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T> Spares<T> {
    /// One that is free, or a new one.
    pub fn take(&self, make: impl FnOnce() -> T) -> T {
        let free = lock(&self.0).pop();
        free.unwrap_or_else(make)
    }

    pub fn put_back(&self, scratch: T) {
        lock(&self.0).push(scratch);
    }

    /// Works with one that is free, or a new one.
    pub fn with<R>(&self, make: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let mut scratch = self.take(make);
        let result = work(&mut scratch);
        self.put_back(scratch);
        result
    }
}

/// Passes on what pieces hand in, by rising number, whatever the order in which they end. Whoever hands in the piece that is
/// due passes on all that wait behind it; nobody else waits for that.
pub struct InOrder<'a, T, F> {
    state: Mutex<State<T>>,
    take: Mutex<F>,
    /// Gets what was passed on, to be filled again.
    used: &'a Spares<T>,
}

struct State<T> {
    due: usize,
    waiting: BTreeMap<usize, T>,
    /// Somebody is passing on.
    busy: bool,
}

impl<'a, T, F: FnMut(&T)> InOrder<'a, T, F> {
    pub fn new(used: &'a Spares<T>, take: F) -> Self {
        let state = State { due: 0, waiting: BTreeMap::new(), busy: false };
        Self { state: Mutex::new(state), take: Mutex::new(take), used }
    }

    pub fn hand_in(&self, number: usize, item: T) {
        let mut state = lock(&self.state);
        state.waiting.insert(number, item);
        if state.busy {
            return;
        }
        loop {
            let due = state.due;
            let Some(item) = state.waiting.remove(&due) else { break };
            (state.due, state.busy) = (due + 1, true);
            drop(state);
            (lock(&self.take))(&item);
            self.used.put_back(item);
            state = lock(&self.state);
        }
        state.busy = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Alone;
    use crate::testing::Hands;

    #[test]
    fn bands_cover_all_rows_in_whole_steps() {
        for (rows, step, least, width) in
            [(0, 1, 1, 4), (1, 4, 8, 4), (270, 4, 16, 3), (1080, 2, 8, 16), (17, 8, 1, 2)]
        {
            let bands = bands(rows, step, least, &Hands::new(width));
            let all: Vec<usize> = bands.iter().cloned().flatten().collect();
            assert_eq!(all, (0..rows).collect::<Vec<_>>());
            assert!(bands.iter().all(|band| band.start.is_multiple_of(step)), "{bands:?}");
            assert!(bands.len() <= 4 * width);
        }
        assert_eq!(bands(1080, 1, 8, &Alone), vec![Range { start: 0, end: 1080 }]);
    }

    #[test]
    fn what_is_handed_in_is_passed_on_by_number() {
        for width in [1, 3, 7] {
            let mut passed = Vec::new();
            let used = Spares::default();
            let in_order = InOrder::new(&used, |item: &usize| passed.push(*item));
            Hands::new(width).each(100, &|number| in_order.hand_in(number, 3 * number));
            drop(in_order);
            assert_eq!(passed, (0..100).map(|number| 3 * number).collect::<Vec<_>>());
        }
    }

    #[test]
    fn results_and_parts_keep_their_places() {
        let hands = Hands::new(3);
        assert_eq!(map(50, &hands, |number| number * number), (0..50).map(|n| n * n).collect::<Vec<_>>());
        let mut rows = [0; 40];
        let parts = split(&mut rows, 4, &[0..3, 3..4, 4..10]);
        for_each(parts, &hands, |(band, part)| part.fill(band.start + 1));
        assert_eq!(rows[..16], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 4, 4]);
        assert_eq!(rows[16..], [5; 24]);
    }
}
