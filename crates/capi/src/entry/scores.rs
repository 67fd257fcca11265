//! Scores of features, models and collections.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{guarded, object, present, put, text};
use crate::abi::CollectionScore;
use crate::context::{CONTEXTS, Frames, Pooling};
use crate::handles::lock;
use crate::model::{COLLECTIONS, MODELS};

/// # Safety
/// `feature` is null or a string, `score` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_feature_score_at_index(
    context: *mut c_void,
    feature: *const c_char,
    score: *mut f64,
    index: c_uint,
) -> c_int {
    guarded(|| {
        let context = object(&CONTEXTS, context)?;
        // SAFETY: the caller vouches for the string.
        let feature = unsafe { text(feature) }?;
        present(score)?;
        let found = lock(&context).score(&feature, index)?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(score, found) }
    })
}

/// # Safety
/// `score` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_score_at_index(
    context: *mut c_void,
    model: *mut c_void,
    score: *mut f64,
    index: c_uint,
) -> c_int {
    guarded(|| {
        let (context, model) = (object(&CONTEXTS, context)?, object(&MODELS, model)?);
        present(score)?;
        let found = lock(&context).model_score(&model, index)?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(score, found) }
    })
}

/// # Safety
/// `score` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_score_at_index_model_collection(
    context: *mut c_void,
    collection: *mut c_void,
    score: *mut CollectionScore,
    index: c_uint,
) -> c_int {
    guarded(|| {
        let (context, collection) = (object(&CONTEXTS, context)?, object(&COLLECTIONS, collection)?);
        present(score)?;
        let found = lock(&context).collection_score(&collection, index)?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(score, found) }
    })
}

/// # Safety
/// `feature` is null or a string, `score` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_feature_score_pooled(
    context: *mut c_void,
    feature: *const c_char,
    method: c_int,
    score: *mut f64,
    low: c_uint,
    high: c_uint,
) -> c_int {
    guarded(|| {
        let context = object(&CONTEXTS, context)?;
        // SAFETY: the caller vouches for the string.
        let feature = unsafe { text(feature) }?;
        present(score)?;
        let (frames, pooling) = (Frames::new(low, high)?, Pooling::from_c(method)?);
        let found = lock(&context).pooled(&feature, pooling, frames)?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(score, found) }
    })
}

/// # Safety
/// `score` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_score_pooled(
    context: *mut c_void,
    model: *mut c_void,
    method: c_int,
    score: *mut f64,
    low: c_uint,
    high: c_uint,
) -> c_int {
    guarded(|| {
        let (context, model) = (object(&CONTEXTS, context)?, object(&MODELS, model)?);
        present(score)?;
        let (frames, pooling) = (Frames::new(low, high)?, Pooling::from_c(method)?);
        let found = lock(&context).model_pooled(&model, pooling, frames)?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(score, found) }
    })
}

/// # Safety
/// `score` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_score_pooled_model_collection(
    context: *mut c_void,
    collection: *mut c_void,
    method: c_int,
    score: *mut CollectionScore,
    low: c_uint,
    high: c_uint,
) -> c_int {
    guarded(|| {
        let (context, collection) = (object(&CONTEXTS, context)?, object(&COLLECTIONS, collection)?);
        present(score)?;
        let (frames, pooling) = (Frames::new(low, high)?, Pooling::from_c(method)?);
        let found = lock(&context).collection_pooled(&collection, pooling, frames)?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(score, found) }
    })
}
