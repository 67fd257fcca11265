//! Scores of features, models and collections.
//!
//! All of them ask a context something and write the answer through a pointer; [`answer`] is what they have in common.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{guarded, object, present, put, text};
use crate::abi::{CollectionScore, Result};
use crate::context::{CONTEXTS, Context, Frames, Pooling};
use crate::handles::lock;
use crate::model::{COLLECTIONS, MODELS};

/// Asks a context and writes what it answers. Nothing is asked if there is no place for the answer.
///
/// # Safety
/// `out` is null or may be written through.
unsafe fn answer<T>(context: *mut c_void, out: *mut T, ask: impl FnOnce(&mut Context) -> Result<T>) -> c_int {
    guarded(|| {
        let context = object(&CONTEXTS, context)?;
        present(out)?;
        let found = ask(&mut lock(&context))?;
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { put(out, found) }
    })
}

/// How scores are pooled, and over which frames.
fn pooling(method: c_int, low: c_uint, high: c_uint) -> Result<(Pooling, Frames)> {
    Ok((Pooling::from_c(method)?, Frames::new(low, high)?))
}

/// # Safety
/// `feature` is null or a string, `score` is null or may be written through.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmaf_feature_score_at_index(
    context: *mut c_void,
    feature: *const c_char,
    score: *mut f64,
    index: c_uint,
) -> c_int {
    // SAFETY: the caller vouches for the string and for the place of the score.
    unsafe { answer(context, score, |context| context.score(&text(feature)?, index)) }
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
    // SAFETY: the caller vouches for the place of the score.
    unsafe { answer(context, score, |context| context.model_score(&*object(&MODELS, model)?, index)) }
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
    let ask = |context: &mut Context| context.collection_score(&*object(&COLLECTIONS, collection)?, index);
    // SAFETY: the caller vouches for the place of the score.
    unsafe { answer(context, score, ask) }
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
    let ask = |context: &mut Context| {
        let (pooling, frames) = pooling(method, low, high)?;
        // SAFETY: the caller vouches for the string.
        context.pooled(&unsafe { text(feature) }?, pooling, frames)
    };
    // SAFETY: the caller vouches for the place of the score.
    unsafe { answer(context, score, ask) }
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
    let ask = |context: &mut Context| {
        let (pooling, frames) = pooling(method, low, high)?;
        context.model_pooled(&*object(&MODELS, model)?, pooling, frames)
    };
    // SAFETY: the caller vouches for the place of the score.
    unsafe { answer(context, score, ask) }
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
    let ask = |context: &mut Context| {
        let (pooling, frames) = pooling(method, low, high)?;
        context.collection_pooled(&*object(&COLLECTIONS, collection)?, pooling, frames)
    };
    // SAFETY: the caller vouches for the place of the score.
    unsafe { answer(context, score, ask) }
}
