//! A catalogue on many machines: the gathered lines are those of one batch, whatever happened on the way.

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "nats")]
mod nats;
mod pairs;
#[cfg(feature = "object-store")]
mod s3;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use common::{stderr, stdout, y4m};
use serde_json::Value;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format};

const SHARDS: usize = 3;

fn visus(folder: &Path) -> Command {
    let mut command = common::visus();
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    visus(folder).args(args).output().unwrap()
}

fn succeed(folder: &Path, args: &[&str]) -> Output {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}{}", stdout(&output), stderr(&output));
    output
}

/// The lines of a batch, or of what was gathered.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Two files of lines are the same to the byte.
fn assert_same(got: &Path, expected: &Path) {
    let [got, expected] = [got, expected].map(|path| std::fs::read_to_string(path).unwrap());
    for (got, expected) in got.lines().zip(expected.lines()) {
        assert_eq!(got, expected);
    }
    assert!(got == expected && !got.is_empty(), "{} bytes, not {}", got.len(), expected.len());
}

/// The first line of a plan, and its bundles.
fn read_plan(folder: &Path) -> (Value, Vec<Value>) {
    let text = std::fs::read_to_string(folder.join("plan.ndjson")).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    (lines.next().unwrap(), lines.filter(Value::is_object).collect())
}

fn tasks(folder: &Path) -> Vec<Value> {
    let (_, bundles) = read_plan(folder);
    bundles.iter().flat_map(|bundle| bundle["tasks"].as_array().unwrap().clone()).collect()
}

/// Clips of several lengths, one that is not comparable, one that is no video, and one row twice.
fn catalogue() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let format = Format::new(160, 90, Chroma::C420, 8).unwrap();
    let mut rows = vec!["reference,distorted".to_owned()];
    for (number, frames) in [40, 7, 25, 1].into_iter().enumerate() {
        let clip = Clip::scene(format, frames, number as u32);
        let reference = y4m(root, &format!("r{number}.y4m"), &clip);
        let distorted = clip.distorted(Distortion::Noise { seed: 5, amplitude: 30 });
        let distorted = y4m(root, &format!("d{number}.y4m"), &distorted);
        rows.push(format!("{},{}", reference.display(), distorted.display()));
    }
    rows.push(rows[1].clone());
    // One frame cannot be cut: one task is of bad video.
    let other = Clip::scene(Format::new(96, 64, Chroma::C420, 8).unwrap(), 1, 1);
    let other = y4m(root, "small.y4m", &other);
    rows.push(format!("{},{}", root.join("r0.y4m").display(), other.display()));
    let list = root.join("pairs.csv");
    std::fs::write(&list, rows.join("\n")).unwrap();
    (folder, list)
}

fn plan(root: &Path) {
    let shards = SHARDS.to_string();
    let args = ["plan", "pairs.csv", "--shards", &shards, "--piece", "0.002", "-o", "plan", "--"];
    succeed(root, &[&args[..], &["-m", "v0.6.1", "-f", "psnr"]].concat());
}

/// One batch of the catalogue, in `batch.ndjson`.
fn batch(root: &Path) {
    let batch = run(root, &["batch", "pairs.csv", "-m", "v0.6.1", "-f", "psnr", "-o", "batch.ndjson", "-q"]);
    assert_eq!(batch.status.code(), Some(1), "one pair cannot be scored: {}", stderr(&batch));
}

