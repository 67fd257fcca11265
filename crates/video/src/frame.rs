//! A picture in memory and the views that kernels read it through.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::Format;
use crate::lent::LentPicture;
use crate::memory::{Allocator, Buffer, Memory, Pages};
use crate::remote::RemotePicture;

/// A sample as it is stored: one byte up to 8 bits, two bytes above.
pub trait Sample: Copy + Default + Send + Sync + Into<u32> + Into<i32> + Into<f32> + 'static {}
impl Sample for u8 {}
impl Sample for u16 {}

/// Rows start at multiples of this many samples, so that vector loads of a row are aligned with each other.
const ROW_ALIGN: usize = 64;

/// Bytes of a cache line, and of the widest vectors.
const LINE_BYTES: usize = 64;

/// Where a plane lies within [`Frame::bytes`], in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneLayout {
    /// Of the first sample.
    pub offset: usize,
    /// From one row to the next.
    pub stride: usize,
}

/// Why memory cannot be a frame of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error("plane {plane} has rows of {needed} bytes, but its rows are {stride} bytes apart")]
    Stride { plane: usize, needed: usize, stride: usize },
    #[error("plane {plane} ends at byte {needed}, but the buffer has {got} bytes")]
    Length { plane: usize, needed: usize, got: usize },
    #[error("there is no memory for plane {plane}")]
    Missing { plane: usize },
    #[error("plane {plane} is not aligned to its samples of {sample_bytes} bytes")]
    Alignment { plane: usize, sample_bytes: usize },
}

/// Where a plane lies in the memory, in samples.
#[derive(Clone, Copy, Debug, Default)]
struct Placement {
    start: usize,
    /// Samples from the first of the first row to the last that may be looked at; the last row may lack its padding.
    length: usize,
    stride: usize,
    width: usize,
    height: usize,
}

/// One picture: up to three planes in one allocation, unless a caller has them apart.
pub struct Frame {
    format: Format,
    memory: Memory,
    planes: [Placement; 3],
}

impl Frame {
    /// A picture of zeros.
    pub fn new(format: Format) -> Self {
        Self::in_memory(format, |bytes| Memory::new(bytes, Pages::Huge))
    }

    /// A picture of zeros that is one of many: huge pages are left to others.
    pub(crate) fn one_of_many(format: Format) -> Self {
        Self::in_memory(format, |bytes| Memory::new(bytes, Pages::Small))
    }

    /// A picture of zeros in memory of this allocator.
    pub(crate) fn allocated(format: Format, allocator: &dyn Allocator) -> Self {
        Self::in_memory(format, |bytes| Memory::from(allocator, bytes))
    }

    /// A frame without memory: a source hands its own over, or it gets some when somebody looks or writes.
    pub(crate) fn hollow(format: Format) -> Self {
        let (planes, samples) = placements(&format);
        let memory = Memory::hollow(samples * format.sample_bytes());
        Self { format, memory, planes }
    }

    /// Takes over a picture that lies in a device's memory. What this frame held is dropped.
    ///
    /// # Panics
    /// If the picture has another format.
    pub fn become_remote(&mut self, picture: Arc<dyn RemotePicture>) {
        assert_eq!(*picture.format(), self.format, "a picture of the frame's format");
        self.planes = placements(&self.format).0;
        self.memory = Memory::Remote(picture);
    }

    /// The picture in a device's memory, if that is where it lies.
    pub fn remote(&self) -> Option<&dyn RemotePicture> {
        match &self.memory {
            Memory::Remote(picture) => Some(&**picture),
            _ => None,
        }
    }

    /// Takes over a picture that lies in memory of others, which nobody writes; nothing is copied, unless this frame's memory came
    /// from elsewhere: that stays with it.
    ///
    /// # Panics
    /// If the picture has another format.
    pub fn become_lent(&mut self, picture: Arc<dyn LentPicture>) -> Result<(), LayoutError> {
        assert_eq!(*picture.format(), self.format, "a picture of the frame's format");
        let mut planes = [Placement::default(); 3];
        for (index, plane) in planes.iter_mut().enumerate().take(self.format.planes()) {
            let (bytes, stride) = picture.plane(index);
            *plane = Placement::within(bytes, &self.format, index, PlaneLayout { offset: 0, stride })?;
        }
        let lent = Self { format: self.format, memory: Memory::Lent(picture), planes };
        if self.has_foreign_memory() {
            self.copy_from(&lent);
        } else {
            *self = lent;
        }
        Ok(())
    }

