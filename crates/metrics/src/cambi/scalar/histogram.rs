//! How often each level occurs in the window around every pixel of a row, kept while the window slides down.
//!
//! A pixel that enters or leaves counts for all windows that it lies in: as many as the window is wide. Pixels of one
//! level mostly stand in runs, and a whole run can be counted at once: the number of its pixels that a window holds
//! grows by one per column until the run or the window is full, stays, and falls again. So a run costs its length plus
//! the window's, where pixel by pixel it would cost their product.

use super::super::steps::NO_LEVEL;

/// Rows lie an odd number of cache lines apart, so that neighbouring levels do not compete for the same lines.
const LINE: usize = 32;

/// Counts per level and column. A row has room for the windows that reach over the left and right edge, and there are
/// empty rows below the first and above the last level, so that no step from a level leads outside.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u16>,
    margin: usize,
    levels: usize,
    window: usize,
    stride: usize,
}

impl Histogram {
    /// Memory for `levels` levels with steps of up to `margin`, for rows of `width` pixels and the given window.
    pub fn new(levels: usize, margin: usize, width: usize, window: usize) -> Self {
        let counts = vec![0; (levels + 2 * margin) * stride(width, window)];
        Self { counts, margin, levels, window, stride: stride(width, window) }
    }

    /// Begins a picture: nothing is in any window.
    pub fn start(&mut self, width: usize, window: usize) {
        self.window = window;
        self.stride = stride(width, window);
        self.counts[..(self.levels + 2 * self.margin) * self.stride].fill(0);
    }

    /// Counts per column of the level `up` above `level` (below, if negative).
    #[inline]
    pub fn row(&self, level: u16, up: isize) -> &[u16] {
        let row = (usize::from(level) + self.margin).wrapping_add_signed(up);
        &self.counts[row * self.stride + self.window / 2..(row + 1) * self.stride]
    }

    /// Moves the windows down: the pixels of `entering` come in, those of `leaving` go out. Where both have the same
    /// level nothing changes.
    pub fn slide(&mut self, leaving: &[u16], entering: &[u16]) {
        each_run(leaving, entering, |level, start, len| self.count_run::<false>(level, start, len));
        each_run(entering, leaving, |level, start, len| self.count_run::<true>(level, start, len));
    }

    #[inline]
    fn count_run<const ADD: bool>(&mut self, level: u16, start: usize, len: usize) {
        let row = (usize::from(level) + self.margin) * self.stride;
        let touched = len + self.window - 1;
        let counts = &mut self.counts[row + start..][..touched];
        if len == 1 {
            count_pixel::<ADD>(counts);
        } else {
            count_pixels::<ADD>(counts, len.min(self.window));
        }
    }
}

fn stride(width: usize, window: usize) -> usize {
    ((width + window - 1).div_ceil(LINE) | 1) * LINE
}

/// Calls `found` with level, start and length of the runs in which `row` has one level and `other` a different one.
#[inline]
fn each_run(row: &[u16], other: &[u16], mut found: impl FnMut(u16, usize, usize)) {
    let other = &other[..row.len()];
    let mut x = 0;
    while x < row.len() {
        let (start, level) = (x, row[x]);
        x += 1;
        if level == NO_LEVEL || level == other[start] {
            continue;
        }
        while x < row.len() && row[x] == level && other[x] != level {
            x += 1;
        }
        found(level, start, x - start);
    }
}

#[inline]
fn count_pixel<const ADD: bool>(counts: &mut [u16]) {
    for count in counts {
        *count = if ADD { *count + 1 } else { *count - 1 };
    }
}

/// `most` is the most pixels that one window holds. Widths stay below 2^15, because wider pictures have windows that
/// are refused.
#[inline]
fn count_pixels<const ADD: bool>(counts: &mut [u16], most: usize) {
    debug_assert!(counts.len() < 1 << 15);
    let (len, most) = (counts.len() as i16, most as i16);
    for (x, count) in counts.iter_mut().enumerate() {
        let (rising, falling) = (x as i16 + 1, len - x as i16);
        let pixels = rising.min(most).min(falling) as u16;
        *count = if ADD { *count + pixels } else { *count - pixels };
    }
}
