//! The protocol's conformance suite, in both revisions that it has requirement sets for.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::install::Peers;
use super::server::{Served, bounded};

const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
const PACKAGE: &str = "node_modules/@modelcontextprotocol/conformance";

/// What asks for tools, resources or prompts by a name that no real server has, and so cannot pass on the shipped binary.
/// Where only some checks of a scenario do, they are named. All of it must pass with the fixtures.
const NEEDS_FIXTURES: &[(&str, &[&str])] = &[
    (
        "server-stateless",
        &["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"],
    ),
    ("logging-set-level", &[]),
    ("tools-call-image", &[]),
    ("tools-call-audio", &[]),
    ("tools-call-embedded-resource", &[]),
    ("tools-call-mixed-content", &[]),
    ("tools-call-with-logging", &[]),
    ("tools-call-with-progress", &[]),
    ("tools-call-sampling", &[]),
    ("tools-call-elicitation", &[]),
    ("elicitation-sep1034-defaults", &[]),
    ("elicitation-sep1330-enums", &[]),
    ("resources-read-text", &[]),
    ("resources-read-binary", &[]),
    ("resources-templates-read", &[]),
    ("resources-subscribe", &[]),
    ("resources-unsubscribe", &[]),
    ("prompts-get-simple", &[]),
    ("prompts-get-with-args", &[]),
    ("prompts-get-embedded-resource", &[]),
    ("prompts-get-with-image", &[]),
    ("input-required-result-basic-elicitation", &[]),
    ("input-required-result-basic-sampling", &[]),
    ("input-required-result-basic-list-roots", &[]),
    ("input-required-result-request-state", &[]),
    ("input-required-result-multiple-input-requests", &[]),
    ("input-required-result-multi-round", &[]),
    ("input-required-result-non-tool-request", &[]),
    ("input-required-result-result-type", &[]),
    ("input-required-result-tampered-state", &[]),
    ("input-required-result-capability-check", &[]),
];

/// The binary that ships: whatever needs no fixture must pass.
pub fn shipped(peers: &Peers, visus: &Path) -> Result<()> {
    run(peers, visus, |scenario, check| {
        let entry = NEEDS_FIXTURES.iter().find(|(name, _)| *name == scenario);
        entry.is_some_and(|(_, checks)| checks.is_empty() || checks.contains(&check))
    })
}

/// With the fixtures everything must pass.
pub fn with_fixtures(peers: &Peers, visus: &Path) -> Result<()> {
    run(peers, visus, |_, _| false)
}

fn run(peers: &Peers, visus: &Path, excused: impl Fn(&str, &str) -> bool) -> Result<()> {
    let mut misses = Vec::new();
    for revision in REVISIONS {
        let results = results(peers, visus, revision)?;
        let (mut passed, mut waiting) = (0, 0);
        let scored = scored(peers, revision)?;
        for scenario in &scored {
            let failed =
                results.get(scenario).with_context(|| format!("{scenario} of {revision} did not run"))?;
            let unexcused: Vec<&(String, String)> =
                failed.iter().filter(|(check, _)| !excused(scenario, check)).collect();
            passed += usize::from(failed.is_empty());
            waiting += usize::from(!failed.is_empty() && unexcused.is_empty());
            for (check, reason) in unexcused {
                misses.push(format!("{revision} {scenario}: {check}: {reason}"));
            }
        }
        println!("{revision}: {passed} of {} scored scenarios pass, {waiting} need fixtures", scored.len());
    }
    if !misses.is_empty() {
        bail!("{} misses\n  {}", misses.len(), misses.join("\n  "));
    }
    Ok(())
}

/// Each scenario that ran, with the checks that failed and why.
fn results(peers: &Peers, visus: &Path, revision: &str) -> Result<BTreeMap<String, Vec<(String, String)>>> {
    let folder = tempfile::tempdir()?;
    let served = Served::start(visus, &[("VMAFX_MCP_HTTP_NO_AUTH", "1")], folder.path())?;
    let mut command = peers.node();
    command.arg(peers.folder().join(PACKAGE).join("dist/index.js")).arg("server");
    command.args(["--url", &served.url("/mcp"), "--requirements", revision]);
    command.arg("--output-dir").arg(folder.path());
    // Its exit status tells of failures, which are told apart below.
    let output = bounded(command, super::HANGS)?;
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(scenario) = scenario(&name) {
            let checks = std::fs::read(path.join("checks.json")).with_context(|| name.clone())?;
            found.insert(scenario.to_owned(), failures(&serde_json::from_slice(&checks)?));
        }
    }
    if found.is_empty() {
        bail!("the suite left no results: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(found)
}

/// Folders are called `server-NAME-TIME`, the time as `2026-01-31T12-00-00-000Z`.
fn scenario(folder: &str) -> Option<&str> {
    const TIME: usize = "-2026-01-31T12-00-00-000Z".len();
    let named = folder.strip_prefix("server-")?;
    named.get(..named.len().checked_sub(TIME)?)
}

fn failures(checks: &Value) -> Vec<(String, String)> {
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let failed = checks.as_array().into_iter().flatten().filter(|check| check["status"] == "FAILURE");
    failed.map(|check| (text(check, "id"), text(check, "errorMessage"))).collect()
}

/// The scenarios that count for a revision, as the suite itself lists them.
fn scored(peers: &Peers, revision: &str) -> Result<Vec<String>> {
    let path = peers.folder().join(PACKAGE).join(format!("requirements/{revision}.yaml"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let list = text.lines().skip_while(|line| *line != "server:").skip(1);
    let names: Vec<String> = list.map_while(|line| line.strip_prefix("  - ")).map(str::to_owned).collect();
    if names.is_empty() {
        bail!("{} lists no scenarios", path.display());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_folder_names_its_scenario() {
        assert_eq!(scenario("server-ping-2026-11-15T11-43-57-427Z"), Some("ping"));
        let stateless = "server-server-stateless-2026-11-15T11-43-57-427Z";
        assert_eq!(scenario(stateless), Some("server-stateless"));
        assert_eq!(scenario("authority.pem"), None);
    }

    #[test]
    fn only_failures_fail() {
        let checks = json!([
            { "id": "a", "status": "SUCCESS" },
            { "id": "b", "status": "FAILURE", "errorMessage": "no" },
            { "id": "c", "status": "SKIPPED" },
        ]);
        assert_eq!(failures(&checks), [("b".to_owned(), "no".to_owned())]);
    }
}
