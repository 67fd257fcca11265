//! A picture in memory and the views that kernels read it through.

use std::fmt;

use crate::Format;
use crate::memory::{Memory, Pages};

/// A sample as it is stored: one byte up to 8 bits, two bytes above.
pub trait Sample: Copy + Default + Send + Sync + Into<u32> + Into<i32> + Into<f32> + 'static {}
impl Sample for u8 {}
impl Sample for u16 {}

/// Rows start at multiples of this many samples, so that vector loads of a row are aligned with each other.
const ROW_ALIGN: usize = 64;

/// Bytes of a cache line, and of the widest vectors.
const LINE_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct PlaneLayout {
    start: usize,
    stride: usize,
    width: usize,
    height: usize,
}

/// One picture: up to three planes in one allocation.
#[derive(Clone)]
pub struct Frame {
    format: Format,
    memory: Memory,
    planes: [PlaneLayout; 3],
}

impl Frame {
    /// A picture of zeros.
    pub fn new(format: Format) -> Self {
        Self::in_pages(format, Pages::Huge)
    }

    /// A picture of zeros that is one of many: huge pages are left to others.
    pub(crate) fn one_of_many(format: Format) -> Self {
        Self::in_pages(format, Pages::Small)
    }

    fn in_pages(format: Format, pages: Pages) -> Self {
        let mut planes = [PlaneLayout::default(); 3];
        let mut start = 0;
        for (index, layout) in planes.iter_mut().enumerate().take(format.planes()) {
            let (width, height) = format.plane_size(index);
            let stride = width.next_multiple_of(ROW_ALIGN);
            *layout = PlaneLayout { start, stride, width, height };
            start += stride * height;
        }
        let bytes = format.sample_bytes();
        let memory = Memory::new((start * bytes).next_multiple_of(8) + LINE_BYTES, pages);
        // A vector that crosses cache lines takes two loads.
        let address = memory.bytes().as_ptr().addr();
        let first = (address.next_multiple_of(LINE_BYTES) - address) / bytes;
        planes.iter_mut().for_each(|layout| layout.start += first);
        Self { format, memory, planes }
    }

    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Takes over the picture of another frame, without allocating where both have the same format.
    pub fn copy_from(&mut self, other: &Self) {
        if self.format != other.format {
            return self.clone_from(other);
        }
        let (own, theirs) = (self.picture_bytes(), other.picture_bytes());
        self.memory.bytes_mut()[own].copy_from_slice(&other.memory.bytes()[theirs]);
    }

    /// Where all planes lie; two frames of one format may begin at different places.
    fn picture_bytes(&self) -> std::ops::Range<usize> {
        let bytes = self.format.sample_bytes();
        let end =
            self.planes.iter().map(|layout| layout.start + layout.stride * layout.height).max().unwrap_or(0);
        self.planes[0].start * bytes..end * bytes
    }

    /// Plane 0 is luma. A plane that the format does not have is empty.
    pub fn plane(&self, index: usize) -> PlaneView<'_> {
        let (layout, bytes) = (self.planes[index], self.memory.bytes());
        if self.is_wide() {
            PlaneView::U16(layout.view(bytemuck::cast_slice(bytes)))
        } else {
            PlaneView::U8(layout.view(bytes))
        }
    }

    /// The plane's rows for writing, as 8-bit samples; `None` if the frame has more bits.
    pub fn plane_mut_u8(&mut self, index: usize) -> Option<PlaneMut<'_, u8>> {
        let layout = self.planes[index];
        (!self.is_wide()).then(|| layout.view_mut(self.memory.bytes_mut()))
    }

    /// The plane's rows for writing, as 16-bit samples; `None` if the frame has 8 bits.
    pub fn plane_mut_u16(&mut self, index: usize) -> Option<PlaneMut<'_, u16>> {
        let layout = self.planes[index];
        self.is_wide().then(|| layout.view_mut(bytemuck::cast_slice_mut(self.memory.bytes_mut())))
    }

    fn is_wide(&self) -> bool {
        self.format.sample_bytes() > 1
    }
}

/// The samples, row by row; not where they lie.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Frame");
        shown.field("format", &self.format);
        for index in 0..self.format.planes() {
            match self.plane(index) {
                PlaneView::U8(plane) => shown.field("plane", &plane.rows().collect::<Vec<_>>()),
                PlaneView::U16(plane) => shown.field("plane", &plane.rows().collect::<Vec<_>>()),
            };
        }
        shown.finish()
    }
}

impl PlaneLayout {
    fn view<'a, T>(&self, data: &'a [T]) -> Plane<'a, T> {
        let data = &data[self.start..self.start + self.stride * self.height];
        Plane { data, stride: self.stride, width: self.width, height: self.height }
    }

    fn view_mut<'a, T>(&self, data: &'a mut [T]) -> PlaneMut<'a, T> {
        let data = &mut data[self.start..self.start + self.stride * self.height];
        PlaneMut { data, stride: self.stride, width: self.width, height: self.height }
    }
}

/// A plane to read: `height` rows of `width` samples, `stride` samples apart.
#[derive(Clone, Copy, Debug)]
pub struct Plane<'a, T> {
    data: &'a [T],
    stride: usize,
    width: usize,
    height: usize,
}

impl<'a, T> Plane<'a, T> {
    /// A view of foreign memory. The last row may be cut after `width` samples.
    ///
    /// # Panics
    /// If the samples do not cover the plane.
    pub fn new(data: &'a [T], width: usize, height: usize, stride: usize) -> Self {
        let needed = if height == 0 { 0 } else { stride * (height - 1) + width };
        assert!(stride >= width && data.len() >= needed, "plane of {width}x{height} needs {needed} samples");
        Self { data, stride, width, height }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// Distance between rows, in samples.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All samples from the first row on, padding between rows included.
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    #[inline]
    pub fn row(&self, y: usize) -> &'a [T] {
        &self.data[y * self.stride..][..self.width]
    }

    pub fn rows(self) -> impl Iterator<Item = &'a [T]> {
        (0..self.height).map(move |y| &self.data[y * self.stride..][..self.width])
    }
}

/// A plane to write.
#[derive(Debug)]
pub struct PlaneMut<'a, T> {
    data: &'a mut [T],
    stride: usize,
    width: usize,
    height: usize,
}

impl<T> PlaneMut<'_, T> {
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    pub fn row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.data[y * self.stride..][..self.width]
    }

    /// All samples in one piece, if no padding lies between the rows.
    pub fn contiguous_mut(&mut self) -> Option<&mut [T]> {
        (self.stride == self.width).then_some(&mut *self.data)
    }
}

/// A plane whose sample type is known at run time only.
#[derive(Clone, Copy, Debug)]
pub enum PlaneView<'a> {
    U8(Plane<'a, u8>),
    U16(Plane<'a, u16>),
}

impl PlaneView<'_> {
    pub fn width(&self) -> usize {
        match self {
            Self::U8(plane) => plane.width(),
            Self::U16(plane) => plane.width(),
        }
    }

    pub fn height(&self) -> usize {
        match self {
            Self::U8(plane) => plane.height(),
            Self::U16(plane) => plane.height(),
        }
    }
}