    /// Lets go of a picture in memory of a device or of others, so that they can use it again.
    pub(crate) fn let_go(&mut self) {
        if matches!(self.memory, Memory::Remote(_) | Memory::Lent(_)) {
            *self = Self::hollow(self.format);
        }
    }

    /// Memory of its own with the same picture, before somebody writes where nobody may.
    fn make_own(&mut self) {
        if matches!(self.memory, Memory::Lent(_)) {
            let mut own = Self::one_of_many(self.format);
            own.copy_from(self);
            *self = own;
        }
    }

    fn in_memory(format: Format, memory: impl FnOnce(usize) -> Memory) -> Self {
        let (mut planes, start) = placements(&format);
        let bytes = format.sample_bytes();
        let memory = memory((start * bytes).next_multiple_of(8) + LINE_BYTES);
        // A vector that crosses cache lines takes two loads.
        let address = memory.bytes().as_ptr().addr();
        let first = (address.next_multiple_of(LINE_BYTES) - address) / bytes;
        planes.iter_mut().for_each(|plane| plane.start += first);
        Self { format, memory, planes }
    }

    /// A picture that lies in foreign memory already; nothing is copied. Layouts beyond the format's planes are ignored.
    pub fn wrap(
        format: Format,
        buffer: Box<dyn Buffer>,
        layouts: [PlaneLayout; 3],
    ) -> Result<Self, LayoutError> {
        let mut planes = [Placement::default(); 3];
        for (index, plane) in planes.iter_mut().enumerate().take(format.planes()) {
            *plane = Placement::within(buffer.bytes(), &format, index, layouts[index])?;
        }
        Ok(Self { format, memory: Memory::Foreign(buffer), planes })
    }

    /// The same for planes that lie in separate memory, each with its own buffer and its place in it.
    pub fn wrap_apart(
        format: Format,
        apart: Vec<(Box<dyn Buffer>, PlaneLayout)>,
    ) -> Result<Self, LayoutError> {
        let mut planes = [Placement::default(); 3];
        if apart.len() < format.planes() {
            return Err(LayoutError::Missing { plane: apart.len() });
        }
        for (index, (buffer, layout)) in apart.iter().enumerate().take(format.planes()) {
            planes[index] = Placement::within(buffer.bytes(), &format, index, *layout)?;
        }
        let buffers = apart.into_iter().map(|(buffer, _)| buffer).collect();
        Ok(Self { format, memory: Memory::Apart(buffers), planes })
    }

    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Takes over the picture of another frame, without allocating where both have the same format.
    pub fn copy_from(&mut self, other: &Self) {
        if self.format != other.format {
            return self.clone_from(other);
        }
        if matches!(self.memory, Memory::Lent(_)) {
            *self = Self::hollow(self.format);
        }
        if self.layouts() == other.layouts() && !self.is_apart() && !other.is_apart() {
            let (own, theirs) = (self.byte_range(), other.byte_range());
            let length = own.len().min(theirs.len());
            let source = &other.memory.bytes()[theirs][..length];
            return self.memory.bytes_mut()[own][..length].copy_from_slice(source);
        }
        for plane in 0..self.format.planes() {
            match other.plane(plane) {
                PlaneView::U8(from) => copy_rows(from, self.plane_mut_u8(plane)),
                PlaneView::U16(from) => copy_rows(from, self.plane_mut_u16(plane)),
            }
        }
    }

    /// Takes over the picture of another frame, which may get this one's memory and picture in exchange. Memory that came
    /// from elsewhere (pinned for a device, or a caller's own) stays with its frame: then the picture is copied.
    /// What lies in a device's memory stays there, and both show it afterwards.
    pub fn exchange(&mut self, other: &mut Self) {
        if let (Memory::Remote(picture), true) = (&other.memory, self.format == other.format) {
            self.become_remote(Arc::clone(picture));
        } else if self.has_foreign_memory() || other.has_foreign_memory() {
            self.copy_from(other);
        } else {
            std::mem::swap(self, other);
        }
    }

    /// Whether the memory came from an [`Allocator`] or a caller.
    pub fn has_foreign_memory(&self) -> bool {
        self.memory.is_foreign()
    }

