//! Raw requests over TCP: nothing stands between a test and the bytes.

mod gate;
mod life;
mod mcp;
mod score;
#[cfg(feature = "tls")]
mod tls;
mod wire;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use super::settings::{NO_AUTH, TOKEN};
use super::{Flags, HttpServer, Settings};
use crate::config::{self, Config};

/// What was cancelled ends within a second on a machine that is not busy with other things; the work itself would take a
/// minute and more. So this limit tells ending from finishing, on any machine.
pub const PROMPT: Duration = Duration::from_secs(10);

pub const SECRET: &str = "correct horse battery staple";

/// A server on a port of its own, stopped when it is dropped.
pub struct Served {
    pub address: SocketAddr,
    pub core: crate::Server,
    stop: mpsc::Sender<()>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// How a test's server differs from the plain one.
pub struct Setup {
    pub variables: Vec<(&'static str, String)>,
    pub change: Box<dyn FnOnce(&mut Settings)>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { variables: vec![(TOKEN, SECRET.to_owned())], change: Box::new(|_| {}) }
    }
}

impl Setup {
    pub fn open() -> Self {
        Self { variables: vec![(NO_AUTH, "1".to_owned())], ..Self::default() }
    }

    pub fn changed(mut self, change: impl FnOnce(&mut Settings) + 'static) -> Self {
        self.change = Box::new(change);
        self
    }

    pub fn start(self) -> Served {
        let flags = Flags { port: Some("0".to_owned()), ..Flags::default() };
        let lookup = |name: &str| {
            self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone().into())
        };
        let mut settings = Settings::new(&flags, &lookup).unwrap();
        (self.change)(&mut settings);
        let config =
            Config::read(&config::Flags { http: true, ..config::Flags::default() }, &lookup).unwrap();
        let (stop, mut stopped) = mpsc::channel(2);
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async {
                let core = crate::Server::new(config);
                let server = HttpServer::bind(settings, core.clone()).await.unwrap();
                tell.send((server.address().unwrap(), core)).unwrap();
                server.run(async || stopped.recv().await.unwrap_or_default()).await;
            });
        });
        let (address, core) = told.recv_timeout(Duration::from_secs(10)).unwrap();
        Served { address, core, stop, thread: Some(thread) }
    }
}

impl Served {
    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    /// One request on a connection of its own.
    pub fn ask(&self, head: &str, body: &[u8]) -> Reply {
        let mut client = self.connect();
        client.send(&request(head, body));
        client.reply().expect("an answer")
    }

    /// With the token.
    pub fn get(&self, path: &str) -> Reply {
        self.ask(&format!("GET {path} HTTP/1.1\r\n{AUTH}"), b"")
    }

    pub fn post(&self, path: &str, body: &str) -> Reply {
        self.ask(&format!("POST {path} HTTP/1.1\r\n{AUTH}"), body.as_bytes())
    }

    /// The status of the job that came last.
    pub fn newest_job(&self) -> String {
        let jobs = self.get("/v1/jobs").json();
        let newest = jobs["jobs"].as_array().and_then(|jobs| jobs.last());
        newest.and_then(|job| job["status"].as_str()).unwrap_or_default().to_owned()
    }

    /// Asks the server to end; `join` waits for it.
    pub fn stop(&self) {
        let _ = self.stop.try_send(());
    }

    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop();
        // Twice: nothing is waited for.
        self.stop();
    }
}

/// The header that lets a request in.
pub const AUTH: &str = "authorization: Bearer correct horse battery staple\r\n";

/// A request line with its own headers, made complete.
pub fn request(head: &str, body: &[u8]) -> Vec<u8> {
    let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    [
        format!("{head}{}host: localhost\r\n{length}\r\n", if head.ends_with('\n') { "" } else { "\r\n" })
            .as_bytes(),
        body,
    ]
    .concat()
}

pub struct Client {
    pub stream: TcpStream,
    reader: BufReader<TcpStream>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Client {
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next answer; nothing if the server closed the connection.
    pub fn reply(&mut self) -> Option<Reply> {
        let mut reply = self.head()?;
        while reply.status / 100 == 1 {
            reply = self.head()?;
        }
        reply.body = match (reply.header("content-length"), reply.header("transfer-encoding")) {
            (Some(length), _) => self.exactly(length.parse().unwrap()),
            (None, Some("chunked")) => self.chunks(),
            _ => Vec::new(),
        };
        Some(reply)
    }

    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.reader.read_line(&mut line).unwrap_or(0);
        (count > 0).then(|| line.trim_end().to_owned())
    }

    fn head(&mut self) -> Option<Reply> {
        let status = self.line()?;
        let status = status.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        let mut headers = Vec::new();
        while let Some((name, value)) = self.line()?.split_once(": ") {
            headers.push((name.to_owned(), value.to_owned()));
        }
        Some(Reply { status, headers, body: Vec::new() })
    }

    fn exactly(&mut self, length: usize) -> Vec<u8> {
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).unwrap();
        body
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line().unwrap(), 16).unwrap();
            let chunk = self.exactly(length + 2);
            if length == 0 {
                return body;
            }
            body.extend_from_slice(&chunk[..length]);
        }
    }

    /// Whether the server has closed its side.
    pub fn closed(&mut self) -> bool {
        matches!(self.reader.fill_buf(), Ok([]) | Err(_))
    }
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error} in the answer {} {}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    /// The text of a refusal that is what every refusal must be.
    #[track_caller]
    pub fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self.checked();
        self.json()["error"].as_str().expect("a text").to_owned()
    }

    /// JSON with an id of eight hexadecimal digits, the same in the header.
    #[track_caller]
    pub fn checked(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.json();
        let id = body["request_id"].as_str().expect("a request id");
        assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert_eq!(self.header("x-request-id"), Some(id));
        body
    }
}
