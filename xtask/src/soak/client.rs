//! A client of the server, over HTTP/1.1 and as small as can be: one connection, one request, one answer.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Longer than any request of the soak takes; whoever gets no answer by then has lost it.
const PATIENCE: Duration = Duration::from_secs(240);

/// How to reach the server.
#[derive(Clone, Debug)]
pub struct Client {
    pub address: String,
    pub token: String,
}

/// A status and a body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    /// The server had no room; nothing is wrong.
    pub fn is_busy(&self) -> bool {
        matches!(self.status, 429 | 503)
    }

    pub fn error(&self) -> &str {
        self.body["error"].as_str().unwrap_or_default()
    }
}

impl Client {
    /// Sends a request and reads the whole answer.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer> {
        let mut stream = self.send(method, path, body)?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).context("the answer")?;
        answer(&String::from_utf8_lossy(&bytes))
    }

    /// Sends a request and leaves after a while without an answer.
    pub fn leave(&self, path: &str, body: &Value, after: Duration) -> Result<()> {
        let stream = self.send("POST", path, Some(body))?;
        std::thread::sleep(after);
        let _ = stream.shutdown(Shutdown::Both);
        Ok(())
    }

    /// Calls a tool. An error of the tool has status 400 here, so that all answers look alike.
    pub fn call(&self, tool: &str, arguments: &Value) -> Result<Answer> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let Answer { status, body } = self.ask("POST", "/mcp", Some(&message))?;
        let result = &body["result"];
        if result["isError"] == json!(true) {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            let error: Value = serde_json::from_str(text).unwrap_or(json!({ "error": text }));
            let busy = error["retry_after_s"].is_number();
            return Ok(Answer { status: if busy { 429 } else { 400 }, body: error });
        }
        match body.get("error") {
            Some(error) => Ok(Answer { status: 400, body: json!({ "error": error["message"] }) }),
            None => Ok(Answer { status, body: result["structuredContent"].clone() }),
        }
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<TcpStream> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address).context("connection")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2025-06-18\r\ncontent-length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body.as_bytes()))
            .context("request")?;
        Ok(stream)
    }
}

/// An answer from its bytes: whole, in chunks, or as an event of a stream.
fn answer(text: &str) -> Result<Answer> {
    let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("no answer: {text:?}"))?;
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).context("no status")?;
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { dechunked(body) } else { body.to_owned() };
    let event = |line: &str| serde_json::from_str::<Value>(line.strip_prefix("data:")?.trim()).ok();
    let last = || body.lines().rev().filter_map(event).find(|value| value.get("id").is_some());
    let body = serde_json::from_str(&body).ok().or_else(last).unwrap_or(Value::String(body.clone()));
    Ok(Answer { status, body })
}

fn dechunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let piece = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0);
        let Some(piece) = piece.and_then(|size| rest.get(..size)) else { break };
        whole.push_str(piece);
        body = rest[piece.len()..].trim_start_matches("\r\n");
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_whole_in_chunks_or_as_events() {
        let whole = answer("HTTP/1.1 200 OK\r\n\r\n{\"a\":1}").unwrap();
        assert_eq!((whole.status, &whole.body["a"]), (200, &json!(1)));
        let chunked =
            "HTTP/1.1 429 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":2}\r\n0\r\n\r\n";
        let chunked = answer(chunked).unwrap();
        assert!(chunked.is_busy() && chunked.body["a"] == 2);
        let event = "HTTP/1.1 200 OK\r\n\r\ndata: {\"id\":1,\"b\":3}\n\ndata: x\n\n";
        assert_eq!(answer(event).unwrap().body["b"], 3);
        assert!(answer("").is_err());
    }
}
