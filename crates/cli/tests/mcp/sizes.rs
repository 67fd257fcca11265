//! Every answer fits an agent: each tool is called as an agent would call it, and its text is measured.

use serde_json::{Value, json};

use super::client::{Client, command};
use super::clips::{Clips, with};

/// As much text as an answer may have by default.
const MOST: usize = 4096;

/// A table of features with opinion scores.
fn table(clips: &Clips) -> String {
    let mut text = "key,mos,adm2,vif_scale0,vif_scale1,vif_scale2,vif_scale3,motion2\n".to_owned();
    for row in 0..60 {
        let x = f64::from(row) / 60.0;
        text += &format!("k{row},{},{x},{x},{x},{x},{x},{}\n", 20.0 + 70.0 * x + f64::from(row % 7), 5.0 * x);
    }
    std::fs::write(clips.folder.join("table.csv"), text).unwrap();
    clips.path("table.csv")
}

/// What each tool is called with.
fn arguments(tool: &str, clips: &Clips, job: &str) -> Value {
    let src = clips.path("ref.y4m");
    let features = table(clips);
    match tool {
        "vmaf_score" => with(
            clips.y4m(),
            json!({ "feature": ["psnr", "float_ssim", "float_ms_ssim", "ciede", "psnr_hvs"] }),
        ),
        "vmaf_score_encoded" => {
            json!({ "reference_encoded": src, "distorted_encoded": clips.path("dis.y4m") })
        }
        "describe_worst_frames" => clips.y4m(),
        "describe_model" => json!({ "name": "vmaf_b_v0.6.3" }),
        "probe_backend" => json!({ "backend": "cpu" }),
        "vmaf_bench" => json!({ "frames": 2, "resolution": "576x324" }),
        "run_search" => json!({ "src": src, "targets": ["mean=70", "p5=60", "psnr=25"] }),
        "migrate_thresholds" => {
            let (reference, distorted) = clips.blurred(6);
            json!({ "reference": [reference], "distorted": distorted, "to": "vmaf_v0.6.1neg" })
        }
        "run_compare" => {
            json!({ "src": src, "target_vmafs": "80,70,60", "encoders": "libx264,nonsense,h264_amf" })
        }
        "run_ladder" => {
            json!({ "src": src, "resolutions": "128x96,96x72,64x48", "target_vmafs": "80,70,60" })
        }
        "run_tune_per_shot" => json!({ "src": src, "target_vmaf": 80 }),
        "vmaf_per_shot" => json!({ "reference": clips.path("ref.yuv"), "width": 192, "height": 176 }),
        "eval_model_on_split" => json!({ "model": "vmaf_v0.6.1", "features": features, "split": "all" }),
        "compare_models" => {
            json!({ "models": ["vmaf_v0.6.1", "vmaf_v0.6.1neg", "none"], "features": features, "split": "all" })
        }
        "get_job" | "cancel_job" => json!({ "job_id": job }),
        _ => json!({}),
    }
}

#[test]
fn the_default_answer_of_every_tool_is_at_most_four_kilobytes() {
    let (clips, cache) = (Clips::sized(192, 176, 150), tempfile::tempdir().unwrap());
    let mut command = command(&clips.folder);
    command.env("VISUS_CACHE_DIR", cache.path());
    let mut client = Client::open(command);
    let job = client.data("vmaf_score", clips.y4m())["job_id"].as_str().unwrap().to_owned();
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let mut sizes = Vec::new();
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let result = client.call(name, arguments(name, &clips, &job));
        assert_eq!(result["isError"], json!(false), "{name}: {result}");
        let size = result["content"][0]["text"].as_str().unwrap().len();
        assert!(size <= MOST, "{name}: {size} bytes\n{result}");
        let shortened = result["structuredContent"].get("shortened").is_some();
        if let Some(id) = result["structuredContent"]["job_id"].as_str().filter(|_| shortened) {
            let whole = client.data("get_job", json!({ "job_id": id, "detail": "full" }));
            assert!(whole["result"].to_string().len() > size, "{name}: the whole answer is kept");
        }
        sizes.push((name.to_owned(), size, shortened));
    }
    assert_eq!(sizes.len(), 22, "{sizes:?}");
    println!("{sizes:?}");
}

#[test]
fn a_long_list_of_jobs_is_shortened() {
    let clips = Clips::new(1);
    let mut client = Client::open(command(&clips.folder));
    for _ in 0..60 {
        client.data("vmaf_score", clips.y4m());
    }
    let result = client.call("list_jobs", json!({}));
    assert!(result["content"][0]["text"].as_str().unwrap().len() <= MOST);
    assert!(result["structuredContent"]["shortened"].as_str().unwrap().contains("detail 'full'"));
    assert_eq!(client.data("list_jobs", json!({ "detail": "full" }))["jobs"].as_array().unwrap().len(), 60);
}
