//! What each tool answers.

use serde_json::{Value, json};

use super::client::{Client, command};
use super::clips::{Clips, with};

#[test]
fn a_score_is_libvmafs_report_and_more() {
    let clips = Clips::new(5);
    let mut client = Client::open(command(&clips.folder));
    let full = json!({ "detail": "full" });
    let y4m = client.data("vmaf_score", with(clips.y4m(), full.clone()));
    assert_eq!(y4m["frames"].as_array().unwrap().len(), 5);
    assert_eq!((&y4m["backend_requested"], &y4m["backend_used"]), (&json!("auto"), &json!("cpu")));
    assert_eq!(y4m["provenance"]["engine"], "native");
    assert_eq!(y4m["provenance"]["models"][0]["sha256"].as_str().unwrap().len(), 64);
    let raw = client.data("vmaf_score", with(clips.raw(), full));
    assert_eq!((&raw["frames"], &raw["pooled_metrics"]), (&y4m["frames"], &y4m["pooled_metrics"]));
    let mean = y4m["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap();
    assert_eq!(mean, (mean * 1e6).round() / 1e6, "six decimals");
    let exact = client.data("vmaf_score", with(clips.y4m(), json!({ "precision": "max" })));
    let exact = exact["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap();
    assert!((exact - mean).abs() < 1e-6 && exact != mean);
}

#[test]
fn options_reach_the_engine() {
    let clips = Clips::new(6);
    let mut client = Client::open(command(&clips.folder));
    let more = json!({
        "feature": ["psnr", "ciede"], "subsample": 2, "frame_cnt": 5, "frame_skip_ref": 1, "frame_skip_dist": 1,
        "threads": 2, "cpumask": 255, "model": "version=vmaf_v0.6.1neg:name=neg", "wrong_name": 1, "detail": "full",
    });
    let data = client.data("vmaf_score", with(clips.y4m(), more));
    assert_eq!(data["frame_count"], 5);
    let numbers: Vec<u64> =
        data["frames"].as_array().unwrap().iter().map(|frame| frame["frameNum"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 2, 4]);
    assert_eq!(data["provenance"]["cpu_level"], "scalar");
    for name in ["neg", "psnr_y", "ciede2000"] {
        assert!(data["pooled_metrics"][name].is_object(), "{name}");
    }
    assert!(data["notes"][0].as_str().unwrap().contains("wrong_name"));
    let only = client.data("vmaf_score", with(clips.y4m(), json!({ "no_prediction": true })));
    assert!(only["pooled_metrics"].get("vmaf").is_none());
    let auto = client.data("vmaf_score", with(clips.y4m(), json!({ "model": "auto" })));
    assert!(
        auto["notes"][0].as_str().unwrap().starts_with("using vmaf_v0.6.1 because vmaf_v1.0.16_3d0h"),
        "{}",
        auto["notes"]
    );
    for (format, start) in [("xml", "<VMAF version="), ("csv", "Frame,"), ("sub", "{0}{1}")] {
        let text = client.data("vmaf_score", with(clips.y4m(), json!({ "output_fmt": format })));
        assert_eq!(text["format"], format);
        assert!(text["output"].as_str().unwrap().starts_with(start), "{}", text["output"]);
    }
    let large = Clips::sized(256, 216, 1);
    let mut client = Client::open(command(&large.folder));
    let preset = client.data("vmaf_score", with(large.y4m(), json!({ "nflx_ctc": "v1.0" })));
    assert!(preset["pooled_metrics"]["vmaf_neg"].is_object());
    assert!(
        preset["mismatched_model_warning"]
            .as_str()
            .unwrap()
            .starts_with("model resolution preset 'vmaf_4k_v0.6.1' does not match source 256x216")
    );
}

#[test]
fn details_fit_the_reader() {
    let clips = Clips::new(130);
    let mut client = Client::open(command(&clips.folder));
    let result = client.call("vmaf_score", clips.y4m());
    let data = &result["structuredContent"];
    assert!(data.get("frames").is_none(), "a summary has no frames");
    assert!(result["content"][0]["text"].as_str().unwrap().len() <= 4096);
    for name in ["p1", "p5", "p10", "p25", "harmonic_mean"] {
        assert!(data["pooled_metrics"]["vmaf"][name].is_f64(), "{name}");
    }
    assert_eq!(data["worst_frames"].as_array().unwrap().len(), 5);
    assert!(data["worst_second"]["mean"].is_f64() && data["verdict"].as_str().unwrap().starts_with("vmaf "));
    assert!(data["curve"]["lowest"].as_array().unwrap().len() <= 60);
    let link = &result["content"][1];
    assert_eq!((&link["type"], &link["uri"]), (&json!("resource_link"), &data["report"]));
    let full = client.data("vmaf_score", with(clips.y4m(), json!({ "detail": "full" })));
    assert_eq!(full["frames"].as_array().unwrap().len(), 130);
    let id = data["job_id"].as_str().unwrap();
    let again = client.data("get_job", json!({ "job_id": id, "detail": "full" }));
    assert_eq!(again["result"]["frames"], full["frames"]);
    let frames = client.data("vmaf_score", with(clips.y4m(), json!({ "detail": "frames" })));
    assert!(frames["series"].to_string().contains("vmaf") && frames.get("frames").is_none(), "{frames}");
    let short = Clips::new(3);
    let mut client = Client::open(command(&short.folder));
    let summary = client.data("vmaf_score", short.y4m());
    assert!(summary.get("frames").is_none(), "short clips are summarised too");
    assert_eq!(summary["curve"]["lowest"].as_array().unwrap().len(), 3);
}

#[test]
fn refusals_have_the_texts_that_clients_match() {
    let clips = Clips::new(2);
    let mut client = Client::open(command(&clips.folder));
    let secret = tempfile::NamedTempFile::new().unwrap();
    let outside = secret.path().canonicalize().unwrap();
    let outside = outside.to_str().unwrap();
    let rooted =
        |path: &str| format!("path {path} not under an allowlisted root; set VMAF_MCP_ALLOW to extend.");
    for (arguments, words) in [
        (json!({}), "tool 'vmaf_score' missing required argument: 'ref'".to_owned()),
        (json!({ "ref": "a.y4m", "dis": null }), "tool 'vmaf_score' missing required argument: 'dis'".to_owned()),
        (
            json!({ "ref": clips.path("ref.yuv"), "dis": clips.path("dis.yuv") }),
            "tool 'vmaf_score' missing required argument: 'width'".to_owned(),
        ),
        (with(clips.raw(), json!({ "pixfmt": "421" })), "invalid pixfmt '421': must be one of 420|422|444".to_owned()),
        (with(clips.raw(), json!({ "bitdepth": 9 })), "invalid bitdepth 9: must be one of 8|10|12|16".to_owned()),
        (with(clips.y4m(), json!({ "precision": "18" })), "invalid precision '18'".to_owned()),
        (with(clips.y4m(), json!({ "ref": outside })), rooted(outside)),
        (with(clips.y4m(), json!({ "dis": "/etc/passwd" })), rooted("/etc/passwd")),
        (with(clips.y4m(), json!({ "model": format!("path={outside}") })), rooted(outside)),
        (
            with(clips.y4m(), json!({ "model": format!("version=vmaf_v0.6.1:path={outside}") })),
            "version and path exclude each other".to_owned(),
        ),
        (with(clips.y4m(), json!({ "tiny_model": outside })), rooted(outside)),
        (with(clips.y4m(), json!({ "feature": [format!("cambi=heatmaps_path={outside}")] })), rooted(outside)),
        (with(clips.y4m(), json!({ "ref": clips.path("none.y4m") })), "file not found: ".to_owned()),
        (with(clips.y4m(), json!({ "ref": clips.path("") })), "is not a regular file".to_owned()),
        (
            with(clips.y4m(), json!({ "ref": "http://host/a.y4m" })),
            "media path scheme 'http://' is not permitted; only local file paths are accepted.".to_owned(),
        ),
        (
            with(clips.y4m(), json!({ "backend": "cuda" })),
            "backend 'cuda' requested but the local vmaf binary does not advertise it (available: ['cpu']); refusing to fall \
             back silently. Pass backend='auto'"
                .to_owned(),
        ),
        (
            with(clips.y4m(), json!({ "no_reference": true })),
            "no_reference requires tiny_model; no classic NR scorer exists".to_owned(),
        ),
        (with(clips.y4m(), json!({ "model": "version=vmaf_v0.6" })), "did you mean 'vmaf_v0.6.1'".to_owned()),
        (with(clips.y4m(), json!({ "width": 99 })), "invalid width 99: the Y4M header says".to_owned()),
        (with(clips.y4m(), json!({ "feature": ["bogus"] })), "there is no metric 'bogus'".to_owned()),
        (with(clips.y4m(), json!({ "feature": vec!["psnr"; 65] })), "at most 64 are allowed".to_owned()),
    ] {
        let failure = client.failure("vmaf_score", arguments);
        assert!(failure.contains(&words), "{failure}\nexpected {words}");
    }
    assert_eq!(client.failure("bogus", json!({})), "unknown tool: bogus");
    let words = "tool 'vmaf_score_encoded' missing required argument: 'reference_encoded'";
    assert_eq!(client.failure("vmaf_score_encoded", json!({})), words);
    for (n, shown) in [(json!(0), "0"), (json!(33), "33"), (json!("x"), "'x'")] {
        let words = format!("'n' must be between 1 and 32 (schema maximum); got {shown}");
        assert_eq!(client.failure("describe_worst_frames", with(clips.y4m(), json!({ "n": n }))), words);
    }
    assert!(client.failure("get_job", json!({ "job_id": "x" })).contains("results are kept for 60 minutes"));
}

#[test]
fn a_refused_call_comes_with_an_example_that_works() {
    let clips = Clips::new(2);
    let mut client = Client::open(command(&clips.folder));
    let wrong = json!({ "reference": clips.path("ref.yuv"), "distorted": clips.path("dis.yuv"), "width": "64", "height": 64,
        "pixfmt": "420p", "bitdepth": 8, "detail": "sumary" });
    let refusal = client.refusal("vmaf_score", wrong);
    assert_eq!(refusal["error"], "tool 'vmaf_score' missing required argument: 'ref'");
    assert_eq!(refusal["hint"], "you gave 'reference'; did you mean 'ref'?");
    let example = &refusal["example"];
    assert_eq!(
        client.data(example["tool"].as_str().unwrap(), example["arguments"].clone())["frame_count"],
        2
    );
    let absent = with(clips.y4m(), json!({ "dis": clips.path("diss.y4m") }));
    assert!(client.refusal("vmaf_score", absent)["hint"].as_str().unwrap().contains("dis.y4m"));
    let unknown = client.refusal("vmaf_scores", clips.y4m());
    assert_eq!(
        (&unknown["error"], &unknown["hint"]),
        (&json!("unknown tool: vmaf_scores"), &json!("did you mean 'vmaf_score'?"))
    );
}

#[test]
fn jobs_work_in_the_background() {
    let clips = Clips::new(4);
    let mut client = Client::open(command(&clips.folder));
    let begun = client.data("vmaf_score", with(clips.y4m(), json!({ "background": true })));
    let id = begun["job_id"].as_str().unwrap().to_owned();
    assert!(["queued", "running", "done"].contains(&begun["status"].as_str().unwrap()));
    let job = loop {
        let job = client.data("get_job", json!({ "job_id": id }));
        if job["status"] == "done" {
            break job;
        }
        assert_ne!(job["status"], "failed", "{job}");
    };
    assert_eq!(job["result"]["frame_count"], 4);
    let list = client.data("list_jobs", json!({}));
    assert_eq!((&list["jobs"][0]["job_id"], list["jobs"].as_array().unwrap().len()), (&json!(id), 1));
    assert_eq!(client.data("cancel_job", json!({ "job_id": id }))["status"], "done");
}

#[test]
fn models_backends_extractors_and_versions() {
    let clips = Clips::new(1);
    let mut client = Client::open(command(&clips.folder));
    let models = client.data("list_models", json!({}));
    assert_eq!(models["models"][0]["name"], "vmaf_v0.6.1");
    let model = client.data("describe_model", json!({ "name": "vmaf_4k_v0.6.1" }));
    assert_eq!(model["model_type"], "LIBSVMNUSVR");
    let words = "model 'vmaf_v0.6' not found; run list_models to see available models.";
    assert_eq!(client.failure("describe_model", json!({ "name": "vmaf_v0.6" })), words);
    let none =
        json!({ "cpu": true, "cuda": false, "sycl": false, "vulkan": false, "hip": false, "metal": false });
    assert_eq!(client.data("list_backends", json!({})), none);
    let version = client.data("vmaf_version", json!({}));
    assert_eq!((&version["build_flags"], &version["error"]), (&none, &Value::Null));
    let cpu = client.data("probe_backend", json!({ "backend": "cpu" }));
    assert_eq!((&cpu["compiled_in"], &cpu["runtime_healthy"]), (&json!(true), &json!(true)));
    assert!(cpu["score"].as_f64().unwrap() > 90.0 && cpu["latency_ms"].is_f64());
    let cuda = client.data("probe_backend", json!({ "backend": "cuda" }));
    assert_eq!((&cuda["compiled_in"], &cuda["runtime_healthy"]), (&json!(true), &json!(false)));
    assert!(
        cuda["error"]
            .as_str()
            .unwrap()
            .starts_with("backend 'cuda' does not work here: CUDA is not available")
    );
    let hip = client.data("probe_backend", json!({ "backend": "hip" }));
    assert_eq!((&hip["compiled_in"], &hip["score"]), (&json!(false), &Value::Null));
    assert_eq!(hip["error"], "backend 'hip' is not compiled into the local vmaf binary");
    let extractors = client.data("list_extractors", json!({}));
    assert!(extractors["extractors"].as_array().unwrap().iter().any(|one| one["name"] == "cambi"));
    let cambi = client.data("list_extractors", json!({ "name": "cambi" }))["extractors"][0].clone();
    assert!(cambi["options"].as_array().unwrap().len() > 3 && cambi["metrics"][0] == "cambi");
    let whole = client.data("list_extractors", json!({ "detail": "full" }));
    assert!(whole["extractors"].as_array().unwrap().contains(&cambi));
}

#[test]
fn the_benchmark_measures() {
    let clips = Clips::new(1);
    let mut client = Client::open(command(&clips.folder));
    let bench = client
        .data("vmaf_bench", json!({ "frames": 2, "resolution": "576x324", "bpc": 10, "validate": true }));
    assert_eq!((&bench["exit_code"], &bench["validation_failed"]), (&json!(0), &json!(false)));
    assert!(bench["results"][0]["fps"].as_f64().unwrap() > 0.0);
    assert!(bench["stdout"].as_str().unwrap().contains("576x324"));
    let devices = client.data("vmaf_bench", json!({ "device_list": true }));
    assert_eq!(devices["devices"], json!(["cpu"]));
    assert!(client.failure("vmaf_bench", json!({ "gpu_only": true })).contains("no backend to measure"));
    assert!(client.failure("vmaf_bench", json!({ "frames": 1 })).contains("[2, 48]"));
}

#[test]
fn results_do_not_mix_under_load() {
    let clips: Vec<Clips> = (1..=4).map(Clips::new).collect();
    let parent = std::env::temp_dir().canonicalize().unwrap();
    let mut client = Client::open(command(&parent));
    let ids: Vec<(u64, usize)> = (0..200)
        .map(|number| {
            let which = number % clips.len();
            let arguments = clips[which].y4m();
            (client.send("tools/call", json!({ "name": "vmaf_score", "arguments": arguments })), which + 1)
        })
        .collect();
    let mut answers = std::collections::HashMap::new();
    while answers.len() < ids.len() {
        let message = client.message().expect("every call is answered");
        assert!(answers.insert(message["id"].as_u64().unwrap(), message).is_none());
    }
    for (id, frames) in ids {
        let result = &answers[&id]["result"];
        assert_eq!(result["isError"], json!(false), "{result}");
        assert_eq!(result["structuredContent"]["frame_count"], frames);
    }
}
