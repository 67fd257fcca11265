//! `visus bench`: how fast, how much memory, and how that compares with a `vmaf` binary.
//!
//! Ours and the peer's runs alternate, each as a process of its own on the same files, and the smallest figure of many
//! counts: machines are shared and noisy. Before anything is timed, the answer must be that of the plain kernels and of
//! the peer. With `--scaling`, numbers of threads are compared with each other. A device is measured the same way (`--backend`), and its answer must be the CPU's.

mod clips;
mod gate;
mod machine;
mod measure;
mod scaling;
mod subjects;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use visus_report::bench::{BenchReport, CostReport, RowReport};

use super::args::BenchArgs;
use super::score::print_all;
use clips::Clips;
use measure::{Answer, Cost, Program};
use subjects::Subject;

/// One line of the result.
#[derive(Debug)]
struct Row {
    clips: String,
    subject: &'static str,
    frames: u64,
    ours: Cost,
    peer: Option<Cost>,
    /// The gate's unit, measured by turns with `ours`.
    unit: f64,
}

impl Row {
    fn title(&self) -> String {
        format!("{} {}", self.clips, self.subject)
    }

    /// How many times the peer's processor time.
    fn ratio(&self) -> Option<f64> {
        self.peer.map(|peer| peer.cpu / self.ours.cpu)
    }

    fn report(&self) -> RowReport {
        let cost = |cost: &Cost| CostReport {
            cpu_ms_per_frame: 1000.0 * cost.cpu / self.frames as f64,
            wall_s: cost.wall,
            scoring_fps: cost.scoring_fps,
            peak_kib: cost.peak_kib,
        };
        RowReport {
            clips: self.clips.clone(),
            subject: self.subject.to_owned(),
            frames: self.frames,
            visus: cost(&self.ours),
            peer: self.peer.as_ref().map(cost),
            ratio: self.ratio(),
        }
    }
}

/// How often what seems to have become slower is measured again before it is named.
const SECOND_LOOKS: usize = 3;

