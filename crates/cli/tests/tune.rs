//! The tuning commands as a person uses them, and as one who pulls the plug.
#![cfg(unix)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{stderr, stdout};
use serde_json::Value;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(seconds: f64) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        let filters = format!("testsrc2=s=256x144:r=25:d={seconds},noise=alls=12:allf=t,format=yuv420p");
        let made = Command::new("ffmpeg")
            .args(["-v", "error", "-filter_complex", &filters, "-c:v", "ffv1"])
            .arg(place.path("source.mkv"))
            .status();
        assert!(made.expect("these tests need ffmpeg: apt-get install ffmpeg").success());
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = common::visus();
        command.current_dir(self.folder.path()).env("VISUS_CACHE_DIR", self.path("cache")).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}

#[test]
fn one_command_answers_and_the_second_time_it_knows() {
    let place = Place::new(0.8);
    let ask =
        ["search", "source.mkv", "--target", "92", "--encoder", "libx264", "--json", "-q", "-o", "out.mp4"];
    let first = place.run(&ask);
    assert!(first.status.success(), "{}", stderr(&first));
    let (first, second) = (json(&first), json(&place.run(&ask)));
    assert_eq!((&first["from_cache"], &second["from_cache"]), (&Value::Bool(false), &Value::Bool(true)));
    assert_eq!(first["quality"], second["quality"]);
    assert!(first["achieved"].as_f64().unwrap() >= 92.0);
    assert!(place.path("out.mp4").is_file());
    let words = place.run(&["search", "source.mkv", "--target", "92"]);
    let text = stdout(&words);
    assert!(
        text.starts_with("libx264 crf ") && text.contains("all of it was known"),
        "{text}{}",
        stderr(&words)
    );
    assert!(
        stderr(&words).contains("at most 8 encodes") && stderr(&words).contains("(known)"),
        "{}",
        stderr(&words)
    );
    let listed = stdout(&place.run(&["cache", "ls"]));
    assert!(listed.contains("libx264") && listed.contains("source.mkv"), "{listed}");
    assert!(stdout(&place.run(&["cache", "clear"])).contains("entries removed"));
    assert!(stdout(&place.run(&["cache", "ls"])).contains("0 results and 0 encodes"));
}

#[test]
fn wrong_questions_end_with_1_and_a_reason() {
    let place = Place::new(0.2);
    std::fs::write(place.path("text.mp4"), "no video").unwrap();
    for (args, words) in [
        (&["search", "none.mkv", "--target", "90"][..], "none.mkv cannot be read as video"),
        (&["search", "text.mp4", "--target", "90"], "text.mp4 cannot be read as video"),
        (
            &["search", "source.mkv", "--target", "90", "-e", "libx999"],
            "unknown encoder 'libx999'; known are libx264",
        ),
        (
            &["search", "source.mkv", "--target", "90", "-e", "h264_amf"],
            "encoder h264_amf cannot be used here",
        ),
        (&["search", "source.mkv", "--target", "200"], "target 200 must be 0 to 110"),
        (&["search", "source.mkv", "--target", "90", "-o", "no/such/out.mp4"], "no such folder"),
        (&["search", "source.yuv", "--target", "90"], "raw video needs --size, --pix-fmt and --rate"),
        (&["search", "source.mkv", "--target", "90", "--enc", "tune"], "NAME=VALUE"),
        (&["ladder", "source.mkv", "--resolutions", "640x360"], "larger than the source, which is 256x144"),
        (&["shots", "source.mkv", "--format", "shell"], "give a --target"),
    ] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?} {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{} should say {words}", stderr(&output));
    }
    let unreachable = place.run(&["search", "source.mkv", "--target", "100.5", "--json", "-q"]);
    assert_eq!((unreachable.status.code(), json(&unreachable)["ok"].as_bool()), (Some(1), Some(false)));
    assert!(stderr(&unreachable).contains("out of reach"));
    assert_eq!(place.run(&["search", "source.mkv"]).status.code(), Some(2));
}

