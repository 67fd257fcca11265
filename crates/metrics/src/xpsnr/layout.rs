//! How a picture is divided into blocks, and which of their pixels count for what.

use std::ops::Range;

use visus_video::Format;

/// Blocks are this large in a picture of 3840x2160, and shrink with its sides.
const UHD_PIXELS: f64 = 3840.0 * 2160.0;

/// Above this many pixels activity is measured on groups of 2x2 pixels.
const GROUPED_ABOVE: usize = 2048 * 1152;

/// Up to this many pixels the weights of neighbouring blocks are smoothed.
const SMOOTHED_UP_TO: usize = 640 * 480;

/// Blocks of luma and what depends on the picture's size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    pub width: usize,
    pub height: usize,
    /// Side of a block, a multiple of 4; 0 if the picture is too small for blocks.
    pub block: usize,
    pub columns: usize,
    pub rows: usize,
    /// Activity is measured on groups of 2x2 pixels.
    pub grouped: bool,
    pub smoothed: bool,
    /// What weights are normalised with: the activity of an average picture of this size and depth.
    pub average_activity: f64,
    /// The least activity of a block.
    pub least_activity: f64,
}

impl Layout {
    pub fn new(format: &Format) -> Self {
        let (width, height, depth) = (format.width(), format.height(), u32::from(format.depth()));
        let pixels = width * height;
        let ratio = pixels as f64 / UHD_PIXELS;
        let block = 4 * (32.0 * ratio.sqrt() + 0.5) as usize;
        let blocks = |side: usize| if block == 0 { 0 } else { side.div_ceil(block) };
        let depth_gain = f64::from(1u32 << (2 * depth - 9));
        Self {
            width,
            height,
            block,
            columns: blocks(width),
            rows: blocks(height),
            grouped: pixels > GROUPED_ABOVE,
            smoothed: pixels <= SMOOTHED_UP_TO,
            average_activity: (16.0 * depth_gain / ratio.max(0.00001).sqrt()).sqrt(),
            least_activity: f64::from(1u32 << (depth - 6)),
        }
    }

    /// Columns of the blocks in block column `index`.
    pub fn across(&self, index: usize) -> Range<usize> {
        part(index, self.block, self.width)
    }

    /// Rows of the blocks in block row `index`.
    pub fn down(&self, index: usize) -> Range<usize> {
        part(index, self.block, self.height)
    }

    /// Those of the columns whose spatial activity counts: the filter must not reach over the picture's edge. Empty for
    /// blocks that are too narrow.
    pub fn active_across(&self, index: usize) -> Range<usize> {
        self.inside(self.across(index), self.width)
    }

    /// The same for rows.
    pub fn active_down(&self, index: usize) -> Range<usize> {
        self.inside(self.down(index), self.height)
    }

    fn inside(&self, range: Range<usize>, side: usize) -> Range<usize> {
        let border = if self.grouped { 2 } else { 1 };
        let start = if range.start == 0 { border } else { range.start };
        let end = if range.end == side { range.end.saturating_sub(border) } else { range.end };
        start..end.max(start)
    }
}

/// The part at `index` of a side that is cut into parts of equal length; the last one may be shorter, or empty.
pub fn part(index: usize, length: usize, side: usize) -> Range<usize> {
    (index * length).min(side)..((index + 1) * length).min(side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;

    fn layout(width: usize, height: usize) -> Layout {
        Layout::new(&Format::new(width, height, Chroma::C420, 8).unwrap())
    }

    #[test]
    fn blocks_grow_with_the_picture() {
        for (width, height, block, columns, rows) in [
            (3840, 2160, 128, 30, 17),
            (4096, 2160, 132, 32, 17),
            (1920, 1080, 64, 30, 17),
            (640, 480, 24, 27, 20),
            (45, 45, 4, 12, 12),
            (44, 45, 0, 0, 0),
        ] {
            let found = layout(width, height);
            assert_eq!((found.block, found.columns, found.rows), (block, columns, rows), "{width}x{height}");
        }
    }

    #[test]
    fn methods_follow_the_size() {
        let methods = |width, height| (layout(width, height).smoothed, layout(width, height).grouped);
        assert_eq!(methods(640, 480), (true, false));
        assert_eq!(methods(641, 480), (false, false));
        assert_eq!(methods(2048, 1152), (false, false));
        assert_eq!(methods(2049, 1152), (false, true));
    }

    #[test]
    fn the_filter_stays_in_the_picture() {
        let hd = layout(1920, 1080);
        assert_eq!((hd.across(0), hd.active_across(0)), (0..64, 1..64));
        assert_eq!((hd.across(29), hd.active_across(29)), (1856..1920, 1856..1919));
        assert_eq!((hd.down(16), hd.active_down(16)), (1024..1080, 1024..1079));
        let cinema = layout(4096, 2160);
        assert_eq!((cinema.across(31), cinema.active_across(31)), (4092..4096, 4092..4094));
        assert!(Layout { width: 4093, ..cinema }.active_across(31).is_empty());
    }
}
