//! A feature extractor that a context was asked for: which metric with which options, and what its columns are called.

use visus_engine::FeatureSpec;
use visus_engine::model::{Model, ModelFeature, known_options};
use visus_metrics::{Key, Options, registry};

use crate::abi::{Errno, Result};

/// A metric with its options.
#[derive(Clone, Debug)]
pub struct Registered {
    pub spec: FeatureSpec,
    pub keys: Vec<Key>,
    /// Whether an option shows in the names of its scores.
    is_named_by_options: bool,
}

impl Registered {
    /// By the name of the metric. Options that it does not have are ignored, as libvmaf does.
    pub fn new(metric: &str, options: &[(String, String)]) -> Result<Self> {
        let info = registry::by_name(metric).ok_or(Errno::Invalid)?;
        let given = known_options(metric, options);
        let parsed = Options::parse(info.options, &given).map_err(|_| Errno::Invalid)?;
        let built = (info.build)(info, &parsed).map_err(|_| Errno::Invalid)?;
        Ok(Self {
            spec: FeatureSpec { metric: metric.to_owned(), options: given },
            keys: built.keys().to_vec(),
            is_named_by_options: !parsed.suffix().is_empty(),
        })
    }

    /// The extractor behind one input of a model.
    fn of_feature(feature: &str, options: &[(String, String)]) -> Result<Self> {
        let info = registry::by_feature(feature).ok_or(Errno::Invalid)?;
        Self::new(info.name, options)
    }

    /// The extractors behind a model's inputs.
    pub fn of_model(model: &Model) -> impl Iterator<Item = Result<Self>> {
        model.features.iter().map(|feature| Self::of_feature(&feature.name, &feature.options))
    }

    /// The names under which a model finds its inputs.
    pub fn inputs_of(model: &Model) -> Result<Vec<String>> {
        let name = |(registered, feature): (Result<Self>, &ModelFeature)| {
            let registered = registered?;
            let key = registered.keys.iter().find(|key| key.feature == feature.name).ok_or(Errno::Invalid)?;
            Ok(registered.lookup_name(key).to_owned())
        };
        Self::of_model(model).zip(&model.features).map(name).collect()
    }

    /// The name that scores are asked for by: the feature's full name, unless options made a name of its own.
    pub fn lookup_name<'a>(&self, key: &'a Key) -> &'a str {
        if self.is_named_by_options { &key.name } else { key.feature }
    }

    /// The key with this name.
    pub fn key(&self, lookup_name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| self.lookup_name(key) == lookup_name)
    }

    /// Whether both give the same columns; then libvmaf drops the second.
    pub fn is_like(&self, other: &Self) -> bool {
        let shown = |registered: &Self| registered.keys.first().map(|key| key.name.clone());
        self.spec.metric == other.spec.metric && shown(self) == shown(other)
    }
}

/// What a score is called in a log.
pub fn log_name(name: &str) -> String {
    let registered = Registered::of_feature(name, &[]).ok();
    let key = registered.as_ref().and_then(|registered| registered.key(name));
    key.map_or_else(|| name.to_owned(), |key| key.name.clone())
}
