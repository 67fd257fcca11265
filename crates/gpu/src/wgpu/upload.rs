//! A picture into a batch's memory.

use std::num::NonZeroU64;

use visus_video::SharedFrame;

use crate::layout::Layout;

/// The luma of a picture, row by row where its rows lie otherwise than on the device.
pub fn upload(
    queue: &wgpu::Queue,
    memory: &wgpu::Buffer,
    layout: &Layout,
    picture: &SharedFrame,
    offset: usize,
) {
    let size = &layout.luma;
    let (pitch, width) = (size.pitch * layout.sample_bytes, size.width * layout.sample_bytes);
    let plane = picture.plane_layout(0);
    let bytes = &picture.bytes()[plane.offset..];
    if plane.stride == pitch && bytes.len() >= pitch * size.height {
        return queue.write_buffer(memory, offset as u64, &bytes[..pitch * size.height]);
    }
    let Some(length) = NonZeroU64::new((pitch * size.height) as u64) else { return };
    // Without a view there was an error, which the guard around this hears.
    let Some(mut view) = queue.write_buffer_with(memory, offset as u64, length) else { return };
    for (row, from) in bytes.chunks(plane.stride.max(1)).take(size.height).enumerate() {
        view.slice(row * pitch..row * pitch + width).copy_from_slice(&from[..width]);
    }
}
