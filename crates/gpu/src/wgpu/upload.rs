//! Pictures into a batch's memory.

use std::num::NonZeroU64;

use visus_video::SharedFrame;

use crate::device::PairJob;
use crate::layout::Layout;
use crate::schedule::MotionPlaces;
use crate::work::Work;

/// Where pictures go.
pub struct Upload<'a> {
    pub queue: &'a wgpu::Queue,
    pub memory: &'a wgpu::Buffer,
    pub layout: &'a Layout,
    pub work: &'a Work,
}

impl Upload<'_> {
    /// Copies all pictures, each once, and says where motion finds them.
    pub fn all(&self, pairs: &[PairJob]) -> Vec<MotionPlaces> {
        let mut known: Vec<(*const u8, usize)> = Vec::new();
        for (n, pair) in pairs.iter().enumerate() {
            self.copy(&pair.reference, self.layout.plane(n, 0));
            self.copy(&pair.distorted, self.layout.plane(n, 1));
            known.push((pair.reference.bytes().as_ptr(), self.layout.plane(n, 0)));
        }
        let mut extra = 0;
        let mut place_of = |picture: &SharedFrame| {
            let start = picture.bytes().as_ptr();
            if let Some((_, offset)) = known.iter().find(|(known, _)| *known == start) {
                return *offset;
            }
            let offset = self.layout.earlier_plane(extra);
            extra += 1;
            self.copy(picture, offset);
            known.push((start, offset));
            offset
        };
        let mut places = Vec::with_capacity(pairs.len());
        for (n, pair) in pairs.iter().enumerate() {
            let mut place = MotionPlaces { current: self.layout.plane(n, 0), earlier: [None; 2] };
            for (distance, picture) in pair.earlier.iter().enumerate() {
                let picture = picture.as_ref().filter(|_| self.work.distances[distance]);
                place.earlier[distance] = picture.map(&mut place_of);
            }
            places.push(place);
        }
        places
    }

    /// The luma of a picture, row by row where its rows lie otherwise than on the device.
    fn copy(&self, picture: &SharedFrame, offset: usize) {
        let size = &self.layout.luma;
        let (pitch, width) = (size.pitch * self.layout.sample_bytes, size.width * self.layout.sample_bytes);
        let plane = picture.plane_layout(0);
        let bytes = &picture.bytes()[plane.offset..];
        if plane.stride == pitch && bytes.len() >= pitch * size.height {
            return self.queue.write_buffer(self.memory, offset as u64, &bytes[..pitch * size.height]);
        }
        let Some(length) = NonZeroU64::new((pitch * size.height) as u64) else { return };
        // Without a view there was an error, which the guard around this hears.
        let Some(mut view) = self.queue.write_buffer_with(self.memory, offset as u64, length) else { return };
        for (row, from) in bytes.chunks(plane.stride.max(1)).take(size.height).enumerate() {
            view.slice(row * pitch..row * pitch + width).copy_from_slice(&from[..width]);
        }
    }
}
