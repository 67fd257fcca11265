//! One model on one split of one table.

use std::fs::File;
use std::path::Path;

use visus_child::OpenedFile;
use visus_engine::NamedModel;
use visus_video::budget::Budget;

use crate::apart::{Apart, ApartError};
use crate::onnx::worker::Task;
use crate::onnx::{Batch, Limits, ModelFile, OnnxError, Runner};
use crate::scorer::predict_all;
use crate::stats::{Bootstrap, Figures, Interval, Resampled, join};
use crate::table::{Table, TableTask, Texts, Wanted};
use crate::{EvalError, Scorer, Split, TableError};

/// The column of opinion scores.
const OPINIONS: &str = "mos";
/// The column that decides on splits.
const KEY: &str = "key";

/// Reads the columns that these models need.
pub fn open_table(path: &Path, scorers: &[Scorer]) -> Result<Table, EvalError> {
    Ok(Table::open(path, wanted(&|name| is_wanted(name, scorers)))?)
}

/// The same of an opened file.
pub fn read_table(name: String, path: &Path, file: File, scorers: &[Scorer]) -> Result<Table, EvalError> {
    Ok(Table::read(name, path, file, wanted(&|name| is_wanted(name, scorers)))?)
}

/// The same in a process of its own, with a limit on its memory: a table is foreign, and a few bytes can stand for many
/// rows. Without a launcher it is read here.
pub fn read_table_apart(
    name: String,
    path: &Path,
    file: File,
    scorers: &[Scorer],
    runner: &Runner,
    cancelled: impl Fn() -> bool,
) -> Result<Table, EvalError> {
    let Some(launcher) = &runner.launcher else { return read_table(name, path, file, scorers) };
    let failed = |source: std::io::Error| TableError::Read { table: name.clone(), source };
    let input = OpenedFile::new(&file, path).map_err(failed)?;
    let mut numbers: Vec<String> = scorers.iter().flat_map(Scorer::readable).collect();
    numbers.push(OPINIONS.to_owned());
    let task =
        Task::Table(TableTask { name: name.clone(), path: path.to_owned(), numbers, key: KEY.to_owned() });
    let Limits { memory, time, .. } = runner.limits;
    let run = Apart { launcher, memory, time }.run::<serde_json::Value>(&task, &[&input], cancelled);
    let table = || name.clone();
    let (_, output) = run.map_err(|error| match error {
        ApartError::Cancelled => EvalError::Cancelled,
        ApartError::TimedOut => TableError::TimedOut { table: table(), limit: time }.into(),
        ApartError::OutOfMemory => TableError::OutOfMemory { table: table(), limit: memory }.into(),
        ApartError::Failed(reason) => TableError::Refused(reason).into(),
        ApartError::Process(reason) => TableError::Malformed { table: table(), reason }.into(),
    })?;
    let length = output.metadata().map_err(failed)?.len();
    let wait = std::time::Duration::from_secs(10);
    let _room = Budget::process().wait(length, &name, wait, &|| false).map_err(TableError::Memory)?;
    Ok(Table::receive(output).map_err(failed)?)
}

fn is_wanted(name: &str, scorers: &[Scorer]) -> bool {
    name == OPINIONS || scorers.iter().any(|scorer| scorer.reads(name))
}

fn wanted(numbers: &dyn Fn(&str) -> bool) -> Wanted<'_> {
    Wanted { numbers, key: KEY }
}

/// What is asked of models.
#[derive(Clone, Debug)]
pub struct Question {
    pub split: Split,
    /// The name of an ONNX model's input.
    pub input_name: String,
    pub runner: Runner,
    pub bootstrap: Bootstrap,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            split: Split::default(),
            input_name: "features".to_owned(),
            runner: Runner::default(),
            bootstrap: Bootstrap::default(),
        }
    }
}

/// Intervals of all figures; a figure that hardly varies has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intervals {
    pub plcc: Option<Interval>,
    pub srocc: Option<Interval>,
    pub krocc: Option<Interval>,
    pub rmse: Option<Interval>,
}

impl Intervals {
    /// Those of one model among the resampled ones.
    pub(crate) fn of(resampled: &Resampled, model: usize, figures: &Figures) -> Self {
        Self {
            plcc: resampled.interval(model, figures.plcc, |f| f.plcc),
            srocc: resampled.interval(model, figures.srocc, |f| f.srocc),
            krocc: resampled.interval(model, figures.krocc, |f| f.krocc),
            rmse: resampled.interval(model, figures.rmse, |f| f.rmse),
        }
    }
}

