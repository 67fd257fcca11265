//! Pictures.

use std::ffi::{c_int, c_uint, c_void};

use super::{guarded, object, present, put};
use crate::abi::{self, Errno, PictureConfiguration};
use crate::context::CONTEXTS;
use crate::handles::lock;
use crate::picture::{Picture, Shape};

/// # Safety
/// `picture` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_picture_alloc(
    picture: *mut abi::Picture,
    pixel_format: c_int,
    depth: c_uint,
    width: c_uint,
    height: c_uint,
) -> c_int {
    guarded(|| {
        present(picture)?;
        let allocated = Picture::new(Shape::new(pixel_format, depth, width, height)?)?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(picture, allocated.hand_out()) }
    })
}

/// # Safety
/// `picture` is null or points to a picture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_picture_unref(picture: *mut abi::Picture) -> c_int {
    // SAFETY: the caller vouches for the pointer.
    guarded(|| unsafe { consume(picture) }.map(drop).ok_or(Errno::Invalid))
}

/// The picture that a struct owns, if it owns one. The struct is zeroed.
///
/// # Safety
/// `picture` is null or points to a picture.
pub unsafe fn consume(picture: *mut abi::Picture) -> Option<Picture> {
    if picture.is_null() {
        return None;
    }
    // SAFETY: not null; the caller vouches for the rest.
    let taken = unsafe { picture.replace(abi::Picture::ZERO) };
    Picture::take_back(&taken)
}

#[unsafe(no_mangle)]
pub extern "C" fn vmaf_preallocate_pictures(context: *mut c_void, cfg: PictureConfiguration) -> c_int {
    guarded(|| {
        let context = object(&CONTEXTS, context)?;
        if cfg.width == 0 || cfg.height == 0 || cfg.count == 0 {
            return Err(Errno::Invalid);
        }
        let shape = Shape::new(cfg.pixel_format, cfg.depth, cfg.width, cfg.height)?;
        lock(&context).preallocate(shape, cfg.count)
    })
}

/// # Safety
/// `picture` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_fetch_preallocated_picture(
    context: *mut c_void,
    picture: *mut abi::Picture,
) -> c_int {
    guarded(|| {
        let context = object(&CONTEXTS, context)?;
        present(picture)?;
        let fetched = lock(&context).fetch()?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(picture, fetched.hand_out()) }
    })
}