#[test]
fn killed_workers_lose_nothing_and_score_nothing_twice() {
    let (folder, _list) = catalogue();
    let root = folder.path();
    plan(root);
    let tasks = tasks(&root.join("plan"));
    assert!(tasks.iter().any(|task| task["range"].is_array()), "the long clip is cut: {tasks:?}");
    assert!(run(root, &["gather", "plan"]).status.code() == Some(1), "nothing is done");

    // Each shard is worked on by two at once, which are killed after a while; then it is worked on to its end.
    for shard in 0..SHARDS {
        let shard = shard.to_string();
        for pause in [10, 25, 60] {
            let mut workers: Vec<_> = (0..2)
                .map(|_| visus(root).args(["work", "plan", "--shard", &shard, "-q"]).spawn().unwrap())
                .collect();
            std::thread::sleep(Duration::from_millis(pause));
            for worker in &mut workers {
                let _ = worker.kill();
                worker.wait().unwrap();
            }
        }
        let output = visus(root)
            .args(["work", "plan", "--events=events.ndjson", "--metrics", "visus.prom"])
            .env("SLURM_ARRAY_TASK_ID", &shard)
            .output()
            .unwrap();
        let code = output.status.code();
        assert!(code == Some(0) || code == Some(3), "{code:?} {}", stderr(&output));
    }
    let status: Value = serde_json::from_str(&stdout(&succeed(root, &["status", "plan", "--json"]))).unwrap();
    assert_eq!((&status["left"], &status["bad_video"]), (&0.into(), &1.into()), "{status}");
    assert!(stdout(&succeed(root, &["status", "plan"])).starts_with("100.0 % done"));
    // Not a terminal: once, without control characters.
    let top = stdout(&succeed(root, &["top", "plan"]));
    assert!(
        top.contains("100.0 %") && top.contains("failed    small.y4m: ") && !top.contains('\x1b'),
        "{top}"
    );

    let gathered =
        run(root, &["gather", "plan", "-o", "all.ndjson", "--table", "all.csv", "--failures", "failed.csv"]);
    assert_eq!(gathered.status.code(), Some(1), "one pair cannot be scored: {}", stderr(&gathered));
    batch(root);
    assert_same(&root.join("all.ndjson"), &root.join("batch.ndjson"));
    let table = std::fs::read_to_string(root.join("all.csv")).unwrap();
    let head = table.lines().next().unwrap();
    assert!(head.starts_with("reference,distorted,frames,") && head.contains("vmaf_v0.6.1_mean"), "{head}");
    assert_eq!(table.lines().count(), 6);
    let failed = std::fs::read_to_string(root.join("failed.csv")).unwrap();
    assert!(failed.starts_with("row,reference,distorted,error_class,error\n6,"), "{failed}");
    assert!(failed.contains("small.y4m,not_comparable,") && failed.lines().count() == 2, "{failed}");
    let events = std::fs::read_to_string(root.join("events.ndjson")).unwrap();
    assert!(events.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["time"].is_number()));
    let metrics = std::fs::read_to_string(root.join("visus.prom")).unwrap();
    assert!(metrics.contains("# TYPE visus_tasks_scored_total counter"), "{metrics}");
}

#[test]
fn json_lines_are_a_list_too() {
    let (folder, list) = catalogue();
    let root = folder.path();
    let text = std::fs::read_to_string(list).unwrap();
    let line = |row: &str| {
        let (reference, distorted) = row.split_once(',').unwrap();
        serde_json::json!({ "reference": reference, "distorted": distorted, "title": "ignored" }).to_string()
    };
    let lines: Vec<String> = text.lines().skip(1).map(line).collect();
    std::fs::write(root.join("pairs.jsonl"), lines.join("\n\n")).unwrap();
    for (list, output) in [("pairs.csv", "a"), ("pairs.jsonl", "b")] {
        succeed(root, &["plan", list, "--workers", "2", "-o", output, "-q"]);
    }
    let simulated = succeed(root, &["plan", "pairs.csv", "--workers", "2", "-o", "a", "-q", "--simulate"]);
    assert!(stdout(&simulated).contains("  10000 "), "{}", stdout(&simulated));
    let ((csv, of_csv), (json, of_json)) = (read_plan(&root.join("a")), read_plan(&root.join("b")));
    let keys = |bundles: &[Value]| bundles.iter().map(|bundle| bundle["key"].clone()).collect::<Vec<_>>();
    assert_eq!((&csv["id"], keys(&of_csv)), (&json["id"], keys(&of_json)));
    assert_ne!(csv["traceparent"], json["traceparent"], "each plan is a trace");
    assert_eq!(json["shards"].as_u64(), Some(of_json.len() as u64));
    for (text, words) in [("{\"reference\":\"a\"}", "line 1: there is no 'distorted'"), ("\n[", "line 2")] {
        std::fs::write(root.join("wrong.jsonl"), text).unwrap();
        let output = run(root, &["plan", "wrong.jsonl", "-o", "c"]);
        assert!(!output.status.success() && stderr(&output).contains(words), "{}", stderr(&output));
    }
}

/// The trace that a plan and its shards write: all spans have the trace of the plan.
#[cfg(feature = "otel")]
#[test]
fn plan_shard_and_tasks_are_one_trace() {
    use std::io::{BufRead, BufReader, Read, Write};
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let (folder, _list) = catalogue();
    let root = folder.path();
    let take = move || {
        let (mut stream, _) = collector.accept().unwrap();
        let (mut reader, mut head) = (BufReader::new(stream.try_clone().unwrap()), String::new());
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let length = |line: &str| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok();
        let mut body = vec![0; head.lines().find_map(length).unwrap()];
        reader.read_exact(&mut body).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        body
    };
    let bodies = std::thread::spawn(move || [take(), take()]);
    let traced = |args: &[&str]| {
        visus(root).args(args).env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint).output().unwrap()
    };
    let planned = traced(&["plan", "pairs.csv", "--shards", "1", "-o", "plan", "-q"]);
    assert!(planned.status.success(), "{}", stderr(&planned));
    assert_eq!(traced(&["work", "plan", "--shard", "0", "-q"]).status.code(), Some(3));
    let (plan, _) = read_plan(&root.join("plan"));
    let hex = |word: &str| -> Vec<u8> {
        (0..word.len() / 2)
            .map(|place| u8::from_str_radix(&word[2 * place..2 * place + 2], 16).unwrap())
            .collect()
    };
    let parent = plan["traceparent"].as_str().unwrap().to_owned();
    let words: Vec<&str> = parent.split('-').collect();
    let (trace, span) = (hex(words[1]), hex(words[2]));
    let count = |body: &[u8], part: &[u8]| body.windows(part.len()).filter(|window| *window == part).count();
    let [of_plan, of_shard] = bodies.join().unwrap();
    assert_eq!((count(&of_plan, &trace), count(&of_plan, &span)), (1, 1), "the plan's own span");
    let tasks = tasks(&root.join("plan")).len();
    assert_eq!(count(&of_shard, &trace), tasks + 1, "the shard's span and one for each task");
    assert_eq!(count(&of_shard, &span), 1, "the shard's parent is the plan");
}

