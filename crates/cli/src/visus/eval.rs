//! `visus eval`: models against opinion scores.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use visus_eval::onnx::{Limits, Runner};
use visus_eval::stats::{Bootstrap, Interval};
use visus_eval::table::{Cell, TableWriter};
use visus_eval::{Comparison, EvalError, Evaluation, Question, Scorer, charts, open_table};

use super::eval_args::EvalArgs;
use super::score::print_all;

pub fn run(args: &EvalArgs) -> Result<()> {
    let limits = Limits { time: Duration::from_secs(args.time_limit), ..Limits::default() };
    let open = |name: &String| Scorer::open(name, &limits).map_err(|error| (name.clone(), Box::new(error)));
    let opened: Vec<Result<Scorer, (String, Box<EvalError>)>> = args.models.iter().map(open).collect();
    let comparison = compare(args, limits, opened)?;
    // A single model's error is told as it is.
    if let ([], [(_, error)]) = (comparison.ranked.as_slice(), comparison.errors.as_slice()) {
        bail!("{error}");
    }
    write_files(args, &comparison)?;
    for (model, error) in &comparison.errors {
        eprintln!("visus: {model}: {error}");
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        print_all(&table(&comparison))?;
    }
    if comparison.ranked.is_empty() {
        bail!("none of the {} models could be evaluated", args.models.len());
    }
    Ok(())
}

fn compare(
    args: &EvalArgs,
    limits: Limits,
    opened: Vec<Result<Scorer, (String, Box<EvalError>)>>,
) -> Result<Comparison> {
    let (scorers, failed): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
    let scorers: Vec<Scorer> = scorers.into_iter().flatten().collect();
    let table = open_table(&args.features, &scorers)?;
    let question = Question {
        split: args.split,
        input_name: args.input_name.clone(),
        runner: Runner { launcher: super::launcher(), limits, threads: args.threads.map_or(0, usize::from) },
        bootstrap: Bootstrap { resamples: args.bootstrap, seed: args.seed },
    };
    let all: Vec<_> = scorers.into_iter().map(Ok).chain(failed).collect();
    Ok(question.compare(&all, &table, &|| false)?)
}

fn write_files(args: &EvalArgs, comparison: &Comparison) -> Result<()> {
    if let Some(path) = &args.json {
        let text = format!("{}\n", serde_json::to_string_pretty(&comparison.json())?);
        if path == Path::new("-") { print_all(&text)? } else { write(path, &text)? }
    }
    if let Some(path) = &args.predictions {
        write_predictions(path, comparison)?;
    }
    if let Some(path) = &args.html {
        write(path, &charts::page(comparison))?;
    }
    if let (Some(path), Some(best)) = (&args.svg, comparison.ranked.first()) {
        write(path, &charts::scatter(best).svg())?;
    }
    Ok(())
}

/// A row for each row of the table that a model used; a model that did not use it has no prediction there.
fn write_predictions(path: &Path, comparison: &Comparison) -> Result<()> {
    let mut columns = vec!["row".to_owned(), "mos".to_owned()];
    columns.extend(comparison.ranked.iter().map(|evaluation| evaluation.model.clone()));
    let mut rows: BTreeMap<usize, Vec<Cell>> = BTreeMap::new();
    for (place, evaluation) in comparison.ranked.iter().enumerate() {
        for ((row, predicted), mos) in
            evaluation.rows.iter().zip(&evaluation.predicted).zip(&evaluation.opinions)
        {
            let cells = rows.entry(*row).or_insert_with(|| {
                let mut cells = vec![Cell::Missing; columns.len()];
                (cells[0], cells[1]) = (Cell::Whole(*row as i64), Cell::Number(*mos));
                cells
            });
            cells[place + 2] = Cell::Number(*predicted);
        }
    }
    let mut table = TableWriter::new(path, columns)?;
    rows.into_values().for_each(|row| table.push(row));
    Ok(table.finish()?)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The ranking, and what the tests between models say.
fn table(comparison: &Comparison) -> String {
    let mut text = String::new();
    let Some(first) = comparison.ranked.first() else { return text };
    let _ = writeln!(text, "{}, split {}, {} rows", first.table, first.split.name(), first.n());
    if first.dropped > 0 {
        let _ = writeln!(text, "{} rows with missing values are left out", first.dropped);
    }
    let width = comparison.ranked.iter().map(|e| e.model.chars().count()).max().unwrap_or(5).max(5);
    let _ = writeln!(text, "\n{:width$}  {:28}{:28}{:9}RMSE", "model", "PLCC", "SROCC", "KROCC");
    comparison.ranked.iter().for_each(|evaluation| row(&mut text, evaluation, width));
    add_pairs(&mut text, comparison);
    text
}

fn row(text: &mut String, evaluation: &Evaluation, width: usize) {
    let (figures, intervals) = (&evaluation.figures, evaluation.intervals.as_ref());
    let plcc = with_interval(figures.plcc, intervals.and_then(|i| i.plcc));
    let srocc = with_interval(figures.srocc, intervals.and_then(|i| i.srocc));
    let _ = writeln!(
        text,
        "{:width$}  {plcc:28}{srocc:28}{:<9.4}{:.4}",
        evaluation.model, figures.krocc, figures.rmse
    );
}

fn with_interval(value: f64, interval: Option<Interval>) -> String {
    match interval {
        Some(Interval { low, high }) => format!("{value:.4} [{low:.4}, {high:.4}]"),
        None => format!("{value:.4}"),
    }
}

fn add_pairs(text: &mut String, comparison: &Comparison) {
    for pair in &comparison.pairs {
        let chance = |p: Option<f64>| p.map_or("undefined".to_owned(), |p| format!("{p:.2e}"));
        let _ = writeln!(
            text,
            "\n{} against {}: PLCC {:+.4}, p {} (Steiger); errors p {} (Wilcoxon, Holm)",
            pair.models[0],
            pair.models[1],
            pair.plcc_difference,
            chance(pair.plcc_steiger),
            chance(pair.wilcoxon_holm),
        );
    }
    if let Some(friedman) = comparison.friedman {
        let _ = writeln!(text, "\nall models' errors: p {:.2e} (Friedman)", friedman.p);
    }
}
