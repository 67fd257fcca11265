//! `visus serve` for as long as a check needs it, and children that cannot hang for ever.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A server on a port of the loopback that the system chose. It ends with this.
#[derive(Debug)]
pub struct Served {
    child: Child,
    port: u16,
    scheme: &'static str,
    drain: Option<JoinHandle<()>>,
}

impl Served {
    /// Starts it; it may read the folder.
    pub fn start(visus: &Path, environment: &[(&str, &str)], allowed: &Path) -> Result<Self> {
        let mut command = Command::new(visus);
        command.args(["serve", "--port", "0", "--allow"]).arg(allowed);
        command.envs(environment.iter().copied()).stderr(Stdio::piped()).stdin(Stdio::null());
        let mut child = command.spawn().with_context(|| visus.display().to_string())?;
        let lines = child.stderr.take().context("its standard error")?;
        let mut lines = BufReader::new(lines);
        let tls = environment.iter().any(|(name, _)| *name == "VMAFX_MCP_HTTP_TLS_CERT");
        let port = match port(&mut lines) {
            Ok(port) => port,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        };
        // Its log is not read; a full pipe would stop it.
        let drain = std::thread::spawn(move || drop(std::io::copy(&mut lines, &mut std::io::sink())));
        Ok(Self { child, port, scheme: if tls { "https" } else { "http" }, drain: Some(drain) })
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}://127.0.0.1:{}{path}", self.scheme, self.port)
    }
}

/// The port that the first lines name.
fn port(lines: &mut impl BufRead) -> Result<u16> {
    let mut said = String::new();
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            bail!("the server ended before it listened: {said}");
        }
        if let Some((_, rest)) = line.split_once("127.0.0.1:") {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            return digits.parse().with_context(|| line);
        }
        said.push_str(&line);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(drain) = self.drain.take() {
            let _ = drain.join();
        }
    }
}

/// Runs a command to its end and takes what it says. After `seconds` it is taken to hang and ended.
pub fn bounded(mut command: Command, seconds: u64) -> Result<Output> {
    let shown = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{shown} does not start"))?;
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let end = Instant::now() + Duration::from_secs(seconds);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{shown} hangs: it had not ended after {seconds} s");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    Ok(Output {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

fn read(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}
