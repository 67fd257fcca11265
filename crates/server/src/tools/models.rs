//! Models: what there is, and what one is made of.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use visus_engine::model::{BUILTIN, Builtin};
use visus_engine::{ModelSpec, NamedModel};

use crate::ToolError;
use crate::error::cleaned;
use crate::roots::{Opened, Roots};

/// The extensions of model files.
const EXTENSIONS: [&str; 2] = ["json", "onnx"];
/// Folders are searched so deep, and so many files are listed.
const MAX_DEPTH: usize = 4;
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

    fn json(&self) -> Map<String, Value> {
        let value = match self {
            Self::Builtin(model) => json!({
                "name": model.version,
                "path": format!("builtin:{}", model.version),
                "format": "json",
                "size_bytes": model.text().len(),
                "model": format!("version={}", model.version),
                "about": model.about,
            }),
            Self::File { name, path, extension, size } => json!({
                "name": cleaned(name),
                "path": cleaned(&path.to_string_lossy()),
                "format": extension,
                "size_bytes": size,
                "model": format!("path={}", cleaned(&path.to_string_lossy())),
            }),
        };
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

/// Built-in models, then files under the model folders, in path order. Blocks.
pub fn list(folders: &[PathBuf], roots: &Roots) -> Value {
    json!({ "models": entries(folders, roots).iter().map(Entry::json).collect::<Vec<_>>() })
}

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
pub fn describe(name: &str, folders: &[PathBuf], roots: &Roots) -> Result<Value, ToolError> {
    let entry = find(name, folders, roots)?;
    let mut answer = entry.json();
    answer.remove("about");
    match &entry {
        Entry::Builtin(model) => {
            let spec = ModelSpec::version(model.version);
            let loaded = NamedModel::load(&spec).map_err(|error| ToolError::failed(&error))?;
            answer.extend(facts(&loaded));
            answer.insert("intended_display".to_owned(), json!(model.about));
        }
        Entry::File { extension: "onnx", .. } => {
            answer.insert("model_type".to_owned(), json!("onnx"));
            answer.insert("feature_names".to_owned(), json!([]));
        }
        Entry::File { path, .. } => {
            let opened = roots.open(&path.to_string_lossy())?;
            answer.extend(facts(&load(opened)?));
        }
    }
    Ok(Value::Object(answer))
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
    let place = |entry: &Entry| format!("'{}'", entry.json()["path"].as_str().unwrap_or_default());
    let list = matching.iter().map(place).collect::<Vec<_>>().join(", ");
    let name = cleaned(name);
    ToolError::Refused(format!(
        "model name '{name}' is ambiguous; matched: [{list}]. Pass an explicit path instead."
    ))
}

fn load(opened: Opened) -> Result<NamedModel, ToolError> {
    use std::io::Read;
    let label = cleaned(&opened.path.to_string_lossy());
    let mut text = String::new();
    let read = opened.file.take(crate::engines::MAX_MODEL_BYTES).read_to_string(&mut text);
    read.map_err(|error| ToolError::Failed(format!("model {label}: {error}")))?;
    NamedModel::from_json(&ModelSpec::version(""), label, &text).map_err(|error| ToolError::failed(&error))
}

fn facts(model: &NamedModel) -> Map<String, Value> {
    let names: Vec<&str> = model.model.features.iter().map(|feature| feature.name.as_str()).collect();
    let range = model.model.clip.map(|clip| [Some(clip.min), Some(clip.max)]).unwrap_or_default();
    let kind = if model.siblings.is_empty() { "LIBSVMNUSVR" } else { "RESIDUEBOOTSTRAP_LIBSVMNUSVR" };
    Map::from_iter([
        ("model_type".to_owned(), json!(kind)),
        ("feature_names".to_owned(), json!(names)),
        ("score_range".to_owned(), json!(range.map(|limit| limit.filter(|limit| limit.is_finite())))),
        ("sha256".to_owned(), json!(model.sha256)),
        ("bootstrap_models".to_owned(), json!(model.siblings.len())),
    ])
}

#[cfg(test)]
mod tests {
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
        let list = list(&folders, &roots);
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
