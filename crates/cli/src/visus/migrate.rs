//! `visus migrate`: what the thresholds of one model are in another.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueHint};
use visus_engine::Cancel;
use visus_report::migrate::MigrationReport;
use visus_scoring::{Columns, Migration, Selection, Video, Videos, score_opened};

use super::args::{RawArgs, RunArgs};
use super::batch::list;
use super::media::MediaArgs;
use super::score::{self, print_all, write_json};

const EXAMPLES: &str = "\
A list is a CSV file with a header and the columns `reference` and `distorted`; paths are relative to the list's folder.

Both models score every encode in one pass. A straight line is fitted to the mean scores; the intervals are those in which \
the new score of a further encode would lie in 95 of 100 cases. Give encodes that are like those of your pipeline: of its \
encoders, its contents and the whole range of its qualities.

Exit codes: 0 success, 1 failure, 2 invalid request.

Examples:
  visus migrate pairs.csv
  visus migrate encodes/ --reference master.mov --threshold 93 --threshold 85 --json=migration.json
  visus migrate pairs.csv --from vmaf_v0.6.1 --to vmaf_v0.6.1neg";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MigrateArgs {
    /// A CSV file with the columns reference and distorted, or a folder of encodes of one --reference
    #[arg(value_hint = ValueHint::AnyPath)]
    pub list: PathBuf,

    /// The reference of all encodes in a folder, or of list rows without one
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub reference: Option<PathBuf>,

    /// The model whose thresholds are in use
    #[arg(long, value_name = "MODEL", default_value = "vmaf_v0.6.1")]
    pub from: String,

    /// The model to go to; auto is the newest generation, for the size and the frame rate of the first reference
    #[arg(long, value_name = "MODEL", default_value = "auto")]
    pub to: String,

    /// A threshold of the old model to translate; repeatable [default: 70, 80, 85, 90, 93, 95, 97]
    #[arg(long = "threshold", value_name = "SCORE")]
    pub thresholds: Vec<f64>,

    /// Write the result as JSON [default FILE: standard output]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub raw: RawArgs,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub media: MediaArgs,
}

pub fn run(args: &MigrateArgs) -> Result<()> {
    let pairs = list::pairs(&args.list, args.reference.as_deref())?;
    let mut migration = Migration::new(&args.from, &args.to);
    for (number, (reference, distorted)) in pairs.iter().enumerate() {
        if !args.run.quiet {
            eprintln!("visus: {} of {}: {}", number + 1, pairs.len(), distorted.display());
        }
        if let Err(error) = measure(args, reference, distorted, &mut migration) {
            let shown = distorted.to_string_lossy().into_owned();
            eprintln!("visus: {shown}: {error:#}");
            migration.fail(shown, format!("{error:#}"));
        }
    }
    let report = migration.report(&args.thresholds, crate::VERSION).map_err(anyhow::Error::msg)?;
    if let Some(path) = &args.json {
        write_json(path, &visus_report::score::json(&report))?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        print_all(&summary(&report))?;
    }
    match report.failures.len() {
        0 => Ok(()),
        failed => bail!("{failed} of {} encodes could not be scored", pairs.len()),
    }
}

/// Scores a pair with both models.
fn measure(args: &MigrateArgs, reference: &Path, distorted: &Path, migration: &mut Migration) -> Result<()> {
    let selection = Selection::parse(migration.models(), [], Columns::ByModel)?;
    let videos = Videos {
        reference: Video::Path(reference.to_path_buf()),
        distorted: Video::Path(distorted.to_path_buf()),
        raw: args.raw.format()?,
        pairing: args.media.pairing()?,
        skip: [0, 0],
    };
    let videos = score::open(videos, &selection, &Cancel::new())?;
    let options = args.run.options()?;
    let result = score::under_bar(args.run.quiet, |bar| {
        score_opened(videos, &selection, &options, &Cancel::new(), bar)
    })?;
    score::check(&result)?;
    let [reference, distorted] = [reference, distorted].map(|path| path.to_string_lossy().into_owned());
    Ok(migration.add(reference, distorted, &result)?)
}

fn summary(report: &MigrationReport) -> String {
    let mapping = &report.mapping;
    let mut text = format!(
        "{} = {:.2} + ({:.3} ± {:.3}) · {}   fitted to {} encodes, scatter {:.2}, correlation {:.4}\n",
        report.to_model,
        mapping.intercept,
        mapping.slope,
        mapping.slope_half,
        report.from_model,
        mapping.encodes,
        mapping.scatter,
        mapping.correlation
    );
    for threshold in &report.thresholds {
        let note = if threshold.extrapolated {
            "   no encode scored like that: continued beyond what was seen"
        } else {
            ""
        };
        text.push_str(&format!(
            "  {:>6.2} becomes {:>6.2}   ({:.2} to {:.2}){note}\n",
            threshold.from, threshold.to, threshold.low, threshold.high
        ));
    }
    for outlier in &report.outliers {
        text.push_str(&format!(
            "  {}: {:.2} and {:.2}, {:+.2} from the line\n",
            outlier.distorted, outlier.from, outlier.to, outlier.residual
        ));
    }
    for pair in &report.disagreements {
        text.push_str(&format!(
            "  opposite order: the old model prefers {} by {:.2}, the new one {} by {:.2}\n",
            pair.old_prefers, pair.old_difference, pair.new_prefers, pair.new_difference
        ));
    }
    text
}
