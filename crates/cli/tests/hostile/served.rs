//! A server process with a limit on its address space, and a client for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A server over HTTP, killed if a test leaves it.
pub struct Served {
    child: Child,
    pub address: String,
    /// Where clients may read.
    pub folder: PathBuf,
    _place: tempfile::TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// A server that may map `mebibytes` of addresses.
    pub fn start(mebibytes: u64, more: &[&str]) -> Self {
        Self::start_with(mebibytes, more, &[])
    }

    /// The same with further variables.
    pub fn start_with(mebibytes: u64, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap();
        let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", mebibytes << 10);
        let mut command = Command::new("/bin/sh");
        command.args([
            "-c",
            &script,
            env!("CARGO_BIN_EXE_visus"),
            "serve",
            "--port",
            "0",
            "--toolset",
            "all",
        ]);
        command.arg("--allow").arg(&folder).args(more).current_dir(&folder);
        for name in ["VMAF_BIN", "VMAFX_PORT", "VMAFX_MCP_HTTP_TOKEN", "VISUS_MEMORY", "VISUS_ALLOW_WRITE"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        command.env("VMAFX_MCP_HTTP_NO_AUTH", "1").env("VISUS_CACHE_DIR", folder.join("cache"));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let first: Value = serde_json::from_str(&first).unwrap_or_else(|error| panic!("{error}: {first}"));
        // Nobody reads the rest; a full pipe would hold the server up.
        std::thread::spawn(move || lines.for_each(drop));
        let address = first["address"].as_str().unwrap().to_owned();
        Self { child, address, folder, _place: place }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Status and body of a request.
    pub fn request(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
        let length = body.len();
        let head = format!("{head}host: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned())
    }

    /// Calls a tool; an error is the text that a client reads.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let head = "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\n\
                    accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n";
        let (_, body) = self.request(head, &message.to_string());
        let data = body.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&body);
        let answer: Value =
            serde_json::from_str(data.trim()).unwrap_or_else(|error| panic!("{error}: {body}"));
        let result = &answer["result"];
        if result["isError"] == true || answer["error"].is_object() {
            let text = result["content"][0]["text"].as_str().or(answer["error"]["message"].as_str());
            return Err(text.unwrap_or(&body).to_owned());
        }
        Ok(result["structuredContent"].clone())
    }

    /// The server lives and answers.
    pub fn is_well(&self, after: &str) {
        let (status, body) = self.request("GET /healthz HTTP/1.1\r\n", "");
        assert_eq!(status, 200, "after {after}: {body}");
    }

    /// Largest resident memory of the process so far, in MiB.
    pub fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() >> 10
    }
}

/// Makes a file that is as long as it says and takes no room.
pub fn sparse(path: &Path, bytes: u64) {
    std::fs::File::create(path).unwrap().set_len(bytes).unwrap();
}
