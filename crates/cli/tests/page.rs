//! The HTML page in a real browser: it is opened, and its controls are worked.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{stderr, y4m};
use serde_json::Value;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format};

/// A name that would run if it were taken for markup.
const HOSTILE: &str = "\"><img src=x onerror='top.hacked=1'><svg onload='top.hacked=1'>'&amp;.y4m";

fn chromium() -> PathBuf {
    let named = std::env::var_os("VISUS_CHROMIUM").map(PathBuf::from);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let known = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&paths).flat_map(|folder| known.map(|name| folder.join(name)));
    named.into_iter().chain(found).find(|path| path.is_file()).expect(
        "no Chromium: install it (Debian: apt-get install chromium; `cargo xtask test` does so as root), or name one \
         in VISUS_CHROMIUM",
    )
}

/// The document after the page has loaded and its scripts have run.
fn opened(page: &Path, profile: &Path) -> String {
    let mut browser = Command::new(chromium())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--window-size=1000,900", "--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(profile.join("dom.html")).unwrap())
        .stderr(std::fs::File::create(profile.join("words.txt")).unwrap())
        .spawn()
        .expect("the browser starts");
    // A browser that hangs would hang the tests.
    let begun = Instant::now();
    while browser.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(300) {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!(
                "the browser does not end: {}",
                std::fs::read_to_string(profile.join("words.txt")).unwrap()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::read_to_string(profile.join("dom.html")).unwrap()
}

/// The page inside a frame, and a script beside it that works the controls and writes down what it finds.
fn harness(page: &str, expected: &str) -> String {
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<!doctype html><meta charset=utf-8><iframe width=960 height=860 srcdoc=\"{quoted}\"></iframe><pre id=found></pre>\
         <script>const expected = {expected};\n{}</script>",
        include_str!("page_controls.js")
    )
}

#[test]
fn the_controls_work() {
    let folder = tempfile::tempdir().unwrap();
    let format = Format::new(96, 64, Chroma::C420, 8).unwrap();
    let clip = Clip::scene(format, 60, 3);
    y4m(folder.path(), "ref.y4m", &clip);
    y4m(folder.path(), HOSTILE, &clip.distorted(Distortion::Blocking { step: 30 }));
    let output = common::visus()
        .current_dir(folder.path())
        .args(["score", "ref.y4m", HOSTILE, "-q", "-m", "v0.6.1", "-m", "v0.6.1neg"])
        .args(["--html", "page.html", "--json=page.json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("page.json")).unwrap()).unwrap();
    let score = |frame: usize| report["frames"][frame]["metrics"]["vmaf_v0.6.1"].as_f64().unwrap();
    let expected = serde_json::json!({ "frame7": format!("{:.2}", score(7)), "name": HOSTILE });
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let harness_path = folder.path().join("harness.html");
    std::fs::write(&harness_path, harness(&page, &expected.to_string().replace('<', "\\u003c"))).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let document = opened(&harness_path, profile.path());
    let found = document.split("<pre id=\"found\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let found = found.unwrap_or_else(|| panic!("no result in {document:.2000}"));
    assert!(!found.contains("FAILED") && found.contains("ok: the end"), "{found}");
    assert!(found.lines().count() >= 20, "{found}");
}
