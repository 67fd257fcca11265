//! `visus gather`: results of all shards become what one `visus batch` would have written.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use serde_json::{Map, Value};
use visus_report::batch::{BatchLine, BatchRow};
use visus_report::part;
use visus_report::score;

use super::folder::{PlanFolder, TaskResult};
use super::plan::{Plan, PlannedPair};
use crate::visus::score::write_to;

const EXAMPLES: &str = "\
Writes a line of JSON for each pair, in the order of the list: the lines that `visus batch` writes, except for fps.

Exit codes: 0 all scored, 1 tasks are missing or pairs could not be scored.

Examples:
  visus gather plan/ -o scores.ndjson
  visus gather plan/ --partial | jq -r 'select(.status == \"error\") | [.distorted, .error] | @tsv'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct GatherArgs {
    /// The folder of the plan
    #[arg(value_hint = ValueHint::DirPath)]
    pub plan: PathBuf,

    /// Write the lines to this file [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Leave out pairs that are not done yet
    #[arg(long)]
    pub partial: bool,

    /// Also write the pooled scores as a table, .parquet or .csv
    #[cfg(feature = "eval")]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub table: Option<PathBuf>,

    /// No summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// Pairs whose results are read at once.
const GROUP: usize = 64;

/// What a pair came to.
enum Joined {
    /// Its line, and whether it has scores.
    Line(Value, bool),
    /// Some of its tasks have no result.
    Missing,
}

pub fn run(args: &GatherArgs) -> Result<()> {
    let folder = PlanFolder::open(&args.plan)?;
    let plan = folder.read_plan()?;
    let (mut lines, mut missing, mut failed) = (Vec::with_capacity(plan.pairs.len()), 0, 0);
    for (group, pairs) in plan.pairs.chunks(GROUP).enumerate() {
        let mut results = results_of(&folder, &plan, pairs)?;
        for (place, pair) in pairs.iter().enumerate() {
            match join(&plan, group * GROUP + place, pair, results.by_ref())? {
                Joined::Line(line, is_scored) => {
                    failed += usize::from(!is_scored);
                    lines.push(line);
                }
                Joined::Missing => missing += 1,
            }
        }
    }
    if missing > 0 && !args.partial {
        bail!("{missing} of {} pairs are not done; --partial leaves them out", plan.pairs.len());
    }
    let output = args.output.clone().unwrap_or_else(|| "-".into());
    write_to(&output, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    #[cfg(feature = "eval")]
    if let Some(path) = &args.table {
        write_table(path, &lines)?;
    }
    if !args.quiet {
        let scored = lines.len() - failed;
        eprintln!("visus: {scored} pairs scored, {failed} could not be, {missing} are not done");
    }
    match failed {
        0 => Ok(()),
        failed => bail!("{failed} of {} pairs could not be scored", plan.pairs.len()),
    }
}

/// The results of the tasks of these pairs, one after another.
fn results_of(
    folder: &PlanFolder,
    plan: &Plan,
    pairs: &[PlannedPair],
) -> Result<impl Iterator<Item = Option<TaskResult>> + use<>> {
    let mut keys = Vec::new();
    for place in pairs.iter().flat_map(|pair| &pair.tasks) {
        let task = plan.tasks.get(*place).context("the plan is damaged: a pair has no such task")?;
        keys.push(&*task.key);
    }
    Ok(folder.results(&keys)?.into_iter())
}

fn join(
    plan: &Plan,
    place: usize,
    pair: &PlannedPair,
    results: &mut dyn Iterator<Item = Option<TaskResult>>,
) -> Result<Joined> {
    let row = BatchRow {
        number: place as u64 + 1,
        reference: pair.reference.to_string_lossy().into_owned(),
        distorted: pair.distorted.to_string_lossy().into_owned(),
        task: &pair.task,
    };
    let mut reports = Vec::with_capacity(pair.tasks.len());
    let results: Vec<_> = results.take(pair.tasks.len()).collect();
    for (place, result) in pair.tasks.iter().zip(results) {
        let task = &plan.tasks[*place];
        match result {
            None => return Ok(Joined::Missing),
            Some(TaskResult::Error { error, error_class }) => {
                let line = BatchLine::failed(row, &error, Some(&error_class));
                return Ok(Joined::Line(score::json(&line), false));
            }
            Some(TaskResult::Ok { report }) => reports.push((task.key.clone(), report)),
        }
    }
    let is_cut = reports.iter().any(|(_, report)| report.get("part").is_some());
    let report = match (is_cut, reports.pop()) {
        (false, Some((_, report))) => report,
        (_, last) => {
            reports.extend(last);
            let join_pairing = &crate::visus::merge::join_pairing;
            part::merge(reports, false, join_pairing, &visus_scoring::join_diagnosis)
                .with_context(|| pair.distorted.display().to_string())?
        }
    };
    Ok(Joined::Line(line(&row, report), true))
}

/// A report with the row around it and without its frames, as a batch writes it.
fn line(row: &BatchRow<'_>, report: Value) -> Value {
    let mut line = Map::new();
    line.insert("row".to_owned(), row.number.into());
    line.insert("status".to_owned(), "ok".into());
    line.insert("reference".to_owned(), row.reference.clone().into());
    line.insert("distorted".to_owned(), row.distorted.clone().into());
    if let Value::Object(report) = report {
        line.extend(report.into_iter().filter(|(key, _)| key != "frames" && key != "part"));
    }
    line.insert("detail".to_owned(), "pooled".into());
    line.insert("task".to_owned(), row.task.clone());
    line.into()
}

/// A row for each scored pair: the files, the number of frames, and every pooled figure.
#[cfg(feature = "eval")]
fn write_table(path: &std::path::Path, lines: &[Value]) -> Result<()> {
    use visus_eval::table::{Cell, TableWriter};
    let scored = || lines.iter().filter(|line| line["status"] == "ok");
    let mut figures: Vec<(String, String)> = Vec::new();
    for line in scored() {
        for (metric, pooled) in line["pooled_metrics"].as_object().into_iter().flatten() {
            for figure in pooled.as_object().into_iter().flat_map(|pooled| pooled.keys()) {
                let column = (metric.clone(), figure.clone());
                if !figures.contains(&column) {
                    figures.push(column);
                }
            }
        }
    }
    let fixed = ["reference", "distorted", "frames"].map(str::to_owned);
    let names = figures.iter().map(|(metric, figure)| format!("{metric}_{figure}"));
    let mut table = TableWriter::new(path, fixed.into_iter().chain(names).collect())?;
    for line in scored() {
        let text = |key: &str| Cell::Text(line[key].as_str().unwrap_or_default().to_owned());
        let frames = line["frame_count"].as_i64().map_or(Cell::Missing, Cell::Whole);
        let number = |(metric, figure): &(String, String)| {
            line["pooled_metrics"][metric][figure].as_f64().map_or(Cell::Missing, Cell::Number)
        };
        let row = [text("reference"), text("distorted"), frames].into_iter();
        table.push(row.chain(figures.iter().map(number)).collect());
    }
    table.finish()?;
    Ok(())
}
