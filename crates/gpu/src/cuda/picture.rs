//! Pictures in device memory: what a decoder on the device makes, and what sessions copy from without the host.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytemuck::{Pod, Zeroable, bytes_of};
use visus_video::{Format, RemotePicture};

use super::driver::{Buffer, Context, Event, Pinned, Stream};
use super::kernels::{Kernels, PictureKernel};
use crate::arguments::THREADS;
use crate::decoder::PICTURE_LOST;
use crate::error::DeviceError;
use crate::layout::Size;

/// Edges of cells along a side, at most.
pub const MOST_EDGES: usize = 65;

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Unpack {
    pub luma: u64,
    pub chroma: u64,
    pub planes: [u64; 3],
    pub pitch: i32,
    pub luma_pitch: i32,
    pub chroma_pitch: i32,
    pub width: i32,
    pub height: i32,
    pub shift: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Cells {
    pub luma: u64,
    pub sums: u64,
    pub pitch: i32,
    pub columns: i32,
    /// `Pod` knows no array of 65.
    pub row_edges: [[i32; 13]; MOST_EDGES / 13],
    pub column_edges: [[i32; 13]; MOST_EDGES / 13],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Compare {
    pub a: u64,
    pub b: u64,
    pub differences: u64,
    pub words: u64,
}

/// Where a decoded picture lies: the first samples that are shown, and how far rows are apart.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    pub luma: u64,
    pub chroma: u64,
    pub pitch: usize,
    /// Unused bits below a sample.
    pub shift: u32,
}

/// Makes pictures of one format, and takes them back.
pub struct PictureStock {
    context: Context,
    kernels: Arc<Kernels>,
    format: Format,
    /// Offset in bytes and size of every plane.
    planes: Vec<(usize, Size)>,
    bytes: usize,
    free: Mutex<Vec<Buffer>>,
    scratch: Mutex<Scratch>,
}

/// What questions about pictures are answered with, one at a time.
struct Scratch {
    stream: Stream,
    passed: Event,
    sums: Buffer,
    pinned: Pinned,
}

/// Bytes for the sums of all cells.
const SCRATCH_BYTES: usize = 8 * (MOST_EDGES - 1) * (MOST_EDGES - 1);

impl PictureStock {
    pub fn new(context: &Context, kernels: Arc<Kernels>, format: Format) -> Result<Arc<Self>, DeviceError> {
        let mut planes = Vec::new();
        let mut bytes = 0;
        for plane in 0..format.planes() {
            let (width, height) = format.plane_size(plane);
            let size = Size::new(width, height);
            planes.push((bytes, size));
            bytes += size.area() * format.sample_bytes();
        }
        let scratch = Scratch {
            stream: Stream::new(context)?,
            passed: Event::blocking(context)?,
            sums: Buffer::new(context, SCRATCH_BYTES)?,
            pinned: Pinned::new(context, SCRATCH_BYTES)?,
        };
        Ok(Arc::new(Self {
            context: context.clone(),
            kernels,
            format,
            planes,
            bytes: bytes.next_multiple_of(8),
            free: Mutex::new(Vec::new()),
            scratch: Mutex::new(scratch),
        }))
    }

    /// Nothing that can panic runs under the lock.
    fn stock(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn buffer(&self, stream: &Stream) -> Result<Buffer, DeviceError> {
        if let Some(buffer) = self.stock().pop() {
            return Ok(buffer);
        }
        let buffer = Buffer::new(&self.context, self.bytes)?;
        // Padding stays as it is now: pictures are compared in one piece.
        stream.clear(&buffer, 0..self.bytes)?;
        Ok(buffer)
    }

    /// Queues the copy of a surface into a picture, which must not be looked at before the stream has passed. The surface
    /// must be alive until then.
    pub fn unpacked(
        self: &Arc<Self>,
        stream: &Stream,
        surface: &Surface,
    ) -> Result<DevicePicture, DeviceError> {
        let buffer = self.buffer(stream)?;
        let address =
            |plane: usize| self.planes.get(plane).map_or(0, |(offset, _)| buffer.address() + *offset as u64);
        let pitch = |plane: usize| self.planes.get(plane).map_or(0, |(_, size)| size.pitch as i32);
        let (width, height) = (self.format.width(), self.format.height());
        let arguments = Unpack {
            luma: surface.luma,
            chroma: surface.chroma,
            planes: std::array::from_fn(address),
            pitch: surface.pitch as i32,
            luma_pitch: pitch(0),
            chroma_pitch: pitch(1),
            width: width as i32,
            height: height as i32,
            shift: surface.shift as i32,
        };
        let kernel = self.wide(PictureKernel::UnpackU8, PictureKernel::UnpackU16);
        let grid = [(width as u32).div_ceil(THREADS), (height + height / 2) as u32, 1];
        self.kernels.launch_picture(stream, kernel, grid, bytes_of(&arguments))?;
        Ok(DevicePicture { stock: Arc::clone(self), buffer: Some(buffer), host: OnceLock::new() })
    }

    fn wide(&self, narrow: PictureKernel, wide: PictureKernel) -> PictureKernel {
        if self.format.sample_bytes() > 1 { wide } else { narrow }
    }

    /// Launches kernels that add to the scratch sums, and reads `count` of them.
    fn ask(
        &self,
        count: usize,
        launch: impl FnOnce(&Stream, u64) -> Result<(), DeviceError>,
    ) -> Result<Vec<u64>, DeviceError> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { stream, passed, sums, pinned } = &mut *scratch;
        stream.clear(sums, 0..8 * count)?;
        launch(stream, sums.address())?;
        stream.read_back(sums, 0, pinned, 8 * count)?;
        passed.record(stream)?;
        passed.wait()?;
        Ok(pinned.bytes()[..8 * count].as_chunks().0.iter().map(|eight| u64::from_ne_bytes(*eight)).collect())
    }
}

/// A picture in device memory; dropping it gives the memory back to its stock.
pub struct DevicePicture {
    stock: Arc<PictureStock>,
    /// Empty only while it is being dropped.
    buffer: Option<Buffer>,
    host: OnceLock<Pinned>,
}

impl DevicePicture {
    /// The picture's memory and the place of a plane in it, if it lies on this device.
    pub fn plane_on(&self, context: &Context, plane: usize) -> Option<(&Buffer, usize, Size)> {
        let (offset, size) = *self.stock.planes.get(plane)?;
        let buffer = self.buffer.as_ref().filter(|_| self.stock.context.is(context))?;
        Some((buffer, offset, size))
    }

    fn address(&self) -> u64 {
        self.buffer.as_ref().map_or(0, Buffer::address)
    }

    fn download(&self) -> Result<Pinned, DeviceError> {
        let stock = &self.stock;
        let mut pinned = Pinned::new(&stock.context, stock.bytes)?;
        if let Some(buffer) = &self.buffer {
            let scratch = stock.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            scratch.stream.read_back(buffer, 0, &mut pinned, stock.bytes)?;
            scratch.passed.record(&scratch.stream)?;
            scratch.passed.wait()?;
        }
        Ok(pinned)
    }
}

impl Drop for DevicePicture {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.stock.stock().push(buffer);
        }
    }
}

