//! Plans and videos in Google's and Azure's stores and behind TLS, by test servers on this machine (`tests/scale/stores.py`).

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Options, clips, manifests};
use crate::steps::{root, succeeds};

const PAIRS: usize = 12;
const FRAMES: usize = 3;
/// Rows of a plan of more than 8 MiB.
const LARGE: usize = 40_000;

/// A kind of store, what addresses begin with, and what a client needs in its environment.
struct Kind {
    name: &'static str,
    scheme: &'static str,
    environment: fn(port: u16, folder: &Path) -> Vec<(&'static str, String)>,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "google",
        scheme: "gs",
        environment: |port, folder| {
            let account = folder.join("account.json");
            let text = format!(
                r#"{{"gcs_base_url":"http://127.0.0.1:{port}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#
            );
            let written = std::fs::write(&account, text);
            written.map_or_else(
                |_| Vec::new(),
                |()| vec![("GOOGLE_SERVICE_ACCOUNT", account.display().to_string())],
            )
        },
    },
    Kind {
        name: "tls",
        scheme: "s3",
        environment: |port, folder| {
            vec![
                ("AWS_ACCESS_KEY_ID", "test".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
                ("AWS_REGION", "us-east-1".to_owned()),
                ("AWS_ENDPOINT_URL", format!("https://localhost:{port}")),
                ("SSL_CERT_FILE", folder.join("ca.pem").display().to_string()),
            ]
        },
    },
    Kind {
        name: "azure",
        scheme: "az",
        environment: |port, _folder| {
            vec![
                ("AZURE_STORAGE_USE_EMULATOR", "true".to_owned()),
                ("AZURITE_BLOB_STORAGE_URL", format!("http://127.0.0.1:{port}")),
            ]
        },
    },
];

/// A server that ends with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its standard input, and ends what it has started.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Plans a prefix, works on it twice, gathers, and compares with one batch of the local files.
pub fn check(options: &Options) -> Result<()> {
    manifests::prepare()?;
    let folder = tempfile::Builder::new().prefix("visus-stores-").tempdir()?;
    let videos = folder.path().join("v");
    std::fs::create_dir(&videos)?;
    let list = clips::write(&videos, PAIRS, FRAMES)?;
    std::fs::remove_file(list)?;
    let expected = batch(options, folder.path(), &videos)?;
    for kind in &KINDS {
        if kind.name == "azure" && options.azurite.is_none() {
            eprintln!(
                "!!! Azure is run on request: --azurite node_modules/.bin/azurite-blob; NOT CHECKED NOW"
            );
            continue;
        }
        let got = score(options, folder.path(), &videos, kind).context(kind.name)?;
        ensure!(got.len() == expected.len(), "{}: {} lines of {}", kind.name, got.len(), expected.len());
        for (got, expected) in got.iter().zip(&expected) {
            ensure!(got == expected, "{}:\n{got}\nis not\n{expected}", kind.name);
        }
        println!("ok: {}: {} pairs as one batch", kind.name, expected.len());
    }
    Ok(())
}

fn batch(options: &Options, folder: &Path, videos: &Path) -> Result<Vec<Value>> {
    let output = folder.join("batch.ndjson");
    let mut batch = Command::new(&options.queue_visus);
    batch.arg("batch").arg(videos).arg("-r").arg(videos.join("r0.y4m")).args(["-q", "-m", "v0.6.1", "-o"]);
    succeeds(batch.arg(&output))?;
    lines(&output, "", "")
}

fn score(options: &Options, folder: &Path, videos: &Path, kind: &Kind) -> Result<Vec<Value>> {
    let (_server, port) = start(options, videos, kind)?;
    let environment = (kind.environment)(port, folder);
    let visus = |words: &[&str]| {
        let mut command = Command::new(&options.queue_visus);
        succeeds(command.args(words).envs(environment.iter().cloned()))
    };
    let address = |name: &str| format!("{}://films/{name}", kind.scheme);
    let (plan, output) = (address("plan"), folder.join(kind.name).with_extension("ndjson"));
    let (prefix, reference) = (address("v/"), address("v/r0.y4m"));
    visus(&["plan", &prefix, "-r", &reference, "-q", "-o", &plan, "--", "-m", "v0.6.1"])?;
    for _ in 0..2 {
        visus(&["work", &plan, "-q", "--shard", "0"])?;
    }
    visus(&["status", &plan])?;
    visus(&["gather", &plan, "-q", "-o", &output.to_string_lossy()])?;
    // A plan that is sent in parts, and read again by ranges.
    let (list, large) = (large_list(folder)?, address("large"));
    visus(&["plan", &list.to_string_lossy(), "-q", "-o", &large, "--", "-m", "v0.6.1"])?;
    let mut status = Command::new(&options.queue_visus);
    let status = status.args(["status", &large, "--json"]).envs(environment.iter().cloned()).output()?;
    let status: Value = serde_json::from_slice(&status.stdout).context("status")?;
    ensure!(status["pairs"] == LARGE, "{status}");
    lines(&output, &prefix, &format!("{}/", videos.display()))
}

/// A list whose plan is larger than what is sent at once. Its videos do not exist, which planning leaves to workers.
fn large_list(folder: &Path) -> Result<PathBuf> {
    let rows = (0..LARGE).map(|row| format!("/none/{row:0>100}.y4m,/none/{row}.y4m\n"));
    let list = folder.join("large.csv");
    std::fs::write(
        &list,
        std::iter::once("reference,distorted\n".to_owned()).chain(rows).collect::<String>(),
    )?;
    Ok(list)
}

fn start(options: &Options, videos: &Path, kind: &Kind) -> Result<(Server, u16)> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new(root().join("target/scale/bin/python"));
    command.arg(root().join("tests/scale/stores.py")).args([kind.name, &port.to_string()]).arg(videos);
    command.args(options.azurite.iter().map(PathBuf::as_path));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Server(command.spawn().context("python")?);
    let out = server.0.stdout.take().context("its output")?;
    let is_ready = BufReader::new(out).lines().map_while(Result::ok).any(|line| line == "ready");
    ensure!(is_ready, "the server does not start");
    Ok((server, port))
}

/// Lines without times of files, in the order of encodes; addresses that begin with `prefix` are those of local files.
fn lines(path: &Path, prefix: &str, local: &str) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let text = if prefix.is_empty() { text } else { text.replace(prefix, local) };
    let mut lines: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    for line in &mut lines {
        let line = line.as_object_mut().context("a line is no object")?;
        for key in ["task", "row"] {
            line.shift_remove(key);
        }
    }
    lines.sort_by_key(|line| line["distorted"].to_string());
    Ok(lines)
}
