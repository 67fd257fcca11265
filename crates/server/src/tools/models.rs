//! `list_models` and `describe_model`: which models there are, and what one consists of.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use visus_engine::model::{BUILTIN, Builtin};
use visus_engine::{ModelSpec, NamedModel};
use visus_video::budget::Budget;

use super::field::{Field, Kind};
use super::fit::{DEFAULT_BYTES, fit};
use super::offer::Toolset;
use super::{Answer, LIST_DETAIL, READS, Run, Tool, answer, schema, wants_full};
use crate::ToolError;
use crate::error::cleaned;
use crate::roots::{Opened, Roots};
use crate::text;

pub const LIST_MODELS: Tool = Tool {
    name: "list_models",
    title: "List models",
    description: "Lists the VMAF models that scoring tools take in 'model'. The default fits most videos.",
    set: Toolset::Core,
    hints: READS,
    fields: || LIST_FIELDS,
    answer: schema::of::<ModelList>,
    shows: &["models"],
    run: Run::Look(|server, values| {
        let models = list(&server.config().model_dirs, server.roots())?;
        if wants_full(server, values) {
            return Ok(models);
        }
        Ok(fit(models, DEFAULT_BYTES, "call list_models with detail 'full' for all of them"))
    }),
};

pub const DESCRIBE_MODEL: Tool = Tool {
    name: "describe_model",
    title: "Describe a model",
    description: "Describes one model: its features, score range and intended display. Use it to choose between models.",
    set: Toolset::Core,
    hints: READS,
    fields: || DESCRIBE_FIELDS,
    answer: schema::of::<ModelDescription>,
    shows: &["model_type", "feature_names", "score_range", "intended_display"],
    run: Run::Look(|server, values| {
        let name = values.text("name").unwrap_or_default();
        let model = describe(name, &server.config().model_dirs, server.roots())?;
        Ok(fit(model, DEFAULT_BYTES, "read the resource visus://models/NAME for the rest"))
    }),
};

const LIST_FIELDS: &[Field] = &[LIST_DETAIL];
const DESCRIBE_FIELDS: &[Field] = &[Field::new("name", Kind::Text, "Name or path, as list_models gives it.")
    .required()
    .example("\"vmaf_v0.6.1\"")];

#[derive(Serialize, JsonSchema)]
struct ModelList {
    /// Built-in models, then files.
    models: Vec<ModelEntry>,
}

/// A model as it is listed.
#[derive(Serialize, JsonSchema)]
struct ModelEntry {
    /// Its name.
    name: String,
    /// Its file, or builtin:NAME.
    path: String,
    /// json or onnx.
    format: &'static str,
    /// Size of its text or file.
    size_bytes: u64,
    /// What to give as 'model'.
    model: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
}

/// What a model consists of.
#[derive(Serialize, JsonSchema)]
struct ModelDescription {
    #[serde(flatten)]
    entry: ModelEntry,
    /// How it predicts.
    model_type: &'static str,
    /// Features that it reads.
    feature_names: Vec<String>,
    /// Lowest and highest score.
    #[serde(skip_serializing_if = "Option::is_none")]
    score_range: Option<[Option<f64>; 2]>,
    /// SHA-256 of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// Siblings that give an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    bootstrap_models: Option<usize>,
    /// Display it was trained for.
    #[serde(skip_serializing_if = "Option::is_none")]
    intended_display: Option<&'static str>,
}

/// The extensions of model files.
const EXTENSIONS: [&str; 2] = ["json", "onnx"];
/// Folders are searched so deep, and so many files are listed.
const MAX_DEPTH: usize = 4;
/// Bytes of memory for each byte of a model's text; parsing it has room of its own.
const PARSED: u64 = 2;
/// How long a description waits for memory.
const PATIENCE: Duration = Duration::from_secs(20);
const MAX_FILES: usize = 1000;

/// A model that is listed.
#[derive(Clone, Debug)]
enum Entry {
    Builtin(&'static Builtin),
    File { name: String, path: PathBuf, extension: &'static str, size: u64 },
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Builtin(model) => model.version,
            Self::File { name, .. } => name,
        }
    }

    fn listed(&self) -> ModelEntry {
        match self {
            Self::Builtin(model) => ModelEntry {
                name: model.version.to_owned(),
                path: format!("builtin:{}", model.version),
                format: "json",
                size_bytes: model.text().len() as u64,
                model: format!("version={}", model.version),
                about: Some(model.about),
            },
            Self::File { name, path, extension, size } => ModelEntry {
                name: cleaned(name),
                path: text::message(&path.to_string_lossy()),
                format: extension,
                size_bytes: *size,
                model: format!("path={}", text::message(&path.to_string_lossy())),
                about: None,
            },
        }
    }
}

