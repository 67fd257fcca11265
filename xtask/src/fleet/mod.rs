//! `cargo xtask fleet`: plans on the engines that people have.
//!
//! Slurm, from Debian's packages, scores a plan on this machine with two slots while its workers are killed, and so does a queue of
//! NATS JetStream with four workers; the result must be that of one `visus batch`. `--pairs N` says how many pairs (10,000 for the
//! full run) of how many `--frames N`, `--shards N` in how many shards, `--kill-every SECONDS` how often all workers are killed,
//! `--rounds N` how often all of it is measured, `--visus FILE` which binary, `--only slurm|nats|stores` where. `packaging/scale` is
//! held against the schemas of those who read it. Object stores of Google and behind TLS are tried, and with `--azurite FILE` (from
//! npm) Azure's. The examples for Dask and Ray in `python/examples` are run by the interpreter under `target/python`, which `cargo xtask
//! wheel` fills, or by the one that `--python FILE` names.

mod clips;
mod manifests;
mod nats;
mod outcome;
mod python;
mod slurm;
mod stores;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::steps::{root, step};

/// Pairs in the short run, which is a part of `cargo xtask test`.
const FEW: usize = 200;
const FRAMES: usize = 3;
const SHARDS: usize = 40;

/// What is run.
#[derive(Clone, Debug)]
pub struct Options {
    visus: PathBuf,
    /// One with the feature `nats`.
    queue_visus: PathBuf,
    pairs: usize,
    frames: usize,
    shards: usize,
    rounds: usize,
    /// The only engine, if not all of them.
    only: Option<String>,
    kill_every: Duration,
    /// An interpreter with our package, Dask and Ray: by default that of `cargo xtask wheel`.
    python: PathBuf,
    /// The program `azurite-blob`.
    azurite: Option<PathBuf>,
}

impl Options {
    fn short() -> Self {
        let visus = root().join("target/release/visus");
        // Tests are built with all features.
        let queue_visus = root().join("target/debug/visus");
        let kill_every = Duration::from_millis(300);
        let (pairs, frames, shards, rounds) = (FEW, FRAMES, SHARDS, 1);
        Self {
            visus,
            queue_visus,
            pairs,
            frames,
            shards,
            rounds,
            only: None,
            kill_every,
            python: root().join("target/python/bin/python"),
            azurite: None,
        }
    }

    fn parse(words: impl Iterator<Item = String>) -> Result<Self> {
        let (mut options, mut words) = (Self::short(), words);
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--pairs" => options.pairs = value.parse().context(value)?,
                "--frames" => options.frames = value.parse().context(value)?,
                "--shards" => options.shards = value.parse().context(value)?,
                "--rounds" => options.rounds = value.parse().context(value)?,
                "--only" => options.only = Some(value),
                "--kill-every" => options.kill_every = Duration::try_from_secs_f64(value.parse::<f64>()?)?,
                "--visus" => {
                    options.visus = PathBuf::from(&value).canonicalize().context(value)?;
                    options.queue_visus.clone_from(&options.visus);
                }
                "--azurite" => options.azurite = Some(PathBuf::from(&value).canonicalize().context(value)?),
                "--python" => options.python = value.into(),
                _ => bail!(
                    "there is no option {word}: --pairs N, --frames N, --shards N, --rounds N, --only slurm|nats|stores, --kill-every SECONDS, --visus FILE, --python FILE, --azurite FILE"
                ),
            }
        }
        Ok(options)
    }
}

/// Installs what tests of object stores need; done before them.
pub fn prepare() -> Result<()> {
    manifests::prepare()
}

/// With the options of the command line.
pub fn run() -> Result<()> {
    let options = Options::parse(std::env::args().skip(2))?;
    match options.only.as_deref() {
        None => {
            all(&options)?;
            step("nats", || nats::check(&options))?;
            step("object stores", || stores::check(&options))
        }
        Some("slurm") => step("slurm", || slurm::check(&options)),
        Some("nats") => step("nats", || nats::check(&options)),
        Some("stores") => step("object stores", || stores::check(&options)),
        Some(other) => bail!("{other} is neither slurm nor nats nor stores"),
    }
}

/// The short run. The queue's own tests are among those of `visus`; many pairs on it are a run on request.
pub fn check() -> Result<()> {
    all(&Options::short())
}

fn all(options: &Options) -> Result<()> {
    step("manifests of schedulers", manifests::check)?;
    step("slurm", || slurm::check(options))?;
    step("dask and ray", || python::check(&options.python))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let words = |text: &'static str| text.split(' ').map(str::to_owned);
        let options = Options::parse(words("--pairs 10000 --kill-every 20")).unwrap();
        assert_eq!((options.pairs, options.kill_every.as_secs()), (10_000, 20));
        for wrong in ["--pairs", "--pairs many", "--nothing 1", "--kill-every -1 x"] {
            assert!(Options::parse(words(wrong)).is_err(), "{wrong}");
        }
    }
}
