//! `eval_model_on_split` and `compare_models`: models against opinion scores.

use std::path::Path;

use serde_json::{Value, json};
use visus_eval::onnx::{Folder, Limits, ModelFile, Runner};
use visus_eval::stats::Bootstrap;
use visus_eval::table::Table;
use visus_eval::{EvalError, Question, Scorer, Split, read_table_apart};

use super::field::{Field, Kind, Values};
use crate::error::chain;
use crate::jobs::Context;
use crate::report::Output;
use crate::roots::{Opened, Roots, shown};
use crate::{Server, ToolError};

const TABLE: Field = Field::new(
    "features",
    Kind::Text,
    "Path of a table (.parquet or .csv) with a column 'mos', feature columns (adm2, vif_scale0 to vif_scale3, motion2) and, for \
     splits, 'key'.",
)
.required();
const SPLIT: Field =
    Field::new("split", Kind::Text, "Which rows: train, val, test (by a hash of each row's key) or all.")
        .default("\"test\"");
const INPUT: Field =
    Field::new("input_name", Kind::Text, "The name of an ONNX model's input.").default("\"features\"");
const BOOTSTRAP: Field =
    Field::new("bootstrap", Kind::Whole { min: 0, max: 10_000 }, "Resamples for 95 % intervals; 0 for none.")
        .default("1000");

/// Arguments of `eval_model_on_split`.
pub const EVALUATE: &[Field] = &[
    Field::new(
        "model",
        Kind::Text,
        "Path of a model: .onnx, or libvmaf's .json; or a built-in model's name.",
    )
    .required(),
    TABLE,
    SPLIT,
    INPUT,
    BOOTSTRAP,
    super::BACKGROUND,
];

/// Arguments of `compare_models`.
pub const COMPARE: &[Field] = &[
    Field::new("models", Kind::Texts { most: 64 }, "Paths of models, as for eval_model_on_split.").required(),
    TABLE,
    SPLIT,
    INPUT,
    BOOTSTRAP,
    super::BACKGROUND,
];

/// A call with its words checked.
struct Call<'a> {
    server: &'a Server,
    values: &'a Values,
    context: &'a Context,
    split: Split,
}

/// One model.
pub fn evaluate(server: &Server, values: &Values, context: &Context) -> Result<Output, ToolError> {
    let call = Call::new(server, values, context)?;
    let scorer = call.scorer(values.text("model").unwrap_or_default())?;
    let table = call.table(std::slice::from_ref(&scorer))?;
    let evaluated = call.question().evaluate(&scorer, &table, &|| context.cancel.is_fired());
    Ok(Output::Value(evaluated.map_err(refusal)?.json()))
}

/// Several models. One bad model does not lose the others.
pub fn compare(server: &Server, values: &Values, context: &Context) -> Result<Output, ToolError> {
    let call = Call::new(server, values, context)?;
    let names = values.texts("models");
    if names.is_empty() {
        return Err(refusal(EvalError::NoModels));
    }
    let (mut scorers, mut errors) = (Vec::new(), Vec::new());
    for name in names {
        match call.scorer(&name) {
            Ok(scorer) => scorers.push(scorer),
            Err(error) => errors.push(json!({ "model": name, "error": error.to_string() })),
        }
    }
    let table = call.table(&scorers)?;
    if scorers.is_empty() {
        return Ok(Output::Value(json!({ "ranked": [], "errors": errors })));
    }
    let scorers: Vec<_> = scorers.into_iter().map(Ok).collect();
    let compared = call.question().compare(&scorers, &table, &|| context.cancel.is_fired());
    let mut answer = compared.map_err(refusal)?.json();
    if let Some(list) = answer["errors"].as_array_mut() {
        list.extend(errors);
    }
    Ok(Output::Value(answer))
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

fn evaluation_fields() -> Vec<(&'static str, Value)> {
    let text = |help: &str| json!({ "type": "string", "description": help });
    let number = |help: &str| json!({ "type": "number", "description": help });
    let whole = |help: &str| json!({ "type": "integer", "description": help });
    let interval =
        json!({ "anyOf": [{ "type": "array", "items": { "type": "number" } }, { "type": "null" }] });
    vec![
        ("model", text("The model's path or name.")),
        ("features", text("The table's path.")),
        ("split", text("The split.")),
        ("n", whole("Rows that were used.")),
        ("plcc", number("Pearson's correlation with the opinion scores.")),
        ("srocc", number("Spearman's rank correlation.")),
        ("rmse", number("Root of the mean squared error.")),
        (
            "columns",
            json!({ "type": "array", "description": "Columns that went in, in order.", "items": { "type": "string" } }),
        ),
        ("krocc", number("Kendall's tau-b.")),
        ("dropped", whole("Rows of the split that were left out because a value is missing.")),
        (
            "intervals",
            json!({ "type": "object", "description": "95 % bootstrap intervals [low, high] of plcc, srocc, krocc and rmse.",
                    "additionalProperties": interval }),
        ),
    ]
}

const ALWAYS: [&str; 8] = ["model", "features", "split", "n", "plcc", "srocc", "rmse", "columns"];

fn object(help: &str, fields: Vec<(&'static str, Value)>, required: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({ "type": "object", "description": help, "properties": properties, "required": required })
}

/// What a job in the background answers at once, beside the result's own fields.
fn background_fields() -> Vec<(&'static str, Value)> {
    let text = |help: &str| json!({ "type": "string", "description": help });
    vec![
        ("job_id", text("Of a job in the background: its id.")),
        ("status", text("Of a job in the background: queued or running.")),
        ("message", text("What to do next.")),
    ]
}

/// The schema of `eval_model_on_split`'s answer.
pub fn evaluation_schema() -> Value {
    object("How a model did.", [evaluation_fields(), background_fields()].concat(), &[])
}

/// The schema of `compare_models`' answer.
pub fn comparison_schema() -> Value {
    let evaluation = object("How a model did.", evaluation_fields(), &ALWAYS);
    let text = |help: &str| json!({ "type": "string", "description": help });
    let error = object(
        "A model without a result.",
        vec![("model", text("The model.")), ("error", text("Why."))],
        &["model", "error"],
    );
    let list = |help: &str, items: Value| json!({ "type": "array", "description": help, "items": items });
    let pair = json!({ "type": "object", "description": "Two models: difference of PLCC with interval, Steiger's, Wilcoxon's and bootstrap chances." });
    let mut fields = vec![
        ("ranked", list("By descending PLCC.", evaluation)),
        ("errors", list("Models that failed; the others are not lost.", error)),
        ("pairs", list("Tests between models.", pair)),
        (
            "friedman",
            json!({ "type": "object", "description": "Friedman's test of all models' absolute errors." }),
        ),
    ];
    fields.extend(background_fields());
    object("The ranking.", fields, &[])
}