/// Built-in models, then files under the model folders, in path order. Blocks.
fn list(folders: &[PathBuf], roots: &Roots) -> Result<Answer, ToolError> {
    answer(&ModelList { models: entries(folders, roots).iter().map(Entry::listed).collect() })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the operator's model folders are listed; a model is opened through the roots"
)]
fn entries(folders: &[PathBuf], roots: &Roots) -> Vec<Entry> {
    let mut files = Vec::new();
    for folder in folders {
        collect(folder, MAX_DEPTH, roots, &mut files);
    }
    files.sort();
    files.dedup();
    let file = |path: PathBuf| {
        let extension = extension(&path)?;
        let size = std::fs::metadata(&path).ok().filter(|metadata| metadata.is_file())?.len();
        let name = path.file_stem()?.to_string_lossy().into_owned();
        Some(Entry::File { name, path, extension, size })
    };
    BUILTIN.iter().map(Entry::Builtin).chain(files.into_iter().filter_map(file)).collect()
}

/// Files that may not be read are not listed either.
#[expect(
    clippy::disallowed_methods,
    reason = "the operator's model folders are listed; a model is opened through the roots"
)]
fn collect(folder: &Path, depth: usize, roots: &Roots, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(|kind| kind.is_dir()) && depth > 0 {
            collect(&path, depth - 1, roots, files);
        } else if extension(&path).is_some() && files.len() < MAX_FILES {
            files.extend(path.to_str().and_then(|name| roots.resolve(name).ok()));
        }
    }
}

/// The extension of a model file. Only a known one counts: that of `vmaf_v0.6.1` is not `1`.
fn extension(path: &Path) -> Option<&'static str> {
    let found = path.extension()?;
    EXTENSIONS.into_iter().find(|known| found == *known)
}

/// Describes one model by name or path. Blocks.
pub fn describe(name: &str, folders: &[PathBuf], roots: &Roots) -> Result<Answer, ToolError> {
    let found = find(name, folders, roots)?;
    let mut entry = found.listed();
    let intended_display = entry.about.take();
    let description = match &found {
        Entry::Builtin(model) => {
            let spec = ModelSpec::version(model.version);
            let loaded = NamedModel::load(&spec).map_err(|error| ToolError::failed(&error))?;
            ModelDescription { intended_display, ..facts(entry, &loaded) }
        }
        Entry::File { extension: "onnx", .. } => ModelDescription {
            entry,
            model_type: "onnx",
            feature_names: Vec::new(),
            score_range: None,
            sha256: None,
            bootstrap_models: None,
            intended_display,
        },
        Entry::File { path, .. } => facts(entry, &load(roots.open(&path.to_string_lossy())?)?),
    };
    answer(&description)
}

fn find(name: &str, folders: &[PathBuf], roots: &Roots) -> Result<Entry, ToolError> {
    let plain = name.strip_prefix("builtin:").or_else(|| name.strip_prefix("version=")).unwrap_or(name);
    let plain = plain.strip_prefix("path=").unwrap_or(plain);
    let all = entries(folders, roots);
    let stem =
        EXTENSIONS.iter().find_map(|known| plain.strip_suffix(known)?.strip_suffix('.')).unwrap_or(plain);
    if let Some(Entry::File { .. }) = all.iter().find(|entry| is_at(entry, plain)) {
        return all.into_iter().find(|entry| is_at(entry, plain)).ok_or_else(|| unknown(name));
    }
    if plain.contains('/') {
        return file_at(plain, roots);
    }
    let matching: Vec<Entry> = all.into_iter().filter(|entry| entry.name() == stem).collect();
    // What is built in wins: a checkout of libvmaf has the same models as files.
    let builtin = matching.iter().position(|entry| matches!(entry, Entry::Builtin(_)));
    match (builtin, matching.len()) {
        (Some(at), _) if plain == stem => Ok(matching[at].clone()),
        (_, 1) => Ok(matching[0].clone()),
        (_, 0) => Err(unknown(name)),
        _ => Err(ambiguous(name, &matching)),
    }
}

fn is_at(entry: &Entry, place: &str) -> bool {
    matches!(entry, Entry::File { path, .. } if path == Path::new(place))
}

/// A model file that is not in a model folder, but under an allowed root.
fn file_at(place: &str, roots: &Roots) -> Result<Entry, ToolError> {
    let Opened { path, file } = roots.open(place)?;
    let extension = extension(&path).ok_or_else(|| unknown(place))?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Entry::File { name, path, extension, size })
}

