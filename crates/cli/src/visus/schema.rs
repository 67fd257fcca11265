//! `visus schema`: what the JSON outputs look like, for programs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use visus_report::schema::OutputSchema;

use super::score::print_all;

const EXAMPLES: &str = "\
With FILE, the file is validated against the schema. docs/report-format.md explains every key.

Examples:
  visus schema
  visus schema score > score.schema.json
  visus schema score report.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SchemaArgs {
    /// Name of the output [default: list all]
    pub name: Option<String>,

    /// A JSON file to validate against the schema
    #[arg(value_hint = ValueHint::FilePath, requires = "name")]
    pub file: Option<PathBuf>,
}

/// Every JSON output of the program.
fn outputs() -> impl Iterator<Item = &'static OutputSchema> {
    let measured = [visus_report::schema::OUTPUTS, visus_tune::schema::OUTPUTS];
    #[cfg(feature = "eval")]
    let measured = measured.into_iter().chain([visus_eval::OUTPUTS]);
    measured.into_iter().flatten()
}

pub fn run(args: &SchemaArgs) -> Result<()> {
    let Some(name) = &args.name else { return print_all(&list()) };
    let Some(output) = outputs().find(|output| output.name == name) else {
        let known: Vec<&str> = outputs().map(|output| output.name).collect();
        bail!("there is no output '{name}'; there are {}", known.join(", "));
    };
    match &args.file {
        None => print_all(&format!("{:#}\n", output.json())),
        Some(file) => check(output, file),
    }
}

/// A file may hold one value or a line for each, as a batch does.
fn check(output: &OutputSchema, file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut values = 0;
    for value in serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>() {
        let value = value.with_context(|| format!("{} is no JSON", file.display()))?;
        values += 1;
        output.check(&value).with_context(|| format!("{} is no output '{}'", file.display(), output.name))?;
    }
    if values == 0 {
        bail!("{} is empty", file.display());
    }
    print_all(&format!("{}: {values} valid {}\n", file.display(), output.name))
}

fn list() -> String {
    let width = outputs().map(|output| output.name.len()).max().unwrap_or(0);
    outputs().map(|output| format!("{:width$}  {}\n", output.name, output.about)).collect()
}
