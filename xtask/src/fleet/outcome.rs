//! What all engines are measured by: a plan whose workers are killed again and again must come to what one batch comes to, at
//! hardly more cost.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Options, clips};
use crate::steps::succeeds;

/// How pairs are scored.
const SCORE: [&str; 2] = ["-m", "v0.6.1"];

/// Time that something took, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub wall: f64,
    pub processor: f64,
}

impl Cost {
    const WORST: Self = Self { wall: f64::INFINITY, processor: f64::INFINITY };

    /// The lower of each.
    fn min(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), processor: self.processor.min(other.processor) }
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} s of processor time in {:.2} s", self.processor, self.wall)
    }
}

/// A list of pairs, a plan for it, and the program that scores both ways.
#[derive(Debug)]
pub struct Trial<'a> {
    pub visus: &'a Path,
    pub folder: &'a Path,
    pub list: PathBuf,
    pub plan: PathBuf,
    pairs: usize,
}

impl<'a> Trial<'a> {
    pub fn new(visus: &'a Path, folder: &'a Path, options: &Options) -> Result<Self> {
        let list = clips::write(folder, options.pairs, options.frames)?;
        Ok(Self { visus, folder, list, plan: folder.join("plan"), pairs: options.pairs })
    }

    /// Does all of it so many times, by turns with one batch; `work` is what the engine does, and says how many workers it killed.
    pub fn rounds(
        &self,
        rounds: usize,
        plan_words: &[&str],
        mut work: impl FnMut() -> Result<(Cost, usize)>,
    ) -> Result<()> {
        let [mut planned, mut worked, mut gathered, mut batch, mut undisturbed] = [Cost::WORST; 5];
        let mut kills = 0;
        for _ in 0..rounds {
            let _ = std::fs::remove_dir_all(&self.plan);
            let plan = self.plan.to_string_lossy();
            let list = self.list.to_string_lossy();
            let words = [&["plan", &list, "--quiet", "-o", &plan], plan_words, &["--"], &SCORE].concat();
            planned = planned.min(self.timed(&words)?);
            let (cost, killed) = work()?;
            ensure!(killed > 0, "no worker was killed: the run shows nothing");
            (worked, kills) = (worked.min(cost), kills + killed);
            let output = self.output("gathered");
            gathered = gathered.min(self.timed(&["gather", &plan, "-q", "-o", &output])?);
            let output = self.output("batch");
            let _ = std::fs::remove_file(&output);
            let words = [&["batch", &list, "-t", "2", "-q", "-o", &output], &SCORE[..]].concat();
            batch = batch.min(self.timed(&words)?);
            self.compare()?;
            undisturbed = undisturbed.min(self.undisturbed(&list)?);
        }
        println!("ok: {} pairs, {kills} workers killed in {rounds} rounds, 0 lost, 0 double", self.pairs);
        let above = |cost: Cost| 100.0 * (worked.processor / cost.processor - 1.0);
        println!("    one batch   {batch}");
        println!("    undisturbed {undisturbed}: two workers, no scheduler, none killed");
        println!(
            "    workers     {worked}: {:+.1} % of processor time to one batch, {:+.1} % to undisturbed workers",
            above(batch),
            above(undisturbed)
        );
        println!("    plan        {planned}; gather {gathered}");
        Ok(())
    }

    fn output(&self, name: &str) -> String {
        self.folder.join(name).with_extension("ndjson").to_string_lossy().into_owned()
    }

    /// The same tasks by two workers that nobody kills.
    fn undisturbed(&self, list: &str) -> Result<Cost> {
        let plan = self.folder.join("undisturbed");
        let _ = std::fs::remove_dir_all(&plan);
        let plan = plan.to_string_lossy();
        self.timed(&[&["plan", list, "--quiet", "--shards", "2", "-o", &plan, "--"], &SCORE[..]].concat())?;
        let script = "\"$0\" work \"$1\" -q -t 1 --shard 0 & \"$0\" work \"$1\" -q -t 1 --shard 1 && wait $!";
        self.timed_program("bash", &["-c", script, &self.visus.to_string_lossy(), &plan])
    }

    /// Runs `visus`.
    fn timed(&self, words: &[&str]) -> Result<Cost> {
        self.timed_program(&self.visus.to_string_lossy(), words)
    }

