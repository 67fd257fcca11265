//! Plans and videos in an object store: a test server of S3 (moto) behind a proxy that is busy, and cuts connections.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format};

use super::common::y4m;
use super::{lines, stderr, tasks, visus};

/// moto, and the proxy before it.
struct Store {
    child: Child,
    direct: SocketAddr,
    proxy: SocketAddr,
    faults: Arc<AtomicUsize>,
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Store {
    /// `None` where moto is not installed (`cargo xtask fleet` does it), unless `VISUS_REQUIRE` names moto.
    fn start() -> Option<Self> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/scale/bin/moto_server");
        let direct = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new(&program);
        command.args(["-H", "127.0.0.1", "-p", &direct.port().to_string()]);
        let child = match command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => child,
            Err(error) => {
                let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
                assert!(
                    !required.split(',').any(|word| word.trim() == "moto"),
                    "{}: {error}",
                    program.display()
                );
                eprintln!("!!! {} does not start ({error}): THIS TEST IS LEFT OUT", program.display());
                return None;
            }
        };
        let (proxy, faults) = faulty_proxy(direct);
        let store = Self { child, direct, proxy, faults };
        let started = Instant::now();
        while TcpStream::connect(direct).is_err() {
            assert!(started.elapsed() < Duration::from_secs(60), "moto does not listen");
            std::thread::sleep(Duration::from_millis(100));
        }
        store.put("films", &[]);
        Some(store)
    }

    /// A bucket, or an object of one.
    fn put(&self, path: &str, bytes: &[u8]) {
        let mut socket = TcpStream::connect(self.direct).unwrap();
        let length = bytes.len();
        write!(
            socket,
            "PUT /{path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n",
            self.direct
        )
        .unwrap();
        socket.write_all(bytes).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }

    fn put_file(&self, path: &Path) -> String {
        let key = format!("films/v/{}", path.file_name().unwrap().to_string_lossy());
        self.put(&key, &std::fs::read(path).unwrap());
        format!("s3://{key}")
    }

    /// A command that reaches the store through the proxy.
    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = visus(folder);
        command.args(args).env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        command.env("AWS_REGION", "us-east-1").env("AWS_ENDPOINT_URL", format!("http://{}", self.proxy));
        command.env("VISUS_STAGE_DIR", folder.join("staged"));
        command
    }

    fn succeed(&self, folder: &Path, args: &[&str]) {
        let output = self.command(folder, args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    }

    /// Works on every shard: twice with two workers that are killed, then to its end.
    fn work(&self, folder: &Path, shards: usize) {
        for shard in 0..shards {
            let shard = shard.to_string();
            let args = ["work", "s3://films/plan", "-q", "-t", "2", "--shard", &shard];
            for pause in [150, 600] {
                let mut workers: Vec<Child> =
                    (0..2).map(|_| self.command(folder, &args).spawn().unwrap()).collect();
                std::thread::sleep(Duration::from_millis(pause));
                for worker in &mut workers {
                    let _ = worker.kill();
                    worker.wait().unwrap();
                }
            }
            self.succeed(folder, &args);
        }
    }
}

/// Of seven connections one gets 503, one is cut after some of the answer, one is cut at once.
fn faulty_proxy(to: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let faults = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&faults);
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (Ok(client), counted) = (client, Arc::clone(&counted)) else { continue };
            std::thread::spawn(move || {
                let fault = number % 7;
                counted.fetch_add(usize::from([1, 3, 5].contains(&fault)), Ordering::Relaxed);
                let _ = match fault {
                    1 => refuse(client),
                    3 => Ok(()),
                    5 => pass(client, to, 30_000),
                    _ => pass(client, to, usize::MAX),
                };
            });
        }
    });
    (address, faults)
}

