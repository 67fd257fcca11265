//! Pictures: memory that a caller fills, and later a frame in the same memory.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use visus_video::{Chroma, Format, Frame, PlaneLayout};

use crate::abi::{self, Errno, Result};
use crate::handles::Table;
use crate::pool::{Memory, Pool};

/// Rows begin at multiples of this many samples, as libvmaf's do.
const ROW_ALIGN: usize = 32;

/// `VMAF_PIX_FMT_*`
const YUV420: c_int = 1;
const YUV444: c_int = 3;
const YUV400: c_int = 4;

/// Where the planes of a picture lie.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pixel_format: c_int,
    depth: c_uint,
    width: [c_uint; 3],
    height: [c_uint; 3],
    planes: [PlaneLayout; 3],
    bytes: usize,
}

impl Shape {
    pub fn new(pixel_format: c_int, depth: c_uint, width: c_uint, height: c_uint) -> Result<Self> {
        if pixel_format == 0 || !(8..=16).contains(&depth) {
            return Err(Errno::Invalid);
        }
        let chroma = match pixel_format {
            YUV400 => (0, 0),
            YUV444 => (width, height),
            YUV420 => (width / 2, height / 2),
            // 4:2:2, and every number that libvmaf does not know.
            _ => (width / 2, height),
        };
        let (width, height) = ([width, chroma.0, chroma.0], [height, chroma.1, chroma.1]);
        let sample_bytes = if depth > 8 { 2 } else { 1 };
        let (mut planes, mut bytes) = ([PlaneLayout::default(); 3], 0usize);
        for (plane, layout) in planes.iter_mut().enumerate() {
            let stride = (width[plane] as usize).next_multiple_of(ROW_ALIGN) * sample_bytes;
            *layout = PlaneLayout { offset: bytes, stride };
            let size = stride.checked_mul(height[plane] as usize).ok_or(Errno::NoMemory)?;
            bytes = bytes.checked_add(size).ok_or(Errno::NoMemory)?;
        }
        Ok(Self { pixel_format, depth, width, height, planes, bytes })
    }

    /// The format that metrics see; an error for pictures without samples.
    pub fn format(&self) -> Result<Format> {
        let chroma = match self.pixel_format {
            YUV400 => Chroma::C400,
            YUV420 => Chroma::C420,
            YUV444 => Chroma::C444,
            _ => Chroma::C422,
        };
        let (width, height) = (self.width[0] as usize, self.height[0] as usize);
        let depth = u8::try_from(self.depth).map_err(|_| Errno::Invalid)?;
        Format::new(width, height, chroma, depth).map_err(|_| Errno::Invalid)
    }
}

/// A picture that a caller holds.
#[derive(Debug)]
pub struct Picture {
    pub shape: Shape,
    memory: Memory,
}

pub static PICTURES: Table<Picture> = Table::new();

impl Picture {
    pub fn new(shape: Shape) -> Result<Self> {
        let memory = Memory::new(shape.bytes, shape.planes[1].offset).ok_or(Errno::NoMemory)?;
        Ok(Self { shape, memory })
    }

    /// Puts it into the table and gives what the caller holds of it.
    pub fn hand_out(self) -> abi::Picture {
        let (shape, start) = (self.shape, self.memory.start());
        let has_chroma = shape.pixel_format != YUV400;
        let data = |plane: usize| match plane > 0 && !has_chroma {
            true => std::ptr::null_mut(),
            false => start.wrapping_add(shape.planes[plane].offset).cast(),
        };
        let handle = std::ptr::without_provenance_mut(PICTURES.insert(self));
        abi::Picture {
            pixel_format: shape.pixel_format,
            depth: shape.depth,
            width: shape.width,
            height: shape.height,
            stride: shape.planes.map(|plane| plane.stride as isize),
            data: [data(0), data(1), data(2)],
            reference: handle,
            private: handle,
        }
    }

    /// The picture of a struct, which no longer owns it.
    pub fn take_back(picture: &abi::Picture) -> Option<Self> {
        Arc::into_inner(PICTURES.remove(picture.reference.addr())?)
    }

    /// The same memory as a frame.
    pub fn into_frame(self) -> Result<Frame> {
        let format = self.shape.format()?;
        Frame::wrap(format, Box::new(self.memory), self.shape.planes).map_err(|_| Errno::Invalid)
    }
}

/// Pictures of one shape that are allocated in advance.
#[derive(Debug)]
pub struct Preallocated {
    shape: Shape,
    pool: Arc<Pool>,
}

impl Preallocated {
    pub fn new(shape: Shape, count: c_uint) -> Result<Self> {
        let pool = Pool::new(shape.bytes, count as usize).ok_or(Errno::NoMemory)?;
        Ok(Self { shape, pool })
    }

    pub fn fetch(&self) -> Result<Picture> {
        Ok(Picture { shape: self.shape, memory: self.pool.take().ok_or(Errno::NoMemory)? })
    }
}
