//! `--within` and `--budget`: a score from a sample of the frames.

use anyhow::{Result, bail};
use clap::Args;
use visus_engine::Cancel;
use visus_report::gate::{Check, Figure, Limits};
use visus_report::sampling::{Interval, SampleEnd, SampledReport};
use visus_scoring::{Estimates, SampleBudget, Sampling, Within, score_sampled};

use super::args::ScoreArgs;
use super::score::{print_all, with_advice, write_json};

/// When a sample of the frames is enough.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub struct SampleArgs {
    /// Score samples of the frames until the 95 % interval of the mean is ± this many points: 0.5, or p5=1 for the 5th
    /// percentile; repeatable. Frames are paired one after another
    #[arg(long, value_name = "[mean=|p5=]POINTS", conflicts_with_all = ["from", "to", "frames"])]
    pub within: Vec<Within>,

    /// Score samples of the frames for this long: 30s, 5m or 1h; with --within, for so long at most
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "to", "frames"])]
    pub budget: Option<SampleBudget>,
}

impl SampleArgs {
    pub fn is_asked_for(&self) -> bool {
        !self.within.is_empty() || self.budget.is_some()
    }

    fn sampling(&self) -> Sampling {
        Sampling::new(&self.within, self.budget)
    }
}

/// `visus score` with a sample.
pub fn run(args: &ScoreArgs) -> Result<()> {
    let report = measure(args, |_| false)?;
    if !args.run.quiet && !args.outputs.uses_stdout() {
        print_all(&summary(&report))?;
    }
    Ok(())
}

fn measure(args: &ScoreArgs, decided: impl FnMut(&Estimates) -> bool) -> Result<SampledReport> {
    let outputs = &args.outputs;
    if outputs.csv.is_some() || outputs.xml.is_some() || outputs.pages.wanted() {
        bail!(
            "a sample has a JSON report and a summary alone; leave out the other reports, or --within and --budget"
        );
    }
    let sampling = args.sample.sampling();
    let report = score_sampled(args.request()?, &sampling, &Cancel::new(), decided, crate::VERSION);
    let report = report.map_err(with_advice)?;
    if let Some(path) = &outputs.json {
        write_json(path, &visus_report::score::json(&report))?;
    }
    if args.run.quiet || outputs.uses_stdout() {
        report.notes.iter().for_each(|note| eprintln!("visus: {note}"));
    }
    Ok(report)
}

fn summary(report: &SampledReport) -> String {
    let SampledReport { score, mean, p5, frames, frames_scored, places, .. } = report;
    let ended = match report.ended {
        SampleEnd::Narrow => "the interval is as narrow as was asked for",
        SampleEnd::Decided => "the limits are decided",
        SampleEnd::Budget => "the time was used up",
        SampleEnd::Whole => "every frame was scored: the figures are exact",
    };
    let interval = |interval: &Interval| {
        format!(
            "{:.2} ± {:.2}   95 % interval {:.2} to {:.2}",
            interval.estimate,
            interval.half(),
            interval.low,
            interval.high
        )
    };
    let mut text =
        format!("{score}  estimated from a sample\n  mean {}\n  p5   {}\n", interval(mean), interval(p5));
    let share = 100.0 * *frames_scored as f64 / (*frames).max(1) as f64;
    text.push_str(&format!(
        "{frames_scored} of {frames} frames scored ({share:.1} %), from {places} places, in {:.1} s; {ended}\n",
        report.seconds
    ));
    report.notes.iter().for_each(|note| text.push_str(&format!("  {note}\n")));
    text
}

/// The checks of a gate, as early as the sample decides them.
pub fn checks(args: &ScoreArgs, limits: &Limits) -> Result<Vec<Check>> {
    if limits.max_drop.is_some() || limits.max_drop_p5.is_some() {
        bail!("a sample cannot be compared with a baseline; leave out --baseline, or --within and --budget");
    }
    if let Some((figure, _)) =
        limits.least.iter().find(|(figure, _)| !matches!(figure, Figure::Mean | Figure::P5))
    {
        bail!(
            "a sample estimates the mean and the 5th percentile; a limit on {} needs all frames",
            figure.name()
        );
    }
    let interval =
        |mean: &Interval, p5: &Interval, figure: Figure| if figure == Figure::P5 { *p5 } else { *mean };
    let undecided = |estimates: &Estimates| {
        limits
            .least
            .iter()
            .filter(|(figure, least)| {
                let interval = interval(&estimates.mean, &estimates.p5, *figure);
                interval.low < *least && *least <= interval.high
            })
            .count()
    };
    let violated = |estimates: &Estimates| {
        limits
            .least
            .iter()
            .any(|(figure, least)| interval(&estimates.mean, &estimates.p5, *figure).high < *least)
    };
    let report = measure(args, |estimates| undecided(estimates) == 0 || violated(estimates))?;
    let check = |(figure, least): &(Figure, f64)| {
        let found = interval(&report.mean, &report.p5, *figure);
        let open = found.low < *least && *least <= found.high && report.ended != SampleEnd::Whole;
        let how = if open { "; too close to decide, the estimate counts" } else { "" };
        let passed = found.estimate >= *least;
        let relation = if passed { "is at least" } else { "is below" };
        Check {
            name: format!("{} {} >= {least}", report.score, figure.name()),
            passed,
            text: format!(
                "{} {} {:.2} ± {:.2} {relation} {least} ({} of {} frames{how})",
                report.score,
                figure.name(),
                found.estimate,
                found.half(),
                report.frames_scored,
                report.frames
            ),
        }
    };
    Ok(limits.least.iter().map(check).collect())
}
