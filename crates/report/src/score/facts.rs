//! Where the numbers of a report come from: the engine, its models and metrics, and the two inputs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use visus_engine::{BackendUsed, DeviceError, Fallback, NamedModel, Outcome, Plan};
use visus_metrics::Metric;
use visus_video::{Format, Source};

use super::sections::Sections;
use super::warnings::FaultWarning;

/// What computed the scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// The engine of this program.
    #[default]
    Native,
    /// A `vmaf` executable.
    External,
}

/// A model that took part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModelFacts {
    /// The name of its scores.
    pub name: String,
    /// Built-in version or path.
    #[serde(rename = "model")]
    pub label: String,
    /// SHA-256 of the model's text.
    pub sha256: Option<String>,
    /// The features it reads; absent for a model of an external engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<FeatureFacts>>,
    /// The highest score it can give, where that is known.
    #[serde(skip)]
    pub highest: Option<f64>,
}

impl From<&NamedModel> for ModelFacts {
    fn from(model: &NamedModel) -> Self {
        let feature = |feature: &visus_engine::model::ModelFeature| FeatureFacts {
            name: feature.name.clone(),
            options: feature.options.iter().map(|(name, value)| (name.clone(), json!(value))).collect(),
        };
        Self {
            name: model.name.clone(),
            label: model.label.clone(),
            sha256: Some(model.sha256.clone()),
            features: Some(model.model.features.iter().map(feature).collect()),
            highest: model.model.clip.map(|clip| clip.max),
        }
    }
}

/// A feature that a model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FeatureFacts {
    /// The feature's name.
    pub name: String,
    /// Options that the model was trained with, where they differ from the feature's defaults.
    #[schemars(with = "BTreeMap<String, String>")]
    pub options: Map<String, Value>,
}

/// A metric that was computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetricFacts {
    /// The metric's name.
    pub metric: String,
    /// Its columns, whose names show every option that differs from its default.
    pub columns: Vec<String>,
}

impl From<&dyn Metric> for MetricFacts {
    fn from(metric: &dyn Metric) -> Self {
        let columns = metric.keys().iter().map(|key| key.name.clone()).collect();
        Self { metric: metric.info().name.to_owned(), columns }
    }
}

/// What is known of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputFacts {
    pub file: String,
    pub format: Format,
    pub frame_rate: Option<(u32, u32)>,
    pub bytes: Option<u64>,
    /// Of the file; where it was not computed, why not.
    pub sha256: Option<String>,
    pub warnings: Vec<String>,
}

impl InputFacts {
    pub fn new(file: impl Into<String>, format: Format, frame_rate: Option<(u32, u32)>) -> Self {
        Self { file: file.into(), format, frame_rate, bytes: None, sha256: None, warnings: Vec::new() }
    }

    pub fn of(source: &dyn Source) -> Self {
        let mut facts = Self::new(source.name(), *source.format(), source.frame_rate());
        facts.warnings = source.info().warnings.iter().map(ToString::to_string).collect();
        facts
    }

    /// Frames per second, where they are known.
    pub fn frames_per_second(&self) -> Option<f64> {
        self.frame_rate.map(|(num, den)| f64::from(num) / f64::from(den))
    }

    fn rate_text(&self) -> Option<String> {
        self.frame_rate.map(|(num, den)| format!("{num}/{den}"))
    }

    fn written(&self) -> WrittenInput {
        WrittenInput {
            file: self.file.clone(),
            width: self.format.width(),
            height: self.format.height(),
            chroma: self.format.chroma().to_string(),
            bit_depth: self.format.depth(),
            format: self.format.to_string(),
            frame_rate: self.rate_text(),
            bytes: self.bytes,
            sha256: self.sha256.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

impl Serialize for InputFacts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written().serialize(serializer)
    }
}

impl JsonSchema for InputFacts {
    fn schema_name() -> Cow<'static, str> {
        "InputFacts".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WrittenInput::json_schema(generator)
    }
}

/// One of the two videos.
#[derive(Debug, Serialize, JsonSchema)]
struct WrittenInput {
    /// The file, as it was given.
    file: String,
    /// Width of the luma plane as it was scored.
    width: usize,
    /// Height of the luma plane as it was scored.
    height: usize,
    /// Chroma subsampling: 4:0:0, 4:2:0, 4:2:2 or 4:4:4.
    chroma: String,
    /// Bits per sample.
    bit_depth: u8,
    /// Size, chroma subsampling and bit depth in one text.
    format: String,
    /// Frames per second as a ratio, such as 30000/1001; null where the file does not say.
    frame_rate: Option<String>,
    /// Size of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// SHA-256 of the file, or why it was not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// What is odd about the file.
    warnings: Vec<String>,
}

/// Where the numbers come from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Provenance {
    /// native: the engine of this program; external: a `vmaf` executable.
    pub engine: EngineKind,
    /// Version of that engine.
    pub version: String,
    /// The executable of an external engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<String>,
    /// CPU instruction set that was used; of merged parts, all of them joined by `+`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_level: Option<String>,
    /// The device, where not only the CPU computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Every n-th frame was scored.
    pub subsample: u64,
    /// The models that took part.
    pub models: Vec<ModelFacts>,
    /// The metrics that were computed; empty for an external engine.
    pub metrics: Vec<MetricFacts>,
    /// The reference.
    pub reference: InputFacts,
    /// The video that was compared with it.
    pub distorted: InputFacts,
}

