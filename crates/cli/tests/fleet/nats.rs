//! A plan as a queue of NATS JetStream, whose workers are killed again and again.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{assert_same, batch, catalogue, run, stderr, stdout, succeed, visus};

const QUEUE: &str = "films";

/// A server of its own, which ends with this.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// `None` where there is no nats-server, unless `VISUS_REQUIRE` names nats.
    fn start(folder: &Path) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("nats-server");
        command
            .args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"])
            .arg(folder.join("jetstream"));
        let child = match command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => child,
            Err(error) => {
                let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
                assert!(!required.split(',').any(|word| word.trim() == "nats"), "nats-server: {error}");
                eprintln!("!!! nats-server does not start ({error}): THIS TEST IS LEFT OUT");
                return None;
            }
        };
        let server = Self { child, port };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(60), "nats-server does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    fn address(&self) -> String {
        format!("nats://127.0.0.1:{}/{QUEUE}", self.port)
    }

    /// How many messages a stream has, by the server's own account.
    fn messages(&self, stream: &str) -> u64 {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let subject = format!("$JS.API.STREAM.INFO.{stream}");
        write!(socket, "CONNECT {{\"verbose\":false}}\r\nSUB answers 1\r\nPUB {subject} answers 0\r\n\r\n")
            .unwrap();
        let mut line = String::new();
        while !line.starts_with("MSG ") {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the server hung up");
        }
        line.clear();
        reader.read_line(&mut line).unwrap();
        let info: Value = serde_json::from_str(&line).unwrap();
        info["state"]["messages"].as_u64().unwrap_or_else(|| panic!("{info}"))
    }
}

#[test]
fn killed_workers_of_a_queue_lose_nothing() {
    let (folder, _list) = catalogue();
    let root = folder.path();
    let Some(server) = Server::start(root) else { return };
    let address = server.address();
    let plan =
        ["plan", "pairs.csv", "--piece", "0.025", "-o", "plan", "--queue", &address, "--lease", "2", "--"];
    let plan = [&plan[..], &["-m", "v0.6.1", "-f", "psnr"]].concat();
    let planned = succeed(root, &plan);
    assert!(stderr(&planned).contains("new jobs in the queue"), "{}", stderr(&planned));
    assert!(server.messages(QUEUE) > 0);
    // Made again at once, the plan has the same jobs: none is new.
    assert!(stderr(&succeed(root, &plan)).contains("visus: 0 new jobs in the queue"));

    let worker = || visus(root).args(["work", "plan", "-q", "--queue", &address]).spawn().unwrap();
    for pause in [10, 30, 60] {
        let mut workers: Vec<Child> = (0..4).map(|_| worker()).collect();
        std::thread::sleep(Duration::from_millis(pause));
        for worker in &mut workers {
            let _ = worker.kill();
            worker.wait().unwrap();
        }
    }
    let mut workers: Vec<Child> = (0..2).map(|_| worker()).collect();
    for worker in &mut workers {
        let code = worker.wait().unwrap().code();
        assert!(code == Some(0) || code == Some(3), "{code:?}");
    }
    assert_eq!(server.messages(QUEUE), 0, "every job is done");
    let status: Value = serde_json::from_str(&stdout(&succeed(root, &["status", "plan", "--json"]))).unwrap();
    assert_eq!((&status["left"], &status["bad_video"]), (&0.into(), &1.into()), "{status}");
    assert_eq!(server.messages(&format!("{QUEUE}-dead")), 1, "the pair that cannot be compared");

    run(root, &["gather", "plan", "-q", "-o", "all.ndjson"]);
    batch(root);
    assert_same(&root.join("all.ndjson"), &root.join("batch.ndjson"));
}

#[test]
fn wrong_queues_are_refused() {
    let (folder, _list) = catalogue();
    let root = folder.path();
    let Some(server) = Server::start(root) else { return };
    succeed(root, &["plan", "pairs.csv", "-o", "plan", "-q"]);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, words) in [
        (server.address(), "there is no queue films"),
        (format!("nats://{nobody}"), "cannot reach"),
        ("http://127.0.0.1".to_owned(), "nats:// and tls:// are known"),
        (format!("{}/more", server.address()), "nats://HOST[:PORT][/QUEUE]"),
    ] {
        let output = run(root, &["work", "plan", "--queue", &address]);
        assert!(
            !output.status.success() && stderr(&output).contains(words),
            "{address}: {}",
            stderr(&output)
        );
    }
}
