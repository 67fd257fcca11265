//! `visus diff`: two reports side by side.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use visus_report::{bootstrap, diff};

use super::pages::read_record;
use super::score::print_all;

const EXPLANATION: &str = "\
Frames are paired by number. Because neighbouring frames score alike, whole blocks of frames are resampled (paired \
block bootstrap, 4999 resamples, block length from the autocorrelation). That gives a 95 % interval of the change and a p value; \
below 0.05 the change is called real. Per shot, p is corrected for the number of shots (Holm).

Examples:
  visus diff before.json after.json
  visus diff libvmaf.json visus.json --json | jq '.models[0].real'";

#[derive(Debug, Args)]
#[command(after_help = EXPLANATION)]
pub struct DiffArgs {
    /// A JSON report, visus' or libvmaf's
    #[arg(value_hint = ValueHint::FilePath)]
    pub a: PathBuf,

    /// The report it is compared with
    #[arg(value_hint = ValueHint::FilePath)]
    pub b: PathBuf,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,

    /// Seed of the resampling
    #[arg(long, default_value_t = bootstrap::SEED)]
    pub seed: u64,
}

pub fn run(args: &DiffArgs) -> Result<()> {
    let (first, second) = (read_record(&args.a)?, read_record(&args.b)?);
    let diff = diff::diff(&first, &second, args.seed);
    if args.json {
        return print_all(&format!("{:#}\n", diff.json()));
    }
    print_all(&format!("a: {}\nb: {}\n{}", args.a.display(), args.b.display(), diff.text()))
}
