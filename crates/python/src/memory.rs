//! Memory that belongs to a Python object, as a frame's buffer.
//!
//! Whoever has memory in Python tells where through `__array_interface__`, numpy's protocol: an address, a shape, strides and
//! a type. The object is held for as long as the frame lives, and with it its memory.
#![allow(unsafe_code)]

use pyo3::prelude::*;
use pyo3::types::PyDict;
use visus_video::Buffer;

use crate::failure::Failure;

/// Where the samples of a plane lie.
#[derive(Debug)]
pub struct PlaneMemory {
    /// The array, and what keeps it from being resized.
    _owner: (Py<PyAny>, Py<PyAny>),
    start: *const u8,
    length: usize,
    pub stride: usize,
    pub width: usize,
    pub height: usize,
}

// SAFETY: the memory is not bound to a thread, and the owner is only dropped, which PyO3 allows without the interpreter.
unsafe impl Send for PlaneMemory {}
// SAFETY: shared access only reads.
unsafe impl Sync for PlaneMemory {}

impl PlaneMemory {
    /// The memory of a two-dimensional array whose rows are contiguous. `sample_bytes` is what its samples must have.
    pub fn of(array: &Bound<'_, PyAny>, sample_bytes: usize) -> PyResult<Self> {
        // While a view exists, numpy refuses to resize the array.
        let view = array.py().import("builtins")?.getattr("memoryview")?.call1((array,))?;
        let interface = array.getattr("__array_interface__")?.cast_into::<PyDict>()?;
        let entry = |name: &str| {
            let found = interface.get_item(name)?;
            found.ok_or_else(|| Failure::request(format!("the array does not tell its {name}")).into())
        };
        let (address, _): (usize, bool) =
            PyResult::<Bound<'_, PyAny>>::and_then(entry("data"), |data| data.extract())?;
        let (height, width): (usize, usize) = entry("shape")?.extract()?;
        let kind: String = entry("typestr")?.extract()?;
        let strides: Option<(isize, isize)> =
            interface.get_item("strides")?.map(|strides| strides.extract()).transpose()?.flatten();
        let native = if cfg!(target_endian = "big") { ">u2" } else { "<u2" };
        if kind != if sample_bytes == 1 { "|u1" } else { native } {
            return Err(
                Failure::request(format!("samples of type {kind} are not {sample_bytes} bytes")).into()
            );
        }
        let row = width * sample_bytes;
        let (down, across) = strides.unwrap_or((row as isize, sample_bytes as isize));
        let stride = usize::try_from(down).unwrap_or(0);
        if across != sample_bytes as isize || (stride < row && height > 1) || address == 0 {
            return Err(Failure::request("the rows of the array are not contiguous").into());
        }
        let stride = stride.max(row);
        let length = if height == 0 { 0 } else { stride * (height - 1) + row };
        let owner = (array.clone().unbind(), view.unbind());
        Ok(Self { _owner: owner, start: address as *const u8, length, stride, width, height })
    }
}

impl Buffer for PlaneMemory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the array has rows of `stride` bytes from this address on, it is held and cannot be resized, and whoever
        // pushes it without a copy promises not to write into it until it is scored.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// Nobody writes into a caller's memory.
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut []
    }
}
