//! `eval_model_on_split` and `compare_models`: models against opinion scores.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use visus_eval::onnx::{Folder, Limits, ModelFile, Runner};
use visus_eval::stats::Bootstrap;
use visus_eval::table::Table;
use visus_eval::{EvalError, Question, Scorer, Split, read_table_apart};

use super::field::{Field, Kind, Values};
use super::offer::Toolset;
use super::{BACKGROUND, READS, Run, Tool, schema};
use crate::error::chain;
use crate::jobs::Context;
use crate::report::Output;
use crate::roots::{Opened, Roots, shown};
use crate::{Server, ToolError};

pub const EVAL_MODEL_ON_SPLIT: Tool = Tool {
    name: "eval_model_on_split",
    title: "Evaluate a model",
    description: "Evaluates a quality model (ONNX or libvmaf's JSON) against opinion scores in a table of features. It does not \
                  score video.",
    set: Toolset::Models,
    hints: READS,
    fields: || EVALUATE_FIELDS,
    answer: schema::of::<EvaluationAnswer>,
    shows: &["n", "plcc", "srocc", "rmse"],
    run: Run::Work(|server, values| {
        let server = server.clone();
        Ok(Box::new(move |context| evaluate(&server, &values, context)))
    }),
};

pub const COMPARE_MODELS: Tool = Tool {
    name: "compare_models",
    title: "Compare models",
    description: "Ranks quality models by PLCC on one table and tests whether the differences are more than chance.",
    set: Toolset::Models,
    hints: READS,
    fields: || COMPARE_FIELDS,
    answer: schema::of::<ComparisonAnswer>,
    shows: &["ranked", "errors", "pairs"],
    run: Run::Work(|server, values| {
        let server = server.clone();
        Ok(Box::new(move |context| compare(&server, &values, context)))
    }),
};

const TABLE: Field = Field::new("features", Kind::Text, "Table (.parquet, .csv) with mos, features and key.")
    .required()
    .example("\"features.parquet\"");
const SPLIT: Field = Field::new("split", Kind::Text, "train, val, test (by key) or all.").default("\"test\"");
const INPUT: Field = Field::new("input_name", Kind::Text, "Input of ONNX models.").default("\"features\"");
const BOOTSTRAP: Field =
    Field::new("bootstrap", Kind::Whole { min: 0, max: 10_000 }, "Resamples for intervals.").default("1000");

const EVALUATE_FIELDS: &[Field] = &[
    Field::new("model", Kind::Text, "Path (.onnx, .json) or built-in name.")
        .required()
        .example("\"model.onnx\""),
    TABLE,
    SPLIT,
    INPUT,
    BOOTSTRAP,
    BACKGROUND,
];

const COMPARE_FIELDS: &[Field] = &[
    Field::new("models", Kind::Texts { most: 64 }, "Paths or built-in names.")
        .required()
        .example("[\"first.onnx\", \"second.onnx\"]"),
    TABLE,
    SPLIT,
    INPUT,
    BOOTSTRAP,
    BACKGROUND,
];

/// How a model did.
#[derive(Serialize, Deserialize, JsonSchema)]
struct EvaluationAnswer {
    /// Path or name.
    model: String,
    /// The table.
    features: String,
    /// The split.
    split: String,
    /// Rows used.
    n: u64,
    /// Pearson's correlation.
    plcc: f64,
    /// Spearman's.
    srocc: f64,
    /// Root mean squared error.
    rmse: Option<f64>,
    /// Input columns.
    columns: Vec<String>,
    /// Kendall's tau-b.
    krocc: f64,
    /// Rows left out.
    dropped: u64,
    /// 95 % intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intervals: Option<Map<String, Value>>,
}

/// A ranking of models.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct ComparisonAnswer {
    /// By falling PLCC.
    ranked: Vec<EvaluationAnswer>,
    /// Models that failed.
    errors: Vec<ModelFailure>,
    /// Tests between two models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<Map<String, Value>>,
    /// Friedman's test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    friedman: Option<Map<String, Value>>,
}

/// A model without a result.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ModelFailure {
    model: String,
    error: String,
}

/// The typed form of what the evaluation writes.
fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ToolError> {
    serde_json::from_value(value).map_err(|error| ToolError::Failed(format!("internal error: {error}")))
}

/// A call whose arguments were checked.
struct Call<'a> {
    server: &'a Server,
    values: &'a Values,
    context: &'a Context,
    split: Split,
}

