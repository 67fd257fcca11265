//! `visus gate`: a score that a pipeline can act on.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use visus_report::Record;
use visus_report::gate::{self, Check, Figure, Limits, NotMeasured};
use visus_report::score::ScoreReport;
use visus_scoring::ScoreResult;

use super::args::ScoreArgs;
use super::pages::read_record;
use super::score::{self, print_all, write_to};

const EXAMPLES: &str = "\
The limits apply to the first model.

Exit codes: 0 all limits hold, 1 a limit is violated, 2 nothing could be measured (--junit has the class of the \
refusal: request, not_comparable, video or failed).

Examples:
  visus gate ref.y4m dis.y4m --min-mean 93 --min-p5 88
  visus gate film.mov encode.mp4 --min-mean 93 --within 0.5
  visus gate ref.y4m dis.y4m --baseline main.json --max-drop 0.5 --junit gate.xml --github

To make a baseline:
  visus score ref.y4m dis.y4m --json=main.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct GateArgs {
    #[command(flatten)]
    pub score: ScoreArgs,

    /// The mean must be at least this
    #[arg(long, value_name = "SCORE", value_parser = finite, help_heading = "Limits")]
    pub min_mean: Option<f64>,

    /// The harmonic mean must be at least this
    #[arg(long, value_name = "SCORE", value_parser = finite, help_heading = "Limits")]
    pub min_harmonic: Option<f64>,

    /// The worst frame must score at least this
    #[arg(long, value_name = "SCORE", value_parser = finite, help_heading = "Limits")]
    pub min_min: Option<f64>,

    /// The median must be at least this
    #[arg(long, value_name = "SCORE", value_parser = finite, help_heading = "Limits")]
    pub min_median: Option<f64>,

    /// 99 % of the frames must score at least this
    #[arg(long, value_name = "SCORE", value_parser = finite, help_heading = "Limits")]
    pub min_p1: Option<f64>,

    /// 95 % of the frames must score at least this
    #[arg(long, value_name = "SCORE", value_parser = finite, help_heading = "Limits")]
    pub min_p5: Option<f64>,

    /// 90 % of the frames must score at least this
    #[arg(long, value_name = "SCORE", value_parser = finite, help_heading = "Limits")]
    pub min_p10: Option<f64>,

    /// 75 % of the frames must score at least this
    #[arg(long, value_name = "SCORE", value_parser = finite, help_heading = "Limits")]
    pub min_p25: Option<f64>,

    /// An earlier JSON report, visus' or libvmaf's, of the same model
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Limits")]
    pub baseline: Option<PathBuf>,

    /// How far the mean may be below the baseline's [default: 0.5 with --baseline]
    #[arg(long, value_name = "POINTS", value_parser = finite, requires = "baseline", help_heading = "Limits")]
    pub max_drop: Option<f64>,

    /// How far the 5th percentile may be below the baseline's
    #[arg(long, value_name = "POINTS", value_parser = finite, requires = "baseline", help_heading = "Limits")]
    pub max_drop_p5: Option<f64>,

    /// Write the verdict as JUnit XML
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Verdict")]
    pub junit: Option<PathBuf>,

    /// Print GitHub annotations
    #[arg(long, help_heading = "Verdict")]
    pub github: bool,
}

fn finite(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it must be a number".to_owned())?;
    if number.is_finite() { Ok(number) } else { Err("it must be a finite number".to_owned()) }
}

/// The mean's noise between encodes of the same settings is far below this.
const USUAL_DROP: f64 = 0.5;

impl GateArgs {
    fn limits(&self) -> Result<Limits> {
        let least = [
            (Figure::Mean, self.min_mean),
            (Figure::Harmonic, self.min_harmonic),
            (Figure::Min, self.min_min),
            (Figure::Median, self.min_median),
            (Figure::P1, self.min_p1),
            (Figure::P5, self.min_p5),
            (Figure::P10, self.min_p10),
            (Figure::P25, self.min_p25),
        ];
        let least: Vec<_> = least.into_iter().filter_map(|(figure, least)| Some((figure, least?))).collect();
        if least.is_empty() && self.baseline.is_none() {
            bail!("the gate has no limit: give --min-mean, --min-p5 or another --min-…, or --baseline");
        }
        let max_drop = match (&self.baseline, self.max_drop, self.max_drop_p5) {
            (Some(_), None, None) => Some(USUAL_DROP),
            (_, given, _) => given,
        };
        Ok(Limits { least, max_drop, max_drop_p5: self.max_drop_p5 })
    }

    fn subject(&self) -> String {
        format!("{} against {}", self.score.distorted.display(), self.score.reference.display())
    }
}

/// Whether all limits hold.
pub fn run(args: &GateArgs) -> Result<bool> {
    let started = Instant::now();
    let checks = checks(args);
    let (found, error) = match &checks {
        Ok(checks) => (&checks[..], None),
        Err(error) => (&[][..], Some((super::class(error), format!("{error:#}")))),
    };
    let error = error.as_ref().map(|(class, text)| NotMeasured { class, text });
    if let Some(path) = &args.junit {
        let seconds = started.elapsed().as_secs_f64();
        let text = gate::junit(&format!("visus gate: {}", args.subject()), found, seconds, error);
        write_to(path, |out| out.write_all(text.as_bytes()))?;
    }
    if args.github {
        print_all(&gate::annotations(&args.subject(), found, error.map(|error| error.text)))?;
    }
    let checks = checks?;
    if !args.github && !args.score.run.quiet && !args.score.outputs.uses_stdout() {
        print_all(&verdict(&checks))?;
    }
    Ok(checks.iter().all(|check| check.passed))
}

/// The baseline is read first: a wrong one should not cost a measurement.
fn checks(args: &GateArgs) -> Result<Vec<Check>> {
    let limits = args.limits()?;
    if args.score.sample.is_asked_for() {
        return super::sampled::checks(&args.score, &limits);
    }
    let baseline = args.baseline.as_deref().map(read_record).transpose().context("the baseline")?;
    let result = score::measure(&args.score)?;
    score::check(&result)?;
    warn(args, &result);
    let facts = result.facts(crate::VERSION);
    let record = Record::of(ScoreReport::new(&facts, &result.outcome))?;
    Ok(gate::check(&record, baseline.as_ref(), &limits)?)
}

/// Faults that detectors found fail no gate, but nobody should overlook them.
fn warn(args: &GateArgs, result: &ScoreResult) {
    let said = args.score.run.quiet || args.score.outputs.uses_stdout();
    for text in score::fault_texts(result) {
        match args.github {
            true => println!("::warning title=visus gate::{text}"),
            // Without a summary, they were written to standard error already.
            false if said => {}
            false => eprintln!("visus: warning: {text}"),
        }
    }
}

fn verdict(checks: &[Check]) -> String {
    let line = |check: &Check| format!("{}  {}\n", if check.passed { "pass" } else { "FAIL" }, check.text);
    let failed = checks.iter().filter(|check| !check.passed).count();
    let last =
        if failed == 0 { "passed".to_owned() } else { format!("failed: {failed} of {}", checks.len()) };
    format!("{}gate {last}\n", checks.iter().map(line).collect::<String>())
}
