//! The front ends of the command line.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::answer::{Answer, Class, Scores};
use super::clips::Clips;
use super::common;
use super::requests::Request;

/// The arguments that all commands share.
fn arguments(request: &Request) -> Vec<String> {
    let mut args = Vec::new();
    let mut pair = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
    if let Some(model) = request.model {
        pair("--model", model);
    }
    request.metrics.iter().for_each(|metric| pair("--feature", metric));
    if request.name == "no model, with a metric" {
        pair("--feature", "psnr");
    }
    if let Some((size, pix_fmt)) = request.raw {
        pair("--size", size);
        pair("--pix-fmt", pix_fmt);
    }
    request.frames.iter().for_each(|count| pair("--frames", &count.to_string()));
    request.subsample.iter().for_each(|step| pair("--subsample", &step.to_string()));
    request.scale.iter().for_each(|scale| pair("--scale", scale));
    request.sync.iter().for_each(|sync| pair("--sync", sync));
    for (name, value) in request.inputs.iter().map(|input| input.split_once('=').expect("NAME=VALUE")) {
        args.push(format!("--{name}={value}"));
    }
    if request.force {
        args.push("--force".to_owned());
    }
    args
}

fn ranges(request: &Request) -> Vec<String> {
    let mut args = Vec::new();
    for (name, count) in [("--skip-ref", request.skip[0]), ("--skip-dis", request.skip[1])] {
        if count > 0 {
            args.extend([name.to_owned(), count.to_string()]);
        }
    }
    for (name, moment) in ["--from", "--to"].iter().zip(request.range.into_iter().flatten()) {
        args.extend([(*name).to_owned(), moment.to_owned()]);
    }
    args
}

