//! The server process of a soak, and every process that belongs to it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::client::Client;
use super::clips::Clips;

/// What the server may take, in MiB.
pub const MEMORY: u64 = 512;
/// How long it may take to end.
const END: Duration = Duration::from_secs(40);

/// A running server. It is killed if nobody ends it.
#[derive(Debug)]
pub struct Server {
    child: Mutex<Child>,
    pub pid: u32,
    pub client: Client,
    /// The folder that all its processes, and nobody else's, have in their environment.
    mark: PathBuf,
}

/// A process of the server's.
#[derive(Debug)]
pub struct Process {
    pub pid: u32,
    pub command: String,
}

impl Process {
    /// The one that waits to clear up pictures lives as long as the server.
    pub fn is_janitor(&self) -> bool {
        self.command.contains("__sweep")
    }
}

impl Server {
    pub fn start(binary: &Path, clips: &Clips) -> Result<Self> {
        const TOKEN: &str = "a-token-for-the-soak-alone";
        let mut command = Command::new(binary);
        command.args(["serve", "--port", "0", "--toolset", "all", "--memory", &format!("{MEMORY}M")]);
        command.arg("--allow").arg(&clips.folder).arg("--allow-write").arg(&clips.out);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["VMAF", "VISUS_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.env("VMAFX_MCP_HTTP_TOKEN", TOKEN).env("VMAF_MCP_MAX_CONCURRENT", "3");
        command.env("TMPDIR", &clips.temporary).env("VISUS_CACHE_DIR", &clips.cache);
        command.env("VMAFX_LOG_LEVEL", "error").env("VMAF_ROOT", &clips.folder);
        command.stdin(Stdio::null()).stderr(Stdio::piped()).current_dir(&clips.folder);
        let mut child = command.spawn().with_context(|| binary.display().to_string())?;
        let pid = child.id();
        let mut lines = BufReader::new(child.stderr.take().context("its standard error")?);
        let child = Mutex::new(child);
        let mut first = String::new();
        lines.read_line(&mut first)?;
        let hello: Value = serde_json::from_str(&first).unwrap_or_default();
        let address = hello["address"].as_str().unwrap_or_default().to_owned();
        let client = Client { address, token: TOKEN.to_owned() };
        let server = Self { child, pid, client, mark: clips.temporary.clone() };
        anyhow::ensure!(
            !server.client.address.is_empty(),
            "the server does not say where it listens: {first}"
        );
        // Nobody reads the rest, but a full pipe would hold it up.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Ok(server)
    }

    /// All processes that the server has started, directly or not, and that still run.
    pub fn processes(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != self.pid).filter_map(|pid| self.process(pid)).collect()
    }

    fn process(&self, pid: u32) -> Option<Process> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let marked = format!("TMPDIR={}", self.mark.display());
        if !environment.split(|byte| *byte == 0).any(|entry| entry == marked.as_bytes()) {
            return None;
        }
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ").trim().to_owned();
        // What has ended and was not waited for yet has no arguments any more.
        (!command.is_empty()).then_some(Process { pid, command })
    }

    pub fn is_alive(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        matches!(child.try_wait(), Ok(None))
    }

    /// Ends the server as a service manager does, and says what is left of it.
    pub fn end(&self, clips: &Clips) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.is_alive() {
            faults.push("the server has ended by itself".to_owned());
        }
        signal(self.pid, "TERM");
        let until = Instant::now() + END;
        while self.is_alive() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        if self.is_alive() {
            faults.push(format!("the server has not ended {} s after SIGTERM", END.as_secs()));
        }
        while !self.processes().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        let left = self.processes().into_iter();
        faults
            .extend(left.map(|process| format!("left behind: process {} {}", process.pid, process.command)));
        faults.extend(files(&clips.temporary).map(|path| format!("left behind: {}", path.display())));
        let workspaces = files(&clips.cache).filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".visus-"))
        });
        faults.extend(workspaces.map(|path| format!("left behind: {}", path.display())));
        faults.extend(files(&clips.out).map(|path| format!("nobody asked for {}", path.display())));
        faults
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// What lies in a folder.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Sends a signal by its name.
pub fn signal(pid: u32, name: &str) {
    let _ = Command::new("sh").args(["-c", &format!("kill -s {name} {pid}")]).stderr(Stdio::null()).status();
}
