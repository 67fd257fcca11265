//! Gates, differences, parts and batches, as a person uses them.

mod common;

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use common::{Pair, stderr, stdout, y4m};
use serde_json::Value;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format};

fn run(folder: &Path, args: &[&str]) -> Output {
    common::visus().current_dir(folder).args(args).output().unwrap()
}

fn succeed(folder: &Path, args: &[&str]) -> Output {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}{}", stdout(&output), stderr(&output));
    output
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A report but for the speed.
fn timeless(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("  \"fps\": ")).collect();
    assert_eq!(lines.len() + 1, text.lines().count());
    lines.join("\n")
}

#[test]
fn a_gate_tells_good_bad_and_unmeasured() {
    let pair = Pair::small(4);
    let folder = pair.folder.path();
    let gate = |more: &[&str]| run(folder, &[&["gate", "ref.y4m", "dis.y4m"], more].concat());
    let good = gate(&["--min-mean", "1", "--min-p5", "1", "--junit", "good.xml"]);
    assert_eq!(good.status.code(), Some(0), "{}", stderr(&good));
    assert!(stdout(&good).contains("gate passed"));
    let bad = gate(&["--min-mean", "99.9", "--min-min", "1", "--junit", "bad.xml", "--github"]);
    assert_eq!(bad.status.code(), Some(1));
    let lines = stdout(&bad);
    assert!(
        lines.starts_with("::error title=visus gate::dis.y4m against ref.y4m: vmaf_v0.6.1 mean "),
        "{lines}"
    );
    assert_eq!(lines.lines().count(), 2, "{lines}");
    let xml = std::fs::read_to_string(pair.path("bad.xml")).unwrap();
    assert!(
        xml.contains("tests=\"2\" failures=\"1\" errors=\"0\"") && xml.contains("is below 99.9"),
        "{xml}"
    );
    for (args, words) in [
        (&["--junit", "none.xml"][..], "the gate has no limit"),
        (&["--min-mean", "nan"], "finite"),
        (&["--max-drop", "1"], "--baseline"),
        (&["--baseline", "missing.json"], "missing.json"),
    ] {
        let output = gate(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
    assert!(std::fs::read_to_string(pair.path("none.xml")).unwrap().contains("errors=\"1\""));
    assert_eq!(run(folder, &["gate", "ref.y4m", "gone.y4m", "--min-mean", "1"]).status.code(), Some(2));
}

#[test]
fn a_gate_holds_to_a_baseline_of_either_kind() {
    let pair = Pair::small(4);
    let folder = pair.folder.path();
    succeed(folder, &["score", "ref.y4m", "ref.y4m", "-q", "--json=best.json"]);
    succeed(folder, &["score", "ref.y4m", "dis.y4m", "-q", "--json=same.json"]);
    assert!(pair.vmaf(&["-q"]).status.success());
    let gate = |baseline: &str, drop: &str| {
        let output = run(folder, &["gate", "ref.y4m", "dis.y4m", "--baseline", baseline, "--max-drop", drop]);
        output.status.code()
    };
    assert_eq!(gate("best.json", "0.5"), Some(1));
    assert_eq!(gate("best.json", "100"), Some(0));
    assert_eq!(gate("same.json", "0"), Some(0));
    assert_eq!(gate("out.json", "0.001"), Some(0), "libvmaf's report");
    let other = run(folder, &["gate", "ref.y4m", "dis.y4m", "-m", "v0.6.1neg", "--baseline", "same.json"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("another model"), "{}", stderr(&other));
}

#[test]
fn differences_are_told_and_weighed() {
    let pair = Pair::small(30);
    let folder = pair.folder.path();
    succeed(folder, &["score", "ref.y4m", "ref.y4m", "-q", "--json=a.json"]);
    succeed(folder, &["score", "ref.y4m", "dis.y4m", "-q", "--json=b.json", "--threads", "1"]);
    let text = stdout(&succeed(folder, &["diff", "a.json", "b.json"]));
    assert!(text.contains("distorted video: ref.y4m -> dis.y4m"), "{text}");
    assert!(text.contains("worse, and not by chance"), "{text}");
    let diff: Value =
        serde_json::from_str(&stdout(&succeed(folder, &["diff", "a.json", "b.json", "--json"]))).unwrap();
    assert_eq!((&diff["models"][0]["real"], &diff["common_frames"]), (&Value::from(true), &Value::from(30)));
    assert!(diff["models"][0]["interval"][1].as_f64().unwrap() < 0.0);
    assert!(stdout(&succeed(folder, &["diff", "b.json", "b.json"])).contains("no change at all"));
    std::fs::write(pair.path("no.json"), "{\"frames\": 7}").unwrap();
    let refused = run(folder, &["diff", "a.json", "no.json"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("no.json") && stderr(&refused).contains("no report"),
        "{}",
        stderr(&refused)
    );
}

/// Parts of one clip, cut at several places, merge to the bytes of a single run.
#[test]
fn parts_merge_to_the_bytes_of_one_run() {
    let pair = Pair::new(Format::new(224, 160, Chroma::C420, 8).unwrap(), (10, 9));
    let folder = pair.folder.path();
    let asked =
        ["-m", "v0.6.1", "-m", "v1.0.16_3d0h", "-m", "v1.0.16_hfr_3d0h", "-m", "b_v0.6.3", "-m", "auto"];
    let asked =
        [&asked[..8], &["-f", "psnr=enable_apsnr=true", "-f", "xpsnr", "-f", "float_motion"]].concat();
    let score = |more: &[&str]| {
        succeed(folder, &[&["score", "ref.y4m", "dis.y4m", "-q"], &asked[..], more].concat());
    };
    score(&["--json=whole.json"]);
    let want = timeless(&pair.path("whole.json"));
    assert!(want.contains("\"shorter_input\": \"distorted\"") && want.contains("apsnr_y"));
    for cuts in [&["1"][..], &["4"], &["0.32s"], &["2", "3", "7"]] {
        let ends = cuts.iter().map(Some).chain([None]);
        let starts = std::iter::once(None).chain(cuts.iter().map(Some));
        let mut merge = vec!["merge".to_owned(), "-o".to_owned(), "merged.json".to_owned()];
        for (number, (from, to)) in starts.zip(ends).enumerate() {
            let name = format!("part{number}.json");
            let mut more = vec![format!("--json={name}")];
            more.extend(from.map(|from| format!("--from={from}")));
            more.extend(to.map(|to| format!("--to={to}")));
            // The number of threads does not show.
            more.push(format!("--threads={}", number + 1));
            score(&more.iter().map(String::as_str).collect::<Vec<_>>());
            merge.insert(1, name);
        }
        succeed(folder, &merge.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(timeless(&pair.path("merged.json")), want, "{cuts:?}");
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let pair = Pair::small(8);
    let folder = pair.folder.path();
    let part = |name: &str, from: &str, to: &str, more: &[&str]| {
        let name = format!("--json={name}");
        let args = ["score", "ref.y4m", "dis.y4m", "-q", "--from", from, "--to", to, &name];
        succeed(folder, &[&args[..], more].concat());
    };
    part("a.json", "0", "3", &[]);
    part("b.json", "3", "6", &[]);
    part("c.json", "6", "99", &[]);
    part("neg.json", "3", "6", &["-m", "v0.6.1neg"]);
    succeed(folder, &["score", "ref.y4m", "dis.y4m", "-q", "--json=whole.json"]);
    for (parts, words) in [
        (&["a.json", "c.json"][..], "ends before frame 3, the next one begins with frame 6"),
        (&["b.json", "c.json"], "begins with frame 3"),
        (&["a.json", "b.json"], "the clip goes on"),
        (&["a.json", "neg.json", "c.json"], "differ in models"),
        (&["whole.json"], "no report of a part"),
    ] {
        let output = run(folder, &[&["merge"], parts].concat());
        assert_eq!(output.status.code(), Some(1), "{parts:?}");
        assert!(stderr(&output).contains(words), "{parts:?}: {}", stderr(&output));
    }
    succeed(folder, &["merge", "b.json", "a.json", "--open-end", "-o", "ab.json"]);
    succeed(folder, &["score", "ref.y4m", "dis.y4m", "-q", "--frames", "6", "--json=six.json"]);
    assert_eq!(timeless(&pair.path("ab.json")), timeless(&pair.path("six.json")));
    assert_eq!(json(&pair.path("b.json"))["frames"][0]["frameNum"], 3);
    let csv = stdout(&succeed(folder, &["score", "ref.y4m", "dis.y4m", "--from", "5", "--csv"]));
    assert!(csv.lines().nth(1).unwrap().starts_with("5,"), "{csv}");
    assert_eq!(run(folder, &["score", "ref.y4m", "dis.y4m", "--from", "9"]).status.code(), Some(1));
    assert_eq!(run(folder, &["score", "ref.y4m", "dis.y4m", "--from", "x"]).status.code(), Some(2));
}

#[test]
fn plots_of_any_report() {
    let pair = Pair::small(6);
    let folder = pair.folder.path();
    assert!(pair.vmaf(&["-q"]).status.success());
    succeed(folder, &["report", "out.json", "--svg", "a.svg", "--png", "a.png", "--html", "a.html"]);
    assert!(std::fs::read_to_string(pair.path("a.svg")).unwrap().contains("<polyline"));
    assert!(std::fs::read(pair.path("a.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(std::fs::read_to_string(pair.path("a.html")).unwrap().contains("Where the numbers come from"));
    assert_eq!(run(folder, &["report", "out.json"]).status.code(), Some(1));
}

/// A reference, encodes of it, one file that is no video, and a list of them.
fn encodes(count: u16, frames: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let clip = Clip::scene(Format::new(160, 96, Chroma::C420, 8).unwrap(), frames, 3);
    y4m(folder.path(), "ref.y4m", &clip);
    std::fs::create_dir(folder.path().join("encodes")).unwrap();
    let mut list = "distorted, note, reference\n".to_owned();
    for number in 0..count {
        let damaged = clip.clone().distorted(Distortion::Blocking { step: 10 + 5 * number });
        let name = format!("encodes/e{number}.y4m");
        y4m(folder.path(), &name, &damaged);
        list.push_str(&format!("\"{name}\",\"a, b\", ref.y4m\n"));
    }
    std::fs::write(folder.path().join("list.csv"), list).unwrap();
    folder
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_batch_scores_what_single_runs_score() {
    let folder = encodes(5, 6);
    let path = folder.path();
    // From elsewhere: paths in the list are relative to the list.
    let list = path.join("list.csv");
    let output =
        common::visus().args(["batch", list.to_str().unwrap(), "-q", "--per-frame", "-j3"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let mut found = lines(&stdout(&output));
    found.sort_by_key(|line| line["row"].as_u64());
    assert_eq!(found.len(), 5);
    for (number, line) in found.iter().enumerate() {
        let encode = format!("encodes/e{number}.y4m");
        let single = succeed(path, &["score", "ref.y4m", &encode, "--json"]);
        let single: Value = serde_json::from_str(&stdout(&single)).unwrap();
        assert_eq!((&line["status"], &line["frames"]), (&Value::from("ok"), &single["frames"]));
        assert_eq!(line["pooled_metrics"], single["pooled_metrics"]);
        assert!(line["distorted"].as_str().unwrap().ends_with(&encode));
    }
}

#[test]
fn errors_of_rows_do_not_stop_the_others() {
    let folder = encodes(2, 4);
    let path = folder.path();
    std::fs::write(path.join("encodes/d.txt"), "no video").unwrap();
    std::fs::write(path.join("encodes/.hidden"), "no video").unwrap();
    let short = Clip::scene(Format::new(64, 64, Chroma::C420, 8).unwrap(), 4, 3);
    y4m(path, "encodes/other.y4m", &short);
    let args = ["batch", "encodes", "-r", "ref.y4m", "-o", "out.ndjson", "-q"];
    let output = run(path, &args);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("2 of 4 encodes could not be scored"), "{}", stderr(&output));
    let found = lines(&std::fs::read_to_string(path.join("out.ndjson")).unwrap());
    let errors: Vec<&str> = found.iter().filter_map(|line| line["error"].as_str()).collect();
    assert_eq!((found.len(), errors.len()), (4, 2));
    assert!(errors.iter().any(|error| error.contains("d.txt is not a video")), "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("cannot be compared")), "{errors:?}");
    // Mended, only what failed is scored.
    std::fs::remove_file(path.join("encodes/d.txt")).unwrap();
    std::fs::remove_file(path.join("encodes/other.y4m")).unwrap();
    let refused = run(path, &args);
    assert!(stderr(&refused).contains("--resume goes on with it"), "{}", stderr(&refused));
    let output = succeed(path, &["batch", "encodes", "-r", "ref.y4m", "-o", "out.ndjson", "--resume"]);
    assert!(
        stderr(&output).contains("0 encodes scored, 2 were finished before, 0 failed"),
        "{}",
        stderr(&output)
    );
    for (args, words) in [
        (&["batch", "encodes"][..], "needs --reference"),
        (&["batch", "nowhere.csv"], "nowhere.csv"),
        (&["batch", "ref.y4m"], "no column 'distorted'"),
    ] {
        let output = run(path, args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
}

/// Killed at any moment and resumed, every encode has exactly one score, and none is scored twice.
#[test]
fn a_killed_batch_goes_on() {
    let folder = encodes(6, 40);
    let path = folder.path();
    let out = path.join("out.ndjson");
    let args = ["batch", "list.csv", "-o", "out.ndjson", "--resume", "-q", "-j1", "--threads", "1"];
    let read = || std::fs::read_to_string(&out).unwrap_or_default();
    for _ in 0..2 {
        let before = read().lines().count();
        let mut batch = common::visus().current_dir(path).args(args).stderr(Stdio::null()).spawn().unwrap();
        while read().lines().count() <= before && batch.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = batch.kill();
        batch.wait().unwrap();
    }
    // As if it had been killed within a write.
    let whole = read();
    let whole = &whole[..whole.rfind('\n').map_or(0, |end| end + 1)];
    std::fs::write(&out, format!("{whole}{{\"row\":6,\"status\":\"o")).unwrap();
    let finished = whole.lines().count();
    let last = common::visus().current_dir(path).args(&args[..5]).arg("-j3").output().unwrap();
    assert!(last.status.success(), "{}", stderr(&last));
    let words = format!("{} encodes scored", 6 - finished);
    assert!(stderr(&last).contains(&words), "{} should say {words}", stderr(&last));
    let mut rows: Vec<u64> = lines(&read()).iter().map(|line| line["row"].as_u64().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, [1, 2, 3, 4, 5, 6]);
}