#[test]
fn a_plan_that_is_made_again_keeps_what_is_right() {
    let (folder, _list) = catalogue();
    let root = folder.path();
    plan(root);
    for shard in ["0", "1", "2"] {
        run(root, &["work", "plan", "--shard", shard, "-q"]);
    }
    let count = || {
        let text = stdout(&succeed(root, &["status", "plan", "--json"]));
        serde_json::from_str::<Value>(&text).unwrap()["left"].as_u64().unwrap()
    };
    assert_eq!(count(), 0);
    // Another length of the second clip: only its own tasks are to be done.
    let clip = Clip::scene(Format::new(160, 90, Chroma::C420, 8).unwrap(), 9, 8);
    y4m(root, "d1.y4m", &clip);
    let stale = run(root, &["work", "plan", "--shard", "0", "-q"]);
    assert!(stale.status.code() == Some(0) || stale.status.code() == Some(3), "results are there already");
    plan(root);
    assert!((1..=9).contains(&count()), "{} tasks are left", count());
}

/// Pairs of milliseconds share results; a machine that fails at one of them keeps what it scored of the others.
#[test]
fn cheap_pairs_share_a_result() {
    const PAIRS: usize = 12;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let format = Format::new(64, 64, Chroma::C420, 8).unwrap();
    let clip = Clip::scene(format, 2, 1);
    y4m(root, "r.y4m", &clip);
    let mut rows = "reference,distorted\n".to_owned();
    for pair in 0..=PAIRS {
        let distorted = clip.clone().distorted(Distortion::Noise { seed: pair as u32, amplitude: 20 });
        y4m(root, &format!("d{pair}.y4m"), &distorted);
        if pair < PAIRS {
            rows.push_str(&format!("{0}/r.y4m,{0}/d{pair}.y4m\n", root.display()));
        }
    }
    std::fs::write(root.join("pairs.csv"), &rows).unwrap();
    let plan = || {
        drop(succeed(root, &["plan", "pairs.csv", "--shards", "1", "-o", "plan", "-q", "--", "-m", "v0.6.1"]))
    };
    let status =
        || -> Value { serde_json::from_str(&stdout(&succeed(root, &["status", "plan", "--json"]))).unwrap() };
    plan();
    let (_, bundles) = read_plan(&root.join("plan"));
    assert!(bundles.len() < PAIRS, "{bundles:?}");

    std::fs::rename(root.join("d5.y4m"), root.join("away.y4m")).unwrap();
    assert_eq!(run(root, &["work", "plan", "--shard", "0", "-q"]).status.code(), Some(1));
    assert_eq!((&status()["left"], &status()["scored"]), (&1.into(), &(PAIRS - 1).into()));
    succeed(root, &["gather", "plan", "--partial", "-q", "-o", "some.ndjson"]);
    assert_eq!(lines(&root.join("some.ndjson")).len(), PAIRS - 1);
    std::fs::rename(root.join("away.y4m"), root.join("d5.y4m")).unwrap();
    succeed(root, &["work", "plan", "--shard", "0", "-q", "--events=events.ndjson"]);
    let events = std::fs::read_to_string(root.join("events.ndjson")).unwrap();
    assert_eq!(events.matches("task_started").count(), 1, "{events}");
    let compare = |name: &str| {
        let (all, batch) = (format!("{name}.ndjson"), format!("{name}-batch.ndjson"));
        succeed(root, &["gather", "plan", "-q", "-o", &all]);
        succeed(root, &["batch", "pairs.csv", "-q", "-m", "v0.6.1", "-o", &batch]);
        assert_same(&root.join(all), &root.join(batch));
    };
    compare("first");

    // A row less, one that has changed, and one more: two are to be scored.
    let text: Vec<&str> = rows.lines().collect();
    let more = format!("{0}/r.y4m,{0}/d{PAIRS}.y4m\n", root.display());
    std::fs::write(root.join("pairs.csv"), format!("{}\n{}\n{more}", text[0], text[2..].join("\n"))).unwrap();
    y4m(root, "d7.y4m", &clip.distorted(Distortion::Noise { seed: 99, amplitude: 10 }));
    plan();
    assert_eq!(status()["left"], 2, "{}", status());
    succeed(root, &["work", "plan", "--shard", "0", "-q"]);
    compare("second");
}

