//! What other files say, written from what the binary itself says: the table of tools in `docs/agents.md` or `README.md`,
//! whichever has its marks, the list in the bundle's manifest, and the tables of keys in `docs/report-format.md`. Versions of
//! the packages are compared with the workspace's.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::formats;
use crate::steps::root;

const BEGIN: &str = "<!-- tools: made by cargo xtask readme -->\n";
const END: &str = "<!-- end of tools -->";

/// Where the table of tools may stand.
const TABLE_FILES: [&str; 2] = ["docs/agents.md", "README.md"];
const MANIFEST: &str = "packaging/mcpb/manifest.json";

/// Writes the lists, or only compares them.
pub fn run(only_check: bool) -> Result<()> {
    let visus = root().join("target/release/visus");
    let tools = listed(&visus)?;
    keep(formats::PAGE, only_check, |text| formats::replaced(text, &visus))?;
    keep(table_file()?, only_check, |text| replaced(text, &table(&tools)))?;
    keep(MANIFEST, only_check, |text| manifest(text, &tools))?;
    keep("server.json", true, |text| {
        let entry: Value = serde_json::from_str(text)?;
        same_version("server.json", &entry)?;
        same_version("the package in server.json", &entry["packages"][0])?;
        Ok(text.to_owned())
    })
}

/// The page that has the marks of the table.
fn table_file() -> Result<&'static str> {
    let has_marks =
        |name: &&str| std::fs::read_to_string(root().join(name)).is_ok_and(|text| text.contains(BEGIN));
    TABLE_FILES
        .into_iter()
        .find(has_marks)
        .with_context(|| format!("no page has the line {:?}", BEGIN.trim()))
}

/// Compares a file with what it should be, and writes that unless only checking.
fn keep(name: &str, only_check: bool, wanted: impl FnOnce(&str) -> Result<String>) -> Result<()> {
    let path = root().join(name);
    let text = std::fs::read_to_string(&path).with_context(|| name.to_owned())?;
    let wanted = wanted(&text).with_context(|| name.to_owned())?;
    if wanted == text {
        return Ok(());
    }
    if only_check {
        bail!("{name} is not what the binary lists; run cargo xtask readme");
    }
    Ok(std::fs::write(path, wanted)?)
}

/// The bundle's manifest with the tools as they are.
fn manifest(text: &str, tools: &[Value]) -> Result<String> {
    let mut manifest: Value = serde_json::from_str(text)?;
    same_version("the manifest", &manifest)?;
    let listed = |tool: &Value| json!({ "name": tool["name"], "description": tool["description"] });
    manifest["tools"] = tools.iter().map(listed).collect();
    Ok(format!("{manifest:#}\n"))
}

/// A registry takes one exact version and a description of at most a hundred characters.
fn same_version(what: &str, entry: &Value) -> Result<()> {
    let ours = env!("CARGO_PKG_VERSION");
    if entry["version"] != ours {
        bail!("{what} is of version {}, the workspace of {ours}", entry["version"]);
    }
    let length = entry["description"].as_str().map_or(0, |text| text.chars().count());
    if length > 100 {
        bail!("{what} has a description of {length} characters; at most 100 are allowed");
    }
    Ok(())
}

/// Asks the binary, as any client does.
fn listed(visus: &Path) -> Result<Vec<Value>> {
    let mut child = Command::new(visus)
        .args(["mcp", "--toolset", "all"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} (cargo build --release makes it)", visus.display()))?;
    let answered = ask(&mut child);
    // The server ends with its input.
    drop(child.stdin.take());
    child.wait()?;
    answered
}

fn ask(child: &mut std::process::Child) -> Result<Vec<Value>> {
    let about = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "xtask", "version": "1" },
    });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": about } });
    let mut input = child.stdin.as_ref().context("its input")?;
    writeln!(input, "{request}")?;
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().context("its output")?).read_line(&mut line)?;
    let answer: Value = serde_json::from_str(&line).with_context(|| format!("its answer: {line}"))?;
    answer["result"]["tools"].as_array().cloned().with_context(|| format!("no tools in {line}"))
}

/// A row for each tool: name, what it is for, its arguments.
fn table(tools: &[Value]) -> String {
    let mut table = String::from("| tool | for | arguments |\n|---|---|---|\n");
    for tool in tools {
        let text = |key: &str| tool[key].as_str().unwrap_or_default();
        let row = format!("| `{}` | {} | {} |\n", text("name"), text("description"), arguments(tool));
        table.push_str(&row);
    }
    table
}

/// Those that must be given, then a few of the others.
fn arguments(tool: &Value) -> String {
    const SHOWN: usize = 8;
    let schema = &tool["inputSchema"];
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let names = schema["properties"].as_object().into_iter().flat_map(|map| map.keys());
    let others: Vec<String> =
        names.filter(|name| !required.contains(&name.as_str())).map(|name| format!("`{name}`")).collect();
    let mut cell: Vec<String> = required.iter().map(|name| format!("**`{name}`**")).collect();
    cell.extend(others.iter().take(SHOWN).cloned());
    if others.len() > SHOWN {
        cell.push(format!("and {} more", others.len() - SHOWN));
    }
    if cell.is_empty() { "–".to_owned() } else { cell.join(", ") }
}

fn replaced(text: &str, table: &str) -> Result<String> {
    let missing = || format!("there is no line {:?}", BEGIN.trim());
    let (before, rest) = text.split_once(BEGIN).with_context(missing)?;
    let (_, after) = rest.split_once(END).with_context(|| format!("there is no line {END:?}"))?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_given_comes_first() {
        let tool = json!({ "name": "t", "description": "Does.", "inputSchema": {
            "properties": { "a": {}, "b": {} }, "required": ["b"],
        } });
        assert_eq!(table(&[tool]).lines().last(), Some("| `t` | Does. | **`b`**, `a` |"));
    }

    #[test]
    fn only_what_stands_between_the_marks_changes() {
        let text = format!("one\n{BEGIN}old\n{END}\ntwo\n");
        assert_eq!(replaced(&text, "new\n").unwrap(), format!("one\n{BEGIN}new\n{END}\ntwo\n"));
        assert!(replaced("no marks", "new").is_err());
    }
}
