//! `visus cache`: what is kept, and how to be rid of it.

use anyhow::Result;
use serde_json::Value;
use visus_tune::cache::Entry;

use super::args::{CacheAction, CacheCommand};
use super::{megabytes, open_cache, table};
use crate::visus::score::print_all;

pub fn run(args: &CacheCommand) -> Result<()> {
    let cache = open_cache(&args.cache)?;
    match args.action {
        CacheAction::Ls => {
            let usage = cache.usage();
            let rows: Vec<Vec<String>> = cache.list().iter().map(cells).collect();
            print_all(&format!(
                "{}{} results and {} encodes, {} of {} in {}\n",
                table(&["kind", "size", "what"], &rows),
                usage.values,
                usage.files,
                megabytes(usage.bytes),
                megabytes(usage.limit),
                cache.folder().display()
            ))
        }
        CacheAction::Clear => {
            let cleared = cache.clear()?;
            print_all(&format!("{} entries removed, {}\n", cleared.entries, megabytes(cleared.bytes)))
        }
    }
}

fn cells(entry: &Entry) -> Vec<String> {
    let text = |facts: &Value, name: &str| facts[name].as_str().unwrap_or_default().to_owned();
    let (kind, what) = match &entry.facts {
        None => (
            "file".to_owned(),
            entry.path.file_name().unwrap_or_default().to_string_lossy().chars().take(12).collect(),
        ),
        Some(facts) => {
            let what = match text(facts, "kind").as_str() {
                "score" => {
                    let source = entry.note.as_deref().unwrap_or_default();
                    format!("{} {} of {source}", text(facts, "encoder"), facts["quality"])
                }
                "encode" => {
                    let words = facts["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str);
                    words.collect::<Vec<_>>().join(" ")
                }
                "source" => text(facts, "path"),
                _ => text(facts, "encoder"),
            };
            (text(facts, "kind"), what)
        }
    };
    vec![kind, megabytes(entry.bytes), what]
}
