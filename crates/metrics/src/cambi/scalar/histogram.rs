//! How often each level occurs in the window around every pixel of a row, kept while the window slides down.
//!
//! A pixel that enters or leaves counts for all windows that it lies in: as many as the window is wide. A whole run of
//! pixels can be counted at once: the number of its pixels that a window holds grows by one per column until the run is
//! used up or the window is full, stays, and falls again. So a run costs its length plus the window's, where pixel by
//! pixel it would cost their product.

use super::runs::Run;

/// How many columns may be read from any column of the picture on.
pub const READ: usize = 16;

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

    /// Counts from column `x` on of the level `up` above `level` (below, if negative).
    #[inline]
    pub fn counts(&self, level: u16, up: isize, x: usize) -> &[u16; READ] {
        let row = (usize::from(level) + self.margin).wrapping_add_signed(up);
        let counts = &self.counts[row * self.stride + self.window / 2 + x..];
        counts.first_chunk().expect("rows are longer than the picture is wide")
    }

    /// Counts a row that comes into the windows.
    pub fn add(&mut self, runs: &[Run]) {
        runs.iter().for_each(|run| self.count::<true>(run));
    }

    /// Counts a row that leaves the windows.
    pub fn remove(&mut self, runs: &[Run]) {
        runs.iter().for_each(|run| self.count::<false>(run));
    }

    #[inline]
    fn count<const ADD: bool>(&mut self, run: &Run) {
        let (start, len) = (usize::from(run.start), usize::from(run.len));
        let row = (usize::from(run.level) + self.margin) * self.stride;
        let counts = &mut self.counts[row + start..][..len + self.window - 1];
        if len == 1 {
            count_pixel::<ADD>(counts);
        } else {
            count_pixels::<ADD>(counts, len.min(self.window));
        }
    }
}

fn stride(width: usize, window: usize) -> usize {
    ((width + window - 1 + READ).div_ceil(LINE) | 1) * LINE
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