/// One model.
fn evaluate(server: &Server, values: &Values, context: &Context) -> Result<Output, ToolError> {
    let call = Call::new(server, values, context)?;
    let scorer = call.scorer(values.text("model").unwrap_or_default())?;
    let table = call.table(std::slice::from_ref(&scorer))?;
    let evaluated = call.question().evaluate(&scorer, &table, &|| context.cancel.is_fired());
    Output::of(&typed::<EvaluationAnswer>(evaluated.map_err(refusal)?.json())?)
}

/// Several models. One bad model does not lose the others.
fn compare(server: &Server, values: &Values, context: &Context) -> Result<Output, ToolError> {
    let call = Call::new(server, values, context)?;
    let names = values.texts("models");
    if names.is_empty() {
        return Err(refusal(EvalError::NoModels));
    }
    let (mut scorers, mut errors) = (Vec::new(), Vec::new());
    for name in names {
        match call.scorer(&name) {
            Ok(scorer) => scorers.push(scorer),
            Err(error) => errors.push(ModelFailure { model: name, error: error.to_string() }),
        }
    }
    let table = call.table(&scorers)?;
    if scorers.is_empty() {
        return Output::of(&ComparisonAnswer { errors, ..ComparisonAnswer::default() });
    }
    let scorers: Vec<_> = scorers.into_iter().map(Ok).collect();
    let compared = call.question().compare(&scorers, &table, &|| context.cancel.is_fired());
    let mut answer: ComparisonAnswer = typed(compared.map_err(refusal)?.json())?;
    answer.errors.extend(errors);
    Output::of(&answer)
}

impl<'a> Call<'a> {
    fn new(server: &'a Server, values: &'a Values, context: &'a Context) -> Result<Self, ToolError> {
        let split = values.text("split").unwrap_or("test").parse().map_err(refusal)?;
        Ok(Self { server, values, context, split })
    }

    fn limits(&self) -> Limits {
        Limits { time: self.server.config().limits.subprocess, ..Limits::default() }
    }

    fn question(&self) -> Question {
        let resamples = self.values.count("bootstrap").unwrap_or(1000) as u32;
        Question {
            split: self.split,
            input_name: self.values.text("input_name").unwrap_or("features").to_owned(),
            runner: Runner {
                launcher: self.server.config().launcher.clone(),
                limits: self.limits(),
                threads: 0,
            },
            bootstrap: Bootstrap { resamples, ..Bootstrap::default() },
        }
    }

    fn table(&self, scorers: &[Scorer]) -> Result<Table, ToolError> {
        let opened = self.server.roots().open(self.values.text("features").unwrap_or_default())?;
        self.context.progress(0, None, "reading the table");
        let Opened { path, file } = opened;
        let runner = self.question().runner;
        let cancelled = || self.context.cancel.is_fired();
        read_table_apart(shown(&path), &path, file, scorers, &runner, cancelled).map_err(refusal)
    }

    fn scorer(&self, name: &str) -> Result<Scorer, ToolError> {
        let ending = Path::new(name).extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str() {
            Some("onnx") => {
                let model = model_file(name, self.server.roots(), &self.limits())?;
                Ok(Scorer::Onnx(model.map_err(|error| refusal(error.into()))?))
            }
            Some("json") => {
                let Opened { path, file } = self.server.roots().open(name)?;
                let text = std::io::read_to_string(std::io::Read::take(file, MAX_JSON));
                let text =
                    text.map_err(|error| ToolError::Failed(format!("model {}: {error}", shown(&path))))?;
                Scorer::from_json(&shown(&path), &text).map_err(refusal)
            }
            _ => Scorer::open(name, &self.limits()).map_err(refusal),
        }
    }
}

/// The largest model of libvmaf's that is read.
const MAX_JSON: u64 = visus_engine::model::MAX_MODEL_BYTES + 1;

/// A checked ONNX model. Its further data must lie in its folder, and the folder under a root.
pub fn model_file(
    name: &str,
    roots: &Roots,
    limits: &Limits,
) -> Result<Result<ModelFile, visus_eval::onnx::OnnxError>, ToolError> {
    let (Opened { path, file }, folder) = roots.open_beside(name)?;
    Ok(ModelFile::read(shown(&path), file, folder.map(Folder::from_handle).as_ref(), limits))
}

fn refusal(error: EvalError) -> ToolError {
    match error {
        EvalError::Cancelled | EvalError::Onnx(visus_eval::onnx::OnnxError::Cancelled) => {
            ToolError::Cancelled
        }
        EvalError::Split(_) | EvalError::NoModels | EvalError::UnknownModel(_) => {
            ToolError::Refused(error.to_string())
        }
        other => ToolError::Failed(chain(&other)),
    }
}
