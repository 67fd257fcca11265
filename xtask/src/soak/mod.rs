//! `cargo xtask soak --minutes N`: mixed traffic against one server, and what is left of it afterwards.
//!
//! Several clients ask at once for scores of plain and encoded video, for tuning and evaluations; others cancel, leave in the
//! middle, send files and arguments that stand for far too much, or kill the server's children. Every score is compared with
//! what `visus score` says in a process of its own. At the end nothing may be left: no job without an end, no process, file,
//! descriptor or thread, and memory must have stayed within the budget.

mod bombs;
pub mod client;
mod clips;
mod server;
mod tally;
mod traffic;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::steps::{cargo, root};
use clips::Clips;
use server::Server;
use tally::Tally;
use traffic::Traffic;
use watch::Watch;

/// Clients that ask at the same time.
const CLIENTS: u64 = 6;
/// How long everything may take to come to rest: idle threads of the runtime go after ten seconds.
const REST: Duration = Duration::from_secs(40);
const USAGE: &str = "cargo xtask soak [--minutes N | --seconds N] [--binary PATH] [--seed N]";

/// What the command line says.
struct Options {
    length: Duration,
    binary: Option<PathBuf>,
    seed: u64,
}

/// `cargo xtask soak`.
pub fn run() -> Result<()> {
    let options = Options::parse(std::env::args().skip(2))?;
    let binary = match options.binary {
        Some(path) => path.canonicalize().with_context(|| path.display().to_string())?,
        None => {
            cargo(&["build", "--release"])?;
            root().join("target/release/visus")
        }
    };
    soak(&binary, options.length, options.seed)
}

/// The short one that is a part of every full check, against a binary that is built already.
pub fn short(binary: &Path) -> Result<()> {
    soak(binary, Duration::from_secs(25), 1)
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self { length: Duration::from_secs(60), binary: None, seed: 1 };
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a value; usage: {USAGE}"))?;
            match word.as_str() {
                "--minutes" => options.length = Duration::try_from_secs_f64(value.parse::<f64>()? * 60.0)?,
                "--seconds" => options.length = Duration::try_from_secs_f64(value.parse()?)?,
                "--binary" => options.binary = Some(value.into()),
                "--seed" => options.seed = value.parse()?,
                _ => bail!("{word} is not known; usage: {USAGE}"),
            }
        }
        Ok(options)
    }
}

fn soak(binary: &Path, length: Duration, seed: u64) -> Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("the soak looks at processes through /proc, which only Linux has");
    }
    println!("soak: {} s, seed {seed}, {CLIENTS} clients, {}", length.as_secs(), binary.display());
    let place = tempfile::tempdir()?;
    let clips = Clips::make(binary, &place.path().canonicalize()?)?;
    let server = Server::start(binary, &clips)?;
    let tally = Tally::default();
    let mut watch = Watch::new(&server);
    let traffic = Traffic::new(&server, &clips, &tally)?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (traffic, stop) = (&traffic, &stop);
            scope.spawn(move || traffic.go(seed * 1000 + client, stop));
        }
        watch.look_until(Instant::now() + length, &tally);
        stop.store(true, Ordering::Relaxed);
    });
    let mut faults = tally.faults();
    faults.extend(watch.verdict(REST));
    faults.extend(server.end(&clips));
    println!("{}", watch.table());
    println!("{}", tally.table());
    if faults.is_empty() {
        println!("soak: clean");
        return Ok(());
    }
    bail!("{} faults\n{}", faults.len(), faults.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        let parse = |words: &[&str]| Options::parse(words.iter().map(|word| (*word).to_owned()));
        let options = parse(&["--minutes", "0.5", "--seed", "7"]).unwrap();
        assert_eq!((options.length, options.seed), (Duration::from_secs(30), 7));
        assert!(parse(&["--minutes"]).is_err() && parse(&["--hours", "1"]).is_err());
        assert!(parse(&["--minutes", "-1"]).is_err());
    }
}
