//! Every golden case through the `vmaf` binary: figures equal to the last bit, keys in order, the same bytes for any
//! number of threads and at every CPU level; and the four formats byte for byte.

mod common;

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

/// A report's numbers: columns in order with a value per frame, pooled values, aggregates.
#[derive(Debug, Default)]
struct Figures {
    keys: Vec<String>,
    frames: HashMap<String, Vec<(u64, f64)>>,
    pooled: HashMap<String, HashMap<String, f64>>,
    aggregate: Vec<(String, f64)>,
}

/// `name="value"` pairs of a line.
fn attributes(line: &str) -> Vec<(String, String)> {
    let mut rest = line;
    let mut found = Vec::new();
    while let Some((before, after)) = rest.split_once("=\"") {
        let name = before.rsplit([' ', '<']).next().unwrap_or_default();
        let (value, after) = after.split_once('"').expect("closing quote");
        found.push((name.to_owned(), value.to_owned()));
        rest = after;
    }
    found
}

fn number(text: &str) -> f64 {
    match text {
        "nan" | "-nan" => f64::NAN,
        other => other.parse().unwrap_or_else(|_| panic!("{other} is no number")),
    }
}

fn read_xml(text: &str) -> Figures {
    let mut figures = Figures::default();
    for line in text.lines() {
        let mut attributes = attributes(line).into_iter();
        let line = line.trim_start();
        if line.starts_with("<frame ") {
            let index = attributes.next().expect("frameNum").1.parse().expect("frame number");
            for (name, value) in attributes {
                figures.frames.entry(name).or_default().push((index, number(&value)));
            }
        } else if line.starts_with("<metric ") {
            let name = attributes.next().expect("name").1;
            figures.keys.push(name.clone());
            figures.pooled.insert(name, attributes.map(|(name, value)| (name, number(&value))).collect());
        } else if line.starts_with("<aggregate_metrics ") {
            figures.aggregate = attributes.map(|(name, value)| (name, number(&value))).collect();
        }
    }
    figures
}

fn expected_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => Some(match text.as_str() {
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => f64::NAN,
        }),
        _ => None,
    }
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// Every how many frames the case lists one: the figures hold more for metrics that run on every frame.
fn listing_step(case: &Value) -> u64 {
    let args = case["args"].as_array().expect("args");
    let place = args.iter().position(|arg| arg == "--subsample");
    place.and_then(|place| args[place + 1].as_str()?.parse().ok()).unwrap_or(1)
}

/// What differs, in words.
fn differences(expected: &Value, figures: &Figures, step: u64) -> Vec<String> {
    let mut found = Vec::new();
    let metrics = expected["metrics"].as_object().expect("metrics");
    let keys: Vec<&String> = metrics.keys().collect();
    if keys != figures.keys.iter().collect::<Vec<_>>() {
        found.push(format!("keys are {:?}, not {keys:?}", figures.keys));
    }
    for (key, metric) in metrics {
        let want: Vec<(u64, f64)> = (0..)
            .zip(metric["frames"].as_array().expect("frames"))
            .filter_map(|(index, value)| Some((index, expected_number(value)?)))
            .filter(|(index, _): &(u64, f64)| index.is_multiple_of(step))
            .collect();
        let got = figures.frames.get(key).cloned().unwrap_or_default();
        let equal =
            want.len() == got.len() && want.iter().zip(&got).all(|(a, b)| a.0 == b.0 && same(a.1, b.1));
        if !equal {
            let first = want.iter().zip(&got).find(|(a, b)| a.0 != b.0 || !same(a.1, b.1));
            found.push(format!("{key}: {} frames for {}, first difference {first:?}", got.len(), want.len()));
        }
        for (method, value) in metric["pooled"].as_object().into_iter().flatten() {
            let want = expected_number(value).expect("pooled number");
            let got = figures.pooled.get(key).and_then(|pooled| pooled.get(method)).copied();
            if !got.is_some_and(|got| same(got, want)) {
                found.push(format!("{key} {method}: {got:?}, not {want}"));
            }
        }
    }
    for (name, value) in expected["aggregate"].as_object().into_iter().flatten() {
        let want = expected_number(value).expect("aggregate number");
        if !figures.aggregate.iter().any(|(known, got)| known == name && same(*got, want)) {
            found.push(format!("aggregate {name} is not {want}: {:?}", figures.aggregate));
        }
    }
    found
}

