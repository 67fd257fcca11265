//! Planes of a Python caller as a frame.

use pyo3::prelude::*;
use visus_video::{Buffer, Format, Frame, PlaneLayout, Pool, SharedFrame};

use crate::failure::Failure;
use crate::memory::PlaneMemory;

/// The planes of one picture, as the package has prepared them: two-dimensional arrays with contiguous rows.
#[derive(Debug, FromPyObject)]
pub struct Planes<'py> {
    #[pyo3(item(0))]
    arrays: Vec<Bound<'py, PyAny>>,
    /// The memory may change before the picture is scored.
    #[pyo3(item(1))]
    copy: bool,
}

/// A picture in a caller's memory.
#[derive(Debug)]
pub struct Given {
    frame: Frame,
    copy: bool,
}

impl Planes<'_> {
    /// The picture, where it is.
    pub fn frame(self, format: &Format) -> PyResult<Given> {
        if self.arrays.len() != format.planes() {
            let text = format!("{format} has {} planes, not {}", format.planes(), self.arrays.len());
            return Err(Failure::request(text).into());
        }
        let mut planes: Vec<(Box<dyn Buffer>, PlaneLayout)> = Vec::new();
        for (index, array) in self.arrays.iter().enumerate() {
            let memory = PlaneMemory::of(array, format.sample_bytes())?;
            let (width, height) = format.plane_size(index);
            if memory.width < width || memory.height < height {
                let text = format!(
                    "plane {index} is {}x{}, but {format} needs {width}x{height}",
                    memory.width, memory.height
                );
                return Err(Failure::request(text).into());
            }
            let layout = PlaneLayout { offset: 0, stride: memory.stride };
            planes.push((Box::new(memory), layout));
        }
        let frame =
            Frame::wrap_apart(*format, planes).map_err(|error| Failure::request(error.to_string()))?;
        Ok(Given { frame, copy: self.copy })
    }
}

impl Given {
    /// The picture to be scored: where it lies, or a copy in memory of this pool.
    pub fn shared(self, pool: &Pool) -> SharedFrame {
        if !self.copy {
            return self.frame.into();
        }
        match pool.try_take() {
            Some(mut pooled) => {
                pooled.copy_from(&self.frame);
                pooled.into()
            }
            None => self.frame.clone().into(),
        }
    }
}
