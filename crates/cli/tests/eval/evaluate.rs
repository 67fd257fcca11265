//! `visus eval` against scipy and onnxruntime.

use serde_json::Value;

use crate::common::{stderr, stdout, visus};
use crate::python::made;

/// Runs `visus eval` in the folder of the models.
pub fn eval(args: &[&str]) -> std::process::Output {
    visus().current_dir(&made().folder).arg("eval").args(args).output().unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = eval(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    let result = serde_json::from_str(&stdout(&output)).unwrap();
    let schema = visus_eval::OUTPUTS.iter().find(|output| output.name == "eval").unwrap();
    schema.check(&result).unwrap_or_else(|fault| panic!("{args:?}: {fault}\n{result:#}"));
    result
}

fn near(what: &str, actual: &Value, expected: &Value, tolerance: f64) {
    let (actual, expected) = (actual.as_f64().unwrap(), expected.as_f64().unwrap());
    let allowed = tolerance * expected.abs().max(1.0);
    assert!((actual - expected).abs() <= allowed, "{what}: {actual} is not {expected} within {allowed}");
}

#[test]
fn figures_are_scipys() {
    for case in made().expected["evaluations"].as_array().unwrap() {
        let text = |name: &str| case[name].as_str().unwrap();
        let what = format!("{} on {} of {}", text("model"), text("split"), text("features"));
        let predictions = made().path("predictions.csv");
        let mut args =
            vec![text("model"), "--features", text("features"), "--split", text("split"), "--json"];
        args.extend(["--bootstrap", "0", "--input-name", text("input_name")]);
        if case["predictions"].is_array() {
            args.extend(["--predictions", &predictions]);
        }
        let result = json(&args);
        let actual = &result["ranked"][0];
        for key in ["model", "features", "split", "n", "dropped", "columns"] {
            assert_eq!(actual[key], case[key], "{what}: {key}");
        }
        let tolerance = if case["exact"] == true { 1e-12 } else { 1e-6 };
        for key in ["plcc", "srocc", "krocc", "rmse"] {
            // Ranks of predictions that differ in the seventh digit may be swapped.
            let swapped = case["exact"] != true && ["srocc", "krocc"].contains(&key);
            near(&format!("{what}: {key}"), &actual[key], &case[key], if swapped { 1e-4 } else { tolerance });
        }
        if let Some(expected) = case["predictions"].as_array() {
            check_predictions(&what, &predictions, expected);
        }
    }
}

fn check_predictions(what: &str, path: &str, expected: &[Value]) {
    let mut rows = csv::Reader::from_path(path).unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), expected.len(), "{what}");
    for (row, expected) in rows.iter().zip(expected) {
        near(&format!("{what}: row {}", &row[0]), &row[2].parse::<f64>().unwrap().into(), expected, 1e-6);
    }
}

#[test]
fn tests_between_models_are_scipys() {
    for case in made().expected["comparisons"].as_array().unwrap() {
        let features = case["features"].as_str().unwrap();
        let models: Vec<&str> =
            case["models"].as_array().unwrap().iter().map(|m| m.as_str().unwrap()).collect();
        let tail = ["--features", features, "--split", "all", "--json", "--bootstrap", "200"];
        let result = json(&[models, tail.to_vec()].concat());
        let pairs = result["pairs"].as_array().unwrap();
        assert_eq!(pairs.len(), 3);
        for pair in pairs {
            let names: Vec<&str> =
                pair["models"].as_array().unwrap().iter().map(|m| m.as_str().unwrap()).collect();
            let (one, other) = (names.join(" "), format!("{} {}", names[1], names[0]));
            let expected = [&case["pairs"][&one], &case["pairs"][&other]];
            let expected = expected.into_iter().find(|value| value.is_object()).unwrap();
            near(
                &format!("{features}: {one}: W"),
                &pair["wilcoxon_statistic"],
                &expected["statistic"],
                1e-12,
            );
            near(&format!("{features}: {one}: p"), &pair["wilcoxon_p"], &expected["p"], 1e-12);
            near(&format!("{features}: {one}: Steiger"), &pair["plcc_p_steiger"], &expected["steiger"], 1e-9);
            let (low, high) =
                (pair["plcc_interval"][0].as_f64().unwrap(), pair["plcc_interval"][1].as_f64().unwrap());
            let difference = pair["plcc_difference"].as_f64().unwrap();
            assert!(low <= difference && difference <= high, "{pair}");
        }
        near("Friedman", &result["friedman"]["statistic"], &case["friedman"]["statistic"], 1e-12);
        near("Friedman's p", &result["friedman"]["p"], &case["friedman"]["p"], 1e-12);
    }
}