    /// The memory from the first plane's first sample to the last plane's end, padding included: what a device copies in
    /// one piece. Where planes lie apart, it is luma's. Samples of two bytes are in the machine's byte order.
    pub fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[self.byte_range()]
    }

    /// Where a plane lies in [`bytes`](Self::bytes).
    pub fn plane_layout(&self, index: usize) -> PlaneLayout {
        self.layouts()[index]
    }

    fn layouts(&self) -> [PlaneLayout; 3] {
        let (first, bytes) = (self.byte_range().start, self.format.sample_bytes());
        self.planes.map(|plane| PlaneLayout {
            offset: (plane.start * bytes).saturating_sub(first),
            stride: plane.stride * bytes,
        })
    }

    /// Where all planes lie; two frames of one format may begin at different places.
    fn byte_range(&self) -> Range<usize> {
        let count = if self.is_apart() { 1 } else { self.format.planes() };
        let (planes, bytes) = (&self.planes[..count], self.format.sample_bytes());
        let start = planes.iter().map(|plane| plane.start).min().unwrap_or(0);
        let end = planes.iter().map(|plane| plane.start + plane.length).max().unwrap_or(0);
        start * bytes..end * bytes
    }

    /// Plane 0 is luma. A plane that the format does not have is empty.
    pub fn plane(&self, index: usize) -> PlaneView<'_> {
        let plane = self.planes[index];
        let bytes = &self.memory.plane(index)[plane.byte_range(&self.format)];
        if self.is_wide() {
            PlaneView::U16(plane.view(bytemuck::cast_slice(bytes)))
        } else {
            PlaneView::U8(plane.view(bytes))
        }
    }

    /// The plane's rows for writing, as 8-bit samples; `None` if the frame has more bits.
    pub fn plane_mut_u8(&mut self, index: usize) -> Option<PlaneMut<'_, u8>> {
        self.make_own();
        let plane = self.planes[index];
        let range = plane.byte_range(&self.format);
        (!self.is_wide()).then(|| plane.view_mut(&mut self.memory.plane_mut(index)[range]))
    }

    /// The plane's rows for writing, as 16-bit samples; `None` if the frame has 8 bits.
    pub fn plane_mut_u16(&mut self, index: usize) -> Option<PlaneMut<'_, u16>> {
        self.make_own();
        let plane = self.planes[index];
        let range = plane.byte_range(&self.format);
        self.is_wide()
            .then(|| plane.view_mut(bytemuck::cast_slice_mut(&mut self.memory.plane_mut(index)[range])))
    }

    /// The bytes of all planes at once, for readers that share the work. `None` where padding lies between rows, or where
    /// planes do not follow one another.
    pub(crate) fn packed_planes_mut(&mut self) -> Option<Vec<&mut [u8]>> {
        let (format, planes) = (self.format, self.planes);
        let planes = &planes[..format.planes()];
        if self.is_apart() || planes.iter().any(|plane| plane.stride != plane.width) {
            return None;
        }
        let (mut rest, mut at) = (self.memory.bytes_mut(), 0);
        let mut slices = Vec::with_capacity(planes.len());
        for range in planes.iter().map(|plane| plane.byte_range(&format)) {
            let (_, from) = rest.split_at_mut_checked(range.start.checked_sub(at)?)?;
            let (plane, behind) = from.split_at_mut_checked(range.len())?;
            slices.push(plane);
            (rest, at) = (behind, range.end);
        }
        Some(slices)
    }

    fn is_apart(&self) -> bool {
        matches!(self.memory, Memory::Apart(_) | Memory::Lent(_))
    }

    fn is_wide(&self) -> bool {
        self.format.sample_bytes() > 1
    }
}

/// A copy lies in one piece of ordinary memory, wherever the original does, unless that is memory that nobody writes.
impl Clone for Frame {
    fn clone(&self) -> Self {
        if let Memory::Lent(picture) = &self.memory {
            let memory = Memory::Lent(Arc::clone(picture));
            return Self { format: self.format, memory, planes: self.planes };
        }
        if self.is_apart() {
            let mut copy = Self::one_of_many(self.format);
            copy.copy_from(self);
            return copy;
        }
        Self { format: self.format, memory: self.memory.clone(), planes: self.planes }
    }
}

/// Where planes lie that follow one another, and their samples altogether.
fn placements(format: &Format) -> ([Placement; 3], usize) {
    let mut planes = [Placement::default(); 3];
    let mut start = 0;
    for (index, plane) in planes.iter_mut().enumerate().take(format.planes()) {
        let (width, height) = format.plane_size(index);
        let stride = width.next_multiple_of(ROW_ALIGN);
        *plane = Placement { start, length: stride * height, stride, width, height };
        start += plane.length;
    }
    (planes, start)
}

