//! Contexts: from their making to their log.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Mutex;

use super::dictionary::consumed;
use super::picture::consume;
use super::{guarded, handle, object, path, present, put, text};
use crate::abi::{self, Configuration, Errno};
use crate::context::{CONTEXTS, Context, format_from_c};
use crate::handles::lock;
use crate::model::{COLLECTIONS, MODELS};
use crate::registered::Registered;

/// The version of libvmaf whose API this is, and ours.
const VERSION: &str = concat!("3.2.0-visus-", env!("CARGO_PKG_VERSION"), "\0");

#[unsafe(no_mangle)]
pub extern "C" fn vmaf_version() -> *const c_char {
    CStr::from_bytes_until_nul(VERSION.as_bytes()).unwrap_or(c"visus").as_ptr()
}

/// # Safety
/// `context` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_init(context: *mut *mut c_void, cfg: Configuration) -> c_int {
    guarded(|| {
        present(context)?;
        let new = Mutex::new(Context::new(&cfg));
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(context, handle(&CONTEXTS, new)) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn vmaf_close(context: *mut c_void) -> c_int {
    guarded(|| CONTEXTS.remove(context.addr()).map(drop).ok_or(Errno::Invalid))
}

#[unsafe(no_mangle)]
pub extern "C" fn vmaf_use_features_from_model(context: *mut c_void, model: *mut c_void) -> c_int {
    guarded(|| {
        let (context, model) = (object(&CONTEXTS, context)?, object(&MODELS, model)?);
        let mut context = lock(&context);
        model.extractors().into_iter().try_for_each(|extractor| context.register(extractor?))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn vmaf_use_features_from_model_collection(
    context: *mut c_void,
    collection: *mut c_void,
) -> c_int {
    guarded(|| {
        let (context, collection) = (object(&CONTEXTS, context)?, object(&COLLECTIONS, collection)?);
        let mut context = lock(&context);
        collection.extractors().into_iter().try_for_each(|extractor| context.register(extractor?))
    })
}

/// # Safety
/// `feature` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_use_feature(
    context: *mut c_void,
    feature: *const c_char,
    options: *mut c_void,
) -> c_int {
    guarded(|| {
        let context = object(&CONTEXTS, context)?;
        // SAFETY: the caller vouches for the string.
        let feature = unsafe { text(feature) }?;
        // A dictionary for a feature that does not exist stays the caller's, as in libvmaf.
        Registered::new(&feature, &[])?;
        let options = consumed(options)?;
        lock(&context).register(Registered::new(&feature, &options)?)
    })
}

/// # Safety
/// `feature` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_import_feature_score(
    context: *mut c_void,
    feature: *const c_char,
    value: f64,
    index: c_uint,
) -> c_int {
    guarded(|| {
        let context = object(&CONTEXTS, context)?;
        // SAFETY: the caller vouches for the string.
        let feature = unsafe { text(feature) }?;
        lock(&context).append(&feature, index, value)
    })
}

/// # Safety
/// `reference` and `distorted` are null or point to pictures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_read_pictures(
    context: *mut c_void,
    reference: *mut abi::Picture,
    distorted: *mut abi::Picture,
    index: c_uint,
) -> c_int {
    guarded(|| {
        // Whatever happens, the pictures are ours now.
        // SAFETY: the caller vouches for the pointers.
        let pair = unsafe { (consume(reference), consume(distorted)) };
        let context = object(&CONTEXTS, context)?;
        let mut context = lock(&context);
        match (reference.is_null() && distorted.is_null(), pair) {
            (true, _) => context.flush(),
            (false, (Some(reference), Some(distorted))) => context.read(reference, distorted, index),
            (false, _) => Err(Errno::Invalid),
        }
    })
}

/// # Safety
/// `file` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_write_output(
    context: *mut c_void,
    file: *const c_char,
    format: c_int,
) -> c_int {
    guarded(|| {
        let context = object(&CONTEXTS, context)?;
        // SAFETY: the caller vouches for the string.
        let file = unsafe { path(file) }?;
        let created = File::create(&file).map_err(|_| {
            // libvmaf's words, at every level.
            let _ = writeln!(std::io::stderr(), "could not open file: {}", file.display());
            Errno::Invalid
        })?;
        let mut out = BufWriter::new(created);
        lock(&context).write(format_from_c(format)?, VERSION.trim_end_matches('\0'), &mut out)?;
        out.flush().map_err(|_| Errno::Invalid)
    })
}
