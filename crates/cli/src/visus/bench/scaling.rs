//! How much more threads bring on few and large frames: `--scaling`.

use std::fmt::Write;

use anyhow::Result;

use super::clips::Clips;
use super::machine;
use super::measure::{Cost, Program};
use super::subjects::Subject;
use crate::visus::args::BenchArgs;

/// Pairs of a clip, so few that threads must share each.
const PAIRS: [u64; 2] = [1, 3];

/// What a run took with so many threads.
#[derive(Clone, Copy, Debug)]
struct Point {
    threads: u16,
    cost: Cost,
}

impl Point {
    /// Seconds of the whole process, and of scoring alone by its own report.
    fn seconds(&self, pairs: u64) -> [f64; 2] {
        [self.cost.wall, self.cost.scoring_fps.map_or(f64::NAN, |fps| pairs as f64 / fps)]
    }
}

/// A table of every subject at every size and number of threads.
pub fn table(ours: &Program, subjects: &[&'static Subject], args: &BenchArgs) -> Result<String> {
    let (version, level, rounds) = (&ours.version, ours.kernels(), args.rounds);
    let mut text = format!("{version} ({level}) on {}, lowest of {rounds} runs\n\n", machine::name());
    text.push_str(
        "| clip | what | pairs | threads | process s | efficiency | scoring s | efficiency | processor s |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for size in &args.sizes {
        for pairs in PAIRS {
            let clips = Clips::make(size, args.depths[0], Some(pairs))?;
            for subject in subjects {
                eprintln!("visus: {} {}, {pairs} pairs", clips.name, subject.name);
                add_lines(&mut text, &measure(ours, subject, &clips, args)?, subject, &clips);
            }
        }
    }
    Ok(text)
}

fn measure(ours: &Program, subject: &Subject, clips: &Clips, args: &BenchArgs) -> Result<Vec<Point>> {
    let mut points: Vec<Point> =
        args.scaling.iter().map(|threads| Point { threads: *threads, cost: Cost::HIGHEST }).collect();
    for _ in 0..args.rounds {
        for point in &mut points {
            let cost = ours.with_threads(point.threads).run(subject, clips)?;
            point.cost = point.cost.better(cost);
        }
    }
    Ok(points)
}

/// Efficiency is the speed against that of the first number of threads, per thread.
fn add_lines(text: &mut String, points: &[Point], subject: &Subject, clips: &Clips) {
    let pairs = clips.frames;
    let Some(first) = points.first() else { return };
    for point in points {
        let more = f64::from(point.threads) / f64::from(first.threads);
        let seconds = point.seconds(pairs);
        let efficiency = |at: usize| 100.0 * first.seconds(pairs)[at] / seconds[at] / more;
        let _ = writeln!(
            text,
            "| {} | {} | {pairs} | {} | {:.3} | {:.0} % | {:.3} | {:.0} % | {:.3} |",
            clips.name,
            subject.name,
            point.threads,
            seconds[0],
            efficiency(0),
            seconds[1],
            efficiency(1),
            point.cost.cpu,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiency_is_speed_per_thread() {
        let cost = |wall, fps| Cost { cpu: 2.0, wall, scoring_fps: Some(fps), peak_kib: 1 };
        let points = [Point { threads: 1, cost: cost(3.0, 1.0) }, Point { threads: 4, cost: cost(1.0, 3.0) }];
        let clips = Clips::make("576x324", 8, Some(1)).unwrap();
        let mut text = String::new();
        add_lines(&mut text, &points, &super::super::subjects::ALL[0], &clips);
        assert!(text.contains("| 1 | 1 | 3.000 | 100 % | 1.000 | 100 % | 2.000 |\n"), "{text}");
        assert!(text.contains("| 1 | 4 | 1.000 | 75 % | 0.333 | 75 % | 2.000 |\n"), "{text}");
    }
}