fn run(clips: &Clips, args: impl IntoIterator<Item = String>) -> Output {
    common::visus().current_dir(clips.folder.path()).args(args).output().expect("visus runs")
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// What an exit code means.
fn class(output: &Output) -> Vec<Class> {
    match output.status.code() {
        Some(0) => vec![Class::Scored],
        Some(1) => vec![Class::Video, Class::Failed],
        Some(2) => vec![Class::Request],
        Some(3) => vec![Class::NotComparable],
        other => panic!("exit code {other:?}: {}", common::stderr(output)),
    }
}

/// A report, or the class of the refusal.
fn answer(output: &Output, report: &Path) -> Answer {
    let classes = class(output);
    if classes != [Class::Scored] {
        return Answer::Refused(classes);
    }
    let report: Value = serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    Answer::Scored(Scores::of_report(&report))
}

/// `visus score`, which all others are compared with. Exit code 1 has two meanings; the table says which one.
pub fn score(clips: &Clips, request: &Request) -> Answer {
    let report = clips.path("score.json");
    let args = [
        words(&["score", request.videos[0], request.videos[1], "-q", "--json=score.json"]),
        arguments(request),
        ranges(request),
    ];
    match answer(&run(clips, args.concat()), &report) {
        Answer::Refused(classes) if classes.contains(&request.expect) => {
            Answer::Refused(vec![request.expect])
        }
        other => other,
    }
}

pub fn worst(clips: &Clips, request: &Request) -> Option<Answer> {
    if request.range.is_some() || request.model == Some("all") {
        return None;
    }
    let report = clips.path("worst.json");
    let args = [
        words(&[
            "worst",
            request.videos[0],
            request.videos[1],
            "-q",
            "-n",
            "1",
            "-o",
            "worst",
            "--json=worst.json",
        ]),
        arguments(request),
        ranges(request),
    ];
    Some(answer(&run(clips, args.concat()), &report))
}

/// A gate's exit code knows two failures only: below a limit, and not measured. Its JUnit report has the class.
pub fn gate(clips: &Clips, request: &Request) -> Option<Answer> {
    if request.range.is_some() || request.model == Some("none") {
        return None;
    }
    let report = clips.path("gate.json");
    let args = [
        words(&[
            "gate",
            request.videos[0],
            request.videos[1],
            "-q",
            "--min-mean=-1e9",
            "--json=gate.json",
            "--junit=gate.xml",
        ]),
        arguments(request),
        ranges(request),
    ];
    let output = run(clips, args.concat());
    Some(match output.status.code() {
        Some(0) => answer(&output, &report),
        Some(2) => Answer::Refused(vec![class_in_junit(clips, &output)]),
        other => panic!("{}: gate ends with {other:?}: {}", request.name, common::stderr(&output)),
    })
}

/// Arguments that cannot even be read leave no report: then the request is wrong.
fn class_in_junit(clips: &Clips, output: &Output) -> Class {
    let path = clips.path("gate.xml");
    let report = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(&path);
    match report.split("<error type=\"").nth(1).and_then(|rest| rest.split('"').next()) {
        Some(class) => named(class),
        None => {
            assert!(common::stderr(output).contains("try '--help'"), "{}", common::stderr(output));
            Class::Request
        }
    }
}

/// A class by its name.
pub fn named(class: &str) -> Class {
    match class {
        "request" => Class::Request,
        "not_comparable" => Class::NotComparable,
        "video" => Class::Video,
        "failed" => Class::Failed,
        other => panic!("no such class: {other}"),
    }
}

pub fn batch(clips: &Clips, request: &Request) -> Option<Answer> {
    if request.range.is_some() || request.skip != [0, 0] {
        return None;
    }
    let list = format!("reference,distorted\n{},{}\n", request.videos[0], request.videos[1]);
    std::fs::write(clips.path("list.csv"), list).unwrap();
    let args = [words(&["batch", "list.csv", "-q", "--per-frame"]), arguments(request)];
    let output = run(clips, args.concat());
    if output.status.code() == Some(2) {
        return Some(Answer::Refused(vec![Class::Request]));
    }
    let line: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {}", request.name, common::stderr(&output)));
    if line["status"] == "ok" {
        assert_eq!(output.status.code(), Some(0), "{}", request.name);
        return Some(Answer::Scored(Scores::of_report(&line)));
    }
    assert_eq!(output.status.code(), Some(1), "{}", request.name);
    Some(Answer::Refused(vec![named(line["error_class"].as_str().unwrap_or_default())]))
}

/// Features have neither predictions nor ranges, and their table drops what libvmaf puts in front of names.
pub fn features(clips: &Clips, request: &Request) -> Option<Answer> {
    let unnamed = matches!(request.model, Some("auto" | "all" | "none"));
    let too_small = request.videos[0].starts_with("tiny") || request.videos[0].starts_with("header");
    if unnamed || too_small || request.range.is_some() || request.skip != [0, 0] {
        return None;
    }
    let mut args = arguments(request);
    if request.model.is_none() {
        args.extend(words(&["--model", "vmaf_v0.6.1"]));
    }
    let head = ["features", request.videos[0], request.videos[1], "-q", "--per-frame", "-o", "features.csv"];
    let output = run(clips, [words(&head), args].concat());
    let classes = class(&output);
    if classes != [Class::Scored] {
        return Some(Answer::Refused(classes));
    }
    let mut reader = csv::Reader::from_path(clips.path("features.csv")).unwrap();
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let mut scores = Scores { is_partial: true, ..Scores::default() };
    for record in reader.records().map(Result::unwrap) {
        let frame = record[1].parse().unwrap();
        for (name, cell) in names.iter().zip(&record).skip(2) {
            if let Ok(score) = cell.parse() {
                let reported =
                    if name.starts_with("adm") || name.starts_with("vif_scale") || name.starts_with("motion")
                    {
                        format!("integer_{name}")
                    } else {
                        name.clone()
                    };
                scores.put(&reported, frame, score);
                // The table tells float features from integer ones, a report need not.
                name.strip_prefix("float_").into_iter().for_each(|short| scores.put(short, frame, score));
            }
        }
    }
    Some(Answer::Scored(scores))
}

/// Every command that scores, with a CPU level that does not exist: its exit code and words.
pub fn with_wrong_cpu_level(clips: &Clips) -> Vec<(&'static str, Option<i32>, String)> {
    let pair = ["small_ref.y4m", "small_dis.y4m"];
    std::fs::write(clips.path("list.csv"), format!("reference,distorted\n{},{}\n", pair[0], pair[1]))
        .unwrap();
    let commands: [(&str, Vec<&str>); 8] = [
        ("score", vec!["score", pair[0], pair[1]]),
        ("worst", vec!["worst", pair[0], pair[1]]),
        ("gate", vec!["gate", pair[0], pair[1], "--min-mean", "1"]),
        ("batch", vec!["batch", "list.csv"]),
        ("features", vec!["features", pair[0], pair[1], "-o", "f.csv"]),
        ("demo", vec!["demo", "-q"]),
        ("serve", vec!["serve", "--port", "0"]),
        ("mcp", vec!["mcp"]),
    ];
    let ask = |(name, args): (&'static str, Vec<&str>)| {
        let mut command: Command = common::visus();
        command.current_dir(clips.folder.path()).args(args).env("VISUS_CPU", "nonsense");
        let output = command.output().expect("visus runs");
        (name, output.status.code(), common::stderr(&output))
    };
    commands.into_iter().map(ask).collect()
}
