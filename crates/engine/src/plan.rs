//! What is computed: the metrics that models and features ask for, each once, and the columns they fill.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use visus_metrics::{ClipInfo, Info, Key, Level, Metric, MetricError, Options, PlanesRead, Reach, registry};
use visus_video::Format;

use crate::model::{LoadError, ModelSpec, NamedModel, normalised_number};

/// A metric, asked for: `name` or `name=option=value:option=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureSpec {
    pub metric: String,
    pub options: Vec<(String, String)>,
}

impl FromStr for FeatureSpec {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let (metric, rest) = text.split_once('=').map_or((text, None), |(metric, rest)| (metric, Some(rest)));
        let option = |part: &str| match part.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), normalised_number(value))),
            None => Err(PlanError::BadOption { feature: metric.to_owned(), option: part.to_owned() }),
        };
        let options = rest.map_or(Ok(Vec::new()), |rest| rest.split(':').map(option).collect())?;
        Ok(Self { metric: metric.to_owned(), options })
    }
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// libvmaf's words, which clients look for.
    #[error("Problem parsing feature \"{feature}\", bad option string \"{option}\".")]
    BadOption { feature: String, option: String },
    #[error("there is no metric '{name}'; known metrics: {known}")]
    UnknownMetric { name: String, known: String },
    #[error("feature {name}")]
    Feature { name: String, source: MetricError },
    #[error("model {label} asks for the feature '{feature}', which no metric provides")]
    UnknownFeature { label: String, feature: String },
    #[error("model {label}")]
    ModelFeature { label: String, source: MetricError },
    #[error("two models are called '{0}': give them different names with name=…")]
    SameName(String),
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// A metric in the plan: what it is, with which options, and where its columns start.
#[derive(Clone)]
pub struct PlannedMetric {
    pub(crate) metric: Arc<dyn Metric>,
    options: Options,
    pub(crate) first_column: usize,
    /// Asked for by itself, not for a model.
    asked_for: bool,
    is_lean: bool,
}

impl PlannedMetric {
    pub fn metric(&self) -> &dyn Metric {
        &*self.metric
    }

    pub fn info(&self) -> &'static Info {
        self.metric.info()
    }

    /// All its options, those that were not given at their defaults.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether scores that nobody reads are left out, see [`Plan::lean`].
    pub fn is_lean(&self) -> bool {
        self.is_lean
    }

    /// Whether it is computed for every frame even where only each n-th is listed.
    pub fn every_frame(&self) -> bool {
        self.metric.needs().every_frame
    }

    /// Whether its fold looks at rows around a frame.
    pub fn looks_around(&self) -> bool {
        self.metric.reach() != Reach::default()
    }

    pub(crate) fn columns(&self) -> Range<usize> {
        self.first_column..self.first_column + self.metric.keys().len()
    }
}

impl fmt::Debug for PlannedMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlannedMetric({}, {:?})", self.info().name, self.options)
    }
}

/// A model in the plan: which columns it reads and where it writes.
#[derive(Clone, Debug)]
pub(crate) struct PlannedModel {
    pub model: Arc<NamedModel>,
    pub inputs: Vec<usize>,
    pub first_column: usize,
}

/// Everything that a run computes. A clone shares models and metrics and costs little.
#[derive(Clone)]
pub struct Plan {
    pub(crate) metrics: Vec<PlannedMetric>,
    pub(crate) models: Vec<PlannedModel>,
    pub(crate) column_names: Vec<String>,
    predict: bool,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("columns", &self.column_names).finish_non_exhaustive()
    }
}

impl Plan {
    /// Loads the models and collects what they and the features need. Without `predict`, the models' features are
    /// computed, but no scores.
    pub fn new(models: &[ModelSpec], features: &[FeatureSpec], predict: bool) -> Result<Self, PlanError> {
        let loaded: Result<Vec<_>, _> = models.iter().map(NamedModel::load).collect();
        Self::with_models(loaded?, features, predict)
    }

