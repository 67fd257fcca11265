//! Which encodes are asked for.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::BatchArgs;
use crate::visus::args::{RawArgs, RunArgs, SelectionArgs};
use crate::visus::media::MediaArgs;

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
    let settings = Settings {
        selection: &args.selection,
        raw: &args.raw,
        run: &args.run,
        media: &args.media,
        per_frame: args.per_frame,
    };
    let row = |(number, (reference, distorted)): (usize, (PathBuf, PathBuf))| {
        let task = settings.task(&reference, &distorted);
        Row { number: number + 1, reference, distorted, task }
    };
    Ok(pairs.into_iter().enumerate().map(row).collect())
}

/// References and encodes that a list or a folder names.
pub fn pairs(list: &Path, reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
    let is_json = list.extension().is_some_and(|end| end == "jsonl" || end == "ndjson");
    let pairs = match list.is_dir() {
        true => folder(list, reference)?,
        false if is_json => json_lines(list, reference)?,
        false => csv_file(list, reference)?,
    };
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

fn csv_file(list: &Path, reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
    let named = || list.display().to_string();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(list).with_context(named)?;
    let heads = reader.headers().with_context(named)?.clone();
    let column = |names: &[&str]| {
        heads.iter().position(|head| names.iter().any(|name| head.eq_ignore_ascii_case(name)))
    };
    let distorted = column(&["distorted", "dis", "dist", "encode"]);
    let distorted =
        distorted.with_context(|| format!("{}: the heading has no column 'distorted'", named()))?;
    let references = column(&["reference", "ref"]);
    let home = list.parent().unwrap_or(Path::new(""));
    let mut pairs = Vec::new();
    for record in reader.records() {
        let record = record.with_context(named)?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |column: Option<usize>| {
            column.and_then(|column| record.get(column)).filter(|cell| !cell.is_empty())
        };
        let missing = |what: &str| format!("{} line {line}: there is no {what}", named());
        let reference = match (cell(references), reference) {
            (Some(reference), _) => beside(home, reference),
            (None, Some(reference)) => reference.to_path_buf(),
            (None, None) => bail!(missing("reference, and no --reference stands in")),
        };
        pairs.push((
            reference,
            beside(home, cell(Some(distorted)).with_context(|| missing("distorted video"))?),
        ));
    }
    Ok(pairs)
}

/// An object per line with the keys `distorted` and, unless one reference is for all, `reference`.
fn json_lines(list: &Path, reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
    let text = std::fs::read_to_string(list).with_context(|| list.display().to_string())?;
    let home = list.parent().unwrap_or(Path::new(""));
    let mut pairs = Vec::new();
    for (line, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let place = || format!("{} line {}", list.display(), line + 1);
        let row: Value = serde_json::from_str(text).with_context(place)?;
        let path = |key: &str| row.get(key).and_then(Value::as_str).filter(|path| !path.is_empty());
        let distorted = path("distorted").with_context(|| format!("{}: there is no 'distorted'", place()))?;
        let reference = match (path("reference"), reference) {
            (Some(path), _) => beside(home, path),
            (None, Some(reference)) => reference.to_path_buf(),
            (None, None) => bail!("{}: there is no 'reference', and no --reference stands in", place()),
        };
        pairs.push((reference, beside(home, distorted)));
    }
    Ok(pairs)
}

/// A name in a list is one beside the list, unless it is a whole path or an address.
fn beside(home: &Path, name: &str) -> PathBuf {
    if name.contains("://") { PathBuf::from(name) } else { home.join(name) }
}

/// How pairs are scored, as far as a result depends on it.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub selection: &'a SelectionArgs,
    pub raw: &'a RawArgs,
    pub run: &'a RunArgs,
    pub media: &'a MediaArgs,
    pub per_frame: bool,
}

impl Settings<'_> {
    /// All that the result of a pair depends on.
    pub fn task(&self, reference: &Path, distorted: &Path) -> Value {
        json!({
            "engine": crate::VERSION,
            "reference": file(reference),
            "distorted": file(distorted),
            "models": self.selection.models,
            "features": self.selection.features,
            "size": self.raw.size.map(|size| format!("{}x{}", size.width, size.height)),
            "pix_fmt": self.raw.pix_fmt.map(|format| format!("{} {}", format.chroma, format.depth)),
            "subsample": self.run.subsample,
            "frames": self.run.frames,
            "per_frame": self.per_frame,
            "media": format!("{:?}", self.media),
        })
    }
}

/// A file by its name, its length and the time of its last change.
pub fn file(path: &Path) -> Value {
    let facts = std::fs::metadata(path).ok();
    let changed = facts.as_ref().and_then(|facts| facts.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    json!({
        "path": path.to_string_lossy(),
        "bytes": facts.map(|facts| facts.len()),
        "changed_ns": changed.map(|changed| changed.as_nanos() as u64),
    })
}
