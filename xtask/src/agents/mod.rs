//! `cargo xtask agents`: what typical tasks cost an agent, in calls, bytes and errors.
//!
//! `tests/agents` holds transcripts, written by hand: a question, the calls that answered it, and what was found in the last answer.
//! A scripted client replays them against the built program on clips that are made on the spot. A call that fails without
//! being recorded as a failure, or an answer that lacks what the transcript found, is a miss.

mod client;
mod clips;
mod replay;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::steps::root;
use replay::{Cost, Transcript};

/// The fewest transcripts that there must be.
const LEAST: usize = 20;

/// Replays all transcripts and prints the table; with `--write` it also goes into `docs/agents.md`.
pub fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(2).collect();
    let named = args.iter().find(|word| !word.starts_with("--"));
    let visus = named.map_or_else(|| root().join("target/release/visus"), PathBuf::from);
    let rows = replayed(&visus)?;
    let table = table(&rows);
    println!("{table}");
    if args.iter().any(|word| word == "--write") {
        write(&table)?;
    }
    Ok(())
}

/// The same as a check.
pub fn check(visus: &std::path::Path) -> Result<()> {
    let rows = replayed(visus)?;
    let (calls, bytes): (usize, usize) =
        rows.iter().map(|(_, cost)| (cost.calls, cost.text)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    println!("{} tasks: {calls} calls, {bytes} bytes of text", rows.len());
    documented(&rows)
}

/// The table in the documentation has these tasks, calls and errors. Sizes depend on encoders and times.
fn documented(rows: &[(Transcript, Cost)]) -> Result<()> {
    let text = std::fs::read_to_string(root().join("docs/agents.md"))?;
    for (transcript, cost) in rows {
        let begins = format!("| {} | {} |", transcript.question, cost.calls);
        let ends = format!("| {} |", cost.errors);
        if !text.lines().any(|line| line.starts_with(&begins) && line.ends_with(&ends)) {
            bail!("docs/agents.md has another row for {:?}; run cargo xtask agents --write", transcript.name);
        }
    }
    Ok(())
}

fn replayed(visus: &std::path::Path) -> Result<Vec<(Transcript, Cost)>> {
    let visus =
        visus.canonicalize().with_context(|| format!("{} is not there; build it first", visus.display()))?;
    let transcripts = Transcript::all(&root().join("tests/agents"))?;
    if transcripts.len() < LEAST {
        bail!("there are {} transcripts, and there must be {LEAST}", transcripts.len());
    }
    let clips = clips::make(&visus)?;
    let (mut rows, mut misses) = (Vec::new(), Vec::new());
    for transcript in transcripts {
        match replay::replay(&visus, clips.path(), &transcript) {
            Ok(cost) => rows.push((transcript, cost)),
            Err(error) => misses.push(format!("{}: {error:#}", transcript.name)),
        }
    }
    if !misses.is_empty() {
        bail!("{} tasks went another way\n  {}", misses.len(), misses.join("\n  "));
    }
    Ok(rows)
}

fn table(rows: &[(Transcript, Cost)]) -> String {
    let mut text = String::from("| task | calls | text | pictures | errors |\n|---|---:|---:|---:|---:|\n");
    for (transcript, cost) in rows {
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            transcript.question,
            cost.calls,
            kilobytes(cost.text),
            kilobytes(cost.pictures),
            cost.errors
        );
    }
    let sum = |of: fn(&Cost) -> usize| rows.iter().map(|(_, cost)| of(cost)).sum::<usize>();
    let (calls, bytes, pictures, errors) =
        (sum(|cost| cost.calls), sum(|cost| cost.text), sum(|cost| cost.pictures), sum(|cost| cost.errors));
    let (bytes, pictures) = (kilobytes(bytes), kilobytes(pictures));
    text + &format!("| **all {}** | {calls} | {bytes} | {pictures} | {errors} |\n", rows.len())
}

/// Rounded, so that the digits of a duration do not change the table.
fn kilobytes(bytes: usize) -> String {
    match bytes {
        0 => "–".to_owned(),
        _ => format!("{:.1} kB", bytes as f64 / 1000.0),
    }
}

const BEGIN: &str = "<!-- agents: begin -->\n";
const END: &str = "<!-- agents: end -->";

fn write(table: &str) -> Result<()> {
    let path = root().join("docs/agents.md");
    let text = std::fs::read_to_string(&path)?;
    let (before, rest) = text.split_once(BEGIN).context("docs/agents.md has no place for the table")?;
    let (_, after) = rest.split_once(END).context("docs/agents.md has no end of the table")?;
    Ok(std::fs::write(path, format!("{before}{BEGIN}{table}{END}{after}"))?)
}