#[test]
fn an_encode_that_may_not_grow_is_told() {
    let place = Place::new(0.8);
    let visus = env!("CARGO_BIN_EXE_visus");
    let script = format!("ulimit -f 20; exec {visus} search source.mkv --target 97 -q");
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(place.folder.path())
        .env("VISUS_CACHE_DIR", place.path("cache"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("limit on file sizes"), "{}", stderr(&output));
    assert_eq!(left_in(&place.path("cache/v1/tmp")), 0);
}

#[test]
fn shots_are_listed_and_pictures_drawn() {
    let place = Place::new(0.6);
    let listed = place.run(&["shots", "source.mkv", "-q"]);
    assert!(stdout(&listed).contains("1 shots in 15 frames"), "{}{}", stdout(&listed), stderr(&listed));
    let args = [
        "compare",
        "source.mkv",
        "--targets",
        "90",
        "--encoders",
        "libx264",
        "--svg",
        "a.svg",
        "--html",
        "a.html",
    ];
    let compared = place.run(&args);
    assert!(compared.status.success(), "{}", stderr(&compared));
    assert!(stdout(&compared).contains("libx264"));
    assert!(std::fs::read_to_string(place.path("a.svg")).unwrap().starts_with("<svg "));
    assert!(std::fs::read_to_string(place.path("a.html")).unwrap().contains("<td>libx264</td>"));
}

fn left_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, |entries| entries.count())
}

/// Processes whose arguments name the folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let name = folder.to_string_lossy().into_owned();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&name))
        .collect()
}

fn eventually(what: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while !what() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    what()
}

/// How often the plug is pulled; more with `VISUS_KILLS`.
fn kills() -> u64 {
    std::env::var("VISUS_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_behind() {
    let place = Place::new(2.0);
    let source = place.path("source.mkv").to_string_lossy().into_owned();
    let output = place.path("out/film.mp4").to_string_lossy().into_owned();
    std::fs::create_dir(place.path("out")).unwrap();
    let mut finished = 0;
    for round in 0..kills() {
        let target = (80 + round % 17).to_string();
        let args = ["search", &source, "--target", &target, "-e", "libx264", "-q", "-o", &output];
        let mut child = place.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Moments spread over the whole run, the same in every run of this test.
        std::thread::sleep(Duration::from_millis(20 + round * 7919 % 1900));
        finished += u64::from(matches!(child.try_wait(), Ok(Some(_))));
        let _ = child.kill();
        let _ = child.wait();
        assert!(
            eventually(|| processes_of(place.folder.path()).is_empty()),
            "{:?}",
            processes_of(place.folder.path())
        );
        assert!(eventually(|| left_in(&place.path("cache/v1/tmp")) == 0), "round {round}: a folder is left");
        let in_output: Vec<_> =
            std::fs::read_dir(place.path("out")).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(in_output.iter().all(|name| name == "film.mp4"), "round {round}: {in_output:?}");
    }
    assert!(finished < kills(), "at least one run must have been interrupted");
    let last = place.run(&["search", &source, "--target", "90", "--json", "-q", "-o", &output]);
    assert!(last.status.success(), "{}", stderr(&last));
    let again = json(&place.run(&["search", &source, "--target", "90", "--json", "-q", "-o", &output]));
    assert_eq!(again["from_cache"], Value::Bool(true));
}

#[test]
fn two_at_once_share_the_work() {
    let place = Place::new(0.8);
    let args = ["search", "source.mkv", "--target", "91", "--json", "-q"];
    let start = || place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (first, second) = (start(), start());
    let outputs = [first.wait_with_output().unwrap(), second.wait_with_output().unwrap()];
    let answers: Vec<Value> = outputs.iter().map(json).collect();
    assert_eq!(answers[0]["quality"], answers[1]["quality"]);
    let samples = |answer: &Value| answer["samples"].as_array().unwrap().len();
    assert_eq!(samples(&answers[0]), samples(&answers[1]));
}
