//! A client of `visus mcp` that does what a transcript says.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    /// Starts the server, which may read the folder, and introduces itself.
    pub fn start(visus: &Path, folder: &Path) -> Result<Self> {
        let mut command = Command::new(visus);
        command.args(["mcp", "--toolset", "all", "--allow"]).arg(folder);
        command.env("VISUS_CACHE_DIR", folder.join("cache"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| visus.display().to_string())?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("its output")?);
        let mut client = Self { child, input, output, next: 0 };
        let who = json!({ "name": "transcripts", "version": "1" });
        client.request(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the server's input is closed")?;
        writeln!(input, "{message}")?;
        Ok(input.flush()?)
    }

    /// The result of a request.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the server has ended");
            }
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                let error = &message["error"];
                if !error.is_null() {
                    bail!("{method}: {error}");
                }
                return Ok(message["result"].clone());
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The end of its input ends the server.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