fn copy_rows<T: Copy>(from: Plane<'_, T>, into: Option<PlaneMut<'_, T>>) {
    let Some(mut into) = into else { return };
    for (y, row) in from.rows().enumerate() {
        into.row_mut(y).copy_from_slice(row);
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

impl Placement {
    /// A plane of a caller's memory, if the memory has room for it.
    fn within(
        memory: &[u8],
        format: &Format,
        plane: usize,
        layout: PlaneLayout,
    ) -> Result<Self, LayoutError> {
        let sample_bytes = format.sample_bytes();
        let (width, height) = format.plane_size(plane);
        let PlaneLayout { offset, stride } = layout;
        let addresses = [memory.as_ptr().addr(), offset, stride];
        if !addresses.into_iter().all(|address| address.is_multiple_of(sample_bytes)) {
            return Err(LayoutError::Alignment { plane, sample_bytes });
        }
        let row = width * sample_bytes;
        if stride < row {
            return Err(LayoutError::Stride { plane, needed: row, stride });
        }
        let rows = stride.saturating_mul(height.saturating_sub(1)).saturating_add(row);
        let needed = offset.saturating_add(if height == 0 { 0 } else { rows });
        if needed > memory.len() {
            return Err(LayoutError::Length { plane, needed, got: memory.len() });
        }
        let length = (memory.len() - offset).min(stride.saturating_mul(height)) / sample_bytes;
        let (start, stride) = (offset / sample_bytes, stride / sample_bytes);
        Ok(Self { start, length, stride, width, height })
    }

    fn byte_range(&self, format: &Format) -> Range<usize> {
        let bytes = format.sample_bytes();
        self.start * bytes..(self.start + self.length) * bytes
    }

    fn view<'a, T>(&self, data: &'a [T]) -> Plane<'a, T> {
        Plane { data, stride: self.stride, width: self.width, height: self.height }
    }

    fn view_mut<'a, T>(&self, data: &'a mut [T]) -> PlaneMut<'a, T> {
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

    /// The plane of these rows alone.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn band(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.height, "rows {rows:?} of {}", self.height);
        let data = &self.data[(rows.start * self.stride).min(self.data.len())..];
        Self { data, stride: self.stride, width: self.width, height: rows.len() }
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
    /// The plane of these rows alone; see [`Plane::band`].
    pub fn band(&self, rows: Range<usize>) -> Self {
        match self {
            Self::U8(plane) => Self::U8(plane.band(rows)),
            Self::U16(plane) => Self::U16(plane.band(rows)),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chroma;
    use crate::synthetic::{Clip, samples_of};

    fn picture(depth: u8) -> Frame {
        Clip::scene(Format::new(37, 21, Chroma::C420, depth).unwrap(), 1, 3).frame(0)
    }

    /// The frame's rows, packed with the given bytes between them and an odd byte at the end.
    fn packed(frame: &Frame, gap: usize) -> (Box<dyn Buffer>, [PlaneLayout; 3]) {
        let (format, mut bytes) = (*frame.format(), Vec::new());
        let mut layouts = [PlaneLayout::default(); 3];
        for (plane, layout) in layouts.iter_mut().enumerate() {
            let (width, height) = format.plane_size(plane);
            *layout = PlaneLayout { offset: bytes.len(), stride: width * format.sample_bytes() + gap };
            for row in samples_of(frame, plane).chunks(width).take(height) {
                match format.sample_bytes() {
                    1 => bytes.extend(row.iter().map(|sample| *sample as u8)),
                    _ => bytes.extend(row.iter().flat_map(|sample| sample.to_ne_bytes())),
                }
                bytes.extend(vec![0xAA; gap]);
            }
        }
        bytes.truncate(bytes.len() - gap);
        (Box::new(Odd(bytes)), layouts)
    }

    struct Odd(Vec<u8>);

    impl Buffer for Odd {
        fn bytes(&self) -> &[u8] {
            &self.0
        }
        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }

    fn same(a: &Frame, b: &Frame) -> bool {
        (0..3).all(|plane| samples_of(a, plane) == samples_of(b, plane))
    }

    #[test]
    fn a_picture_in_foreign_memory_is_the_same_picture() {
        for (depth, gap) in [(8, 0), (8, 1), (8, 27), (10, 0), (10, 6)] {
            let own = picture(depth);
            let (buffer, layouts) = packed(&own, gap);
            let wrapped = Frame::wrap(*own.format(), buffer, layouts).unwrap();
            assert!(same(&own, &wrapped), "{depth} bits, gap {gap}");
            assert!(same(&wrapped, &wrapped.clone()) && !wrapped.clone().has_foreign_memory());
            let mut copy = Frame::new(*own.format());
            copy.copy_from(&wrapped);
            assert!(same(&own, &copy));
            let mut exchanged = Frame::new(*own.format());
            exchanged.exchange(&mut wrapped.clone());
            assert!(same(&own, &exchanged));
        }
    }

    #[test]
    fn foreign_memory_stays_where_it_is() {
        let own = picture(8);
        let (buffer, layouts) = packed(&own, 3);
        let mut wrapped = Frame::wrap(*own.format(), buffer, layouts).unwrap();
        let mut other = Frame::new(*own.format());
        other.exchange(&mut wrapped);
        assert!(same(&other, &own) && wrapped.has_foreign_memory() && !other.has_foreign_memory());
        wrapped.exchange(&mut Frame::new(*own.format()));
        assert!(wrapped.has_foreign_memory() && !same(&wrapped, &own));
    }

    #[test]
    fn planes_may_lie_apart() {
        for (depth, gap) in [(8, 0), (8, 5), (10, 6)] {
            let own = picture(depth);
            let apart = |planes: usize| {
                let one = |plane: usize| {
                    let (buffer, layouts) = packed(&own, gap);
                    (buffer, layouts[plane])
                };
                Frame::wrap_apart(*own.format(), (0..planes).map(one).collect())
            };
            let mut wrapped = apart(3).unwrap();
            assert!(same(&own, &wrapped) && wrapped.has_foreign_memory());
            let copy = wrapped.clone();
            assert!(same(&own, &copy) && !copy.has_foreign_memory());
            let PlaneLayout { offset, stride } = wrapped.plane_layout(0);
            assert!(offset == 0 && wrapped.bytes().len() >= stride * 20 + 37 * own.format().sample_bytes());
            wrapped.copy_from(&Frame::new(*own.format()));
            assert!(same(&Frame::new(*own.format()), &wrapped));
            assert_eq!(apart(2).map(drop), Err(LayoutError::Missing { plane: 2 }));
        }
    }

    #[test]
    fn a_layout_that_does_not_fit_is_refused() {
        let own = picture(10);
        let (_, layouts) = packed(&own, 0);
        let wrap = |change: &dyn Fn(&mut Vec<u8>, &mut [PlaneLayout; 3])| {
            let mut bytes = vec![0; own.bytes().len()];
            let mut layouts = layouts;
            change(&mut bytes, &mut layouts);
            Frame::wrap(*own.format(), Box::new(Odd(bytes)), layouts).map(drop)
        };
        assert_eq!(wrap(&|_, _| ()), Ok(()));
        let short = wrap(&|bytes, _| bytes.truncate(1000));
        assert!(matches!(short, Err(LayoutError::Length { plane: 0, got: 1000, .. })), "{short:?}");
        let narrow = wrap(&|_, layouts| layouts[1].stride = 34);
        assert_eq!(narrow, Err(LayoutError::Stride { plane: 1, needed: 36, stride: 34 }));
        let odd = wrap(&|_, layouts| layouts[2].offset += 1);
        assert_eq!(odd, Err(LayoutError::Alignment { plane: 2, sample_bytes: 2 }));
        let far = wrap(&|_, layouts| layouts[2].offset = usize::MAX - 1);
        assert!(matches!(far, Err(LayoutError::Length { plane: 2, .. })), "{far:?}");
    }

    #[test]
    fn bytes_and_layout_describe_the_planes() {
        for depth in [8, 10] {
            let frame = picture(depth);
            for plane in 0..3 {
                let PlaneLayout { offset, stride } = frame.plane_layout(plane);
                let sample = &frame.bytes()[offset + 5 * stride..];
                let first = match depth {
                    8 => u16::from(sample[0]),
                    _ => u16::from_ne_bytes([sample[0], sample[1]]),
                };
                let width = frame.plane(plane).width();
                assert_eq!(first, samples_of(&frame, plane)[5 * width]);
            }
        }
    }
}
