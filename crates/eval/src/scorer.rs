//! What turns features into scores: an ONNX model, or one of libvmaf's.

use std::path::Path;

use visus_engine::model::{Finish, ModelFeature, builtin};
use visus_engine::{ModelSource, ModelSpec, NamedModel};
use visus_metrics::registry;

use crate::onnx::{Limits, ModelFile};
use crate::stats::join;
use crate::table::Table;
use crate::{EvalError, FEATURES};

/// A model of either kind.
#[derive(Debug)]
pub enum Scorer {
    Onnx(ModelFile),
    Libvmaf(Box<NamedModel>),
}

impl Scorer {
    /// A model by its path (`.onnx` or `.json`), or a built-in one by its name.
    pub fn open(text: &str, limits: &Limits) -> Result<Self, EvalError> {
        let path = Path::new(text);
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("onnx") => Ok(Self::Onnx(ModelFile::open(path, limits)?)),
            Some("json") => Self::libvmaf(ModelSource::Path(path.to_path_buf()), text),
            _ => match built_in(text) {
                Some(version) => Self::libvmaf(ModelSource::Version(version), text),
                None => Err(EvalError::UnknownModel(text.to_owned())),
            },
        }
    }

    fn libvmaf(source: ModelSource, name: &str) -> Result<Self, EvalError> {
        let mut spec = ModelSpec::version("").named(name);
        spec.source = source;
        Ok(Self::Libvmaf(Box::new(NamedModel::load(&spec)?)))
    }

    /// A model of libvmaf's from its JSON text.
    pub fn from_json(name: &str, text: &str) -> Result<Self, EvalError> {
        let spec = ModelSpec::version("").named(name);
        Ok(Self::Libvmaf(Box::new(NamedModel::from_json(&spec, name.to_owned(), text)?)))
    }

    /// The path or name it was opened with.
    pub fn name(&self) -> &str {
        match self {
            Self::Onnx(file) => &file.name,
            Self::Libvmaf(model) => &model.name,
        }
    }

    /// The names of all columns that it would read.
    pub(crate) fn readable(&self) -> Vec<String> {
        match self {
            Self::Onnx(_) => FEATURES.map(str::to_owned).to_vec(),
            Self::Libvmaf(model) => model.model.features.iter().flat_map(spellings).collect(),
        }
    }

    /// Whether it reads a column.
    pub(crate) fn reads(&self, column: &str) -> bool {
        match self {
            Self::Onnx(_) => FEATURES.contains(&column),
            Self::Libvmaf(model) => {
                model.model.features.iter().any(|feature| spellings(feature).iter().any(|s| s == column))
            }
        }
    }

    /// The columns it reads of a table, in its order.
    pub(crate) fn columns(&self, table: &Table) -> Result<Vec<String>, EvalError> {
        match self {
            Self::Onnx(_) => {
                let present = FEATURES.into_iter().filter(|name| table.numbers(name).is_some());
                let columns: Vec<String> = present.map(str::to_owned).collect();
                let none = || EvalError::NoFeatures { table: table.name.clone() };
                if columns.is_empty() { Err(none()) } else { Ok(columns) }
            }
            Self::Libvmaf(model) => {
                let column = |feature: &ModelFeature| {
                    let spellings = spellings(feature);
                    let found = spellings.iter().find(|spelling| table.numbers(spelling).is_some());
                    found.cloned().ok_or_else(|| EvalError::NoColumn {
                        table: table.name.clone(),
                        column: spellings.first().cloned().unwrap_or_default(),
                        model: self.name().to_owned(),
                        known: table.known.join(", "),
                    })
                };
                model.model.features.iter().map(column).collect()
            }
        }
    }
}

fn built_in(text: &str) -> Option<String> {
    let known = |name: &str| builtin(name).map(|model| model.version.to_owned());
    let bare = text.strip_prefix("version=").unwrap_or(text);
    known(bare).or_else(|| known(&format!("vmaf_{bare}")))
}

/// How a table may call a model's feature: as `visus features` does, as a report does, or in full.
fn spellings(feature: &ModelFeature) -> Vec<String> {
    let mut names = match reported(feature) {
        Some(name) => vec![crate::features::column_name(&feature.name, &name), name],
        None => Vec::new(),
    };
    names.push(feature.name.clone());
    names
}

/// The feature's name in reports, with its options.
fn reported(feature: &ModelFeature) -> Option<String> {
    let metric = registry::build(registry::by_feature(&feature.name)?, &feature.options).ok()?;
    metric.keys().iter().find(|key| key.feature == feature.name).map(|key| key.name.clone())
}

/// Scores of many rows; columns are given by feature.
pub(crate) fn predict_all(
    model: &NamedModel,
    columns: &[&[f64]],
    rows: &[usize],
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<f64>, EvalError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = |rows: &[usize]| -> Option<Vec<f64>> {
        let mut values = vec![0.0; columns.len()];
        let mut scores = Vec::with_capacity(rows.len());
        for (done, row) in rows.iter().enumerate() {
            if done % 1024 == 0 && cancelled() {
                return None;
            }
            values.iter_mut().zip(columns).for_each(|(value, column)| *value = column[*row]);
            scores.push(model.model.predict(&values, Finish::Full));
        }
        Some(scores)
    };
    let parts: Option<Vec<Vec<f64>>> = std::thread::scope(|scope| {
        let size = rows.len().div_ceil(threads).max(1);
        let parts: Vec<_> = rows.chunks(size).map(|rows| scope.spawn(move || part(rows))).collect();
        parts.into_iter().map(join).collect()
    });
    parts.map(|parts| parts.concat()).ok_or(EvalError::Cancelled)
}
