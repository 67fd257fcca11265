//! The strength of banding at the pixels of a band of rows.

use std::ops::Range;

use super::scalar::contrast::{Contrast, Sieve};
use super::scalar::histogram::Histogram;
use super::scalar::runs::Run;
use super::scalar::strengths::Strengths;
use super::steps::Steps;
use crate::simd::Target;

/// Scratch of one thread.
#[derive(Debug)]
pub struct Measure {
    window: usize,
    histogram: Histogram,
    sieve: Sieve,
}

impl Measure {
    /// Memory for rows of up to `width` pixels.
    pub fn new(steps: &Steps, width: usize, window: usize, target: Target) -> Self {
        let histogram = Histogram::new(steps.levels(), steps.count(), width, window, target);
        Self { window, histogram, sieve: Sieve::new(width, target) }
    }

    /// Adds the strengths in rows of `width` pixels, of which there is at least one. `runs` gives those of a row, and none
    /// below the picture.
    ///
    /// The windows around the first row are filled first. In the end nothing is left in the histogram.
    #[inline(always)]
    pub fn add_rows<'a>(
        &mut self,
        width: usize,
        rows: Range<usize>,
        runs: impl Fn(usize) -> &'a [Run],
        steps: &Steps,
        out: &mut Strengths,
    ) {
        let Self { histogram, sieve, .. } = self;
        let (contrast, pad) = (Contrast::new(steps), self.window / 2);
        histogram.start(width);
        for y in rows.start.saturating_sub(pad)..rows.start + pad {
            histogram.add(runs(y));
        }
        for y in rows.clone() {
            histogram.add(runs(y + pad));
            if y > rows.start && y > pad {
                histogram.remove();
            }
            contrast.add_row(runs(y), y, histogram, sieve, out);
        }
        for _ in (rows.end - 1).saturating_sub(pad)..rows.end + pad {
            histogram.remove();
        }
    }
}
