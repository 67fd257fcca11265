//! How a worker can be watched: events as lines of JSON, counters in a file and over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The longest head of a request for counters, in bytes.
const HEAD: u64 = 8192;
/// How long a client may take for its request or to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a worker has counted.
#[derive(Debug, Default)]
pub struct Counters {
    pub scored: AtomicUsize,
    pub bad: AtomicUsize,
    pub failed: AtomicUsize,
    pub kept: AtomicUsize,
    pub frames: AtomicUsize,
    pub microseconds: AtomicUsize,
    /// Tasks at this moment.
    pub running: AtomicUsize,
}

impl Counters {
    /// In the Prometheus text format.
    fn text(&self, worker: &str) -> String {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed) as f64;
        let figures = [
            ("tasks_scored_total", "counter", "Tasks scored by this worker.", count(&self.scored)),
            ("tasks_bad_video_total", "counter", "Tasks whose videos cannot be scored.", count(&self.bad)),
            ("tasks_failed_total", "counter", "Tasks that failed on this machine.", count(&self.failed)),
            ("tasks_skipped_total", "counter", "Tasks that were done before.", count(&self.kept)),
            ("frames_scored_total", "counter", "Frame pairs scored.", count(&self.frames)),
            ("task_seconds_total", "counter", "Time spent on tasks.", count(&self.microseconds) / 1e6),
            ("tasks_running", "gauge", "Tasks being scored.", count(&self.running)),
        ];
        let mut text = String::new();
        for (name, kind, about, value) in figures {
            text.push_str(&format!(
                "# HELP visus_{name} {about}\n# TYPE visus_{name} {kind}\nvisus_{name}{{shard=\"{worker}\"}} {value}\n"
            ));
        }
        text
    }
}

/// The ways by which a worker can be watched.
pub struct Watch {
    pub counters: Arc<Counters>,
    /// The number of the shard, or `queue`.
    worker: String,
    events: Option<Mutex<Box<dyn Write + Send>>>,
    file: Option<PathBuf>,
}

impl Watch {
    pub fn new(worker: String, events: Option<&Path>, file: Option<PathBuf>) -> Result<Self> {
        let events = events.map(open_events).transpose()?.map(Mutex::new);
        Ok(Self { counters: Arc::default(), worker, events, file })
    }

    pub fn event(&self, event: impl FnOnce() -> Value) {
        let Some(events) = &self.events else { return };
        let mut event = event();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        event["time"] = json!(now.as_secs_f64());
        event["shard"] = self.worker.parse::<u64>().map_or_else(|_| json!(self.worker), Value::from);
        let mut out = events.lock().unwrap_or_else(PoisonError::into_inner);
        // Events are for watching; a reader that is gone does not stop the work.
        let _ = writeln!(out, "{event}").and_then(|()| out.flush());
    }

    pub fn write_metrics(&self) {
        let Some(path) = &self.file else { return };
        // node_exporter reads whole files only.
        let new = path.with_extension("prom.new");
        let text = self.counters.text(&self.worker);
        if let Err(error) = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)) {
            eprintln!("visus: cannot write {}: {error}", path.display());
        }
    }

    /// Answers requests for `/metrics` for as long as the process lives. The address that it listens on.
    pub fn listen(&self, address: SocketAddr) -> Result<SocketAddr> {
        let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
        let bound = listener.local_addr().context("the address of the metrics")?;
        let (counters, worker) = (Arc::clone(&self.counters), self.worker.clone());
        let serve = move || {
            for stream in listener.incoming() {
                // One at a time: a client that is slow or gone costs a few seconds and nothing else.
                let _ = stream.and_then(|stream| answer(&stream, &counters.text(&worker)));
            }
        };
        std::thread::Builder::new().name("metrics".into()).spawn(serve).context("a thread for metrics")?;
        Ok(bound)
    }
}

fn open_events(path: &Path) -> Result<Box<dyn Write + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdout()));
    }
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    Ok(Box::new(file.with_context(|| format!("cannot open {}", path.display()))?))
}

/// One request of a connection. `GET /metrics` alone has an answer with a body.
fn answer(stream: &TcpStream, metrics: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = BufReader::new(stream.take(HEAD)).lines();
    let first = head.next().transpose()?.unwrap_or_default();
    // All of the head is read: to close with bytes unread would reset the connection.
    while head.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let mut words = first.split(' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => ("200 OK", metrics),
        (Some("GET"), _) => ("404 Not Found", "see /metrics\n"),
        _ => ("405 Method Not Allowed", "GET /metrics\n"),
    };
    let mut out = stream;
    write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// `PORT`, on the loopback, or `ADDRESS:PORT`.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| "PORT (on the loopback) or ADDRESS:PORT is needed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn counters_can_be_asked_for() {
        let watch = Watch::new("7".into(), None, None).unwrap();
        watch.counters.scored.store(5, Ordering::Relaxed);
        let bound = watch.listen(address("0").unwrap()).unwrap();
        assert!(bound.ip().is_loopback());
        let metrics = ask(bound, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(
            metrics.starts_with("HTTP/1.1 200 ") && metrics.contains("\r\ncontent-length: "),
            "{metrics}"
        );
        assert!(metrics.contains("visus_tasks_scored_total{shard=\"7\"} 5\n"), "{metrics}");
        assert!(ask(bound, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(bound, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn a_port_alone_is_one_of_the_loopback() {
        assert_eq!(address("9100").unwrap().to_string(), "127.0.0.1:9100");
        assert_eq!(address("[::]:1").unwrap().to_string(), "[::]:1");
        assert!(address("everywhere").is_err());
    }
}
