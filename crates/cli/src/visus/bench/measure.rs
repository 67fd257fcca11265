//! Running a program and finding out what it cost.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use visus_metrics::Level;
use visus_scoring::{BackendRequest, cpu};

use super::clips::Clips;
use super::subjects::Subject;
use crate::visus::args::BenchArgs;

/// Mean values by column.
pub type Answer = Vec<(String, f64)>;

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Processor seconds of all its threads.
    pub cpu: f64,
    pub wall: f64,
    /// Frames per second while scoring, by the program's own report.
    pub scoring_fps: Option<f64>,
    /// Peak memory; 0 where the system does not tell.
    pub peak_kib: u64,
}

impl Cost {
    pub const HIGHEST: Self =
        Self { cpu: f64::INFINITY, wall: f64::INFINITY, scoring_fps: None, peak_kib: u64::MAX };

    /// The better of each figure.
    pub fn better(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.min(other.cpu),
            wall: self.wall.min(other.wall),
            scoring_fps: self.scoring_fps.into_iter().chain(other.scoring_fps).reduce(f64::max),
            peak_kib: self.peak_kib.min(other.peak_kib),
        }
    }
}

/// One of the two that are compared.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    pub version: String,
    pub level: String,
    pub backend: BackendRequest,
    threads: u16,
    is_peer: bool,
}

impl Program {
    /// This very binary.
    pub fn ours(args: &BenchArgs) -> Result<Self> {
        let path = std::env::current_exe().context("where is this program?")?;
        let best = cpu::from_environment()?;
        let level = args.level.map_or(best, |wanted| best.lowered_to(wanted));
        let level = level.name().to_owned();
        let (version, backend) = (crate::VERSION.to_owned(), args.backend);
        Ok(Self { path, version, level, backend, threads: args.threads, is_peer: false })
    }

    /// The same with so many threads.
    pub fn with_threads(&self, threads: u16) -> Self {
        Self { threads, ..self.clone() }
    }

    /// What the answer is checked with: the CPU's plain kernels; for a device the CPU with all its cores, since its clips are long.
    pub fn check(&self) -> Self {
        if self.backend == BackendRequest::Cpu {
            return Self { level: Level::Scalar.name().to_owned(), ..self.clone() };
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = u16::try_from(cores).unwrap_or(u16::MAX);
        Self { backend: BackendRequest::Cpu, threads, ..self.clone() }
    }

    /// A `vmaf` tool, held to the same instructions.
    pub fn peer(path: PathBuf, args: &BenchArgs) -> Result<Self> {
        let output = Command::new(&path)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run {}", path.display()))?;
        let version = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let level = args.level.map_or("best", |level| level.name()).to_owned();
        let backend = BackendRequest::Cpu;
        Ok(Self { path, version, level, backend, threads: args.threads, is_peer: true })
    }

    /// What computes: the CPU at its level, or a device.
    pub fn kernels(&self) -> String {
        match self.backend {
            BackendRequest::Cpu => self.level.clone(),
            _ => format!("{}, {}", self.backend, self.level),
        }
    }

    fn command(&self, subject: &Subject, clips: &Clips) -> Command {
        let mut command = Command::new(&self.path);
        if self.is_peer {
            command.arg("-r").arg(clips.reference()).arg("-d").arg(clips.distorted());
            command.args(subject.peers()).args(["--json", "-q", "-o"]).arg(clips.report());
            // Without threads libvmaf works on the calling thread.
            let threads = if self.threads == 1 { 0 } else { self.threads };
            command.args(["--threads", &threads.to_string(), "--cpumask", self.cpumask()]);
        } else {
            command.arg("score").arg(clips.reference()).arg(clips.distorted()).args(subject.ours());
            command
                .args(["-q", "-t", &self.threads.to_string(), "--backend", &self.backend.to_string()])
                .arg(format!("--json={}", clips.report().display()));
            command.env(cpu::VARIABLE, &self.level);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// libvmaf's mask of instruction sets that are not to be used.
    fn cpumask(&self) -> &'static str {
        match self.level.as_str() {
            "scalar" => "255",
            "avx2" => "48",
            _ => "0",
        }
    }

    /// The mean of every column.
    pub fn answer(&self, subject: &Subject, clips: &Clips) -> Result<Answer> {
        self.run(subject, clips)?;
        let report = report(clips)?;
        let pooled = report["pooled_metrics"].as_object().context("a report without pooled metrics")?;
        Ok(pooled
            .iter()
            .filter_map(|(name, values)| Some((name.clone(), values["mean"].as_f64()?)))
            .collect())
    }

    /// One run.
    pub fn run(&self, subject: &Subject, clips: &Clips) -> Result<Cost> {
        let before = children_seconds()?;
        let started = Instant::now();
        let child = self
            .command(subject, clips)
            .spawn()
            .with_context(|| format!("cannot run {}", self.path.display()))?;
        let (status, peak_kib, words) = wait(child)?;
        let wall = started.elapsed().as_secs_f64();
        if !status.success() {
            bail!("{} failed on {}: {status} {words}", self.path.display(), subject.name);
        }
        let scoring_fps = report(clips)?["fps"].as_f64();
        Ok(Cost { cpu: children_seconds()? - before, wall, scoring_fps, peak_kib })
    }
}

/// The report of the last run.
fn report(clips: &Clips) -> Result<serde_json::Value> {
    let text = std::fs::read_to_string(clips.report()).context("reading a report")?;
    serde_json::from_str(&text).context("reading a report")
}

/// Processor seconds of all children that have ended.
#[cfg(unix)]
fn children_seconds() -> Result<f64> {
    seconds_of(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)
}

/// Processor seconds of this process.
#[cfg(unix)]
pub fn own_seconds() -> Result<f64> {
    seconds_of(nix::sys::resource::UsageWho::RUSAGE_SELF)
}

#[cfg(unix)]
fn seconds_of(whose: nix::sys::resource::UsageWho) -> Result<f64> {
    let usage = nix::sys::resource::getrusage(whose).context("processor time")?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Where the system does not tell, the time that has passed stands in: with one thread it is nearly the same.
#[cfg(not(unix))]
fn children_seconds() -> Result<f64> {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    Ok(START.get_or_init(Instant::now).elapsed().as_secs_f64())
}

#[cfg(not(unix))]
pub fn own_seconds() -> Result<f64> {
    children_seconds()
}

/// Waits for the end and watches the peak of memory, which only ever grows, until then.
fn wait(mut child: Child) -> Result<(ExitStatus, u64, String)> {
    let mut peak = 0;
    loop {
        peak = peak.max(peak_of(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().context("waiting for a run")? {
            let mut words = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                let _ = std::io::Read::read_to_string(&mut stderr, &mut words);
            }
            return Ok((status, peak, words));
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// The most memory that a process has held so far, where the system tells (Linux).
fn peak_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
