//! Tables of features: one row for a clip, or one for each frame.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use visus_engine::{FeatureSpec, ModelSpec, Outcome};
use visus_eval::features::{Grain, Recipe};
use visus_eval::table::Cell;
use visus_scoring::{Prepared, RequestError, ScoreError, Selection, names, score_with_plan};

use crate::failure::Failure;
use crate::options::{FileOptions, ScoreOptions};
use crate::report::bytes_of;
use crate::wait::{self, Cancel, Progress};

/// A pair of a table.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct PairOptions {
    reference: PathBuf,
    distorted: PathBuf,
    key: String,
    mos: Option<f64>,
    files: FileOptions,
}

/// A column of a table.
#[derive(Debug)]
enum Values {
    Texts(Vec<String>),
    Whole(Vec<i64>),
    Numbers(Vec<f64>),
}

/// The columns of the table: name, type, and the values as texts or as bytes of an array.
#[pyfunction]
pub fn features<'py>(
    py: Python<'py>,
    pairs: Vec<PairOptions>,
    options: ScoreOptions,
    per_frame: bool,
    progress: Option<Bound<'py, PyAny>>,
    cancel: &Bound<'py, Cancel>,
) -> PyResult<Vec<(String, &'static str, Bound<'py, PyAny>)>> {
    let cancel = cancel.get().0.clone();
    let grain = if per_frame { Grain::Frame } else { Grain::Clip };
    let columns =
        wait::run(py, &cancel, progress, |progress| table(&pairs, &options, grain, &cancel, progress))?;
    let converted = |(name, values): (String, Values)| {
        let (kind, values) = match values {
            Values::Texts(texts) => ("text", texts.into_pyobject(py)?.into_any()),
            Values::Numbers(numbers) => ("float64", bytes_of(py, &numbers).into_any()),
            Values::Whole(whole) => {
                let bytes: Vec<u8> = whole.iter().flat_map(|value| value.to_ne_bytes()).collect();
                ("int64", PyBytes::new(py, &bytes).into_any())
            }
        };
        Ok((name, kind, values))
    };
    columns.into_iter().map(converted).collect()
}

fn table(
    pairs: &[PairOptions],
    options: &ScoreOptions,
    grain: Grain,
    cancel: &visus_engine::Cancel,
    progress: &Progress,
) -> Result<Vec<(String, Values)>, Failure> {
    let recipe = recipe(options)?;
    let with_opinions = pairs.iter().any(|pair| pair.mos.is_some());
    let names = recipe.column_names(grain, with_opinions);
    let mut columns: Vec<Vec<Cell>> = vec![Vec::new(); names.len()];
    for pair in pairs {
        let outcome = measure(pair, &recipe, options, cancel, progress)
            .map_err(|failure| failure.about(&pair.distorted.display().to_string()))?;
        let opinion = with_opinions.then(|| pair.mos.map_or(Cell::Missing, Cell::Number));
        for row in recipe.rows(grain, &pair.key, &outcome, opinion) {
            columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        }
    }
    Ok(names.into_iter().zip(columns.into_iter().map(values)).collect())
}

/// Every row has the same columns, so models must be named: `auto` may mean another one for each pair.
fn recipe(options: &ScoreOptions) -> Result<Recipe, Failure> {
    let model = |word: &String| names::one_model(word).map(|model| model.spec);
    let models: Result<Vec<ModelSpec>, RequestError> = options.model_words().iter().map(model).collect();
    let metrics: Result<Vec<FeatureSpec>, RequestError> =
        options.metric_words().iter().map(|text| names::metric(text)).collect();
    Ok(Recipe::new(&models?, &metrics?).map_err(ScoreError::Plan)?)
}

fn measure(
    pair: &PairOptions,
    recipe: &Recipe,
    options: &ScoreOptions,
    cancel: &visus_engine::Cancel,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let videos = pair.files.videos(pair.reference.clone(), pair.distorted.clone())?;
    let run = pair.files.limited(options.run()?)?;
    let Selection { models, .. } = options.selection()?;
    let videos = Prepared::new(videos, &models, cancel)?.open()?;
    let scored = score_with_plan(videos, &recipe.plan, &run, cancel, &mut progress.sink())?;
    scored.pair.check()?;
    Ok(scored.outcome)
}

/// A column of cells in the type that holds all of them.
fn values(cells: Vec<Cell>) -> Values {
    match cells.first() {
        Some(Cell::Text(_)) => {
            let text = |cell| if let Cell::Text(text) = cell { text } else { String::new() };
            Values::Texts(cells.into_iter().map(text).collect())
        }
        Some(Cell::Whole(_)) => {
            let whole = |cell| if let Cell::Whole(whole) = cell { whole } else { 0 };
            Values::Whole(cells.into_iter().map(whole).collect())
        }
        _ => {
            let number = |cell| if let Cell::Number(number) = cell { number } else { f64::NAN };
            Values::Numbers(cells.into_iter().map(number).collect())
        }
    }
}
