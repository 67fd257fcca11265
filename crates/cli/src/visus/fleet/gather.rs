//! `visus gather`: results of all shards become what one `visus batch` would have written.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use serde_json::{Map, Value};
use visus_report::batch::{BatchLine, BatchRow};
use visus_report::part;
use visus_report::score;

use super::bundle::{Bundle, Plan, Task};
use super::folder::{PlanFolder, TaskResult};
use crate::visus::score::write_to;

const EXAMPLES: &str = "\
Writes a line of JSON for each pair, in the order of the list: the bytes that `visus batch` writes.

Exit codes: 0 all scored, 1 tasks are missing or pairs could not be scored.

Examples:
  visus gather plan/ -o scores.ndjson --table scores.parquet --failures failed.csv
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

    /// Also list the pairs without a score and why, as CSV
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub failures: Option<PathBuf>,

    /// Also write the pooled scores as a table, .parquet or .csv
    #[cfg(feature = "eval")]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub table: Option<PathBuf>,

    /// No summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// Bundles whose results are read at once.
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
    let (mut lines, mut missing, mut failed) = (Vec::with_capacity(plan.head.pairs), 0, 0);
    for joined in join_all(&folder, &plan)? {
        match joined {
            Joined::Line(line, is_scored) => {
                failed += usize::from(!is_scored);
                lines.push(line);
            }
            Joined::Missing => missing += 1,
        }
    }
    if missing > 0 && !args.partial {
        bail!("{missing} of {} pairs are not done; --partial leaves them out", plan.head.pairs);
    }
    let output = args.output.clone().unwrap_or_else(|| "-".into());
    write_to(&output, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    #[cfg(feature = "eval")]
    if let Some(path) = &args.table {
        write_table(path, &lines)?;
    }
    if let Some(path) = &args.failures {
        write_to(path, |out| write_failures(out, &lines))?;
    }
    if !args.quiet {
        let scored = lines.len() - failed;
        eprintln!("visus: {scored} pairs scored, {failed} could not be, {missing} are not done");
    }
    match failed {
        0 => Ok(()),
        failed => bail!("{failed} of {} pairs could not be scored", plan.head.pairs),
    }
}

/// What is known of a row while results are read.
#[derive(Default)]
struct Row<'p> {
    /// Its tasks that were read, by the first frame of their ranges, with what they came to.
    tasks: Vec<(&'p Task, &'p str, Option<TaskResult>)>,
    left: usize,
}

/// The lines of all rows, in their order. Of a film in ranges no more is held than of those that are incomplete.
fn join_all(folder: &PlanFolder, plan: &Plan) -> Result<Vec<Joined>> {
    let mut rows: Vec<Row<'_>> = (0..plan.head.pairs).map(|_| Row::default()).collect();
    for row in plan.bundles.iter().flat_map(|bundle| &bundle.tasks).flat_map(|task| &task.rows) {
        rows.get_mut(*row).context("the plan is damaged: a task is of no row")?.left += 1;
    }
    let mut joined: Vec<Option<Joined>> = (0..plan.head.pairs).map(|_| None).collect();
    // In the order of the list, so that the ranges of a film are read one after another.
    let first = |bundle: &Bundle| {
        let task = bundle.wanted().next().map(|(_, task)| task);
        task.map(|task| (task.rows[0], task.range.map(|(from, _)| from)))
    };
    let mut bundles: Vec<&Bundle> = plan.bundles.iter().collect();
    bundles.sort_by_key(|bundle| first(bundle));
    for group in bundles.chunks(GROUP) {
        for (bundle, lines) in group.iter().zip(folder.results(group)?) {
            for (task, line) in bundle.tasks.iter().zip(lines) {
                let Some((last, others)) = task.rows.split_last() else { continue };
                for row in others {
                    rows[*row].tasks.push((task, &bundle.key, line.clone()));
                }
                rows[*last].tasks.push((task, &bundle.key, line));
                for row in &task.rows {
                    rows[*row].left -= 1;
                    if rows[*row].left == 0 {
                        joined[*row] = Some(join(plan, *row, std::mem::take(&mut rows[*row].tasks))?);
                    }
                }
            }
        }
    }
    joined.into_iter().map(|joined| joined.context("the plan is damaged: a row has no task")).collect()
}

fn join(plan: &Plan, row: usize, mut tasks: Vec<(&Task, &str, Option<TaskResult>)>) -> Result<Joined> {
    tasks.sort_by_key(|(task, ..)| task.range.map(|(from, _)| from));
    let (first, ..) = tasks.first().context("the plan is damaged: a row has no task")?;
    let distorted = first.distorted().to_string_lossy().into_owned();
    let facts = first.facts(&plan.head.common);
    let row = BatchRow {
        number: row as u64 + 1,
        reference: first.reference().to_string_lossy().into_owned(),
        distorted: distorted.clone(),
        task: &facts,
    };
    let mut reports = Vec::with_capacity(tasks.len());
    for (_, key, result) in tasks {
        match result {
            None => return Ok(Joined::Missing),
            Some(TaskResult::Error { error, error_class }) => {
                let line = BatchLine::failed(row, &error, Some(&error_class));
                return Ok(Joined::Line(score::json(&line), false));
            }
            Some(TaskResult::Ok { report }) => reports.push((key.to_owned(), report)),
        }
    }
    let is_cut = reports.iter().any(|(_, report)| report.get("part").is_some());
    let report = match (is_cut, reports.pop()) {
        (false, Some((_, report))) => report,
        (_, last) => {
            reports.extend(last);
            let join_pairing = &crate::visus::merge::join_pairing;
            part::merge(reports, false, join_pairing, &visus_scoring::join_diagnosis)
                .with_context(|| distorted)?
        }
    };
    Ok(Joined::Line(line(&row, report), true))
}

/// What belongs to one run, or to a part of it.
const OWN: [&str; 3] = ["fps", "frames", "part"];

/// A report with the row around it and without its frames, as a batch writes it.
fn line(row: &BatchRow<'_>, report: Value) -> Value {
    let mut line = Map::new();
    line.insert("row".to_owned(), row.number.into());
    line.insert("status".to_owned(), "ok".into());
    line.insert("reference".to_owned(), row.reference.clone().into());
    line.insert("distorted".to_owned(), row.distorted.clone().into());
    if let Value::Object(report) = report {
        line.extend(report.into_iter().filter(|(key, _)| !OWN.contains(&key.as_str())));
    }
    line.insert("detail".to_owned(), "pooled".into());
    line.insert("task".to_owned(), row.task.clone());
    line.into()
}

/// A row for each pair that could not be scored.
fn write_failures(out: &mut dyn Write, lines: &[Value]) -> std::io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let columns = ["row", "reference", "distorted", "error_class", "error"];
    table.write_record(columns)?;
    for line in lines.iter().filter(|line| line["status"] == "error") {
        let cell = |key: &str| line[key].as_str().map_or_else(|| line[key].to_string(), str::to_owned);
        table.write_record(columns.map(cell))?;
    }
    table.flush()
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