    fn timed_program(&self, program: &str, words: &[&str]) -> Result<Cost> {
        let (started, times) = (Instant::now(), self.folder.join("command.times"));
        let mut shell = Command::new("bash");
        shell.args(["-c", "\"$@\"; code=$?; times > \"$0\"; exit $code"]).arg(&times);
        succeeds(shell.arg(program).args(words))?;
        Ok(Cost { wall: started.elapsed().as_secs_f64(), processor: seconds(&times)? })
    }

    /// Compares byte by byte.
    fn compare(&self) -> Result<()> {
        let read = |name: &str| {
            let path = self.output(name);
            std::fs::read_to_string(&path).context(path)
        };
        let (gathered, batch) = (read("gathered")?, read("batch")?);
        ensure!(gathered.lines().count() == self.pairs, "not all of {} lines were gathered", self.pairs);
        for (row, (got, expected)) in gathered.lines().zip(batch.lines()).enumerate() {
            ensure!(got == expected, "row {}:\n{got}\nis not\n{expected}", row + 1);
        }
        ensure!(gathered == batch, "a batch wrote {} of {} lines", batch.lines().count(), self.pairs);
        Ok(())
    }
}

/// Processor time of all children, from what the shell's `times` wrote: `0m1.5s 0m0.2s` in its second line.
pub fn seconds(path: &Path) -> Result<f64> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let children = text.lines().nth(1).context("times has two lines")?;
    let second = |word: &str| -> Result<f64> {
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m').context("0m0.0s")?;
        Ok(minutes.parse::<f64>()? * 60.0 + seconds.parse::<f64>()?)
    };
    children.split_whitespace().map(second).sum()
}

/// Kills all workers of a plan again and again, until every result is there. On a machine that is too busy for anything to be scored
/// between two kills, it waits longer.
pub struct Killer<'a> {
    plan: &'a Path,
    every: Duration,
    pause: Duration,
    last: Instant,
    /// Results at the last kill.
    seen: usize,
    /// Results of a finished plan.
    bundles: usize,
    pub kills: usize,
}

impl<'a> Killer<'a> {
    pub fn new(plan: &'a Path, every: Duration) -> Result<Self> {
        let text = std::fs::read_to_string(plan.join("plan.ndjson"))?;
        let head: Value = serde_json::from_str(text.lines().next().context("a plan has a head")?)?;
        let bundles = head["bundles"].as_u64().context("bundles")? as usize;
        // The first ones soon: a short run would be over.
        Ok(Self { plan, every, pause: every / 6, last: Instant::now(), seen: 0, bundles, kills: 0 })
    }

    /// To be called often.
    pub fn turn(&mut self) -> Result<()> {
        if self.last.elapsed() < self.pause {
            return Ok(());
        }
        let done = results(&self.plan.join("results"));
        if done >= self.bundles {
            return Ok(());
        }
        let workers = workers_of(self.plan)?;
        if workers.is_empty() {
            return Ok(());
        }
        self.pause = if done > self.seen { self.every } else { self.pause * 2 };
        (self.seen, self.last) = (done, Instant::now());
        for worker in workers {
            let output = Command::new("kill").args(["-KILL", &worker.to_string()]).output()?;
            self.kills += usize::from(output.status.success());
        }
        Ok(())
    }
}

/// How many bundles have a result.
fn results(folder: &Path) -> usize {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_result = |name: &str| name.ends_with(".json") && !name.ends_with(".unfinished.json");
    let count = |folder: &Path| {
        entries(folder).filter(|file| file.file_name().to_str().is_some_and(is_result)).count()
    };
    entries(folder).map(|folder| count(&folder.path())).sum()
}

/// Processes that work on this plan.
fn workers_of(plan: &Path) -> Result<Vec<u32>> {
    let plan = plan.to_string_lossy();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let command = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let mut words = command.split(|byte| *byte == 0);
        if words.nth(1) == Some(b"work") && words.next() == Some(plan.as_bytes()) {
            found.push(id);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_shell_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        std::fs::write(&path, "0m0.001s 0m0.002s\n1m2.500s 0m0.250s\n").unwrap();
        assert!((seconds(&path).unwrap() - 62.75).abs() < 1e-9);
    }
}
