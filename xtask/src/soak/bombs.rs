//! Requests that stand for far more than they are: each has to be refused, whatever else goes on.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// A call that must be refused.
#[derive(Debug)]
pub struct Bomb {
    pub name: &'static str,
    pub tool: &'static str,
    pub arguments: Value,
}

/// The head of a PNG of 16000x16000 pixels of 48 bits, with hardly any data behind it.
const PICTURE: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x3e\x80\0\0\x3e\x80\x10\x02\0\0\0\x9e\x8c\x94\xca\
\0\0\0\x0cIDAT\x78\x9c\x63\x60\xa0\x3d\x00\x00\x00\x64\x00\x01\x86\x64\x3c\x35";

/// A model of one input with the shape [N, 1, 200000, 200000], and a node that hands it on.
const MODEL: &[u8] = b"\x08\x08\x42\x02\x10\x0d\x3a\x59\x0a\x10\x0a\x01\x78\x12\x01\x79\x22\x08\x49\x64\x65\x6e\x74\x69\x74\x79\x12\
\x01\x67\x5a\x20\x0a\x01\x78\x12\x1b\x0a\x19\x08\x01\x12\x15\x0a\x03\x12\x01\x4e\x0a\x02\x08\x01\x0a\x04\x08\
\xc0\x9a\x0c\x0a\x04\x08\xc0\x9a\x0c\x62\x20\x0a\x01\x79\x12\x1b\x0a\x19\x08\x01\x12\x15\x0a\x03\x12\x01\x4e\
\x0a\x02\x08\x01\x0a\x04\x08\xc0\x9a\x0c\x0a\x04\x08\xc0\x9a\x0c";

/// Writes the files and lists the calls.
pub fn make(folder: &Path) -> Result<Vec<Bomb>> {
    let at = |name: &str| folder.join(name);
    sparse(&at("zeros.csv"), 5 << 30)?;
    for name in ["huge_ref.yuv", "huge_dis.yuv"] {
        sparse(&at(name), 32_768 * 32_768 * 3 / 2)?;
    }
    fs::write(at("huge.png"), PICTURE)?;
    fs::write(at("huge.onnx"), MODEL)?;
    fs::write(at("large.json"), format!("[{}0]", "0,".repeat(4 << 20)))?;
    let made = Command::new("mkfifo").arg(at("pipe.y4m")).status().context("mkfifo")?;
    ensure!(made.success(), "mkfifo: {made}");
    let pair = |reference: &str, distorted: &str| json!({ "ref": at(reference), "dis": at(distorted) });
    let with = |mut arguments: Value, more: &[(&str, Value)]| {
        more.iter().for_each(|(name, value)| arguments[*name] = value.clone());
        arguments
    };
    let plain = || pair("small_ref.y4m", "small_dis.y4m");
    let raw = [
        ("width", json!(32_768)),
        ("height", json!(32_768)),
        ("pixfmt", json!("420")),
        ("bitdepth", json!(8)),
    ];
    let tiny = [("tiny_model", json!(at("huge.onnx"))), ("tiny_resize", json!("bilinear"))];
    let bomb = |name, tool, arguments| Bomb { name, tool, arguments };
    let table = json!({ "model": "vmaf_v0.6.1", "features": at("zeros.csv"), "split": "all" });
    Ok(vec![
        bomb("huge frames", "vmaf_score", with(pair("huge_ref.yuv", "huge_dis.yuv"), &raw)),
        bomb(
            "huge scale",
            "vmaf_score",
            with(pair("middle_ref.y4m", "crf24.mp4"), &[("scale", json!("32768x32768"))]),
        ),
        bomb("huge picture", "vmaf_score", pair("huge.png", "huge.png")),
        bomb("huge model input", "vmaf_score", with(plain(), &tiny)),
        bomb("sparse table", "eval_model_on_split", table),
        bomb("long model", "describe_model", json!({ "name": at("large.json") })),
        bomb("long argument", "vmaf_score", with(plain(), &[("model", json!("x".repeat(2 << 20)))])),
        bomb("pipe", "vmaf_score", pair("pipe.y4m", "pipe.y4m")),
        bomb("outside", "vmaf_score", json!({ "ref": "/etc/passwd", "dis": "/etc/passwd" })),
        bomb("no such tool", "vmaf_scorf", json!({})),
    ])
}

/// A file that is as long as it says and takes no room.
fn sparse(path: &Path, bytes: u64) -> Result<()> {
    Ok(File::create(path)?.set_len(bytes)?)
}
