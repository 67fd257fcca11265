//! What is no plain score: samples, detectors, tone mapping, searches and migration, through every front end that has them.

use serde_json::{Map, Value, json};

use super::clips::Clips;
use super::common;
use super::server::Server;

/// What a command prints as JSON.
fn visus(clips: &Clips, args: &[&str]) -> Value {
    let output = common::visus()
        .current_dir(clips.folder.path())
        .env("VISUS_CACHE_DIR", clips.path("cache"))
        .args(args)
        .output()
        .expect("visus runs");
    assert!(output.status.success(), "{args:?}: {}", common::stderr(&output));
    serde_json::from_str(&common::stdout(&output)).expect("JSON")
}

/// The arguments of a score with names for the two videos, and further ones.
fn with(server: &Server, names: [&str; 2], videos: [&str; 2], more: &Value) -> Map<String, Value> {
    let mut args = more.as_object().cloned().unwrap_or_default();
    for (name, video) in names.iter().zip(videos) {
        args.insert((*name).to_owned(), json!(server.folder().join(video)));
    }
    args
}

/// The same question over MCP, and over HTTP at once and as a job.
fn asked(server: &Server, videos: [&str; 2], more: &Value) -> [Value; 3] {
    let tool = server.data("vmaf_score", with(server, ["ref", "dis"], videos, more));
    let body = Value::Object(with(server, ["reference", "distorted"], videos, more));
    let (status, score) = server.http("POST", "/v1/score", Some(&body));
    assert_eq!(status, 200, "{score}");
    let job = server.finished_job("/v1/jobs", &body);
    [tool, score, job]
}

/// One server answers everything.
#[test]
fn what_is_no_plain_score_is_the_same_everywhere() {
    let clips = Clips::new();
    let server = Server::start(&clips);
    samples_and_detectors(&clips, &server);
    tone_mapping(&clips, &server);
    search_with_several_targets(&clips, &server);
    thresholds_of_another_model(&clips, &server);
}

fn samples_and_detectors(clips: &Clips, server: &Server) {
    // Samples: the estimates of the command line, to the last bit.
    let pair = ["qcif_ref.y4m", "qcif_dis.y4m"];
    let expected =
        visus(clips, &["score", pair[0], pair[1], "--within", "mean=2", "--within", "p5=9", "-q", "--json"]);
    for found in asked(server, pair, &json!({ "within": "2,p5=9" })) {
        for key in ["mean", "p5", "frames_scored", "frames", "ended", "scores"] {
            assert_eq!(found["sampled"][key], expected[key], "{key}: {found}");
        }
        assert!(found["verdict"].as_str().unwrap().contains("of 12 frames"), "{found}");
    }
    let refused = |more: Value| {
        let body = Value::Object(with(server, ["reference", "distorted"], pair, &more));
        let (status, answer) = server.http("POST", "/v1/score", Some(&body));
        assert_eq!(status, 400, "{answer}");
        answer["error"].as_str().unwrap().to_owned()
    };
    assert!(refused(json!({ "within": "p7=1" })).contains("neither mean nor p5"));
    assert!(refused(json!({ "budget": "soon" })).contains("such as 30s"));
    assert!(refused(json!({ "within": "1", "output_fmt": "csv" })).contains("output_fmt"));
    // Detectors look at Y4M where they are asked to.
    let more = json!({ "detectors": true, "detail": "full" });
    let expected = visus(clips, &["score", pair[0], pair[1], "--detectors", "-q", "--json"]);
    assert!(expected["warnings"].is_array());
    for found in asked(server, pair, &more) {
        assert_eq!(found["warnings"], expected["warnings"], "{found}");
    }
    for found in asked(server, pair, &json!({ "detail": "full" })) {
        assert!(found.get("warnings").is_none_or(|warnings| warnings.is_null()), "{found}");
    }
}

/// The score of what an SDR screen would show.
fn tone_mapping(clips: &Clips, server: &Server) {
    clips.encode_hdr();
    let pair = ["hdr_ref.mkv", "hdr_dis.mkv"];
    let expected = visus(clips, &["score", pair[0], pair[1], "--tone-map", "-q", "--json"]);
    let side = |report: &Value| report["tone_mapped"]["scores"][0]["mean"].clone();
    assert!(side(&expected).is_number(), "{expected}");
    for found in asked(server, pair, &json!({ "input": ["tone_map=true"], "detail": "full" })) {
        assert_eq!(side(&found), side(&expected), "{found}");
    }
}

fn search_with_several_targets(clips: &Clips, server: &Server) {
    // CAMBI looks at pictures of at least 216 rows.
    clips.encode("qcif_ref.y4m", "larger.y4m", &["-vf", "scale=264:216"]);
    let targets = ["mean=80", "p5=70", "psnr=25", "cambi<20"];
    let mut args = vec!["search", "larger.y4m", "--preset", "ultrafast", "-q", "--json"];
    targets.iter().for_each(|target| args.extend(["--target", target]));
    let expected = visus(clips, &args);
    let more = json!({ "targets": targets, "preset": "ultrafast" });
    let asked = with(server, ["src", "src"], ["larger.y4m"; 2], &more);
    let over_mcp = server.data("run_search", asked.clone());
    let over_http = server.finished_job("/v1/tools/run_search", &Value::Object(asked));
    for found in [over_mcp, over_http] {
        for key in ["ok", "quality", "goals", "achieved", "bitrate_kbps"] {
            assert_eq!(found[key], expected[key], "{key}: {found}");
        }
        assert_eq!(found["goals"].as_array().unwrap().len(), 4);
    }
}

fn thresholds_of_another_model(clips: &Clips, server: &Server) {
    for crf in ["18", "26", "34", "42", "50"] {
        clips.encode("qcif_ref.y4m", &format!("m{crf}.mp4"), &["-c:v", "libx264", "-crf", crf]);
    }
    let encodes = ["m18.mp4", "m26.mp4", "m34.mp4", "m42.mp4", "m50.mp4"];
    let rows = encodes.map(|name| format!("ref.mkv,{name}\n")).concat();
    std::fs::write(clips.path("pairs.csv"), format!("reference,distorted\n{rows}")).unwrap();
    let model = "vmaf_v0.6.1neg";
    let expected =
        visus(clips, &["migrate", "pairs.csv", "--to", model, "--threshold", "80", "-q", "--json"]);
    let place = |name: &str| server.folder().join(name);
    let asked = json!({ "reference": [place("ref.mkv")], "distorted": encodes.map(place), "to": model,
        "thresholds": "80" });
    let over_mcp = server.data("migrate_thresholds", asked.as_object().cloned().unwrap());
    let over_http = server.finished_job("/v1/tools/migrate_thresholds", &asked);
    for found in [over_mcp, over_http] {
        for key in ["from_model", "to_model", "mapping", "thresholds"] {
            assert_eq!(found[key], expected[key], "{key}: {found}");
        }
        assert_eq!(found["encodes"].as_array().unwrap().len(), 5);
    }
}
