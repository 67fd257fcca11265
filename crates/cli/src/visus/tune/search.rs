//! `visus search`: one question, one answer.

use anyhow::{Result, bail};
use visus_tune::{FindAnswer, FindSettings, Goal, Judge, encoders, find};

use super::args::SearchArgs;
use super::progress::Progress;
use super::{Opened, check_target, choices, json, megabytes, open, sample_plan};
use crate::visus::score::print_all;

pub fn run(args: &SearchArgs) -> Result<()> {
    let goals = goals(args)?;
    let adapter = encoders::by_name(&args.encoder)?;
    let settings = FindSettings {
        adapter,
        choices: choices(&args.source, &args.measure)?,
        steps: steps(&args.step),
        goals: goals.clone(),
        tolerance: args.tolerance.abs(),
        samples: sample_plan(&args.measure)?,
        min_savings: args.min_savings,
        max_size: args.max_size,
        output: args.output.clone(),
    };
    let Opened { lab, source, .. } = open(&args.source, &args.measure, args.output.as_deref())?;
    let judge = Judge::for_goals(&args.measure.model, &goals, &source.format, source.rate)?;
    let progress = Progress::new(args.measure.quiet);
    let answer = find(&lab, &source, &judge, &settings, &|event| progress.event(event))?;
    drop(progress);
    if args.measure.json {
        print_all(&json(&answer)?)?;
    } else {
        print_all(&told(&answer))?;
    }
    if !answer.ok {
        bail!("{}", answer.why.as_deref().unwrap_or("the target was not met"));
    }
    Ok(())
}

/// All targets; a score of the model lies between 0 and 110.
fn goals(args: &SearchArgs) -> Result<Vec<Goal>> {
    let goals = args.targets.iter().map(|text| Goal::parse(text, args.measure.pool));
    let goals: Vec<Goal> = goals.collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
    for goal in goals.iter().filter(|goal| goal.metric.is_none()) {
        check_target(goal.value)?;
    }
    Ok(goals)
}

fn steps(size: &str) -> u32 {
    match size {
        "0.25" => 4,
        "0.5" => 2,
        _ => 1,
    }
}

fn told(answer: &FindAnswer) -> String {
    let (Some(quality), Some(achieved)) = (answer.quality, answer.achieved) else { return String::new() };
    let mut text = format!(
        "{} {} {quality}: {} {achieved:.2} ({}, target {})\n",
        answer.encoder, answer.knob, answer.model, answer.metric, answer.target
    );
    if let Some(predicted) = answer.predicted.filter(|_| !answer.whole_source) {
        let frames: u64 = answer.windows.iter().map(|(_, count)| count).sum();
        text.push_str(&format!(
            "predicted {predicted:.2} from {} samples ({frames} frames), achieved {achieved:.2} on the whole encode\n",
            answer.windows.len()
        ));
    }
    if answer.goals.len() > 1 {
        for goal in &answer.goals {
            let verdict = if goal.met { "" } else { "  missed" };
            text.push_str(&format!("{}: {:.2}{verdict}\n", goal.goal, goal.achieved));
        }
    }
    let (bytes, rate) = (answer.bytes.unwrap_or(0), answer.bitrate_kbps.unwrap_or(0.0));
    let savings = answer.savings_percent.unwrap_or(0.0);
    text.push_str(&format!(
        "{rate:.0} kbit/s, {}, {savings:.1} % smaller than the source\n",
        megabytes(bytes)
    ));
    for line in answer.why.iter().chain(&answer.contradictions) {
        text.push_str(&format!("note: {line}\n"));
    }
    if answer.from_cache {
        text.push_str("all of it was known from before\n");
    }
    match &answer.output {
        Some(output) => text.push_str(&format!("written to {output}\n")),
        None => text.push_str(&format!("{}\n", answer.command.as_deref().unwrap_or_default().join(" "))),
    }
    text
}
