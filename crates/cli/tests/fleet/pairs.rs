//! Ranges of encoded films: their pairs are found while planning, and workers decode nothing that precedes a range.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use visus_video::synthetic::Clip;
use visus_video::{Chroma, Format};

use super::common::{stderr, y4m};
use super::{assert_same, lines, read_plan, run, succeed, tasks};

/// An encode that begins later than its reference, with drops and doubles about where it is cut.
pub fn edited(root: &Path, container: &str) -> [PathBuf; 2] {
    let clip = Clip::scene(Format::new(160, 90, Chroma::C420, 8).unwrap(), 200, 4);
    let whole = y4m(root, "whole.y4m", &clip);
    let bytes = std::fs::read(&whole).unwrap();
    let start = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut edited = bytes[..start].to_vec();
    for (place, frame) in bytes[start..].chunks(6 + 160 * 90 * 3 / 2).enumerate().skip(4) {
        // Dropped, doubled, or as it is.
        let times = match place {
            49 | 98 | 150 => 0,
            51 | 100 | 148 => 2,
            _ => 1,
        };
        (0..times).for_each(|_| edited.extend_from_slice(frame));
    }
    let cut = root.join("cut.y4m");
    std::fs::write(&cut, edited).unwrap();
    let encode = |from: &Path, to: &str, crf: &str| {
        let to = root.join(to).with_extension(container);
        let mut command = Command::new("ffmpeg");
        command
            .args(["-v", "error", "-i"])
            .arg(from)
            .args(["-c:v", "libx264", "-crf", crf, "-g", "24"])
            .arg(&to);
        assert!(command.status().unwrap().success());
        to
    };
    [encode(&whole, "reference", "10"), encode(&cut, "distorted", "30")]
}

fn list(root: &Path, [reference, distorted]: &[PathBuf; 2]) {
    let text = format!("reference,distorted\n{},{}\n", reference.display(), distorted.display());
    std::fs::write(root.join("pairs.csv"), text).unwrap();
}

/// Starting two decoders counts as a tenth of a second, so that pieces of 0.03 s are four at least, however fast the machine is.
fn plan(root: &Path, more: &[&str]) -> String {
    let more = if more.is_empty() { &["--shards", "3"] } else { more };
    let words = ["plan", "pairs.csv", "--piece", "0.03", "-o", "plan"];
    stderr(&succeed(root, &[&words[..], more, &["--", "-m", "v0.6.1"]].concat()))
}

/// What the workers said; the gathered lines must be those of one batch.
fn work(root: &Path) -> String {
    let said = (0..3).map(|shard| stderr(&succeed(root, &["work", "plan", "--shard", &shard.to_string()])));
    let said = said.collect();
    succeed(root, &["gather", "plan", "-o", "gathered.ndjson"]);
    succeed(root, &["batch", "pairs.csv", "-q", "-m", "v0.6.1", "-o", "batch.ndjson"]);
    assert_same(&root.join("gathered.ndjson"), &root.join("batch.ndjson"));
    let batch = lines(&root.join("batch.ndjson"));
    assert!(batch[0]["pairing"]["missing_frames"]["count"].as_u64() != Some(0), "{}", batch[0]["pairing"]);
    std::fs::remove_file(root.join("batch.ndjson")).unwrap();
    said
}

/// Files of pairs in the plan.
fn pair_files(root: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries(&root.join("plan/pairs"));
    folders.flat_map(|folder| entries(&folder.path())).map(|entry| entry.path()).collect()
}

#[test]
fn pairs_are_found_once() {
    for container in ["mp4", "mkv"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        list(root, &edited(root, container));
        let said = plan(root, &[]);
        assert!(said.contains("finding its pairs (1 of 1)"), "{said}");
        let tasks = tasks(&root.join("plan"));
        assert!(tasks.len() > 3 && tasks.iter().all(|task| task["has_pairs"] == true), "{tasks:?}");
        assert_eq!(pair_files(root).len(), tasks.len() + 1);
        let said = work(root);
        assert!(!said.contains("anew"), "{said}");
        let again = plan(root, &[]);
        assert!(!again.contains("finding"), "they are known: {again}");
    }
}

/// What lies before a range is not looked at: it may be damaged.
#[test]
fn a_range_is_decoded_from_where_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let videos = edited(root, "mp4");
    list(root, &videos);
    plan(root, &["--shards", "100"]);
    for video in &videos {
        let mut file = std::fs::File::options().write(true).open(video).unwrap();
        let changed = file.metadata().unwrap().modified().unwrap();
        // Behind what is looked at to learn what the video is.
        file.seek(SeekFrom::Start(file.metadata().unwrap().len() / 8)).unwrap();
        file.write_all(&[0; 1000]).unwrap();
        file.set_modified(changed).unwrap();
    }
    let (_, bundles) = read_plan(&root.join("plan"));
    let from = |bundle: &Value| bundle["tasks"][0]["range"][0].as_u64();
    let code = |bundle: &Value| {
        run(root, &["work", "plan", "-q", "--shard", &bundle["shard"].to_string()]).status.code()
    };
    let first = bundles.iter().min_by_key(|bundle| from(bundle)).unwrap();
    let last = bundles.iter().max_by_key(|bundle| from(bundle)).unwrap();
    assert_eq!((code(first), code(last)), (Some(3), Some(0)), "only the first has damage: {bundles:?}");
}

/// Frames that are not those that were paired are noticed, and so are files that are missing or damaged.
#[test]
fn pairs_that_do_not_fit_are_found_anew() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    list(root, &edited(root, "mp4"));
    plan(root, &[]);
    let parts: Vec<PathBuf> = pair_files(root)
        .into_iter()
        .filter(|path| std::fs::read_to_string(path).unwrap().starts_with('{'))
        .collect();
    std::fs::remove_file(&parts[0]).unwrap();
    std::fs::write(&parts[1], "{\"first\":").unwrap();
    let mut changed: Value = serde_json::from_slice(&std::fs::read(&parts[2]).unwrap()).unwrap();
    for prints in changed["prints"].as_array_mut().unwrap() {
        prints[1] = (prints[1].as_u64().unwrap() ^ 1).into();
    }
    std::fs::write(&parts[2], changed.to_string()).unwrap();
    let said = work(root);
    assert!(said.contains("is not the one that was paired; pairing it anew"), "{said}");
}

/// Containers without an index, and whoever does not want to wait for the plan.
#[test]
fn films_whose_pairs_are_not_found_are_cut_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    list(root, &edited(root, "ts"));
    let said = plan(root, &[]);
    assert!(said.contains("its frames cannot be reached by their number"), "{said}");
    assert!(said.contains("its ranges are paired when they are scored"), "{said}");
    assert!(tasks(&root.join("plan")).iter().all(|task| task.get("has_pairs").is_none()));
    work(root);
    list(root, &edited(root, "mp4"));
    assert!(!plan(root, &["--find-pairs", "0"]).contains("finding"));
    assert!(pair_files(root).is_empty());
    let refused = run(root, &["plan", "pairs.csv", "-o", "other", "--find-pairs", "-1"]);
    assert_eq!(refused.status.code(), Some(2));
}