/// Runs a case and returns its report, without the line that holds the speed.
fn report(golden: &Path, case: &Value, folder: &Path, threads: &str, level: &str) -> Result<String, String> {
    let text = |key: &str| case[key].as_str().expect("text").to_owned();
    let out = folder.join("report.xml");
    let mut command = common::vmaf();
    command.env("VISUS_CPU", level).arg("-r").arg(common::clip(golden, &text("ref"), folder));
    command.arg("-d").arg(common::clip(golden, &text("dis"), folder));
    if case["container"] == "yuv" {
        let number = |key: &str| case[key].as_u64().expect("number").to_string();
        command.args(["-w", &number("width"), "-h", &number("height")]);
        command.args(["-p", &text("pix_fmt"), "-b", &number("bitdepth")]);
    }
    command.args(case["args"].as_array().expect("args").iter().filter_map(Value::as_str));
    command.args(["--precision", "max", "--xml", "--threads", threads, "-o"]).arg(&out);
    let output = command.output().expect("vmaf runs");
    if !output.status.success() {
        return Err(format!("{} {}", output.status, common::stderr(&output)));
    }
    let report = std::fs::read_to_string(&out).expect("report");
    Ok(report.lines().filter(|line| !line.contains("<fyi ")).map(|line| format!("{line}\n")).collect())
}

fn check_case(golden: &Path, case: &Value, folder: &Path) -> Vec<String> {
    let report = |threads, level| report(golden, case, folder, threads, level);
    let first = match report("2", "") {
        Ok(report) => report,
        Err(error) => return vec![error],
    };
    let path = golden.join(case["expected"].as_str().expect("expected"));
    let expected: Value = serde_json::from_slice(&common::unpacked(&path)).expect("expected figures");
    let mut found = differences(&expected, &read_xml(&first), listing_step(case));
    // Other numbers of threads and, with them, lower CPU levels: neither may show.
    for (threads, level) in [("1", "scalar"), ("7", "avx2")] {
        if report(threads, level).as_ref() != Ok(&first) {
            found.push(format!("{threads} threads at level {level} give another report"));
        }
    }
    found
}

#[test]
fn every_case_is_met_at_any_number_of_threads() {
    let Some(golden) = common::golden() else { return };
    let manifest: Value =
        serde_json::from_slice(&common::unpacked(&golden.join("manifest.json"))).expect("manifest");
    let cases = manifest["cases"].as_array().expect("cases");
    assert!(!cases.is_empty());
    let only = std::env::var("VISUS_GOLDEN_CASE").unwrap_or_default();
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut failed = 0;
    for case in cases.iter().filter(|case| case["name"].as_str().is_some_and(|name| name.contains(&only))) {
        let found = check_case(&golden, case, folder.path());
        failed += usize::from(!found.is_empty());
        for difference in found.iter().take(4) {
            eprintln!("{}: {difference}", case["name"].as_str().unwrap_or_default());
        }
    }
    assert_eq!(failed, 0, "of {} cases", cases.len());
    eprintln!("{} golden cases are met", cases.len());
}

/// A report with version and speed blanked, which differ between builds and runs.
fn blanked(text: &str) -> String {
    let blank = |line: &str| {
        ["\"version\":", "\"fps\":", "<VMAF version=", "<fyi fps="]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    text.split('\n').map(|line| if blank(line) { "…" } else { line }).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_four_formats_are_equal_to_the_byte() {
    let Some(golden) = common::golden() else { return };
    let examples: Value =
        serde_json::from_slice(&common::unpacked(&golden.join("cli/examples.json"))).expect("examples");
    let folder = tempfile::tempdir().expect("temporary folder");
    for example in examples.as_array().expect("examples") {
        for (format, file) in example["outputs"].as_object().expect("outputs") {
            check_example(&golden, example, format, file.as_str().expect("file"), folder.path());
        }
    }
}

fn check_example(golden: &Path, example: &Value, format: &str, file: &str, folder: &Path) {
    let name = example["name"].as_str().expect("name");
    let clip = |key: &str| common::clip(golden, example[key].as_str().expect("clip"), folder);
    let out = folder.join(format!("out.{format}"));
    // Messages name the inputs as they were given, so they are given as in the example: by their plain names.
    let plain = |key: &str| clip(key).file_name().expect("file name").to_owned();
    let mut command = common::vmaf();
    command.current_dir(folder).arg("-r").arg(plain("ref")).arg("-d").arg(plain("dis"));
    command.args(example["args"].as_array().expect("args").iter().filter_map(Value::as_str));
    let output = command.arg(format!("--{format}")).arg("-o").arg(&out).output().expect("vmaf runs");
    assert_eq!(
        output.status.code().map(i64::from),
        example["exit"].as_i64(),
        "{name} {}",
        common::stderr(&output)
    );
    assert_eq!(
        common::stderr(&output).trim_end(),
        example["stderr"].as_str().unwrap_or_default().trim_end(),
        "{name}"
    );
    let got = blanked(&std::fs::read_to_string(&out).expect("report"));
    let want = blanked(&String::from_utf8(common::unpacked(&golden.join(file))).expect("text"));
    assert_eq!(got, want, "{name}.{format}");
}
