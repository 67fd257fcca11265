//! The structs and numbers of the C API, laid out as C does.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Why a call fails; C sees the negative number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// `ENOMEM`
    NoMemory = 12,
    /// `EINVAL`
    Invalid = 22,
}

impl Errno {
    pub fn code(self) -> c_int {
        -(self as c_int)
    }
}

pub type Result<T> = std::result::Result<T, Errno>;

/// `VmafConfiguration`, passed by value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    pub log_level: c_int,
    pub n_threads: c_uint,
    pub n_subsample: c_uint,
    pub cpumask: u64,
    pub gpumask: u64,
}

/// `VmafPictureConfiguration`, passed by value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PictureConfiguration {
    pub width: c_uint,
    pub height: c_uint,
    pub depth: c_uint,
    pub pixel_format: c_int,
    pub count: c_uint,
}

/// `VmafPicture`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    pub pixel_format: c_int,
    pub depth: c_uint,
    pub width: [c_uint; 3],
    pub height: [c_uint; 3],
    pub stride: [isize; 3],
    pub data: [*mut c_void; 3],
    /// The picture's number in our table.
    pub reference: *mut c_void,
    /// Not used, but not null either: some callers look whether it is.
    pub private: *mut c_void,
}

impl Picture {
    pub const ZERO: Self = Self {
        pixel_format: 0,
        depth: 0,
        width: [0; 3],
        height: [0; 3],
        stride: [0; 3],
        data: [std::ptr::null_mut(); 3],
        reference: std::ptr::null_mut(),
        private: std::ptr::null_mut(),
    };
}

/// `VmafModelConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ModelConfiguration {
    pub name: *const c_char,
    pub flags: u64,
}

/// `VMAF_MODEL_FLAG_DISABLE_CLIP`
pub const DISABLE_CLIP: u64 = 1;
/// `VMAF_MODEL_FLAG_ENABLE_TRANSFORM`
pub const ENABLE_TRANSFORM: u64 = 2;

/// `VmafModelCollectionScore`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CollectionScore {
    pub kind: c_int,
    pub bagging: f64,
    pub stddev: f64,
    pub low: f64,
    pub high: f64,
}

/// `VMAF_MODEL_COLLECTION_SCORE_BOOTSTRAP`
pub const BOOTSTRAP: c_int = 1;

const _: () = {
    assert!(size_of::<Configuration>() == 32);
    assert!(size_of::<PictureConfiguration>() == 20);
    assert!(size_of::<ModelConfiguration>() == size_of::<usize>() + 8);
    assert!(size_of::<CollectionScore>() == 40);
    // On 64-bit machines.
    assert!(size_of::<usize>() != 8 || size_of::<Picture>() == 96);
};
