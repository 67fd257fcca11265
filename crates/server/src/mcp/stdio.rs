//! MCP over standard input and output: one JSON-RPC message per line, and nothing else on standard output.
//!
//! Lines that are no JSON-RPC are answered, not dropped. When the input ends, running tools are cancelled.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::ServiceExt;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::{McpHandler, stack};
use crate::Server;
use crate::incoming;
use crate::jobs::Jobs;

/// How long work may take to end once the input has.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves standard input until it ends.
pub async fn serve(server: Server) -> io::Result<()> {
    let (input, output) = rmcp::transport::io::stdio_pipes();
    serve_on(server, input, output).await
}

/// Serves any pair of streams until the input ends.
pub async fn serve_on<R, W>(server: Server, input: R, output: W) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let jobs = server.jobs().clone();
    let lines = Lines::new(input, output, jobs.clone());
    match stack::Handler::from(McpHandler::new(server)).serve(lines).await {
        Ok(running) => drop(running.waiting().await),
        // The input ended, or the first message was no opening: there is nobody to tell.
        Err(error) => tracing::debug!(%error, "nobody opened a session"),
    }
    jobs.close();
    jobs.cancel_all();
    jobs.idle(PATIENCE).await;
    Ok(())
}

/// Messages as lines.
struct Lines<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// A line that is too long is passed over to its end.
    passing: bool,
    output: Arc<Mutex<W>>,
    /// Whether a request has come: before that, notifications mean nothing.
    opened: bool,
    jobs: Jobs,
}

/// What a line holds.
enum Line {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    Refused(ErrorCode, String, Option<RequestId>),
    Nothing,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    fn new(input: R, output: W, jobs: Jobs) -> Self {
        let input = BufReader::with_capacity(64 << 10, input);
        let output = Arc::new(Mutex::new(output));
        Self { input, line: Vec::new(), passing: false, output, opened: false, jobs }
    }

    /// The next whole line, without its end; `None` at the end of the input. What was read of a line stays if this is
    /// dropped while it waits.
    async fn next_line(&mut self) -> Option<Result<Vec<u8>, ()>> {
        loop {
            let available = self.input.fill_buf().await.ok()?;
            if available.is_empty() {
                // A last line without an end is a line all the same.
                let line = std::mem::take(&mut self.line);
                return (!line.is_empty()).then_some(Ok(line));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            if !self.passing {
                self.line.extend_from_slice(piece);
            }
            let taken = piece.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if self.line.len() > incoming::LONGEST {
                self.line = Vec::new();
                self.passing = true;
            }
            if end.is_some() {
                let too_long = std::mem::take(&mut self.passing);
                let line = std::mem::take(&mut self.line);
                return Some(if too_long { Err(()) } else { Ok(line) });
            }
        }
    }

    fn read(&mut self, line: &[u8]) -> Line {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Line::Nothing;
        }
        let invalid = |reason: &str, id| {
            Line::Refused(ErrorCode::INVALID_REQUEST, format!("Invalid Request: {reason}"), id)
        };
        if let Err(reason) = incoming::check_values(line) {
            return invalid(&reason, None);
        }
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return Line::Refused(ErrorCode::PARSE_ERROR, "Parse error".to_owned(), None);
        };
        let Value::Object(object) = &value else { return invalid("batches are not supported", None) };
        let id = object.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return invalid("jsonrpc must be \"2.0\"", id);
        }
        match serde_json::from_value::<RxJsonRpcMessage<RoleServer>>(value) {
            Err(_) => Line::Refused(ErrorCode::INVALID_REQUEST, "Invalid Request".to_owned(), id),
            Ok(message) => self.admit(message),
        }
    }

    fn admit(&mut self, message: RxJsonRpcMessage<RoleServer>) -> Line {
        let is_request = matches!(message, JsonRpcMessage::Request(_));
        self.opened |= is_request;
        if self.opened { Line::Message(Box::new(message)) } else { Line::Nothing }
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    output: &Mutex<W>,
    message: &impl serde::Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write_line(&output, &item).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(line) = self.next_line().await else {
                self.jobs.close();
                self.jobs.cancel_all();
                return None;
            };
            let read = match line {
                Ok(line) => self.read(&line),
                Err(()) => {
                    let text = "Invalid Request: the line is too long".to_owned();
                    Line::Refused(ErrorCode::INVALID_REQUEST, text, None)
                }
            };
            match read {
                Line::Message(message) => return Some(*message),
                Line::Nothing => {}
                Line::Refused(code, text, id) => {
                    let error = TxJsonRpcMessage::<RoleServer>::error(ErrorData::new(code, text, None), id);
                    write_line(&self.output, &error).await.ok()?;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}
