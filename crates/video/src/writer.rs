//! Writing frames as Y4M or raw planar video, for tests, demonstrations and tools that want a file.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::iter;

use crate::layout::FileLayout;
use crate::{Chroma, ChromaRounding, Format, Frame, Plane, PlaneView, Sample};

/// Writes a Y4M file frame by frame.
///
/// A frame has chroma rounded down and the file has it rounded up: in odd sizes the last column and row are repeated.
#[derive(Debug)]
pub struct Y4mWriter<W: Write> {
    out: W,
    layout: FileLayout,
}

impl<W: Write> Y4mWriter<W> {
    /// Writes the header. Depths above 8 bits are written little-endian with tags such as `C420p10`.
    pub fn new(mut out: W, format: &Format, frame_rate: (u32, u32)) -> io::Result<Self> {
        let (width, height, (rate, base)) = (format.width(), format.height(), frame_rate);
        writeln!(out, "YUV4MPEG2 W{width} H{height} F{rate}:{base} Ip A1:1 C{}", chroma_tag(format))?;
        Ok(Self { out, layout: FileLayout::new(*format, ChromaRounding::Up) })
    }

    /// Writes one frame, which must have the format that the header states.
    pub fn write(&mut self, frame: &Frame) -> io::Result<()> {
        if frame.format() != self.layout.format() {
            let words = format!("a frame of {} in a file of {}", frame.format(), self.layout.format());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        self.out.write_all(b"FRAME\n")?;
        write_planes(&mut self.out, &self.layout, frame)
    }

    /// Flushes and hands the writer back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes a whole Y4M file.
pub fn write_y4m(
    out: impl Write,
    format: &Format,
    frame_rate: (u32, u32),
    frames: impl IntoIterator<Item = impl Borrow<Frame>>,
) -> io::Result<()> {
    let mut writer = Y4mWriter::new(out, format, frame_rate)?;
    for frame in frames {
        writer.write(frame.borrow())?;
    }
    writer.finish().map(drop)
}

/// Writes raw planar video; above 8 bits two bytes per sample, little-endian. `Auto` rounds up.
pub fn write_raw(
    mut out: impl Write,
    rounding: ChromaRounding,
    frames: impl IntoIterator<Item = impl Borrow<Frame>>,
) -> io::Result<()> {
    for frame in frames {
        let frame = frame.borrow();
        write_planes(&mut out, &FileLayout::new(*frame.format(), rounding), frame)?;
    }
    out.flush()
}

fn chroma_tag(format: &Format) -> String {
    let family = match format.chroma() {
        Chroma::C400 => "mono",
        Chroma::C420 => "420",
        Chroma::C422 => "422",
        Chroma::C444 => "444",
    };
    match (format.depth(), format.chroma()) {
        (8, Chroma::C420) => "420jpeg".to_owned(),
        (8, _) => family.to_owned(),
        (depth, Chroma::C400) => format!("{family}{depth}"),
        (depth, _) => format!("{family}p{depth}"),
    }
}

// `dyn`, so that it is compiled here and not, without optimisation, in the crate of the caller.
fn write_planes(out: &mut dyn Write, layout: &FileLayout, frame: &Frame) -> io::Result<()> {
    // A picture one sample wide has no chroma sample to repeat.
    let grey = 1u16 << (frame.format().depth() - 1);
    for index in 0..frame.format().planes() {
        let size = layout.plane_size(index);
        match frame.plane(index) {
            PlaneView::U8(plane) => write_plane(out, plane, size, grey as u8, |sample| [sample])?,
            PlaneView::U16(plane) => write_plane(out, plane, size, grey, u16::to_le_bytes)?,
        }
    }
    Ok(())
}

fn write_plane<T: Sample, const N: usize>(
    out: &mut dyn Write,
    plane: Plane<'_, T>,
    (width, height): (usize, usize),
    grey: T,
    to_bytes: impl Fn(T) -> [u8; N],
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(width * N);
    for y in 0..height {
        let row = if plane.height() == 0 { &[] } else { plane.row(y.min(plane.height() - 1)) };
        let last = row.last().copied().unwrap_or(grey);
        bytes.clear();
        bytes.extend(row.iter().copied().chain(iter::repeat(last)).take(width).flat_map(&to_bytes));
        out.write_all(&bytes)?;
    }
    Ok(())
}