/// How a model did.
#[derive(Clone, Debug)]
pub struct Evaluation {
    pub model: String,
    pub table: String,
    pub split: Split,
    pub figures: Figures,
    pub intervals: Option<Intervals>,
    /// The columns that went in, in this order.
    pub columns: Vec<String>,
    /// Rows of the split that were left out because a value is missing.
    pub dropped: usize,
    /// The rows of the table that were used.
    pub rows: Vec<usize>,
    pub predicted: Vec<f64>,
    pub opinions: Vec<f64>,
}

impl Evaluation {
    /// How many rows were used.
    pub fn n(&self) -> usize {
        self.rows.len()
    }
}

impl Question {
    /// Predicts and correlates, with intervals.
    pub fn evaluate(
        &self,
        scorer: &Scorer,
        table: &Table,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Evaluation, EvalError> {
        let mut evaluation = self.evaluate_plainly(scorer, table, cancelled)?;
        if self.bootstrap.resamples > 0 {
            let resampled = self.bootstrap.run(&[&evaluation.predicted], &evaluation.opinions, cancelled);
            let resampled = resampled.ok_or(EvalError::Cancelled)?;
            evaluation.intervals = Some(Intervals::of(&resampled, 0, &evaluation.figures));
        }
        Ok(evaluation)
    }

    /// Without intervals.
    pub(crate) fn evaluate_plainly(
        &self,
        scorer: &Scorer,
        table: &Table,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Evaluation, EvalError> {
        let opinions = table.numbers(OPINIONS);
        let opinions = opinions.ok_or_else(|| EvalError::NoOpinions { table: table.name.clone() })?;
        let columns = scorer.columns(table)?;
        let inputs: Vec<&[f64]> = columns.iter().filter_map(|name| table.numbers(name)).collect();
        let of_split = rows_of(self.split, table);
        let in_split = of_split.len();
        let complete = |row: &usize| opinions[*row].is_finite() && inputs.iter().all(|c| c[*row].is_finite());
        let rows: Vec<usize> = of_split.into_iter().filter(complete).collect();
        if rows.len() < 2 {
            return Err(EvalError::TooFew { split: self.split.name().to_owned(), count: rows.len() });
        }
        let predicted = match scorer {
            Scorer::Onnx(file) => self.predict_onnx(file, &inputs, &rows, cancelled)?,
            Scorer::Libvmaf(model) => predict_all(model as &NamedModel, &inputs, &rows, cancelled)?,
        };
        if let Some(place) = predicted.iter().position(|value| !value.is_finite()) {
            let (model, row) = (scorer.name().to_owned(), rows[place]);
            return Err(EvalError::NotFinite { model, value: predicted[place], row });
        }
        let opinions: Vec<f64> = rows.iter().map(|row| opinions[*row]).collect();
        Ok(Evaluation {
            model: scorer.name().to_owned(),
            table: table.name.clone(),
            split: self.split,
            figures: Figures::of(&predicted, &opinions)?,
            intervals: None,
            columns,
            dropped: in_split - rows.len(),
            rows,
            predicted,
            opinions,
        })
    }

    fn predict_onnx(
        &self,
        file: &ModelFile,
        columns: &[&[f64]],
        rows: &[usize],
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<f64>, EvalError> {
        let mut data = Vec::with_capacity(rows.len() * columns.len());
        for row in rows {
            data.extend(columns.iter().map(|column| column[*row] as f32));
        }
        let batch = Batch {
            input: self.input_name.clone(),
            row_shape: vec![columns.len()],
            rows: rows.len(),
            data,
            fixed: Vec::new(),
        };
        let outputs = self.runner.run(file, &batch, cancelled)?;
        let first = outputs.into_iter().next().ok_or_else(|| OnnxError::Run {
            name: file.name.clone(),
            reason: "it has no output".to_owned(),
        })?;
        let scores = first.per_row(rows.len());
        let scores = scores.map_err(|output| EvalError::OutputShape { output, target: vec![rows.len()] })?;
        Ok(scores.into_iter().map(f64::from).collect())
    }
}

/// The rows of a split; all of them where there is no key. A row whose key is missing belongs to no split.
fn rows_of(split: Split, table: &Table) -> Vec<usize> {
    let Some(keys) = table.key().filter(|_| split != Split::All) else { return (0..table.rows).collect() };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let size = table.rows.div_ceil(threads).max(1);
    let part = |start: usize| rows_between(split, keys, start, (start + size).min(table.rows));
    std::thread::scope(|scope| {
        let starts = (0..table.rows).step_by(size);
        let parts: Vec<_> = starts.map(|start| scope.spawn(move || part(start))).collect();
        parts.into_iter().flat_map(join).collect()
    })
}

fn rows_between(split: Split, keys: &Texts, from: usize, to: usize) -> Vec<usize> {
    (from..to).filter(|row| keys.get(*row).is_some_and(|key| split.contains(key))).collect()
}
