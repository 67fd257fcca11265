//! The kernels' arguments, as `kernels/*.cu` declare them. Addresses are those of the device.
//!
//! No structure has padding (`Pod` refuses it), so that both compilers see the same bytes.

use bytemuck::{Pod, Zeroable};

/// Threads of a block of the tiled kernels.
pub const THREADS: u32 = 256;
/// Rows of a tile.
pub const ROWS: u32 = 8;
/// Pairs of a batch, at most.
pub const MAX_BATCH: usize = 32;
/// Gain limits of one VIF launch, at most.
pub const MAX_GAINS: usize = 4;
/// Sums of a VIF scale.
pub const VIF_SCALE_SUMS: usize = 3 + MAX_GAINS;
/// Sums of an ADM scale.
pub const BAND_SUMS: usize = 9;

/// Two pictures of every frame of a batch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Pictures {
    pub reference: u64,
    pub distorted: u64,
    /// Bytes from one frame to the next.
    pub frame: u64,
    /// Samples from one row to the next.
    pub pitch: i32,
    pub width: i32,
    pub height: i32,
    pub depth: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Motion {
    pub earlier: [u64; MAX_BATCH],
    pub current: [u64; MAX_BATCH],
    pub sums: u64,
    pub stride: i32,
    pub pitch: i32,
    pub width: i32,
    pub height: i32,
    pub depth: i32,
    pub unused: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Statistic {
    pub pictures: Pictures,
    pub gains: [f64; MAX_GAINS],
    pub gain_count: i32,
    pub stride: i32,
    pub sums: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Decimate {
    pub pictures: Pictures,
    pub reference: u64,
    pub distorted: u64,
    pub frame: u64,
    pub pitch: i32,
    pub unused: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Wavelet {
    pub pictures: Pictures,
    pub low: u64,
    /// Numbers, not bytes, here and below.
    pub low_picture: u64,
    pub low_frame: u64,
    pub bands: u64,
    pub band: u64,
    pub band_frame: u64,
    pub pitch: i32,
    pub first_column: i32,
    pub last_column: i32,
    pub first_row: i32,
    pub last_row: i32,
    pub detail: i32,
    pub along: i32,
    pub unused: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Mask {
    pub bands: u64,
    pub band: u64,
    pub band_frame: u64,
    pub rows: u64,
    pub rows_frame: u64,
    pub row_capacity: i32,
    pub pitch: i32,
    pub width: i32,
    pub height: i32,
    pub first_column: i32,
    pub last_column: i32,
    pub first_row: i32,
    pub last_row: i32,
    pub strip_rows: i32,
    pub square_shift: [i32; 3],
    pub cube_shift: [i32; 3],
    pub energy_square_shift: i32,
    pub energy_cube_shift: i32,
    pub gain_kind: i32,
    pub gain_limit: f64,
    pub bound: f64,
    pub weights: [i64; 3],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Total {
    pub rows: u64,
    pub rows_frame: u64,
    pub sums: u64,
    pub stride: i32,
    pub row_capacity: i32,
    pub start: [i32; 4],
    pub first_row: [i32; 4],
    pub last_row: [i32; 4],
    pub masked_shift: [i32; 4],
    pub energy_shift: [i32; 4],
}
