//! Whether anything got slower: figures are kept as multiples of a fixed kernel that is measured in the same run, so that they
//! mean something on a busy machine and on another one of the same kind.
//!
//! Others disturb a long run more often than a short one, and the least of many runs is disturbed less than the least of few. So the
//! kernel is measured by turns with each subject, as often and for as long as that runs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use visus_metrics::FixedKernel;

use super::measure::own_seconds;
use super::{Row, machine};

/// How much slower is too slow: shares of machines that are shared differ by a few per cent.
const MOST_SLOWER: f64 = 0.05;

/// Kept figures, by machine and CPU level.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Figures(BTreeMap<String, BTreeMap<String, f64>>);

impl Figures {
    fn read(path: &Path) -> Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                serde_json::from_str(&text).with_context(|| format!("{} holds no figures", path.display()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).context("figures as JSON")?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The fixed kernel, and how long it takes.
#[derive(Debug)]
pub struct Yardstick(FixedKernel);

/// Passes of the kernel that make the unit of figures.
const PASSES: u32 = 24;

impl Yardstick {
    pub fn new() -> Self {
        Self(FixedKernel::new())
    }

    /// The unit in processor seconds, measured for at least `seconds`.
    pub fn measure(&mut self, seconds: f64) -> Result<f64> {
        let unit = || (0..PASSES).for_each(|_| self.0.pass());
        mean(seconds, own_seconds, unit)
    }
}

/// How long `work` takes on the whole, done again until so many seconds of the clock are over.
fn mean(seconds: f64, clock: impl Fn() -> Result<f64>, mut work: impl FnMut()) -> Result<f64> {
    let (start, mut times) = (clock()?, 0);
    loop {
        work();
        times += 1;
        let taken = clock()? - start;
        if taken >= seconds {
            return Ok(taken / f64::from(times));
        }
    }
}

/// A row's processor time per frame in units of the kernel's.
fn figure(row: &Row) -> f64 {
    row.ours.cpu / row.frames as f64 / row.unit
}

/// Whether a row would not pass: one that was disturbed in every round is worth a second look.
pub fn finds_slower(row: &Row, kept: &BTreeMap<String, f64>) -> bool {
    kept.get(&row.title()).is_some_and(|before| change(figure(row), *before) > MOST_SLOWER)
}

/// How much larger a figure is, as a share of the kept one.
fn change(now: f64, before: f64) -> f64 {
    now / before - 1.0
}

/// What figures are kept under.
fn machine_name(level: &str) -> String {
    format!("{}, {level}", machine::processor_name())
}

/// The figures that were kept of this machine.
pub fn kept(path: &Path, level: &str) -> Result<BTreeMap<String, f64>> {
    Ok(Figures::read(path)?.0.remove(&machine_name(level)).unwrap_or_default())
}

/// Compares with the figures that were kept, and keeps these instead if they are to be kept. An error names what got slower;
/// where nothing was kept there is nothing to pass.
pub fn check(rows: &[Row], level: &str, path: &Path, keep: bool) -> Result<String> {
    let mut figures = Figures::read(path)?;
    let machine = machine_name(level);
    let now: BTreeMap<String, f64> = rows.iter().map(|row| (row.title(), figure(row))).collect();
    let known = figures.0.get(&machine).cloned().unwrap_or_default();
    let (text, slower) = compare(&now, &known, &machine);
    if keep {
        figures.0.entry(machine).or_default().extend(now);
        figures.write(path)?;
        return Ok(format!("{text}The figures are kept in {}.\n", path.display()));
    }
    if !now.keys().any(|name| known.contains_key(name)) {
        bail!(
            "{} holds no figures of {machine} to compare with: add these with --keep\n\n{text}",
            path.display()
        );
    }
    if !slower.is_empty() {
        bail!("{text}slower than before: {}", slower.join(", "));
    }
    Ok(text)
}

/// A table, and what got slower.
fn compare(
    now: &BTreeMap<String, f64>,
    known: &BTreeMap<String, f64>,
    machine: &str,
) -> (String, Vec<String>) {
    let mut text = format!("Against kept figures of {machine}, in units of the fixed kernel\n\n");
    text.push_str("| what | kept | now | change |\n|---|---|---|---|\n");
    let mut slower = Vec::new();
    for (name, figure) in now {
        let Some(before) = known.get(name) else {
            let _ = writeln!(text, "| {name} | - | {figure:.4} | new |");
            continue;
        };
        let change = change(*figure, *before);
        let _ = writeln!(text, "| {name} | {before:.4} | {figure:.4} | {:+.1} % |", 100.0 * change);
        if change > MOST_SLOWER {
            slower.push(format!("{name} ({:+.1} %)", 100.0 * change));
        }
    }
    text.push('\n');
    (text, slower)
}

#[cfg(test)]
mod tests {
    use super::super::Cost;
    use super::*;

    fn figures(list: &[(&str, f64)]) -> BTreeMap<String, f64> {
        list.iter().map(|(name, figure)| ((*name).to_owned(), *figure)).collect()
    }

    #[test]
    fn what_got_slower_is_named() {
        let known = figures(&[("vif", 1.0), ("adm", 1.0), ("motion", 1.0)]);
        let now = figures(&[("vif", 1.04), ("adm", 1.06), ("motion", 0.5), ("psnr", 1.0)]);
        let (text, slower) = compare(&now, &known, "a machine");
        assert_eq!(slower, ["adm (+6.0 %)"]);
        assert!(text.contains("| motion | 1.0000 | 0.5000 | -50.0 % |"), "{text}");
        assert!(text.contains("| psnr | - | 1.0000 | new |"), "{text}");
    }

    #[test]
    fn nothing_kept_is_no_pass() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.json");
        let ours = Cost { cpu: 2.0, ..Cost::HIGHEST };
        let row = |unit| Row { clips: "1080p".to_owned(), subject: "vif", frames: 1, ours, peer: None, unit };
        let gate = |unit, keep| check(&[row(unit)], "avx2", &path, keep);
        let refused = gate(1.0, false).unwrap_err().to_string();
        assert!(refused.contains("holds no figures of") && refused.contains("--keep"), "{refused}");
        assert!(gate(1.0, true).unwrap().contains("are kept in"));
        assert!(gate(1.0, false).unwrap().contains("+0.0 %"));
        let slower = |unit, level| finds_slower(&row(unit), &kept(&path, level).unwrap());
        assert!(!slower(1.0, "avx2") && slower(0.5, "avx2") && !slower(0.5, "scalar"));
        let refused = gate(0.5, false).unwrap_err().to_string();
        assert!(refused.contains("slower than before: "), "{refused}");
    }

    #[test]
    fn the_unit_does_not_depend_on_how_long_it_is_measured() {
        for (seconds, times) in [(0.0, 1), (0.5, 1), (2.0, 4), (2.1, 5)] {
            let now = std::cell::Cell::new(100.0);
            let unit = mean(seconds, || Ok(now.get()), || now.set(now.get() + 0.5)).unwrap();
            assert_eq!((unit, now.get()), (0.5, 100.0 + 0.5 * f64::from(times)), "{seconds}");
        }
        assert!(mean(1.0, || bail!("no clock"), || ()).is_err());
        assert!(Yardstick::new().measure(0.0).unwrap() > 0.0);
    }

    #[test]
    fn figures_survive_being_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.json");
        let mut kept = Figures::read(&path).unwrap();
        kept.0.insert("a machine".to_owned(), figures(&[("vif", 1.5)]));
        kept.write(&path).unwrap();
        assert_eq!(Figures::read(&path).unwrap().0, kept.0);
        std::fs::write(&path, "[]").unwrap();
        assert!(Figures::read(&path).is_err());
    }
}
