//! Which encodes are asked for.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::BatchArgs;

/// One encode and its reference.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its place in the list, from 1 on.
    pub number: usize,
    pub reference: PathBuf,
    pub distorted: PathBuf,
    /// Everything its result depends on: the same task need not be done twice.
    pub task: Value,
}

pub fn read(args: &BatchArgs) -> Result<Vec<Row>> {
    let pairs = pairs(&args.list, args.reference.as_deref())?;
    let row = |(number, (reference, distorted)): (usize, (PathBuf, PathBuf))| {
        let task = task(args, &reference, &distorted);
        Row { number: number + 1, reference, distorted, task }
    };
    Ok(pairs.into_iter().enumerate().map(row).collect())
}

/// Reference and encode of every row of a list, or of every file of a folder.
pub fn pairs(list: &Path, reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
    let pairs = if list.is_dir() { folder(list, reference)? } else { csv_file(list, reference)? };
    if pairs.is_empty() {
        bail!("{} names no encode", list.display());
    }
    Ok(pairs)
}

/// All files of a folder, by name, but for the reference and hidden ones.
fn folder(list: &Path, reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
    let reference = reference.context("a folder of encodes needs --reference FILE")?;
    let same = |path: &Path| match (path.canonicalize(), reference.canonicalize()) {
        (Ok(path), Ok(reference)) => path == reference,
        _ => false,
    };
    let cannot = || format!("cannot list {}", list.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(list).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_file() && !hidden && !same(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files.into_iter().map(|file| (reference.to_path_buf(), file)).collect())
}

fn csv_file(list: &Path, usual: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
    let named = || list.display().to_string();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(list).with_context(named)?;
    let heads = reader.headers().with_context(named)?.clone();
    let column = |names: &[&str]| {
        heads.iter().position(|head| names.iter().any(|name| head.eq_ignore_ascii_case(name)))
    };
    let distorted = column(&["distorted", "dis", "dist", "encode"]);
    let distorted =
        distorted.with_context(|| format!("{}: the heading has no column 'distorted'", named()))?;
    let reference = column(&["reference", "ref"]);
    let home = list.parent().unwrap_or(Path::new(""));
    let mut pairs = Vec::new();
    for record in reader.records() {
        let record = record.with_context(named)?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |column: Option<usize>| {
            column.and_then(|column| record.get(column)).filter(|cell| !cell.is_empty())
        };
        let missing = |what: &str| format!("{} line {line}: there is no {what}", named());
        let reference = match (cell(reference), usual) {
            (Some(reference), _) => home.join(reference),
            (None, Some(reference)) => reference.to_path_buf(),
            (None, None) => bail!(missing("reference, and no --reference stands in")),
        };
        pairs
            .push((reference, home.join(cell(Some(distorted)).with_context(|| missing("distorted video"))?)));
    }
    Ok(pairs)
}

fn task(args: &BatchArgs, reference: &Path, distorted: &Path) -> Value {
    json!({
        "engine": crate::VERSION,
        "reference": file(reference),
        "distorted": file(distorted),
        "models": args.selection.models,
        "features": args.selection.features,
        "size": args.raw.size.map(|size| format!("{}x{}", size.width, size.height)),
        "pix_fmt": args.raw.pix_fmt.map(|format| format!("{} {}", format.chroma, format.depth)),
        "subsample": args.run.subsample,
        "frames": args.run.frames,
        "per_frame": args.per_frame,
        "media": format!("{:?}", args.media),
    })
}

/// A file by its name, its length and the time of its last change.
fn file(path: &Path) -> Value {
    let facts = std::fs::metadata(path).ok();
    let changed = facts.as_ref().and_then(|facts| facts.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    json!({
        "path": path.to_string_lossy(),
        "bytes": facts.map(|facts| facts.len()),
        "changed_ns": changed.map(|changed| changed.as_nanos() as u64),
    })
}
