//! The sizes a plane goes through: as given, scaled, taken down by 16, and cut into whole blocks.

use crate::resize::scaled;

/// Side of a block.
pub const BLOCK: usize = 5;
/// Samples of a block: the dimension of the covariance matrix.
pub const CELLS: usize = BLOCK * BLOCK;
/// One sample in this many is kept, in each direction.
pub const DECIMATION: usize = 16;

/// Width and height.
pub type Size = (usize, usize);

/// All sizes for planes of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// As given.
    pub source: Size,
    /// After the prescale.
    pub scaled: Size,
    /// After decimation.
    pub operating: Size,
    /// Whole blocks across and down, at least one of each.
    pub blocks: Size,
}

impl Geometry {
    /// `None` if not even one block fits.
    pub fn new(source: Size, prescale: f64) -> Option<Self> {
        let scaled = both(source, |side| scaled(side, prescale));
        let operating = both(scaled, |side| side / DECIMATION);
        let blocks = both(operating, |side| side / BLOCK);
        (blocks.0 > 0 && blocks.1 > 0).then_some(Self { source, scaled, operating, blocks })
    }

    pub fn block_count(&self) -> usize {
        self.blocks.0 * self.blocks.1
    }

    /// The part of the operating plane that whole blocks cover.
    pub fn covered(&self) -> Size {
        both(self.blocks, |count| count * BLOCK)
    }
}

/// The shortest side, in luma samples, that leaves room for a block; `shift` is the plane's subsampling.
pub fn smallest_side(prescale: f64, shift: u32) -> usize {
    let enough = |side: &usize| scaled(*side, prescale) >= BLOCK * DECIMATION;
    (1usize..).find(enough).expect("a prescale is positive") << shift
}

fn both(size: Size, change: impl Fn(usize) -> usize) -> Size {
    (change(size.0), change(size.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_full_hd_chroma() {
        let geometry = Geometry::new((960, 540), 1.0).unwrap();
        assert_eq!(geometry.operating, (60, 33));
        assert_eq!(geometry.blocks, (12, 6));
        assert_eq!(geometry.covered(), (60, 30));
        assert_eq!(geometry.block_count(), 72);
    }

    #[test]
    fn the_smallest_sides_are_libvmafs() {
        assert_eq!(smallest_side(1.0, 0), 80);
        assert_eq!(smallest_side(1.0, 1), 160);
        assert_eq!(smallest_side(0.6, 1), 266);
        assert_eq!(smallest_side(0.5, 1), 318);
    }

    #[test]
    fn the_smallest_side_is_the_first_that_works() {
        for step in 10..=400 {
            let prescale = f64::from(step) / 100.0;
            let side = smallest_side(prescale, 0);
            assert!(Geometry::new((side, side), prescale).is_some(), "{side} at {prescale}");
            assert!(Geometry::new((side - 1, side), prescale).is_none(), "{side} at {prescale}");
            assert!(Geometry::new((side, side - 1), prescale).is_none(), "{side} at {prescale}");
        }
    }
}
