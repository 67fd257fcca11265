//! NATS JetStream on this machine: a plan as a queue, four workers, all of them killed again and again.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::Options;
use super::outcome::{Cost, Killer, Trial, seconds};
use crate::steps::{bring, is_required};

const WORKERS: usize = 4;
/// A queue that does nothing for so long does not work.
const HANGS: Duration = Duration::from_secs(600);
/// Shorter than the time between two kills of the full run: jobs of killed workers come back while others work.
const LEASE: &str = "2";

/// A process that ends with this.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Scores a plan through a queue and compares with one batch. Where that cannot run, it says so; `VISUS_REQUIRE=nats` makes that
/// an error.
pub fn check(options: &Options) -> Result<()> {
    bring("nats-server", "nats-server");
    let help = Command::new(&options.queue_visus).args(["work", "--help"]).output();
    if !help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--queue")) {
        return left_out(&format!("{} has no feature nats", options.queue_visus.display()));
    }
    let folder = tempfile::Builder::new().prefix("visus-nats-").tempdir()?;
    let (server, address) = match start(folder.path()) {
        Ok(started) => started,
        Err(error) => return left_out(&format!("nats-server does not run here ({error:#})")),
    };
    let trial = Trial::new(&options.queue_visus, folder.path(), options)?;
    let outcome = trial.rounds(options.rounds, &["--queue", &address, "--lease", LEASE], || {
        let started = Instant::now();
        let mut workers: Vec<Ends> =
            (0..WORKERS).map(|worker| work(&trial, &address, worker)).collect::<Result<_>>()?;
        let kills = kill_until_done(&mut workers, &trial.plan, options.kill_every)?;
        let wall = started.elapsed().as_secs_f64();
        let times = |worker| seconds(&folder.path().join(format!("queue.{worker}.times")));
        let processor = (0..WORKERS).map(times).sum::<Result<f64>>()?;
        Ok((Cost { wall, processor }, kills))
    });
    drop(server);
    outcome
}

fn left_out(why: &str) -> Result<()> {
    ensure!(!is_required("nats"), "{why}");
    eprintln!("!!! {why}: THIS CHECK IS LEFT OUT");
    Ok(())
}

fn start(folder: &Path) -> Result<(Ends, String)> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let mut command = Command::new("nats-server");
    command
        .args(["-js", "-a", "127.0.0.1", "-p", &address.port().to_string(), "-sd"])
        .arg(folder.join("jetstream"));
    let server = Ends(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("nats-server")?);
    let started = Instant::now();
    while TcpStream::connect(address).is_err() {
        ensure!(started.elapsed() < Duration::from_secs(60), "it does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok((server, format!("nats://{address}/fleet")))
}

/// A worker that is started again when it is killed, and notes what it cost.
fn work(trial: &Trial<'_>, address: &str, worker: usize) -> Result<Ends> {
    let script =
        "until \"$0\" work \"$1\" -q -t 1 --queue \"$2\"; do [ $? = 3 ] && break; done; times > \"$3\"";
    let mut shell = Command::new("bash");
    shell.args(["-c", script]).arg(trial.visus).arg(&trial.plan).arg(address);
    shell.arg(trial.folder.join(format!("queue.{worker}.times"))).stderr(Stdio::null());
    Ok(Ends(shell.spawn().context("bash")?))
}

/// Kills all workers again and again until the queue is empty; how many.
fn kill_until_done(workers: &mut [Ends], plan: &Path, every: Duration) -> Result<usize> {
    let (started, mut killer) = (Instant::now(), Killer::new(plan, every)?);
    loop {
        let mut are_done = true;
        for worker in workers.iter_mut() {
            are_done &= worker.0.try_wait()?.is_some();
        }
        if are_done {
            return Ok(killer.kills);
        }
        killer.turn()?;
        if started.elapsed() > HANGS + every * 200 {
            bail!("the queue is not emptied");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
