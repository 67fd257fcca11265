//! Models and bootstrap collections.

use std::path::PathBuf;
use std::sync::Mutex;

use visus_engine::model::{Finish, ModelFlags, Overload};
use visus_engine::{ModelSource, ModelSpec, NamedModel};

use crate::abi::{DISABLE_CLIP, ENABLE_TRANSFORM, Errno, Result};
use crate::handles::{Table, lock};
use crate::log;
use crate::registered::Registered;

/// A model, or the members of a collection (then they are the siblings of the named model).
#[derive(Debug)]
pub struct Model(Mutex<NamedModel>);

pub static MODELS: Table<Model> = Table::new();
pub static COLLECTIONS: Table<Model> = Table::new();

/// Where a model is loaded from.
#[derive(Clone, Debug)]
pub enum Origin {
    Version(String),
    Path(PathBuf),
}

impl Origin {
    fn load(self, name: Option<String>, flags: u64) -> Result<NamedModel> {
        let mut spec = ModelSpec::version("");
        spec.source = match self {
            Self::Version(version) => ModelSource::Version(version),
            Self::Path(path) => ModelSource::Path(path),
        };
        spec.name = name.unwrap_or(spec.name);
        spec.flags = ModelFlags {
            disable_clip: flags & DISABLE_CLIP != 0,
            enable_transform: flags & ENABLE_TRANSFORM != 0,
        };
        NamedModel::load_lenient(&spec).map_err(|error| {
            log::cause(&error);
            Errno::Invalid
        })
    }

    /// A plain model; a collection is refused.
    pub fn plain(self, name: Option<String>, flags: u64) -> Result<Model> {
        let loaded = self.load(name, flags)?;
        if loaded.siblings.is_empty() { Ok(Model(Mutex::new(loaded))) } else { Err(Errno::Invalid) }
    }

    /// A collection: its first model, and all others.
    pub fn collection(self, name: Option<String>, flags: u64) -> Result<(Model, Model)> {
        let loaded = self.load(name, flags)?;
        if loaded.siblings.is_empty() {
            return Err(Errno::Invalid);
        }
        let first = NamedModel { siblings: Vec::new(), ..loaded.clone() };
        Ok((Model(Mutex::new(first)), Model(Mutex::new(loaded))))
    }
}

impl Model {
    /// Changes options of the metric behind some of the inputs; without effect if there are none.
    pub fn overload(&self, metric: &str, options: &[(String, String)]) {
        let mut model = lock(&self.0);
        for (option, value) in options {
            let overload =
                Overload { metric: metric.to_owned(), option: option.clone(), value: value.clone() };
            model.overload_lenient(&overload);
        }
    }

    pub fn name(&self) -> String {
        lock(&self.0).name.clone()
    }

    /// The extractors that it needs, in the order of its inputs. Like libvmaf, a context takes those before the first that
    /// cannot be made.
    pub fn extractors(&self) -> Vec<Result<Registered>> {
        Registered::of_model(&lock(&self.0).model).collect()
    }

    /// The names of its inputs' scores.
    pub fn inputs(&self) -> Result<Vec<String>> {
        Registered::inputs_of(&lock(&self.0).model)
    }

    /// The score for these inputs.
    pub fn predict(&self, values: &[f64]) -> f64 {
        lock(&self.0).model.predict(values, Finish::Full)
    }

    /// Of a collection: the names and scores of its members and their statistics, for these inputs. The four statistics
    /// come last.
    pub fn predict_collection(&self, values: &[f64]) -> Vec<(String, f64)> {
        let model = lock(&self.0);
        // The first is the plain model's own.
        model.column_names().into_iter().zip(model.predict(values)).skip(1).collect()
    }
}
