//! A client that sees every line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

pub const VISUS: &str = env!("CARGO_BIN_EXE_visus");
pub const VMAF: &str = env!("CARGO_BIN_EXE_vmaf");
pub const VMAF_MCP: &str = env!("CARGO_BIN_EXE_vmaf-mcp");

/// Long enough for a busy machine; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server process and both ends of its pipes.
pub struct Client {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// Notifications that came while something else was waited for.
    pub notifications: Vec<Value>,
    /// The tools, once they were listed.
    tools: Value,
}

/// `visus mcp` with one allowed folder and every tool.
pub fn command(allowed: &Path) -> Command {
    let mut command = default_command(allowed);
    command.args(["--toolset", "all"]);
    command
}

/// The same with the tools that are offered by default.
pub fn default_command(allowed: &Path) -> Command {
    let mut command = Command::new(VISUS);
    command.arg("mcp").arg("--allow").arg(allowed).env_remove("VMAF_BIN").env_remove("VMAF_MCP_ALLOW");
    command
}

impl Client {
    /// Starts a server, without a word to it yet.
    pub fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines, next: 1, notifications: Vec::new(), tools: Value::Null }
    }

    /// Starts a server and opens a session of the older era.
    pub fn open(command: Command) -> Self {
        let mut client = Self::start(command);
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        client.request("initialize", hello);
        client.notify("notifications/initialized", json!({}));
        client
    }

    pub fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("input is open");
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// The next message, whatever it is; every line must be one.
    pub fn message(&mut self) -> Option<Value> {
        self.message_within(PATIENCE)
    }

    pub fn message_within(&mut self, patience: Duration) -> Option<Value> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(serde_json::from_str(&line).expect("standard output carries JSON-RPC alone")),
            Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => None,
        }
    }

    /// The response with this id.
    pub fn response(&mut self, id: u64) -> Value {
        loop {
            let message = self.message().expect("a response");
            if message["id"] == json!(id) {
                return message;
            }
            self.notifications.push(message);
        }
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.response(id)
    }

    /// A tool's result.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let response = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    /// The data of a tool's result, which must be a success.
    pub fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], json!(false), "{result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "text and data are the same");
        self.check(tool, &text);
        text
    }

    /// Every answer must be what the tool's schema says.
    fn check(&mut self, tool: &str, answer: &Value) {
        if self.tools.is_null() {
            self.tools = self.request("tools/list", json!({}))["result"]["tools"].clone();
        }
        let listed = self.tools.as_array().unwrap().iter().find(|listed| listed["name"] == tool).unwrap();
        super::schema::check(&listed["outputSchema"], answer, tool);
    }

    /// The text of a tool's failure.
    pub fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let refusal = self.refusal(tool, arguments);
        refusal["error"].as_str().expect("one JSON object with an error").to_owned()
    }

    /// A tool's failure with the advice that comes with it.
    pub fn refusal(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], json!(true), "{result}");
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    pub fn close_input(&mut self) {
        drop(self.input.take());
    }

    /// Whether the server exits within this time.
    pub fn exits_within(&mut self, patience: Duration) -> bool {
        until(patience, || self.child.try_wait().unwrap().is_some())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether something becomes true within a time.
pub fn until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = std::time::Instant::now() + patience;
    loop {
        if condition() {
            return true;
        }
        if std::time::Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
