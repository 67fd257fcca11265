//! `visus compare`: encoders side by side.

use anyhow::{Result, bail};
use visus_tune::{CompareSettings, Comparison, charts, compare};

use super::args::CompareArgs;
use super::progress::Progress;
use super::{Opened, check_target, choices, json, open, plots, sample_plan, table};
use crate::visus::score::print_all;

const COLUMNS: [&str; 7] = ["encoder", "target", "setting", "VMAF", "kbit/s", "encode ms", "note"];

pub fn run(args: &CompareArgs) -> Result<()> {
    args.targets.iter().try_for_each(|target| check_target(*target))?;
    let settings = CompareSettings {
        encoders: args.encoders.clone(),
        targets: args.targets.clone(),
        choices: choices(&args.source, &args.measure)?,
        pooling: args.measure.pool,
        samples: sample_plan(&args.measure)?,
        parallel: !args.no_parallel,
    };
    let Opened { lab, source, judge } = open(&args.source, &args.measure, None)?;
    let progress = Progress::new(args.measure.quiet);
    let report = compare(&lab, &source, &judge, &settings, &|event| progress.event(event))?;
    drop(progress);
    let rows = rows(&report);
    plots(&args.plots, "Encoders side by side", &charts::comparison(&report).svg(), &COLUMNS, &rows)?;
    if args.measure.json {
        print_all(&json(&report)?)?;
    } else {
        print_all(&format!("{}{}", table(&COLUMNS, &rows), deltas(&report)))?;
    }
    if !report.rows.iter().any(|row| row.ok) {
        bail!("no encoder met a target");
    }
    Ok(())
}

fn rows(report: &Comparison) -> Vec<Vec<String>> {
    let number =
        |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    let cells = |row: &visus_tune::Row| {
        let note = row.error.clone().or_else(|| row.contradictions.first().cloned()).unwrap_or_default();
        vec![
            row.codec.clone(),
            row.target_vmaf.to_string(),
            if row.best_crf < 0 { "-".to_owned() } else { row.best_crf.to_string() },
            number(row.vmaf_score, 2),
            number(row.bitrate_kbps, 0),
            if row.ok { row.encode_time_ms.to_string() } else { "-".to_owned() },
            note,
        ]
    };
    report.rows.iter().map(cells).collect()
}

fn deltas(report: &Comparison) -> String {
    let line = |delta: &visus_tune::Delta| match (delta.bd_rate_percent, &delta.error) {
        (Some(rate), _) => {
            let gain =
                delta.bd_vmaf.map_or(String::new(), |gain| format!(", {gain:+.2} VMAF at the same rate"));
            format!("{} against {}: BD-rate {rate:+.2} %{gain}\n", delta.encoder, delta.anchor)
        }
        (None, Some(error)) => format!("{} against {}: no BD-rate, {error}\n", delta.encoder, delta.anchor),
        (None, None) => String::new(),
    };
    report.bd_rate.iter().map(line).collect()
}
