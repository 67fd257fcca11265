//! Loops over rows without a rest.
//!
//! A loop of vectors leaves less than one vector, or unrolled less than a few, to be done one by one. Where doing something
//! twice is as good as once, the last span ends with the row instead and overlaps the one before.

/// Pixels of a span: a few vectors of every level.
pub const SPAN: usize = 64;

/// The starts of spans that cover all numbers below `len`, which must be a span or more.
#[derive(Clone, Debug)]
pub struct Spans {
    next: usize,
    len: usize,
}

/// `None` if there is less than a span.
#[inline(always)]
pub fn spans(len: usize) -> Option<Spans> {
    (len >= SPAN).then_some(Spans { next: 0, len })
}

impl Iterator for Spans {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.next >= self.len {
            return None;
        }
        let start = self.next.min(self.len - SPAN);
        self.next += SPAN;
        Some(start)
    }
}

/// `N` values from `at` on.
#[inline(always)]
pub fn part<T, const N: usize>(row: &[T], at: usize) -> &[T; N] {
    row[at..].first_chunk().expect("a part of the row")
}

#[inline(always)]
pub fn part_mut<T, const N: usize>(row: &mut [T], at: usize) -> &mut [T; N] {
    row[at..].first_chunk_mut().expect("a part of the row")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_covered() {
        for len in [64, 65, 127, 128, 300] {
            let mut seen = vec![false; len];
            for at in spans(len).unwrap() {
                *part_mut::<_, SPAN>(&mut seen, at) = [true; SPAN];
            }
            assert!(seen.iter().all(|seen| *seen), "{len}");
        }
        assert!(spans(63).is_none());
    }
}
