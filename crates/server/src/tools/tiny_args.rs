//! The `tiny_*` arguments of scoring: a small ONNX model beside the others.

use visus_eval::onnx::{Limits, Runner};
use visus_eval::tiny::{Resize, Sidecar, TinyError, TinyModel, TinyOptions, sidecar_path};

use super::eval::model_file;
use super::field::Values;
use crate::ToolError;
use crate::engines::tiny::TinyTask;
use crate::error::chain;
use crate::roots::{Roots, shown};

/// The model that was asked for, opened and checked.
pub fn task(values: &Values, roots: &Roots) -> Result<Option<TinyTask>, ToolError> {
    let Some(path) = values.text("tiny_model") else { return Ok(None) };
    let opened = roots.open(path)?;
    let sidecar = sidecar_path(&opened.path);
    let sidecar = match roots.open(&sidecar.to_string_lossy()) {
        Ok(opened) => Sidecar::read(&shown(&opened.path), opened.file).map_err(refusal)?,
        Err(_) => Sidecar::default(),
    };
    let limits = Limits::default();
    let file = model_file(path, roots, &limits)?.map_err(|error| refusal(error.into()))?;
    let model = TinyModel::new(file, sidecar, options(values)).map_err(refusal)?;
    model.metrics().map_err(refusal)?;
    let threads = values.count("tiny_threads").map_or(0, |threads| usize::try_from(threads).unwrap_or(0));
    Ok(Some(TinyTask { model, runner: Runner { launcher: None, limits, threads } }))
}

fn options(values: &Values) -> TinyOptions {
    let text = |name: &str| values.text(name).map(str::to_owned);
    TinyOptions {
        device: text("tiny_device"),
        fp16: values.flag("tiny_fp16"),
        codec: text("tiny_codec"),
        preset: text("tiny_preset"),
        crf: values.count("tiny_crf").and_then(|crf| u8::try_from(crf).ok()),
        resize: values.text("tiny_resize").and_then(Resize::parse).unwrap_or_default(),
        no_reference: values.flag("no_reference"),
    }
}

/// Everything that is wrong with a model or its options is wrong with the request.
pub fn refusal(error: TinyError) -> ToolError {
    match error {
        TinyError::Cancelled => ToolError::Cancelled,
        other => ToolError::Refused(chain(&other)),
    }
}