pub fn run(args: &BenchArgs) -> Result<()> {
    let peer_of_environment =
        || std::env::var_os("VMAF_BIN").filter(|path| !path.is_empty()).map(PathBuf::from);
    let peer = args.peer.clone().or_else(peer_of_environment);
    let peer = peer.map(|path| Program::peer(path, args)).transpose()?;
    let ours = Program::ours(args)?;
    let subjects = chosen(args)?;
    if !args.scaling.is_empty() {
        return print_all(&scaling::table(&ours, &subjects, args)?);
    }
    let mut yardstick = args.gate.is_some().then(gate::Yardstick::new);
    let kept = match &args.gate {
        Some(path) if !args.keep => gate::kept(path, &ours.kernels())?,
        _ => BTreeMap::new(),
    };
    let mut rows: Vec<Row> = Vec::new();
    for size in &args.sizes {
        for depth in &args.depths {
            let clips = Clips::make(size, *depth, args.frames)?;
            let first = rows.len();
            for subject in &subjects {
                eprintln!("visus: {} {}", clips.name, subject.name);
                rows.push(measure_row(subject, &clips, &ours, peer.as_ref(), args.rounds, &mut yardstick)?);
            }
            for _ in 0..SECOND_LOOKS {
                for (subject, row) in subjects.iter().zip(&mut rows[first..]) {
                    if yardstick.is_some() && gate::finds_slower(row, &kept) {
                        eprintln!("visus: {} {} once more", clips.name, subject.name);
                        time(subject, &clips, &ours, peer.as_ref(), args.rounds, &mut yardstick, row)?;
                    }
                }
            }
        }
    }
    if let Some(path) = &args.json {
        let report = visus_report::score::json(&BenchReport {
            machine: machine::name(),
            visus: crate::VERSION.to_owned(),
            cpu_level: ours.level.clone(),
            backend: ours.backend.to_string(),
            peer: peer.as_ref().map(|peer| peer.version.clone()),
            threads: args.threads,
            rounds: args.rounds,
            rows: rows.iter().map(Row::report).collect(),
        });
        std::fs::write(path, format!("{report:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    print_all(&table::markdown(&rows, &ours, peer.as_ref(), args))?;
    if let Some(path) = &args.gate {
        print_all(&gate::check(&rows, &ours.kernels(), path, args.keep)?)?;
    }
    Ok(())
}

fn chosen(args: &BenchArgs) -> Result<Vec<&'static Subject>> {
    let known = || subjects::ALL.iter().map(|subject| subject.name).collect::<Vec<_>>().join(", ");
    if args.subjects.is_empty() {
        return Ok(subjects::ALL.iter().collect());
    }
    let find = |name: &String| {
        let found = subjects::ALL.iter().find(|subject| subject.name.eq_ignore_ascii_case(name));
        found.with_context(|| format!("there is nothing to measure called '{name}'; known: {}", known()))
    };
    args.subjects.iter().map(find).collect()
}

fn measure_row(
    subject: &'static Subject,
    clips: &Clips,
    ours: &Program,
    peer: Option<&Program>,
    rounds: u32,
    yardstick: &mut Option<gate::Yardstick>,
) -> Result<Row> {
    let answer = ours.answer(subject, clips)?;
    if ours.check().answer(subject, clips)? != answer {
        let (name, with) = (subject.name, ours.kernels());
        bail!("{name}: the answer with {with} differs from the CPU's; nothing is timed");
    }
    if let Some(peer) = peer.filter(|_| subject.at_peer) {
        check_same(subject.name, &answer, &peer.answer(subject, clips)?)?;
    }
    let mut row = Row {
        clips: clips.name.clone(),
        subject: subject.name,
        frames: clips.frames,
        ours: Cost::HIGHEST,
        peer: None,
        unit: f64::INFINITY,
    };
    time(subject, clips, ours, peer, rounds, yardstick, &mut row)?;
    Ok(row)
}

/// Runs both programs by turns and keeps the best of each.
fn time(
    subject: &Subject,
    clips: &Clips,
    ours: &Program,
    peer: Option<&Program>,
    rounds: u32,
    yardstick: &mut Option<gate::Yardstick>,
    row: &mut Row,
) -> Result<()> {
    let peer = peer.filter(|_| subject.at_peer);
    for _ in 0..rounds {
        let cost = ours.run(subject, clips)?;
        row.ours = row.ours.better(cost);
        if let Some(yardstick) = yardstick {
            row.unit = row.unit.min(yardstick.measure(cost.cpu)?);
        }
        if let Some(peer) = peer {
            row.peer = Some(row.peer.unwrap_or(Cost::HIGHEST).better(peer.run(subject, clips)?));
        }
    }
    Ok(())
}

/// A fast wrong answer is worth nothing. The peer writes six decimals.
fn check_same(subject: &str, ours: &Answer, peer: &Answer) -> Result<()> {
    let mut compared = 0;
    for (name, value) in peer {
        let Some((_, got)) = ours.iter().find(|(known, _)| known == name) else {
            continue;
        };
        if (got - value).abs() > 1e-6 {
            bail!("{subject}: {name} is {got} here and {value} at the peer; nothing is timed");
        }
        compared += 1;
    }
    if compared == 0 {
        bail!("{subject}: the peer's report has no column in common with ours; nothing is timed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_must_agree_in_every_common_column_and_have_one() {
        let answer = |values: &[(&str, f64)]| {
            values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let ours: Answer = answer(&[("a", 1.0), ("b", 2.0)]);
        assert!(check_same("x", &ours, &answer(&[("a", 1.000_000_4), ("c", 9.0)])).is_ok());
        let wrong = check_same("x", &ours, &answer(&[("a", 1.0), ("b", 2.1)])).unwrap_err().to_string();
        assert!(wrong.contains("x: b is 2 here and 2.1 at the peer"), "{wrong}");
        assert!(check_same("x", &ours, &answer(&[("c", 1.0)])).is_err());
    }
}