#[test]
fn a_machine_that_fails_is_told_from_a_video_that_is_bad() {
    let (folder, _list) = catalogue();
    let root = folder.path();
    plan(root);
    std::fs::rename(root.join("r0.y4m"), root.join("away.y4m")).unwrap();
    let codes: Vec<Option<i32>> = (0..SHARDS)
        .map(|shard| run(root, &["work", "plan", "-q", "--shard", &shard.to_string()]).status.code())
        .collect();
    assert!(codes.contains(&Some(1)), "a file that is not there may come back: {codes:?}");
    std::fs::rename(root.join("away.y4m"), root.join("r0.y4m")).unwrap();
    let codes: Vec<Option<i32>> = (0..SHARDS)
        .map(|shard| run(root, &["work", "plan", "-q", "--shard", &shard.to_string()]).status.code())
        .collect();
    assert!(!codes.contains(&Some(1)) && codes.contains(&Some(3)), "{codes:?}");
    for (args, words) in [
        (&["work", "plan", "--shard", "99"][..], "there is no shard 99"),
        (&["work", "plan"], "which shard"),
        (&["work", "nowhere", "--shard", "0"], "there is no plan"),
        (&["work", "plan", "--shard", "0", "--metrics-listen", "everywhere"], "ADDRESS:PORT"),
        (&["top", "nowhere"], "there is no plan"),
        (&["plan", "pairs.csv", "-o", "p2", "--", "--json=x"], "writes its results itself"),
        (&["plan", "pairs.csv", "-o", "p2", "--", "-m", "nonsense"], "nonsense"),
    ] {
        let output = run(root, args);
        assert!(!output.status.success() && stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
}

/// Files may not grow beyond half a kilobyte: nothing can be written, nothing half-written is left, and the next attempt does it.
#[test]
fn a_full_disk_is_a_machine_that_failed() {
    let (folder, _list) = catalogue();
    let root = folder.path();
    plan(root);
    let mut shell = Command::new("bash");
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -f 1; exec \"$0\" work plan -q --shard 0",
        env!("CARGO_BIN_EXE_visus"),
    ]);
    let full = shell.current_dir(root).stdin(Stdio::null()).output().unwrap();
    assert_eq!(full.status.code(), Some(1), "{}", stderr(&full));
    assert!(stderr(&full).contains("cannot write"), "{}", stderr(&full));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root.join("plan/results")).into_iter().flatten() {
        files.extend(std::fs::read_dir(entry.unwrap().path()).unwrap().map(|file| file.unwrap().path()));
    }
    assert!(files.iter().all(|file| file.metadata().unwrap().len() <= 1024), "{files:?}");
    assert!(files.iter().all(|file| file.extension().is_some_and(|end| end == "json")), "{files:?}");
    let again = run(root, &["work", "plan", "-q", "--shard", "0"]).status.code();
    assert!(again == Some(0) || again == Some(3), "{again:?}");
}

/// Results of machines whose clocks are a year off, either way, count as all others do.
#[test]
fn clocks_need_not_agree() {
    let (folder, _list) = catalogue();
    let root = folder.path();
    plan(root);
    (0..SHARDS).for_each(|shard| drop(run(root, &["work", "plan", "-q", "--shard", &shard.to_string()])));
    let year = Duration::from_secs(365 * 86_400);
    let mut place = 0;
    for entry in std::fs::read_dir(root.join("plan/results")).unwrap() {
        for file in std::fs::read_dir(entry.unwrap().path()).unwrap() {
            let file = std::fs::File::options().write(true).open(file.unwrap().path()).unwrap();
            place += 1;
            let now = SystemTime::now();
            file.set_modified(if place % 2 == 0 { now + year } else { now - year }).unwrap();
        }
    }
    let events = root.join("events.ndjson");
    for shard in 0..SHARDS {
        run(root, &["work", "plan", "-q", "--events=events.ndjson", "--shard", &shard.to_string()]);
    }
    let text = std::fs::read_to_string(events).unwrap();
    assert!(!text.contains("task_started"), "nothing is scored again: {text}");
    assert!(stdout(&succeed(root, &["top", "plan"])).contains("100.0 %"));
    let got = run(root, &["gather", "plan", "-q", "-o", "all.ndjson"]);
    assert_eq!(got.status.code(), Some(1), "one pair cannot be scored");
    batch(root);
    assert_same(&root.join("all.ndjson"), &root.join("batch.ndjson"));
}