impl RemotePicture for DevicePicture {
    fn format(&self) -> &Format {
        &self.stock.format
    }

    fn host(&self) -> &[u8] {
        let copy = self.host.get_or_init(|| match self.download() {
            Ok(pinned) => pinned,
            Err(error) => panic!("{PICTURE_LOST}: {error}"),
        });
        copy.bytes()
    }

    fn cell_sums(&self, rows: &[usize], columns: &[usize]) -> Option<Vec<u64>> {
        let fits = |edges: &[usize]| (2..=MOST_EDGES).contains(&edges.len());
        if !fits(rows) || !fits(columns) {
            return None;
        }
        let edges = |edges: &[usize]| {
            let mut all = [[0; 13]; MOST_EDGES / 13];
            all.as_flattened_mut().iter_mut().zip(edges).for_each(|(to, from)| *to = *from as i32);
            all
        };
        let stock = &self.stock;
        let (down, across) = (rows.len() - 1, columns.len() - 1);
        let answer = stock.ask(down * across, |stream, sums| {
            let arguments = Cells {
                luma: self.address(),
                sums,
                pitch: stock.planes[0].1.pitch as i32,
                columns: across as i32,
                row_edges: edges(rows),
                column_edges: edges(columns),
            };
            let kernel = stock.wide(PictureKernel::CellsU8, PictureKernel::CellsU16);
            let grid = [across as u32, down as u32, 1];
            stock.kernels.launch_picture(stream, kernel, grid, bytes_of(&arguments))
        });
        answer.ok()
    }

    fn same_as(&self, other: &dyn RemotePicture) -> Option<bool> {
        let other = other.as_any().downcast_ref::<Self>()?;
        let stock = &self.stock;
        let comparable = other.stock.format == stock.format && other.stock.context.is(&stock.context);
        if !comparable {
            return None;
        }
        let answer = stock.ask(1, |stream, differences| {
            let words = stock.bytes as u64 / 8;
            let arguments = Compare { a: self.address(), b: other.address(), differences, words };
            stock.kernels.launch_picture(stream, PictureKernel::Compare, [256, 1, 1], bytes_of(&arguments))
        });
        answer.ok().map(|differences| differences == [0])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
