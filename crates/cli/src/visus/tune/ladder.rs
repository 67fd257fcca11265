//! `visus ladder`: renditions for streaming.

use anyhow::{Result, bail};
use visus_tune::{Ladder, LadderSettings, Rendition, charts, encoders, ladder, manifest};

use super::args::{LadderArgs, LadderFormat};
use super::progress::Progress;
use super::{Opened, check_target, choices, json, open, plots, sample_plan, table};
use crate::visus::score::print_all;

const COLUMNS: [&str; 5] = ["size", "setting", "VMAF", "kbit/s", "codecs"];

pub fn run(args: &LadderArgs) -> Result<()> {
    args.targets.iter().try_for_each(|target| check_target(*target))?;
    let settings = LadderSettings {
        adapter: encoders::by_name(&args.encoder)?,
        choices: choices(&args.source, &args.measure)?,
        resolutions: args.resolutions.iter().map(|size| (size.width as u32, size.height as u32)).collect(),
        targets: args.targets.clone(),
        tiers: args.tiers.max(1),
        spacing: args.spacing,
        pooling: args.measure.pool,
        samples: sample_plan(&args.measure)?,
    };
    let Opened { lab, source, judge } = open(&args.source, &args.measure, None)?;
    let progress = Progress::new(args.measure.quiet);
    let sink = |event| progress.event(event);
    let mut found = ladder(&lab, &source, &judge, &settings, &sink)?;
    if let Some(folder) = &args.package {
        let package = manifest::package(&lab, &source, &judge, &settings, &found, folder, &sink)?;
        found.renditions = package.renditions;
        eprintln!("visus: {} files in {}", package.files.len(), folder.display());
    }
    drop(progress);
    let rows = rows(&found.renditions);
    if !args.measure.quiet {
        eprint!("{}", table(&COLUMNS, &rows));
    }
    plots(&args.plots, "Ladder", &charts::ladder(&found).svg(), &COLUMNS, &rows)?;
    print_all(&printed(&found, args.format)?)?;
    if found.renditions.is_empty() {
        bail!("no rendition could be made");
    }
    Ok(())
}

fn printed(found: &Ladder, format: LadderFormat) -> Result<String> {
    Ok(match format {
        LadderFormat::Json => json(found)?,
        LadderFormat::Hls => manifest::hls_master(found),
        LadderFormat::Dash => manifest::dash(found),
    })
}

fn rows(renditions: &[Rendition]) -> Vec<Vec<String>> {
    let cells = |rendition: &Rendition| {
        vec![
            format!("{}x{}", rendition.width, rendition.height),
            rendition.crf.to_string(),
            format!("{:.2}", rendition.vmaf),
            format!("{:.0}", rendition.bitrate_kbps),
            rendition.codecs.clone(),
        ]
    };
    renditions.iter().map(cells).collect()
}