impl Provenance {
    /// The same in few words, for summaries.
    pub fn brief(&self) -> BriefProvenance {
        let model = |model: &ModelFacts| BriefModel {
            name: model.name.clone(),
            model: model.label.clone(),
            sha256: model.sha256.clone(),
        };
        let input = |input: &InputFacts| BriefInput {
            file: input.file.clone(),
            format: input.format.to_string(),
            frame_rate: input.rate_text(),
        };
        BriefProvenance {
            engine: self.engine,
            version: self.version.clone(),
            binary: self.binary.clone(),
            cpu_level: self.cpu_level.clone(),
            device: self.device.clone(),
            models: self.models.iter().map(model).collect(),
            reference: input(&self.reference),
            distorted: input(&self.distorted),
        }
    }
}

/// Where the numbers come from, in few words: keys of [`Provenance`], and fewer of them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BriefProvenance {
    /// native: the engine of this program; external: a `vmaf` executable.
    pub engine: EngineKind,
    /// Version of that engine.
    pub version: String,
    /// The executable of an external engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<String>,
    /// CPU instruction set that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_level: Option<String>,
    /// The device, where not only the CPU computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The models that took part.
    pub models: Vec<BriefModel>,
    /// The reference.
    pub reference: BriefInput,
    /// The video that was compared with it.
    pub distorted: BriefInput,
}

/// A model that took part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BriefModel {
    /// The name of its scores.
    pub name: String,
    /// Built-in version or path.
    pub model: String,
    /// SHA-256 of the model's text.
    pub sha256: Option<String>,
}

/// One of the two videos.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BriefInput {
    /// The file, as it was given.
    pub file: String,
    /// Size, chroma subsampling and bit depth.
    pub format: String,
    /// Frames per second as a ratio; null where the file does not say.
    pub frame_rate: Option<String>,
}

/// Everything a report says besides the scores themselves.
#[derive(Clone, Debug)]
pub struct ScoreFacts {
    /// As it was asked for: `auto`, `cpu` or a device.
    pub backend_requested: String,
    /// What really ran.
    pub backend_used: String,
    pub provenance: Provenance,
    /// Columns that were asked for by themselves and that no model reads.
    pub extra_columns: Vec<String>,
    /// The pooled figures of an external engine, as it wrote them.
    pub external_pooled: Option<Value>,
    pub mismatched_model_warning: Option<String>,
    /// Why `auto` picked this model, and what else a person should know.
    pub notes: Vec<String>,
    /// Faults that detectors found; `None` where nobody looked for them.
    pub warnings: Option<Vec<FaultWarning>>,
    /// How two encoded videos were brought together.
    pub sections: Sections,
    /// What joining needs of a part of a clip, see [`crate::part`].
    pub part: Option<Value>,
}

impl ScoreFacts {
    /// The facts of a run of the engine in this process.
    pub fn native(version: &str, plan: &Plan, outcome: &Outcome, inputs: [InputFacts; 2]) -> Self {
        let mut facts = Self::new(EngineKind::Native, version, outcome, inputs);
        facts.note_backend(&outcome.backend);
        facts.provenance.models = plan.models().map(ModelFacts::from).collect();
        facts.provenance.metrics = plan.metrics().map(MetricFacts::from).collect();
        facts.extra_columns = plan.extra_columns().map(str::to_owned).collect();
        facts
    }

    /// What computed, and why the CPU had to take over from a device, if it had to.
    fn note_backend(&mut self, backend: &BackendUsed) {
        self.provenance.cpu_level = Some(backend.cpu.name().to_owned());
        if let Some(device) = &backend.requested {
            self.backend_requested.clone_from(&device.api);
        }
        if let Some(device) = &backend.device {
            self.backend_used.clone_from(&device.api);
            self.provenance.device = Some(device.to_string());
        }
        if let (Some(device), Some(fallback)) = (&backend.requested, &backend.fallback) {
            let Fallback { frame, reason } = fallback;
            self.notes.push(if *reason == DeviceError::NoKernel.to_string() {
                format!("device {device} computed nothing, the CPU did: {reason}")
            } else {
                format!("device {device} failed, the CPU scored from frame {frame} on: {reason}")
            });
        }
    }

    /// The facts of a run of a `vmaf` executable. The caller adds the models and, from its report, the pooled figures.
    pub fn external(version: &str, binary: &str, outcome: &Outcome, inputs: [InputFacts; 2]) -> Self {
        let mut facts = Self::new(EngineKind::External, version, outcome, inputs);
        facts.provenance.binary = Some(binary.to_owned());
        facts
    }

    /// What is known without a plan: the engine, and the two inputs.
    pub fn new(engine: EngineKind, version: &str, outcome: &Outcome, inputs: [InputFacts; 2]) -> Self {
        let [reference, distorted] = inputs;
        Self {
            backend_requested: "auto".to_owned(),
            backend_used: "cpu".to_owned(),
            provenance: Provenance {
                engine,
                version: version.to_owned(),
                binary: None,
                cpu_level: None,
                device: None,
                subsample: outcome.subsample,
                models: Vec::new(),
                metrics: Vec::new(),
                reference,
                distorted,
            },
            extra_columns: Vec::new(),
            external_pooled: None,
            mismatched_model_warning: None,
            notes: Vec::new(),
            warnings: None,
            sections: Sections::default(),
            part: None,
        }
    }
}
