//! A decoded picture in the decoder's own buffers.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr::{self, NonNull};
use std::slice;

use visus_video::{Format, LentPicture};

use crate::bindings::{AV_FRAME_FLAG_CORRUPT, AVFrame, Functions};

/// A frame of FFmpeg's, which holds a reference on its buffers.
pub struct Held {
    functions: &'static Functions,
    frame: NonNull<AVFrame>,
}

// SAFETY: a frame is not bound to a thread, and references on its buffers are counted atomically.
unsafe impl Send for Held {}
// SAFETY: shared access only reads.
unsafe impl Sync for Held {}

impl Held {
    pub fn new(functions: &'static Functions) -> Result<Self, String> {
        // SAFETY: it takes nothing and returns a frame or null.
        let frame = NonNull::new(unsafe { functions.av_frame_alloc() });
        frame.map(|frame| Self { functions, frame }).ok_or_else(|| "no memory for a frame".to_owned())
    }

    /// For a decoder to fill.
    pub fn pointer(&mut self) -> *mut AVFrame {
        self.frame.as_ptr()
    }

    fn frame(&self) -> &AVFrame {
        // SAFETY: it was allocated as a frame and lives as long as this; whoever fills it has this by exclusive reference.
        unsafe { self.frame.as_ref() }
    }

    /// When it is shown, in units of its stream.
    pub fn time(&self) -> i64 {
        self.frame().best_effort_timestamp
    }

    /// Its decoder says that something is wrong with it.
    pub fn is_corrupt(&self) -> bool {
        let frame = self.frame();
        frame.decode_error_flags != 0 || frame.flags & AV_FRAME_FLAG_CORRUPT as i32 != 0
    }

    /// FFmpeg's name of its pixel format.
    fn pix_fmt(&self) -> String {
        // SAFETY: it takes any number and returns null for one that it does not know.
        let name = unsafe { self.functions.av_get_pix_fmt_name(self.frame().format) };
        if name.is_null() {
            return format!("format {}", self.frame().format);
        }
        // SAFETY: names are constants that end with a zero byte.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// The picture, if it has this format.
    pub fn into_picture(self, format: Format, pix_fmt: &str) -> Result<Picture, String> {
        let (frame, found) = (self.frame(), self.pix_fmt());
        let size = (usize::try_from(frame.width), usize::try_from(frame.height));
        if found != pix_fmt || size != (Ok(format.width()), Ok(format.height())) {
            let (width, height) = (frame.width, frame.height);
            return Err(format!("a picture of {width}x{height} {found} where {format} was expected"));
        }
        if format.sample_bytes() > 1 && cfg!(target_endian = "big") {
            return Err("its samples are in another byte order".to_owned());
        }
        let mut planes = [Plane::default(); 3];
        for (index, plane) in planes.iter_mut().enumerate().take(format.planes()) {
            *plane = self.plane(index, &format)?;
        }
        Ok(Picture { held: self, format, planes })
    }

    /// Where a plane lies, if that is within one of the frame's buffers.
    fn plane(&self, index: usize, format: &Format) -> Result<Plane, String> {
        let frame = self.frame();
        let (width, height) = format.plane_size(index);
        let refused = || format!("plane {index} does not lie in the decoder's memory as it should");
        let stride = usize::try_from(frame.linesize[index]).map_err(|_| refused())?;
        let row = width * format.sample_bytes();
        let needed = stride.checked_mul(height.saturating_sub(1)).and_then(|rows| rows.checked_add(row));
        let (start, needed) = (frame.data[index].cast_const(), needed.ok_or_else(refused)?);
        let left = frame.buf.iter().find_map(|buffer| {
            // SAFETY: a reference on a buffer is null or valid for as long as its frame.
            let buffer = unsafe { buffer.as_ref() }?;
            let before = start.addr().checked_sub(buffer.data.addr())?;
            buffer.size.checked_sub(before).filter(|left| *left >= needed)
        });
        match left {
            Some(left) if stride >= row && !start.is_null() => {
                Ok(Plane { start, length: left.min(stride * height), stride })
            }
            _ => Err(refused()),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut frame = self.frame.as_ptr();
        // SAFETY: nobody else has the frame; its references are given back.
        unsafe { self.functions.av_frame_free(&mut frame) }
    }
}

#[derive(Clone, Copy)]
struct Plane {
    start: *const u8,
    length: usize,
    stride: usize,
}

impl Default for Plane {
    fn default() -> Self {
        Self { start: ptr::null(), length: 0, stride: 0 }
    }
}

/// A decoded picture. Its decoder may still read it for others, and writes to it no more.
pub struct Picture {
    held: Held,
    format: Format,
    planes: [Plane; 3],
}

// SAFETY: the pointers lead into the buffers that `held` holds, which are bound to no thread.
unsafe impl Send for Picture {}
// SAFETY: shared access only reads.
unsafe impl Sync for Picture {}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({}, at {})", self.format, self.held.time())
    }
}

impl LentPicture for Picture {
    fn format(&self) -> &Format {
        &self.format
    }

    fn plane(&self, index: usize) -> (&[u8], usize) {
        let Plane { start, length, stride } = self.planes.get(index).copied().unwrap_or_default();
        if start.is_null() {
            return (&[], stride);
        }
        // SAFETY: so many bytes from here on lie in a buffer that `held` refers to, and nobody writes to a picture that was handed
        // out for as long as somebody refers to it.
        (unsafe { slice::from_raw_parts(start, length) }, stride)
    }
}
