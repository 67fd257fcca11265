//! Pictures that lie in memory of others, who lend it for as long as a frame needs it.
//!
//! A decoder in this process keeps its pictures: others refer to them while they are decoded. A frame shows such a picture without a
//! copy and never writes to it: whoever writes gets a copy of the frame's own first. When the frame goes back to its pool, so does
//! the picture to its decoder.

use crate::Format;

/// A picture that others own. The slices must always be the same: same address, same length.
pub trait LentPicture: Send + Sync {
    fn format(&self) -> &Format;

    /// The bytes of a plane from its first sample on, and how many there are from one row to the next. Samples of two bytes are in
    /// the machine's byte order. Asked only for planes that the format has.
    fn plane(&self, index: usize) -> (&[u8], usize);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::synthetic::{Clip, samples_of};
    use crate::{Allocator, Buffer, Chroma, Frame, LayoutError, Pool};

    /// A picture whose owner is this test.
    struct Owned {
        picture: Frame,
        /// Bytes of each plane that are not shown.
        hidden: usize,
    }

    impl LentPicture for Owned {
        fn format(&self) -> &Format {
            self.picture.format()
        }

        fn plane(&self, index: usize) -> (&[u8], usize) {
            let layout = self.picture.plane_layout(index);
            let bytes = &self.picture.bytes()[layout.offset..];
            (&bytes[..bytes.len() - self.hidden.min(bytes.len())], layout.stride)
        }
    }

    fn owned(depth: u8, hidden: usize) -> Arc<Owned> {
        let picture = Clip::scene(Format::new(38, 22, Chroma::C420, depth).unwrap(), 1, 3).frame(0);
        Arc::new(Owned { picture, hidden })
    }

    fn all(frame: &Frame) -> [Vec<u16>; 3] {
        [0, 1, 2].map(|plane| samples_of(frame, plane))
    }

    #[test]
    fn a_picture_is_shown_where_it_lies_and_goes_back_with_its_frame() {
        for depth in [8, 10] {
            let picture = owned(depth, 0);
            let pool = Pool::hollow(*picture.format(), 2);
            let (mut a, mut b) = (pool.take().unwrap(), pool.take().unwrap());
            a.become_lent(picture.clone()).unwrap();
            b.exchange(&mut a);
            let copy = b.clone();
            for shown in [&b, &copy] {
                assert_eq!(all(shown), all(&picture.picture), "{depth} bits");
                assert_eq!(shown.bytes().as_ptr(), picture.picture.bytes().as_ptr());
            }
            drop((a, b, copy));
            assert_eq!(Arc::strong_count(&picture), 1, "a frame that is given back lets go of it");
            assert_eq!(all(&pool.take().unwrap()), all(&Frame::new(*picture.format())));
        }
    }

    #[test]
    fn writing_makes_a_copy_of_the_frames_own() {
        let picture = owned(8, 0);
        let before = all(&picture.picture);
        let mut frame = Frame::new(*picture.format());
        frame.become_lent(picture.clone()).unwrap();
        frame.plane_mut_u8(1).unwrap().row_mut(3)[5] ^= 0xff;
        assert_eq!(all(&picture.picture), before);
        assert_eq!((all(&frame)[0] == before[0], all(&frame)[1] == before[1]), (true, false));
        frame.become_lent(picture.clone()).unwrap();
        let other = Clip::scene(*picture.format(), 1, 4).frame(0);
        frame.copy_from(&other);
        assert_eq!((all(&frame), all(&picture.picture)), (all(&other), before));
    }

    #[test]
    fn memory_from_elsewhere_stays_with_its_frame() {
        struct Pinned;
        impl Allocator for Pinned {
            fn allocate(&self, bytes: usize) -> Option<Box<dyn Buffer>> {
                Some(Box::new(vec![0u64; bytes.div_ceil(8)]))
            }
        }
        let picture = owned(10, 0);
        let pool = Pool::with_allocator(*picture.format(), 1, Arc::new(Pinned));
        let mut frame = pool.take().unwrap();
        frame.become_lent(picture.clone()).unwrap();
        assert!(frame.has_foreign_memory() && Arc::strong_count(&picture) == 1);
        assert_eq!(all(&frame), all(&picture.picture));
    }

    #[test]
    fn a_picture_that_is_too_short_is_refused() {
        let picture = owned(8, 64 * 11);
        let mut frame = Frame::new(*picture.format());
        let refused = frame.become_lent(picture);
        assert!(matches!(refused, Err(LayoutError::Length { plane: 2, .. })), "{refused:?}");
    }
}
