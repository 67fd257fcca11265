//! The server's tools: models on tables, and small models beside VMAF.

use serde_json::{Value, json};

use crate::client::{Client, command};
use crate::python::made;

fn open() -> Client {
    Client::open(command(&made().folder))
}

fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance * expected.abs().max(1.0), "{actual} is not {expected}");
}

#[test]
fn one_model_on_a_split() {
    let mut client = open();
    let cases = made().expected["evaluations"].as_array().unwrap();
    let case =
        cases.iter().find(|case| case["split"] == "test" && case["features"] == "base.parquet").unwrap();
    let (model, features) = (made().path("pick0.onnx"), made().path("base.parquet"));
    let data = client.data("eval_model_on_split", json!({ "model": model, "features": features }));
    assert_eq!(
        (&data["model"], &data["features"], &data["split"]),
        (&json!(model), &json!(features), &json!("test"))
    );
    assert_eq!((&data["n"], &data["columns"]), (&case["n"], &case["columns"]));
    for key in ["plcc", "srocc", "rmse"] {
        near(data[key].as_f64().unwrap(), case[key].as_f64().unwrap(), 1e-12);
    }
    for (more, words) in [
        (json!({ "split": "foo" }), "split must be one of ('train', 'val', 'test', 'all'); got 'foo'"),
        (
            json!({ "features": made().path("no_mos.parquet") }),
            "no_mos.parquet has no 'mos' column — can't score correlations",
        ),
        (
            json!({ "features": made().path("small1.parquet") }),
            "split 'test' has 1 samples — need ≥2 to compute correlations",
        ),
        (
            json!({ "features": "/etc/passwd" }),
            "path /etc/passwd not under an allowlisted root; set VMAF_MCP_ALLOW to extend.",
        ),
        (
            json!({ "model": "/etc/x.onnx" }),
            "path /etc/x.onnx not under an allowlisted root; set VMAF_MCP_ALLOW to extend.",
        ),
        (
            json!({ "model": made().path("wide.onnx"), "split": "all" }),
            "model output shape (3000, 3) does not match target shape (3000,)",
        ),
        (json!({ "model": made().path("up.onnx") }), "it must lie in the model's own folder"),
    ] {
        let mut arguments = json!({ "model": model, "features": features });
        more.as_object().unwrap().iter().for_each(|(key, value)| arguments[key] = value.clone());
        let text = client.failure("eval_model_on_split", arguments);
        assert!(text.contains(words), "{text} should say {words}");
    }
    let text = client.failure("eval_model_on_split", json!({ "model": model }));
    assert_eq!(text, "tool 'eval_model_on_split' missing required argument: 'features'");
}

#[test]
fn several_models() {
    let mut client = open();
    let features = made().path("base.parquet");
    let models = ["pick2.onnx", "garbage.onnx", "pick0.onnx"].map(|name| made().path(name));
    let list = [models.as_slice(), &["/etc/x.onnx".to_owned()]].concat();
    let data = client.data("compare_models", json!({ "models": list, "features": features, "split": "all" }));
    assert_eq!(data["ranked"].as_array().unwrap().len(), 2);
    let plcc = |place: usize| data["ranked"][place]["plcc"].as_f64().unwrap();
    assert!(plcc(0) >= plcc(1));
    assert_eq!(data["errors"].as_array().unwrap().len(), 2, "{}", data["errors"]);
    assert_eq!(data["pairs"].as_array().unwrap().len(), 1);
    let text = client.failure("compare_models", json!({ "models": [], "features": features }));
    assert_eq!(text, "'models' must be a non-empty list of paths");
    let background =
        client.data("compare_models", json!({ "models": models, "features": features, "background": true }));
    assert!(background["job_id"].is_string(), "{background}");
}

fn score(more: Value) -> Value {
    let mut arguments = json!({ "ref": made().path("ref.y4m"), "dis": made().path("dis.y4m"), "precision": "max", "detail": "full" });
    more.as_object().unwrap().iter().for_each(|(key, value)| arguments[key] = value.clone());
    arguments
}

