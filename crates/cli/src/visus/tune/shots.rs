//! `visus shots`: the shots of a source, and a setting for each.

use anyhow::{Result, bail};
use visus_tune::shots::{self, DetectSettings, PredictSettings, ShotPlan, ShotSettings, Shots};
use visus_tune::{OutputFile, charts, encoders};

use super::args::{PlanFormat, ShotsArgs};
use super::progress::Progress;
use super::{Opened, check_target, choices, json, megabytes, open, plots, table};
use crate::visus::score::print_all;

const COLUMNS: [&str; 6] = ["frames", "begins with", "setting", "VMAF", "kbit/s", "note"];

pub fn run(args: &ShotsArgs) -> Result<()> {
    args.target.map_or(Ok(()), check_target)?;
    if !(args.threshold > 0.0 && args.threshold <= 255.0) {
        bail!("--threshold {} must lie between 0 and 255", args.threshold);
    }
    let adapter = encoders::by_name(&args.encoder)?;
    let choices = choices(&args.source, &args.measure)?;
    let Opened { lab, source, judge } = open(&args.source, &args.measure, args.output.as_deref())?;
    let progress = Progress::new(args.measure.quiet);
    let sink = |event| progress.event(event);
    let detect = DetectSettings { threshold: args.threshold, ..DetectSettings::default() };
    let found = shots::find(&source, &detect, &lab.tools, &lab.cancel, &sink)?;
    let Some(target) = args.target else {
        drop(progress);
        return print_all(&listed(&found, args)?);
    };
    let output = args.output.as_deref().map(OutputFile::at).transpose()?;
    let pooling = args.measure.pool;
    let settings = ShotSettings { adapter, choices, target, pooling, output };
    let plan = shots::tune(&lab, &source, &judge, &found, &settings, &sink)?;
    drop(progress);
    plots(&args.plots, "Settings per shot", &charts::shots(&plan).svg(), &COLUMNS, &rows(&plan))?;
    print_all(&printed(&plan, args)?)?;
    match &plan.output_error {
        Some(error) => bail!("the shots could not be joined: {error}"),
        None if plan.shots.iter().all(|row| row.crf < 0) => bail!("no shot could be measured"),
        None => Ok(()),
    }
}

/// Shots without settings, with a guess for each.
fn listed(found: &Shots, args: &ShotsArgs) -> Result<String> {
    let predicted = shots::predict(found, &PredictSettings { target: 90.0, crf_min: 18, crf_max: 35 });
    let format = if args.measure.json { PlanFormat::Json } else { args.format };
    Ok(match format {
        PlanFormat::Json => json(&predicted)?,
        PlanFormat::Csv => shots::predicted_csv(&predicted),
        PlanFormat::Table => {
            let kinds =
                std::iter::once("start").chain(found.boundaries.iter().map(|boundary| boundary.kind.name()));
            let cells = predicted.iter().zip(kinds).map(|(shot, kind)| {
                vec![
                    format!("{}-{}", shot.start_frame, shot.end_frame),
                    kind.to_owned(),
                    format!("{:.2}", shot.mean_complexity),
                    format!("{:.2}", shot.mean_motion),
                ]
            });
            let rows: Vec<Vec<String>> = cells.collect();
            let flashes = found.flashes.len();
            format!(
                "{}{} shots in {} frames, {flashes} flash{}\n",
                table(&["frames", "begins with", "complexity", "motion"], &rows),
                rows.len(),
                found.frames,
                if flashes == 1 { "" } else { "es" }
            )
        }
        _ => bail!("this format needs settings: give a --target"),
    })
}

fn printed(plan: &ShotPlan, args: &ShotsArgs) -> Result<String> {
    let format = if args.measure.json { PlanFormat::Json } else { args.format };
    Ok(match format {
        PlanFormat::Json => json(plan)?,
        PlanFormat::Shell => shots::shell(plan),
        PlanFormat::Csv => shots::csv(plan),
        PlanFormat::X264Zones => format!("zones={}\n", shots::x264_zones(plan)),
        PlanFormat::X265Zones => {
            let (base, zones) = shots::x265_zones(plan);
            format!("crf={base}:zones={zones}\n")
        }
        PlanFormat::Table => format!("{}{}", table(&COLUMNS, &rows(plan)), joined(plan)),
    })
}

fn rows(plan: &ShotPlan) -> Vec<Vec<String>> {
    let number =
        |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    let cells = |row: &shots::ShotRow| {
        vec![
            format!("{}-{}", row.start_frame, row.end_frame - 1),
            row.begins_with.to_owned(),
            if row.crf < 0 { "-".to_owned() } else { row.crf.to_string() },
            number(row.predicted_vmaf, 2),
            number(row.bitrate_kbps, 0),
            row.error.clone().or_else(|| row.contradictions.first().cloned()).unwrap_or_default(),
        ]
    };
    plan.shots.iter().map(cells).collect()
}

fn joined(plan: &ShotPlan) -> String {
    plan.output.as_ref().map_or(String::new(), |joined| {
        format!(
            "joined: {} frames, {:.0} kbit/s, {}; predicted {:.2}, achieved {:.2}; written to {}\n",
            joined.frames,
            joined.bitrate_kbps,
            megabytes(joined.bytes),
            joined.predicted_vmaf,
            joined.achieved_vmaf,
            joined.path
        )
    })
}
