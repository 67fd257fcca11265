//! `visus merge`: the parts of a film become the report of the whole.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueHint};
use serde_json::Value;
use visus_report::part;

use super::pages::{self, PageOutputs};
use super::score::{print_all, write_json};

const EXAMPLES: &str = "\
The result equals one run over all frames, byte for byte, except for `fps`: frames over the sum of the parts' times. \
If parts ran at different CPU levels, all of them are named.

Example, in two parts that may run on two machines:
  visus score ref.y4m dis.y4m --to 5000 --json=part1.json
  visus score ref.y4m dis.y4m --from 5000 --json=part2.json
  visus merge part1.json part2.json -o all.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MergeArgs {
    /// JSON reports of the parts, in any order
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub parts: Vec<PathBuf>,

    /// Write the report to this file [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Allow the last part to be missing
    #[arg(long)]
    pub open_end: bool,

    #[command(flatten)]
    pub pages: PageOutputs,
}

pub fn run(args: &MergeArgs) -> Result<()> {
    let read = |path: &PathBuf| Ok((path.display().to_string(), pages::read_json(path)?));
    let parts: Result<Vec<(String, Value)>> = args.parts.iter().map(read).collect();
    let merged = part::merge(parts?, args.open_end, &join_pairing, &visus_scoring::join_diagnosis)?;
    match &args.output {
        Some(path) if path != Path::new("-") => replace(path, |out| write_report(out, &merged))?,
        _ if args.pages.wanted() && args.output.is_none() => {}
        Some(path) => write_json(path, &merged)?,
        None => print_all(&format!("{merged:#}\n"))?,
    }
    args.pages.write(&merged, &[])
}

/// The sections about pairing, from what parts know of it.
pub fn join_pairing(shares: &[Value]) -> Result<Vec<(&'static str, Value)>, String> {
    let joined = visus_media::join_shares(shares)?;
    Ok(vec![("comparability", joined.comparability), ("pairing", joined.pairing)])
}

/// The file appears whole or not at all, and may be one of those that it is made from.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("cannot create {}", path.display());
    let file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    let mut out = std::io::BufWriter::new(file);
    write(&mut out).with_context(cannot)?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(cannot)?;
    readable(file.as_file()).and_then(|()| file.as_file().sync_all()).with_context(cannot)?;
    file.persist(path).with_context(cannot)?;
    Ok(())
}

/// A report as JSON, with a newline at its end.
fn write_report(out: &mut dyn Write, report: &Value) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// Temporary files are for their owner alone; reports and plans are for all whom the folder lets in.
#[cfg(unix)]
pub(super) fn readable(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
pub(super) fn readable(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}