#[test]
fn a_small_model_on_features_stands_beside_vmaf() {
    let mut client = open();
    let data = client.data("vmaf_score", score(json!({ "tiny_model": made().path("pick1.onnx") })));
    for frame in data["frames"].as_array().unwrap() {
        let metrics = &frame["metrics"];
        let expected = metrics["integer_vif_scale0"].as_f64().unwrap() * 100.0;
        near(metrics["vmaf_tiny_model"].as_f64().unwrap(), expected, 1e-6);
        assert!(metrics["vmaf"].is_f64());
    }
    assert!(data["pooled_metrics"]["vmaf_tiny_model"]["mean"].is_f64());
    assert_eq!(data["provenance"]["models"][1]["sha256"].as_str().unwrap().len(), 64);
    // Without VMAF's own model, the features are computed all the same.
    let more = json!({ "tiny_model": made().path("pick1.onnx"), "no_prediction": true, "subsample": 2, "tiny_threads": 1 });
    let data = client.data("vmaf_score", score(more));
    assert_eq!(data["frames"].as_array().unwrap().len(), 3);
    assert!(data["frames"][1]["metrics"]["vmaf_tiny_model"].is_f64());
}

#[test]
fn a_codec_aware_model_is_told_the_codec() {
    let mut client = open();
    let (model, sidecar) = (made().path("codec.onnx"), made().path("codec.json"));
    std::fs::write(
        sidecar,
        json!({ "name": "aware", "encoder_vocab": ["libx264", "libx265", "unknown"], "feature_order":
                ["adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2"] })
        .to_string(),
    )
    .unwrap();
    let told = json!({ "tiny_model": model, "tiny_codec": "hevc", "tiny_preset": "slow", "tiny_crf": 21 });
    let data = client.data("vmaf_score", score(told));
    let metrics = &data["frames"][0]["metrics"];
    let names = ["adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2"];
    let sum: f64 = names.iter().map(|name| metrics[format!("integer_{name}")].as_f64().unwrap()).sum();
    // Weights 0 to 4 on the block: 1 for libx265, 3 for the preset 6/9, 4 for the quality 21/63.
    let expected = 0.5 * sum + 1.0 + 3.0 * 6.0 / 9.0 + 4.0 * 21.0 / 63.0;
    near(metrics["aware"].as_f64().unwrap(), expected, 1e-6);
    for (more, words) in [
        (json!({ "tiny_model": model }), "it needs tiny_codec and tiny_crf"),
        (
            json!({ "tiny_model": model, "tiny_codec": "libx266", "tiny_crf": 1 }),
            "tiny_codec 'libx266' not found in model encoder_vocab",
        ),
        (
            json!({ "tiny_model": made().path("pick0.onnx"), "tiny_crf": 1 }),
            "tiny_crf needs a codec-aware model",
        ),
        (
            json!({ "tiny_model": made().path("pick0.onnx"), "tiny_device": "cuda" }),
            "tiny_device 'cuda' is not available",
        ),
        (json!({ "tiny_model": made().path("loop.onnx") }), "uses operator 'Loop'"),
        (json!({ "tiny_model": "/etc/x.onnx" }), "not under an allowlisted root"),
        (json!({ "no_reference": true }), "no_reference requires tiny_model; no classic NR scorer exists"),
        (
            json!({ "no_reference": true, "tiny_model": made().path("pick0.onnx") }),
            "no_reference needs a model on pictures",
        ),
    ] {
        let text = client.failure("vmaf_score", score(more));
        assert!(text.contains(words), "{text} should say {words}");
    }
}

#[test]
fn a_model_on_pictures_is_onnxruntimes() {
    let mut client = open();
    let model = made().path("nr.onnx");
    for kind in ["bilinear", "nearest", "bicubic"] {
        for no_reference in [true, false] {
            let more = json!({ "tiny_model": model, "tiny_resize": kind, "no_reference": no_reference });
            let data = client.data("vmaf_score", score(more));
            let expected = made().expected["pictures"][kind].as_array().unwrap();
            let frames = data["frames"].as_array().unwrap();
            assert_eq!(frames.len(), expected.len());
            for (frame, expected) in frames.iter().zip(expected) {
                assert_eq!(frame["metrics"]["vmaf"].is_f64(), !no_reference);
                near(frame["metrics"]["vmaf_tiny_model"].as_f64().unwrap(), expected.as_f64().unwrap(), 1e-6);
            }
        }
    }
    let text = client.failure("vmaf_score", score(json!({ "tiny_model": model, "no_reference": true })));
    assert!(text.contains("the picture is 96x64") && text.contains("tiny_resize"), "{text}");
}