fn refuse(mut client: TcpStream) -> std::io::Result<()> {
    let mut some = [0; 4096];
    let _ = client.read(&mut some)?;
    client.write_all(b"HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

/// Hands bytes on in both directions, and hangs up after so many of the answers.
fn pass(client: TcpStream, to: SocketAddr, most: usize) -> std::io::Result<()> {
    let server = TcpStream::connect(to)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let copied = std::io::copy(&mut (&server).take(most as u64), &mut &client);
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
    copied.map(|_| ())
}

/// Lines without times of files, the videos named as in this folder.
fn scores(path: &Path, folder: &Path) -> Vec<String> {
    let folder = format!("{}/", folder.display());
    let strip = |mut line: Value| {
        line.as_object_mut().unwrap().remove("task");
        line.to_string().replace("s3://films/v/", &folder)
    };
    lines(path).into_iter().map(strip).collect()
}

/// Plans the pair in the store, works on it, and compares with one batch of the local files.
fn compare(store: &Store, root: &Path, files: [&PathBuf; 2], pieces: usize) {
    let local = format!("reference,distorted\n{},{}\n", files[0].display(), files[1].display());
    std::fs::write(root.join("local.csv"), local).unwrap();
    store.succeed(root, &["batch", "local.csv", "-q", "-o", "batch.ndjson", "-m", "v0.6.1"]);
    let addresses = files.map(|file| store.put_file(file));
    std::fs::write(
        root.join("pairs.csv"),
        format!("reference,distorted\n{},{}\n", addresses[0], addresses[1]),
    )
    .unwrap();
    let plan = |piece: &str| {
        let words = [
            "plan",
            "pairs.csv",
            "--shards",
            "2",
            "--piece",
            piece,
            "-o",
            "plan",
            "-q",
            "--",
            "-m",
            "v0.6.1",
        ];
        store.succeed(root, &words);
        tasks(&root.join("plan"))
    };
    let whole = plan("1000000")[0]["cost"].as_f64().unwrap();
    let piece = format!("{}", whole / (pieces as f64 - 0.5));
    let words = [
        "plan",
        "pairs.csv",
        "--shards",
        "2",
        "--piece",
        &piece,
        "-o",
        "s3://films/plan",
        "-q",
        "--",
        "-m",
        "v0.6.1",
    ];
    store.succeed(root, &words);
    store.work(root, 2);
    store.succeed(root, &["gather", "s3://films/plan", "-q", "-o", "all.ndjson"]);
    assert_eq!(scores(&root.join("all.ndjson"), root), scores(&root.join("batch.ndjson"), root));
    assert!(store.faults.load(Ordering::Relaxed) > 3, "the proxy has done nothing");
}

/// A film made by repetition, cut into about forty ranges (how many depends on the speed that was measured).
#[test]
fn a_film_in_forty_ranges_is_that_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let Some(store) = Store::start() else { return };
    let clip = Clip::scene(Format::new(160, 90, Chroma::C420, 8).unwrap(), 30, 3);
    let repeated = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        let frames = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let all = [&bytes[..frames], &bytes[frames..].repeat(12)].concat();
        std::fs::write(&path, all).unwrap();
        path
    };
    let reference = repeated(y4m(root, "reference.y4m", &clip));
    let distorted =
        repeated(y4m(root, "distorted.y4m", &clip.distorted(Distortion::Noise { seed: 2, amplitude: 25 })));
    compare(&store, root, [&reference, &distorted], 40);
    let staged = std::fs::read_dir(root.join("staged")).map_or(0, Iterator::count);
    assert_eq!(staged, 0, "Y4M is read by ranges");
}

/// Encoded video that begins later, with drops and doubles about where it is cut.
#[test]
fn an_edited_encode_in_ranges_is_that_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let Some(store) = Store::start() else { return };
    let [reference, distorted] = crate::pairs::edited(root, "mp4");
    compare(&store, root, [&reference, &distorted], 4);
    let staged =
        std::fs::read_dir(root.join("staged")).unwrap().filter_map(Result::ok).map(|entry| entry.file_name());
    let staged: Vec<_> = staged.filter(|name| name != "lock").collect();
    assert_eq!(staged.len(), 2, "both are staged once: {staged:?}");
}

#[test]
fn what_a_store_refuses_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let Some(store) = Store::start() else { return };
    for (args, words) in [
        (&["status", "s3://films/none"][..], "there is no plan: no s3://films/none/plan.ndjson"),
        (&["plan", "s3://films/none/", "-r", "s3://films/r.y4m", "-o", "plan"], "has no encode below it"),
        (&["plan", "s3://films/none.csv", "-o", "plan"], "there is no such list"),
        (&["status", "s3://films/a//b"], "a part of the key is empty"),
    ] {
        let output = store.command(root, args).output().unwrap();
        assert!(!output.status.success() && stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
}
