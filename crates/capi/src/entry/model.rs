//! Models and collections.

use std::ffi::{c_char, c_int, c_void};

use super::dictionary::consumed;
use super::{guarded, handle, object, path, present, put, text};
use crate::abi::{ModelConfiguration, Result};
use crate::model::{COLLECTIONS, MODELS, Origin};

/// The name, if one is given, and the flags.
///
/// # Safety
/// The pointer is null or points to a configuration whose name is null or a string.
unsafe fn configuration(cfg: *const ModelConfiguration) -> Result<(Option<String>, u64)> {
    present(cfg)?;
    // SAFETY: not null; the caller vouches for the rest.
    let cfg = unsafe { cfg.read() };
    // SAFETY: the caller vouches for the string.
    let name = if cfg.name.is_null() { None } else { Some(unsafe { text(cfg.name) }?) };
    Ok((name, cfg.flags))
}

/// # Safety
/// `cfg` is null or points to a configuration, `model` is null or may be written through.
unsafe fn load(
    model: *mut *mut c_void,
    cfg: *const ModelConfiguration,
    origin: Result<Origin>,
) -> Result<()> {
    present(model)?;
    // SAFETY: the caller vouches for it.
    let (name, flags) = unsafe { configuration(cfg) }?;
    let loaded = origin?.plain(name, flags)?;
    // SAFETY: not null; the caller vouches for the rest.
    unsafe { put(model, handle(&MODELS, loaded)) }
}

/// # Safety
/// As for [`load`].
unsafe fn load_collection(
    model: *mut *mut c_void,
    collection: *mut *mut c_void,
    cfg: *const ModelConfiguration,
    origin: Result<Origin>,
) -> Result<()> {
    present(model)?;
    present(collection)?;
    // SAFETY: not null; the caller vouches for the rest.
    unsafe { put(collection, std::ptr::null_mut()) }?;
    // SAFETY: the caller vouches for it.
    let (name, flags) = unsafe { configuration(cfg) }?;
    let (first, others) = origin?.collection(name, flags)?;
    // SAFETY: not null; the caller vouches for the rest.
    unsafe { put(model, handle(&MODELS, first)) }?;
    // SAFETY: as above.
    unsafe { put(collection, handle(&COLLECTIONS, others)) }
}

/// # Safety
/// Pointers are null or valid, strings end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_model_load(
    model: *mut *mut c_void,
    cfg: *mut ModelConfiguration,
    version: *const c_char,
) -> c_int {
    // SAFETY: the caller vouches for the pointers.
    guarded(|| unsafe { load(model, cfg, text(version).map(Origin::Version)) })
}

/// # Safety
/// Pointers are null or valid, strings end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_model_load_from_path(
    model: *mut *mut c_void,
    cfg: *mut ModelConfiguration,
    file: *const c_char,
) -> c_int {
    // SAFETY: the caller vouches for the pointers.
    guarded(|| unsafe { load(model, cfg, path(file).map(Origin::Path)) })
}

/// # Safety
/// Pointers are null or valid, strings end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_model_collection_load(
    model: *mut *mut c_void,
    collection: *mut *mut c_void,
    cfg: *mut ModelConfiguration,
    version: *const c_char,
) -> c_int {
    // SAFETY: the caller vouches for the pointers.
    guarded(|| unsafe { load_collection(model, collection, cfg, text(version).map(Origin::Version)) })
}

/// # Safety
/// Pointers are null or valid, strings end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_model_collection_load_from_path(
    model: *mut *mut c_void,
    collection: *mut *mut c_void,
    cfg: *mut ModelConfiguration,
    file: *const c_char,
) -> c_int {
    // SAFETY: the caller vouches for the pointers.
    guarded(|| unsafe { load_collection(model, collection, cfg, path(file).map(Origin::Path)) })
}

/// # Safety
/// `feature` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_model_feature_overload(
    model: *mut c_void,
    feature: *const c_char,
    options: *mut c_void,
) -> c_int {
    guarded(|| {
        let model = object(&MODELS, model)?;
        // SAFETY: the caller vouches for the string.
        let feature = unsafe { text(feature) }?;
        present(options)?;
        model.overload(&feature, &consumed(options)?);
        Ok(())
    })
}

/// # Safety
/// `collection` is null or points to a collection, `feature` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_model_collection_feature_overload(
    model: *mut c_void,
    collection: *mut *mut c_void,
    feature: *const c_char,
    options: *mut c_void,
) -> c_int {
    guarded(|| {
        present(collection)?;
        // SAFETY: not null; the caller vouches for the rest.
        let collection = object(&COLLECTIONS, unsafe { *collection })?;
        let model = object(&MODELS, model)?;
        // SAFETY: the caller vouches for the string.
        let feature = unsafe { text(feature) }?;
        present(options)?;
        let options = consumed(options)?;
        collection.overload(&feature, &options);
        model.overload(&feature, &options);
        Ok(())
    })
}

/// Of null and of a model that is gone, nothing is left to destroy.
#[unsafe(no_mangle)]
pub extern "C" fn vmaf_model_destroy(model: *mut c_void) {
    guarded(|| {
        MODELS.remove(model.addr());
        Ok(())
    });
}

/// Of null and of a collection that is gone, nothing is left to destroy.
#[unsafe(no_mangle)]
pub extern "C" fn vmaf_model_collection_destroy(collection: *mut c_void) {
    guarded(|| {
        COLLECTIONS.remove(collection.addr());
        Ok(())
    });
}
