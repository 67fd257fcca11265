//! The `tiny_*` arguments of scoring: a small ONNX model beside the others.

use visus_eval::onnx::{Folder, Limits, Runner};
use visus_eval::tiny::{Resize, TinyOptions, sidecar_path};

use super::field::Values;
use crate::ToolError;
use crate::engines::tiny::TinyRequest;
use crate::roots::Roots;

/// The model that was asked for, with its files opened.
pub fn task(values: &Values, roots: &Roots) -> Result<Option<TinyRequest>, ToolError> {
    let Some(path) = values.text("tiny_model") else { return Ok(None) };
    let (model, folder) = roots.open_beside(path)?;
    let sidecar = roots.open(&sidecar_path(&model.path).to_string_lossy()).ok();
    let threads = values.count("tiny_threads").map_or(0, |threads| usize::try_from(threads).unwrap_or(0));
    let runner = Runner { launcher: None, limits: Limits::default(), threads };
    let folder = folder.map(Folder::from_handle);
    Ok(Some(TinyRequest { model, folder, sidecar, options: options(values), runner }))
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
