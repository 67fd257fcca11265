//! The boundary: what C calls. The only place, beside the memory of pictures, that follows pointers.
#![allow(unsafe_code)]

mod context;
mod dictionary;
mod model;
mod picture;
mod scores;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use crate::abi::{Errno, Result};
use crate::handles::Table;
use crate::log;

/// Runs the body of a function of the API. A panic becomes an error: unwinding must not reach C.
fn guarded(body: impl FnOnce() -> Result<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(errno)) => errno.code(),
        Err(_) => {
            log::error("a call failed unexpectedly; this is a bug of visus");
            Errno::Invalid.code()
        }
    }
}

/// The living object behind a pointer, which is a number for us.
fn object<T>(table: &Table<T>, handle: *mut c_void) -> Result<Arc<T>> {
    table.get(handle.addr()).ok_or(Errno::Invalid)
}

/// Puts an object into its table and gives what C holds of it.
fn handle<T>(table: &Table<T>, object: T) -> *mut c_void {
    std::ptr::without_provenance_mut(table.insert(object))
}

/// A text of C's. Bytes that are no UTF-8 are replaced: no name of ours has them.
///
/// # Safety
/// The pointer is null or points to a string with a zero at its end.
unsafe fn text(text: *const c_char) -> Result<String> {
    if text.is_null() {
        return Err(Errno::Invalid);
    }
    // SAFETY: not null; the caller vouches for the rest.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// A path of C's.
///
/// # Safety
/// As for [`text`].
unsafe fn path(path: *const c_char) -> Result<PathBuf> {
    if path.is_null() {
        return Err(Errno::Invalid);
    }
    // SAFETY: not null; the caller vouches for the rest.
    let path = unsafe { CStr::from_ptr(path) };
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Ok(std::ffi::OsStr::from_bytes(path.to_bytes()).into())
    }
    #[cfg(not(unix))]
    Ok(path.to_string_lossy().into_owned().into())
}

/// Writes a result.
///
/// # Safety
/// The pointer is null or may be written through.
unsafe fn put<T>(out: *mut T, value: T) -> Result<()> {
    if out.is_null() {
        return Err(Errno::Invalid);
    }
    // SAFETY: not null; the caller vouches for the rest.
    unsafe { out.write(value) };
    Ok(())
}

/// An error where a pointer that is needed later is null.
fn present<T>(pointer: *const T) -> Result<()> {
    if pointer.is_null() { Err(Errno::Invalid) } else { Ok(()) }
}