    /// The same for models that are loaded already.
    pub fn with_models(
        models: Vec<NamedModel>,
        features: &[FeatureSpec],
        predict: bool,
    ) -> Result<Self, PlanError> {
        let mut plan = Self { metrics: Vec::new(), models: Vec::new(), column_names: Vec::new(), predict };
        let mut loaded: Vec<(NamedModel, Vec<usize>)> = Vec::new();
        for model in models {
            if loaded.iter().any(|(other, _)| other.name == model.name) {
                return Err(PlanError::SameName(model.name));
            }
            let inputs = plan.add_inputs(&model)?;
            loaded.push((model, inputs));
        }
        for feature in features {
            plan.add_feature(feature)?;
        }
        if predict {
            plan.add_model_columns(loaded);
        }
        Ok(plan)
    }

    /// The same without scores that no model reads and nobody asked for by naming their metric, where leaving them out
    /// saves work: v0.6.1 reads the kept detail of ADM, not the added one.
    #[must_use]
    pub fn lean(mut self) -> Self {
        let read: Vec<usize> = self.models.iter().flat_map(|model| model.inputs.iter().copied()).collect();
        for planned in self.metrics.iter_mut().filter(|planned| self.predict && !planned.asked_for) {
            let names: Vec<&str> = planned.metric.keys().iter().map(|key| key.name.as_str()).collect();
            let is_read = |key: &Key| {
                let place = names.iter().position(|name| *name == key.name);
                place.is_some_and(|place| read.contains(&(planned.first_column + place)))
            };
            if let Some(lean) = planned.metric.lean(&is_read) {
                planned.metric = lean.into();
                planned.is_lean = true;
            }
        }
        self
    }

    /// The models whose scores the plan gives.
    pub fn models(&self) -> impl Iterator<Item = &NamedModel> {
        self.models.iter().map(|planned| &*planned.model)
    }

    /// The metrics in the plan.
    pub fn metrics(&self) -> impl Iterator<Item = &dyn Metric> {
        self.metrics.iter().map(|planned| &*planned.metric)
    }

    /// The columns of metrics that no model reads: those that were asked for by themselves.
    pub fn extra_columns(&self) -> impl Iterator<Item = &str> {
        let read: Vec<usize> = self.models.iter().flat_map(|model| model.inputs.iter().copied()).collect();
        self.metrics.iter().flat_map(move |planned| {
            let columns = planned.columns();
            let used = columns.clone().any(|column| read.contains(&column));
            self.column_names[if used { 0..0 } else { columns }].iter().map(String::as_str)
        })
    }

    /// Why this format cannot be scored, if it cannot. Costs the scratch of one worker.
    pub fn check_format(&self, format: &Format) -> Result<(), MetricError> {
        let clip = ClipInfo::from(*format);
        self.metrics.iter().try_for_each(|planned| planned.metric.extractor(&clip, Level::Scalar).map(drop))
    }

    /// How many earlier frames the metrics look at.
    pub(crate) fn history(&self) -> usize {
        self.metrics.iter().map(|planned| planned.metric.needs().history).max().unwrap_or(0)
    }

    /// How far the folds look to both sides.
    pub(crate) fn reach(&self) -> Reach {
        let farther =
            |a: Reach, b: Reach| Reach { before: a.before.max(b.before), after: a.after.max(b.after) };
        self.metrics.iter().map(|planned| planned.metric.reach()).fold(Reach::default(), farther)
    }

    /// The planes that metrics look at.
    pub(crate) fn planes_read(&self) -> PlanesRead {
        let all = self.metrics.iter().map(|planned| planned.metric.planes_read());
        all.fold(PlanesRead::NONE, |sum, planes| sum | planes)
    }

    /// The places of all metrics.
    pub(crate) fn all_places(&self) -> Arc<[usize]> {
        (0..self.metrics.len()).collect()
    }

    /// The places of the metrics, by kind.
    pub(crate) fn places_by_kind(&self) -> Vec<Vec<usize>> {
        let mut kinds: Vec<(&str, Vec<usize>)> = Vec::new();
        for (place, planned) in self.metrics.iter().enumerate() {
            let name = planned.info().name;
            match kinds.iter_mut().find(|(known, _)| *known == name) {
                Some((_, places)) => places.push(place),
                None => kinds.push((name, vec![place])),
            }
        }
        kinds.into_iter().map(|(_, places)| places).collect()
    }