fn unknown(name: &str) -> ToolError {
    ToolError::Refused(format!(
        "model '{}' not found; run list_models to see available models.",
        cleaned(name)
    ))
}

fn ambiguous(name: &str, matching: &[Entry]) -> ToolError {
    let list =
        matching.iter().map(|entry| format!("'{}'", entry.listed().path)).collect::<Vec<_>>().join(", ");
    let name = cleaned(name);
    ToolError::Refused(format!(
        "model name '{name}' is ambiguous; matched: [{list}]. Pass an explicit path instead."
    ))
}

fn load(opened: Opened) -> Result<NamedModel, ToolError> {
    use std::io::Read;
    let label = cleaned(&opened.path.to_string_lossy());
    // Beside the queue, so many at once as there is room for: a parsed model takes many times its text.
    let length = opened.file.metadata().map_or(0, |facts| facts.len()).min(crate::engines::MAX_MODEL_BYTES);
    let room = Budget::process().wait(length * PARSED, &format!("model {label}"), PATIENCE, &|| false);
    let _room = room?;
    let mut text = String::new();
    let read = opened.file.take(crate::engines::MAX_MODEL_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| ToolError::Failed(format!("model {label}: {error}")))?;
    NamedModel::from_json(&ModelSpec::version(""), label, &text).map_err(|error| ToolError::failed(&error))
}

fn facts(entry: ModelEntry, model: &NamedModel) -> ModelDescription {
    let range = model.model.clip.map(|clip| [Some(clip.min), Some(clip.max)]).unwrap_or_default();
    let kind = if model.siblings.is_empty() { "LIBSVMNUSVR" } else { "RESIDUEBOOTSTRAP_LIBSVMNUSVR" };
    ModelDescription {
        entry,
        model_type: kind,
        feature_names: model.model.features.iter().map(|feature| cleaned(&feature.name)).collect(),
        score_range: Some(range.map(|limit| limit.filter(|limit| limit.is_finite()))),
        sha256: Some(model.sha256.clone()),
        bootstrap_models: Some(model.siblings.len()),
        intended_display: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place() -> (tempfile::TempDir, Vec<PathBuf>, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("deep")).unwrap();
        let text = visus_engine::model::builtin("vmaf_v0.6.1").unwrap().text();
        for name in ["mine_v1.2.json", "vmaf_v0.6.1.json", "deep/twin.json", "twin.json", "net.onnx"] {
            std::fs::write(base.join(name), text.as_bytes()).unwrap();
        }
        std::fs::write(base.join("readme.txt"), "no model").unwrap();
        let roots = Roots::new(std::slice::from_ref(&base));
        (dir, vec![base], roots)
    }

    #[test]
    fn built_in_models_come_first_then_files_by_path() {
        let (_dir, folders, roots) = place();
        let list = list(&folders, &roots).unwrap();
        let names: Vec<&str> =
            list["models"].as_array().unwrap().iter().map(|model| model["name"].as_str().unwrap()).collect();
        let (builtin, files) = names.split_at(BUILTIN.len());
        assert_eq!(builtin[0], "vmaf_v0.6.1");
        assert_eq!(files, ["twin", "mine_v1.2", "net", "twin", "vmaf_v0.6.1"]);
    }

    #[test]
    fn models_are_found_by_name_and_by_path() {
        let (_dir, folders, roots) = place();
        let describe = |name: &str| describe(name, &folders, &roots);
        let model = describe("vmaf_v0.6.1").unwrap();
        assert_eq!(model["path"], "builtin:vmaf_v0.6.1");
        assert_eq!(model["score_range"], json!([0.0, 100.0]));
        assert_eq!(model["feature_names"].as_array().unwrap().len(), 6);
        assert_eq!(describe("mine_v1.2").unwrap()["model_type"], "LIBSVMNUSVR");
        assert_eq!(describe("mine_v1.2.json").unwrap()["name"], "mine_v1.2");
        assert_eq!(describe("net").unwrap()["model_type"], "onnx");
        let path = folders[0].join("deep/twin.json");
        assert_eq!(describe(path.to_str().unwrap()).unwrap()["name"], "twin");
        for (name, text) in [
            ("vmaf_v0.6", "model 'vmaf_v0.6' not found; run list_models to see available models."),
            ("mine_v1", "model 'mine_v1' not found; run list_models to see available models."),
        ] {
            assert_eq!(describe(name).unwrap_err().to_string(), text);
        }
        let error = describe("twin").unwrap_err().to_string();
        assert!(error.starts_with("model name 'twin' is ambiguous; matched: ['"), "{error}");
        assert!(describe("/etc/passwd").unwrap_err().to_string().contains("not under an allowlisted root"));
    }
}