#[test]
fn intervals_do_not_change_from_run_to_run() {
    let args = ["pick0.onnx", "--features", "base.parquet", "--json", "--bootstrap", "300", "--seed", "7"];
    let first = json(&args);
    assert_eq!(first, json(&args));
    let interval = &first["ranked"][0]["intervals"];
    for key in ["plcc", "srocc", "krocc", "rmse"] {
        let value = first["ranked"][0][key].as_f64().unwrap();
        assert!(
            interval[key][0].as_f64().unwrap() < value && value < interval[key][1].as_f64().unwrap(),
            "{key}"
        );
    }
}

#[test]
fn what_cannot_be_evaluated_is_told_in_the_contracts_words() {
    for (args, words) in [
        (
            vec!["pick0.onnx", "--features", "no_mos.parquet"],
            "no_mos.parquet has no 'mos' column — can't score correlations",
        ),
        (
            vec!["pick0.onnx", "--features", "small0.parquet"],
            "split 'test' has 0 samples — need ≥2 to compute correlations",
        ),
        (
            vec!["pick0.onnx", "--features", "small1.parquet"],
            "split 'test' has 1 samples — need ≥2 to compute correlations",
        ),
        (
            vec!["pick0.onnx", "--features", "constant.parquet", "-s", "all"],
            "correlation undefined: input has zero variance",
        ),
        (
            vec!["pick0.onnx", "--features", "flat.parquet", "-s", "all"],
            "correlation undefined: input has zero variance",
        ),
        (
            vec!["wide.onnx", "--features", "thirty.parquet", "-s", "all"],
            "model output shape (30, 3) does not match target shape (30,)",
        ),
        (
            vec!["pooled.onnx", "--features", "thirty.parquet", "-s", "all"],
            "model output shape () does not match target shape (30,)",
        ),
        (
            vec!["pick0.onnx", "--features", "five.parquet", "-s", "all"],
            "input 'features' takes shape (N, 6), got (300, 5)",
        ),
        (
            vec!["mlp_x.onnx", "--features", "thirty.parquet", "-s", "all"],
            "has no input 'features' (inputs: x)",
        ),
        (vec!["codec.onnx", "--features", "thirty.parquet", "-s", "all"], "needs a further input 'codec'"),
        (
            vec!["pick0.onnx", "--features", "no_features.parquet"],
            "none of the feature columns adm2, vif_scale0",
        ),
        (vec!["pick0.onnx", "--features", "words.parquet"], "column 'mos' is String, it must hold numbers"),
        (vec!["pick0.onnx", "--features", "brotli.parquet"], "compressed with brotli"),
        (vec!["pick0.onnx", "--features", "none.parquet"], "cannot read none.parquet"),
        (vec!["none.onnx", "--features", "base.parquet"], "cannot read model none.onnx"),
        (vec!["what", "--features", "base.parquet"], "neither an .onnx nor a .json file"),
    ] {
        let output = eval(&args);
        assert_eq!(output.status.code(), Some(1), "{args:?} {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{args:?}: {} should say {words}", stderr(&output));
    }
    let output = eval(&["pick0.onnx", "--features", "base.parquet", "--split", "foo"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("split must be one of ('train', 'val', 'test', 'all'); got 'foo'"));
}

#[test]
fn one_bad_model_does_not_lose_the_others() {
    let html = made().path("report.html");
    let svg = made().path("best.svg");
    let models = ["pick1.onnx", "garbage.onnx", "pick0.onnx", "vmaf_v0.6.1"];
    let tail = ["--features", "base.parquet", "--html", &html, "--svg", &svg];
    let output = eval(&[models.as_slice(), &tail].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("garbage.onnx is not an ONNX file"), "{}", stderr(&output));
    let text = stdout(&output);
    for word in ["pick0.onnx", "pick1.onnx", "vmaf_v0.6.1", "PLCC", "Steiger", "Wilcoxon", "Friedman"] {
        assert!(text.contains(word), "{text} should say {word}");
    }
    let page = std::fs::read_to_string(html).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    assert!(page.contains("garbage.onnx") && page.contains("<polygon"));
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg xmlns="));
    let result = json(&["pick1.onnx", "pick0.onnx", "--features", "base.parquet", "--json"]);
    let plcc = |place: usize| result["ranked"][place]["plcc"].as_f64().unwrap();
    assert!(plcc(0) >= plcc(1));
}
