//! What a picture is made of: size, chroma layout and bit depth.

use std::fmt;

/// The largest width or height that is accepted; beyond it offsets and 32-bit sums are no longer safe.
pub const MAX_SIDE: usize = 32_768;

/// How the two chroma planes relate to luma.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chroma {
    /// Luma alone.
    C400,
    /// Half width, half height.
    C420,
    /// Half width, full height.
    C422,
    /// As large as luma.
    C444,
}

impl Chroma {
    /// log2 of the horizontal and vertical subsampling.
    pub const fn shifts(self) -> (u32, u32) {
        match self {
            Self::C400 | Self::C444 => (0, 0),
            Self::C420 => (1, 1),
            Self::C422 => (1, 0),
        }
    }

    /// Number of planes, luma included.
    pub const fn planes(self) -> usize {
        if matches!(self, Self::C400) { 1 } else { 3 }
    }
}

impl fmt::Display for Chroma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::C400 => "4:0:0",
            Self::C420 => "4:2:0",
            Self::C422 => "4:2:2",
            Self::C444 => "4:4:4",
        })
    }
}

/// Size, chroma layout and bit depth of a picture. Made by [`Format::new`], so its sizes are always usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    width: usize,
    height: usize,
    chroma: Chroma,
    depth: u8,
}

/// Why a size or depth cannot be a picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("picture size {width}x{height} is not usable: each side must be 1 to {MAX_SIDE}")]
    Size { width: usize, height: usize },
    #[error("bit depth {depth} is not supported: it must be 8 to 16")]
    Depth { depth: u8 },
}

impl Format {
    pub fn new(width: usize, height: usize, chroma: Chroma, depth: u8) -> Result<Self, FormatError> {
        if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
            return Err(FormatError::Size { width, height });
        }
        if !(8..=16).contains(&depth) {
            return Err(FormatError::Depth { depth });
        }
        Ok(Self { width, height, chroma, depth })
    }

    pub const fn width(&self) -> usize {
        self.width
    }

    pub const fn height(&self) -> usize {
        self.height
    }

    pub const fn chroma(&self) -> Chroma {
        self.chroma
    }

    /// Bits per sample, 8 to 16.
    pub const fn depth(&self) -> u8 {
        self.depth
    }

    /// The largest sample value.
    pub const fn peak(&self) -> u32 {
        (1 << self.depth) - 1
    }

    /// Bytes per sample, in memory and in files.
    pub const fn sample_bytes(&self) -> usize {
        if self.depth > 8 { 2 } else { 1 }
    }

    pub const fn planes(&self) -> usize {
        self.chroma.planes()
    }

    /// Width and height of a plane as the metrics see it: odd sizes are rounded down, as libvmaf does.
    pub const fn plane_size(&self, plane: usize) -> (usize, usize) {
        if plane == 0 {
            return (self.width, self.height);
        }
        let (sx, sy) = self.chroma.shifts();
        (self.width >> sx, self.height >> sy)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{} {} {}-bit", self.width, self.height, self.chroma, self.depth)
    }
}
