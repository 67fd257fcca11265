//! Pictures that lie in a device's memory.
//!
//! A decoder on a device leaves its pictures there, and a lane of that device reads them there. Whoever else looks at the
//! samples gets a copy in the host's memory, which is made at the first look and kept with the picture; so every consumer
//! works on such frames, and only those who must look pay for it.

use std::any::Any;

use crate::Format;

/// A picture in a device's memory.
pub trait RemotePicture: Send + Sync {
    fn format(&self) -> &Format;

    /// The samples, copied to the host at the first call: planes one after another, rows as far apart as those of a frame of
    /// this format.
    ///
    /// # Panics
    /// If the device cannot deliver them, with the reason: it is lost then, and all that looks at frames runs where a panic
    /// becomes an error.
    fn host(&self) -> &[u8];

    /// Sums of luma over the cells between these rows and columns, row by row: what the host would add up itself. `None` if
    /// the device cannot tell.
    fn cell_sums(&self, rows: &[usize], columns: &[usize]) -> Option<Vec<u64>>;

    /// Whether all samples are those of another picture; `None` if the device cannot tell.
    fn same_as(&self, other: &dyn RemotePicture) -> Option<bool>;

    /// For the device that it belongs to.
    fn as_any(&self) -> &dyn Any;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::synthetic::{Clip, samples_of};
    use crate::{Chroma, Frame, Pool};

    /// A picture whose device is this process; counts how often its samples are asked for.
    struct Elsewhere {
        picture: Frame,
        looks: AtomicUsize,
    }

    impl RemotePicture for Elsewhere {
        fn format(&self) -> &Format {
            self.picture.format()
        }

        fn host(&self) -> &[u8] {
            self.looks.fetch_add(1, Ordering::SeqCst);
            self.picture.bytes()
        }

        fn cell_sums(&self, _rows: &[usize], _columns: &[usize]) -> Option<Vec<u64>> {
            None
        }

        fn same_as(&self, _other: &dyn RemotePicture) -> Option<bool> {
            None
        }

        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    /// The samples of all planes.
    fn all(frame: &Frame) -> [Vec<u16>; 3] {
        [0, 1, 2].map(|plane| samples_of(frame, plane))
    }

    fn elsewhere(depth: u8) -> Arc<Elsewhere> {
        let picture = Clip::scene(Format::new(38, 22, Chroma::C420, depth).unwrap(), 1, 3).frame(0);
        Arc::new(Elsewhere { picture, looks: AtomicUsize::new(0) })
    }

    #[test]
    fn a_picture_is_copied_only_for_those_who_look() {
        for depth in [8, 10] {
            let picture = elsewhere(depth);
            let pool = Pool::hollow(*picture.format(), 2);
            let (mut a, mut b) = (pool.take().unwrap(), pool.take().unwrap());
            a.become_remote(picture.clone());
            b.exchange(&mut a);
            assert!(a.remote().is_some() && b.remote().is_some());
            assert_eq!(picture.looks.load(Ordering::SeqCst), 0, "nobody has looked");
            assert_eq!(all(&b), all(&picture.picture));
            assert!(picture.looks.load(Ordering::SeqCst) > 0);
            drop((a, b));
            assert_eq!(Arc::strong_count(&picture), 1, "a frame that is given back lets go of it");
            assert!(pool.take().unwrap().remote().is_none());
        }
    }

    #[test]
    fn writing_makes_a_copy_of_the_frames_own() {
        let picture = elsewhere(8);
        let mut frame = Frame::new(*picture.format());
        frame.become_remote(picture.clone());
        let copy = frame.clone();
        frame.plane_mut_u8(0).unwrap().row_mut(3)[5] ^= 0xff;
        assert!(frame.remote().is_none() && copy.remote().is_some());
        assert_eq!(all(&copy), all(&picture.picture));
        assert_ne!(all(&frame), all(&picture.picture));
    }

    #[test]
    fn a_frame_without_memory_gets_some_when_it_is_needed() {
        let format = Format::new(38, 22, Chroma::C420, 10).unwrap();
        let pool = Pool::hollow(format, 1);
        let mut frame = pool.take().unwrap();
        assert_eq!(all(&frame), all(&Frame::new(format)));
        let picture = Clip::scene(format, 1, 3).frame(0);
        frame.copy_from(&picture);
        assert_eq!(all(&frame), all(&picture));
    }
}
