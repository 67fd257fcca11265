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

/// Scales of CAMBI.
pub const CAMBI_SCALES: usize = 5;
/// Counters of a CAMBI scale: upper and lower bits of strengths.
pub const CAMBI_COUNTERS: usize = 7681 + (1 << 14);
/// Values that a block counts.
pub const CAMBI_CHUNK: usize = 32768;
/// Sides of tiles: of loading, and of contrast.
pub const CAMBI_LOAD_TILE: [usize; 2] = [128, 16];
pub const CAMBI_TILE: usize = 32;

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct CambiLoad {
    pub picture: u64,
    pub frame: u64,
    pub image: u64,
    pub mask: u64,
    pub area: u64,
    pub above_peak: u64,
    pub stride: i32,
    pub pitch: i32,
    pub width: i32,
    pub height: i32,
    pub up: i32,
    pub down: i32,
    pub undither: i32,
    pub halved: i32,
    pub threshold: i32,
    pub peak: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Cambi {
    pub image: u64,
    pub mask: u64,
    pub level: u64,
    pub strength: u64,
    pub area: u64,
    pub reciprocal: u64,
    pub active: u64,
    pub counters: u64,
    pub counters_frame: u64,
    pub partial: u64,
    pub partial_frame: u64,
    pub sums: u64,
    pub stride: i32,
    pub scale: i32,
    pub width: [i32; CAMBI_SCALES],
    pub height: [i32; CAMBI_SCALES],
    pub offset: [i32; CAMBI_SCALES],
    pub first_tile: [i32; CAMBI_SCALES],
    pub count: [i32; CAMBI_SCALES],
    pub window: i32,
    pub base: i32,
    pub levels: i32,
}

/// The longest filters of SpEED, and the planes of a pair.
pub const SPEED_TAPS: usize = 35;
pub const SPEED_LOCAL_TAPS: usize = 9;
pub const SPEED_PLANES: usize = 4;
/// Covariances of a plane.
pub const SPEED_COVARIANCES: usize = 625;
/// Threads of a block of `speed_statistic`.
pub const SPEED_THREADS: u32 = 352;

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Speed {
    pub planes: u64,
    pub plane: u64,
    pub frame: u64,
    pub decimated: u64,
    pub results: u64,
    pub results_frame: u64,
    pub result: i32,
    pub pitch: i32,
    pub width: i32,
    pub height: i32,
    pub out_width: i32,
    pub out_height: i32,
    pub field_width: i32,
    pub field_height: i32,
    pub tap_count: i32,
    pub local_count: i32,
    pub factor: f32,
    /// Seven rows of five: `Pod` knows no array of 35.
    pub taps: [[f32; SPEED_TAPS / 7]; 7],
    pub local: [f32; SPEED_LOCAL_TAPS],
    pub unused: i32,
}
