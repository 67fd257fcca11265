//! Building blocks of separable filters with mirrored borders, in `f32`.
//!
//! A filter is a vertical pass, which makes one row from several, and a horizontal pass over that row. Every sum starts
//! at zero and adds `tap * sample` from the first tap to the last, nothing fused: libvmaf's order, which fixes the
//! result to the last bit.
//!
//! Kernels work on blocks of [`BLOCK`] columns and run on into the padding of rows, whose values do not matter.

use crate::picture::FloatPlane;

/// Columns handled together. Rows of a [`FloatPlane`] have a whole number of blocks.
pub const BLOCK: usize = 16;

/// A row's length with the padding that fills its last block.
pub const fn padded(width: usize) -> usize {
    width.next_multiple_of(BLOCK)
}

/// Folds a position back into `0..len`; the edge value is not repeated. Precondition: `-len < position < 2 * len - 1`.
#[inline]
pub fn mirror(position: isize, len: usize) -> usize {
    let len = len as isize;
    let folded = if position >= len { 2 * len - 2 - position } else { position.abs() };
    folded as usize
}

/// Where in a plane's data the rows begin that `starts.len()` taps centred on row `y` read.
#[inline(always)]
pub fn row_starts(plane: &FloatPlane, y: usize, starts: &mut [usize]) {
    let first = y as isize - (starts.len() / 2) as isize;
    for (start, row) in starts.iter_mut().zip(first..) {
        *start = mirror(row, plane.height()) * plane.stride();
    }
}

/// The block of a row that begins at `at`.
#[inline(always)]
pub fn block<const N: usize>(data: &[f32], at: usize) -> &[f32; N] {
    data[at..].first_chunk().expect("rows are whole blocks")
}

/// The vertical pass: one row from the rows at `starts`.
#[inline(always)]
pub fn filter_columns(taps: &[f32], data: &[f32], starts: &[usize], out: &mut [f32]) {
    for (index, out) in out.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        let mut sum = [0.0; BLOCK];
        for (tap, start) in taps.iter().zip(starts) {
            let samples = block::<BLOCK>(data, start + index * BLOCK);
            for lane in 0..BLOCK {
                sum[lane] += tap * samples[lane];
            }
        }
        *out = sum;
    }
}

/// A row between its mirror images.
#[derive(Clone, Debug)]
pub struct MirroredRow {
    data: Vec<f32>,
    width: usize,
    radius: usize,
}

impl MirroredRow {
    /// For rows of `width` and filters of `taps` taps.
    pub fn new(width: usize, taps: usize) -> Self {
        let radius = taps / 2;
        assert!(width > radius, "a row of {width} has no mirror image of {radius}");
        Self { data: vec![0.0; padded(width) + 2 * radius], width, radius }
    }

    /// The row itself, padded to whole blocks.
    #[inline(always)]
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.radius..][..padded(self.width)]
    }

    /// Makes the mirror images from the row's values.
    #[inline(always)]
    pub fn reflect(&mut self) {
        let (first, last) = (self.radius, self.radius + self.width - 1);
        for step in 1..=self.radius {
            self.data[first - step] = self.data[first + step];
            self.data[last + step] = self.data[last - step];
        }
    }

    /// The horizontal pass. Precondition: the mirror images are up to date, and there are as many taps as the row was
    /// made for.
    #[inline(always)]
    pub fn filter(&self, taps: &[f32], out: &mut [f32]) {
        for (index, out) in out.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let samples = &self.data[index * BLOCK..][..BLOCK + 2 * self.radius];
            let mut sum = [0.0; BLOCK];
            for (tap, samples) in taps.iter().zip(samples.windows(BLOCK)) {
                let samples = block::<BLOCK>(samples, 0);
                for lane in 0..BLOCK {
                    sum[lane] += tap * samples[lane];
                }
            }
            *out = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn positions_are_mirrored_without_the_edge() {
        let folded: Vec<usize> = (-3..8).map(|at| mirror(at, 5)).collect();
        assert_eq!(folded, [3, 2, 1, 0, 1, 2, 3, 4, 3, 2, 1]);
    }

    fn naive(taps: &[f32], values: &[f32], at: usize) -> f32 {
        let radius = taps.len() as isize / 2;
        (0..)
            .zip(taps)
            .fold(0.0, |sum, (k, tap)| sum + tap * values[mirror(at as isize + k - radius, values.len())])
    }

    proptest! {
        #[test]
        fn both_passes_follow_the_definition(
            values in prop::collection::vec(-128.0f32..128.0, 9..70),
            half in prop::collection::vec(0.01f32..1.0, 1..9),
        ) {
            let taps: Vec<f32> = half.iter().copied().chain(half[..half.len() - 1].iter().rev().copied()).collect();
            let mut row = MirroredRow::new(values.len(), taps.len());
            row.values_mut()[..values.len()].copy_from_slice(&values);
            row.reflect();
            let mut along = vec![f32::NAN; padded(values.len())];
            row.filter(&taps, &mut along);

            let mut plane = FloatPlane::new(3, values.len());
            values.iter().enumerate().for_each(|(y, value)| plane.row_mut(y)[2] = *value);
            let mut starts = vec![0; taps.len()];
            let mut down = vec![f32::NAN; padded(3)];
            for at in 0..values.len() {
                row_starts(&plane, at, &mut starts);
                filter_columns(&taps, plane.data(), &starts, &mut down);
                prop_assert_eq!(along[at].to_bits(), naive(&taps, &values, at).to_bits());
                prop_assert_eq!(down[2].to_bits(), naive(&taps, &values, at).to_bits());
            }
        }
    }
}
