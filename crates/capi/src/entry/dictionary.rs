//! Dictionaries.

use std::ffi::{c_char, c_int, c_void};

use super::{guarded, handle, object, present, put, text};
use crate::abi::{Errno, Result};
use crate::dictionary::{DICTIONARIES, Dictionary};

/// # Safety
/// `dict` points to a dictionary or to null, `key` and `value` are strings; each may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_feature_dictionary_set(
    dict: *mut *mut c_void,
    key: *const c_char,
    value: *const c_char,
) -> c_int {
    guarded(|| {
        present(dict)?;
        // SAFETY: the caller vouches for the strings.
        let (key, value) = unsafe { (text(key)?, text(value)?) };
        // SAFETY: not null; the caller vouches for the rest.
        let known = unsafe { *dict };
        if known.is_null() {
            let new = Dictionary::default();
            new.set(key, &value);
            // SAFETY: as above.
            return unsafe { put(dict, handle(&DICTIONARIES, new)) };
        }
        object(&DICTIONARIES, known)?.set(key, &value);
        Ok(())
    })
}

/// # Safety
/// `dict` points to a dictionary or to null, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_feature_dictionary_free(dict: *mut *mut c_void) -> c_int {
    guarded(|| {
        present(dict)?;
        // SAFETY: not null; the caller vouches for the rest.
        let known = unsafe { dict.replace(std::ptr::null_mut()) };
        if known.is_null() {
            return Ok(());
        }
        DICTIONARIES.remove(known.addr()).map(drop).ok_or(Errno::Invalid)
    })
}

/// The entries of a dictionary that is used up, or none for null.
pub fn consumed(dict: *mut c_void) -> Result<Vec<(String, String)>> {
    if dict.is_null() {
        return Ok(Vec::new());
    }
    let dictionary = DICTIONARIES.remove(dict.addr()).ok_or(Errno::Invalid)?;
    Ok(dictionary.entries())
}