    fn add_inputs(&mut self, model: &NamedModel) -> Result<Vec<usize>, PlanError> {
        let label = || model.label.clone();
        let mut inputs = Vec::new();
        for feature in &model.model.features {
            let unknown = || PlanError::UnknownFeature { label: label(), feature: feature.name.clone() };
            let info = registry::by_feature(&feature.name).ok_or_else(unknown)?;
            let (metric, options) = build(info, &feature.options)
                .map_err(|source| PlanError::ModelFeature { label: label(), source })?;
            let key = metric.keys().iter().position(|key| key.feature == feature.name).ok_or_else(unknown)?;
            inputs.push(self.add_metric(metric, options) + key);
        }
        Ok(inputs)
    }

    fn add_feature(&mut self, feature: &FeatureSpec) -> Result<(), PlanError> {
        let info = registry::by_name(&feature.metric).ok_or_else(|| PlanError::UnknownMetric {
            name: feature.metric.clone(),
            known: registry::METRICS.iter().map(|info| info.name).collect::<Vec<_>>().join(", "),
        })?;
        let (metric, options) = build(info, &feature.options)
            .map_err(|source| PlanError::Feature { name: feature.metric.clone(), source })?;
        let first_column = self.add_metric(metric, options);
        let added = self.metrics.iter_mut().filter(|planned| planned.first_column == first_column);
        added.for_each(|planned| planned.asked_for = true);
        Ok(())
    }

    /// Adds a metric unless its like is there, and returns its first column. Like libvmaf, metrics are alike if their
    /// names with the options that show in names are: options that do not show do not make a second run.
    pub(crate) fn add_metric(&mut self, metric: Box<dyn Metric>, options: Options) -> usize {
        if let Some(planned) = self.metrics.iter().find(|planned| alike(&*planned.metric, &*metric)) {
            return planned.first_column;
        }
        let first_column = self.column_names.len();
        self.column_names.extend(metric.keys().iter().map(|key| key.name.clone()));
        let metric = metric.into();
        self.metrics.push(PlannedMetric { metric, options, first_column, asked_for: false, is_lean: false });
        first_column
    }

    /// Models come after all features: first their own scores, then what bootstrap collections add.
    fn add_model_columns(&mut self, loaded: Vec<(NamedModel, Vec<usize>)>) {
        for (model, inputs) in loaded {
            let first_column = self.column_names.len();
            self.column_names.extend(model.column_names());
            self.models.push(PlannedModel { model: Arc::new(model), inputs, first_column });
        }
    }

    /// The order in which libvmaf, running without worker threads, first writes each column of a clip of this length.
    pub(crate) fn column_order(&self, frames: u64) -> Vec<usize> {
        let mut order: Vec<_> = self
            .metrics
            .iter()
            .enumerate()
            .flat_map(|(position, planned)| {
                planned.metric.keys().iter().enumerate().map(move |(index, key)| {
                    ((key.appears.within(frames), position, index), planned.first_column + index)
                })
            })
            .collect();
        order.sort();
        let mut order: Vec<usize> = order.into_iter().map(|(_, column)| column).collect();
        order.extend(self.models.iter().map(|planned| planned.first_column));
        for planned in &self.models {
            order.extend(planned.first_column + 1..planned.first_column + planned.model.column_names().len());
        }
        order
    }
}

/// Sets a metric's options from text, and keeps them for devices that map the metric to a kernel of theirs.
fn build(info: &'static Info, given: &[(String, String)]) -> Result<(Box<dyn Metric>, Options), MetricError> {
    let options = Options::parse(info.options, given)
        .map_err(|source| MetricError::Option { metric: info.name, source })?;
    Ok(((info.build)(info, &options)?, options))
}

fn alike(a: &dyn Metric, b: &dyn Metric) -> bool {
    let shown = |metric: &dyn Metric| metric.keys().first().map(|key| key.name.clone());
    a.info().name == b.info().name && shown(a) == shown(b)
}
