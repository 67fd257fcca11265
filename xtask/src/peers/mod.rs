//! The protocol's own yardsticks and other people's clients, against the built binaries.
//!
//! Conformance in both revisions, `mcpscore`, the Inspector's schema gate, schemathesis over the HTTP API, the client SDKs of
//! Python and TypeScript, and the web page and the MCP App in Chromium. All of it talks to servers on the loopback.

mod conformance;
mod install;
mod score;
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps::{bring, cargo, root, step};
use install::Peers;
use server::{Served, bounded};

/// A tool that has not ended by then hangs.
const HANGS: u64 = 600;

/// A browser test that has not ended by then hangs, also on a machine that is busy otherwise.
const BROWSER_HANGS: u64 = 1800;

/// Runs everything against the release build, which must be there.
pub fn check() -> Result<()> {
    check_binary(&root().join("target/release/visus"))
}

/// Runs everything against the binary that the command line names, or else against the release build.
pub fn check_named() -> Result<()> {
    match std::env::args().nth(2) {
        Some(path) => check_binary(&Path::new(&path).canonicalize().with_context(|| path.clone())?),
        None => check_binary(&root().join("target/release/visus")),
    }
}

fn check_binary(shipped: &Path) -> Result<()> {
    bring("chromium", "chromium");
    let peers = check_protocols(shipped)?;
    step("types of the web page", || page_types(&peers))?;
    step("web page", || web_page(&peers, shipped))?;
    step("MCP App", || mcp_app(&peers, shipped))?;
    step("agents", || crate::agents::check(shipped))
}

/// The server against suites and clients of its protocols.
fn check_protocols(shipped: &Path) -> Result<Peers> {
    if !shipped.is_file() {
        bail!("{} is not there; run cargo build --release first", shipped.display());
    }
    let peers = in_step("install peers", install::ready)?;
    step("conformance of the shipped binary", || conformance::shipped(&peers, shipped))?;
    let fixtures = fixtures_binary()?;
    step("conformance with fixtures", || conformance::with_fixtures(&peers, &fixtures))?;
    step("mcpscore", || score::all(&peers, shipped))?;
    step("bundle", || bundle(&peers))?;
    step("inspector", || inspector(&peers, shipped))?;
    step("schemathesis", || schemathesis(&peers, shipped))?;
    step("python client", || python_client(&peers, shipped))?;
    step("typescript clients", || typescript_clients(&peers, shipped))?;
    Ok(peers)
}

fn in_step<T>(name: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut made = None;
    step(name, || {
        made = Some(run()?);
        Ok(())
    })?;
    made.context("a step that made nothing")
}

/// Builds the binary with the suite's fixtures and puts it beside the peers. It is built as a part of the tests, so that
/// what these have compiled already is used again.
fn fixtures_binary() -> Result<PathBuf> {
    const FEATURE: &str = "visus/otel,visus/conformance-fixtures";
    cargo(&["test", "--workspace", "--no-run", "--quiet", "--test", "serve", "--features", FEATURE])?;
    let kept = root().join("target/peers/visus-fixtures");
    // A running copy cannot be written over, but it can be removed.
    let _ = std::fs::remove_file(&kept);
    std::fs::copy(root().join("target/debug/visus"), &kept).context("target/debug/visus")?;
    Ok(kept)
}

/// The manifest of the bundle, as the tool that packs it sees it.
fn bundle(peers: &Peers) -> Result<()> {
    let mut command = peers.node_tool("mcpb");
    command.arg("validate").arg(root().join("packaging/mcpb/manifest.json"));
    succeeds(command, "the manifest")
}

/// The Inspector lists the tools; with `--strict` it complains about schemas that clients stumble over.
fn inspector(peers: &Peers, visus: &Path) -> Result<()> {
    let mut command = peers.node_tool("mcp-inspector");
    command.arg("--cli").arg(visus).args(["mcp", "--toolset", "all", "--method", "tools/list", "--strict"]);
    let output = bounded(command, HANGS)?;
    let words = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !words.trim().is_empty() {
        bail!("the Inspector is not content ({}): {words}", output.status);
    }
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).context("its answer")?;
    let tools = listed["tools"].as_array().map_or(0, Vec::len);
    if tools == 0 {
        bail!("the Inspector saw no tools");
    }
    println!("{tools} tools, no complaint");
    Ok(())
}

/// Made-up requests against the description of the HTTP API. Two checks are left out. Not every request that fits the
/// description can be accepted: files, models and features must also exist. And a job that was ended by DELETE is still
/// there to be asked about.
fn schemathesis(peers: &Peers, visus: &Path) -> Result<()> {
    const TOKEN: &str = "only-for-this-test";
    let folder = tempfile::tempdir()?;
    let clips = folder.path().canonicalize()?;
    let mut command = Command::new(visus);
    command.args(["selftest", "--write-clips"]).arg(&clips);
    succeeds(command, "clips")?;
    let served = Served::start(visus, &[("VMAFX_MCP_HTTP_TOKEN", TOKEN)], &clips)?;
    let description = clips.join("openapi.json");
    let mut command = peers.python();
    command.arg(root().join("tests/clients/reachable.py"));
    command.args([&served.url("/openapi.json"), TOKEN]).arg(&clips).arg(&description);
    succeeds(command, "a description with clips that exist")?;
    let mut command = peers.python_tool("schemathesis");
    command.arg("run").arg(&description).args(["--url", &served.url("")]);
    command.args(["--header", &format!("Authorization: Bearer {TOKEN}")]);
    command.args(["--exclude-checks", "positive_data_acceptance,use_after_free", "--warnings", "off"]);
    // The seed makes a run the same as the last one; the time ends what would go on for ever.
    command.args(["--seed", "1", "--max-examples", "25", "--max-time", "40", "--request-timeout", "60"]);
    command.current_dir(folder.path());
    succeeds(command, "schemathesis")
}

fn python_client(peers: &Peers, visus: &Path) -> Result<()> {
    let mut command = peers.python();
    command.arg(root().join("tests/clients/python_sdk.py")).arg(visus);
    succeeds(command, "the Python client")
}

fn typescript_clients(peers: &Peers, visus: &Path) -> Result<()> {
    let mut command = peers.node();
    command.arg(root().join("tests/clients/typescript_sdk.cjs")).arg(visus).arg(peers.folder());
    succeeds(command, "the TypeScript clients")
}

/// The JavaScript of the page, by its JSDoc types.
fn page_types(peers: &Peers) -> Result<()> {
    let mut command = peers.node_tool("tsc");
    command.arg("--project").arg(root().join("crates/server/web/tsconfig.json"));
    succeeds(command, "types of the web page")
}

/// The page in Chromium, from the first click to the last. `VISUS_PICTURES` names a folder for screenshots.
fn web_page(peers: &Peers, visus: &Path) -> Result<()> {
    let mut command = peers.node();
    command.arg(root().join("tests/page/page.mjs")).arg(visus).arg(peers.folder());
    command.args(std::env::var_os("VISUS_PICTURES"));
    succeeds_within(command, "the web page", BROWSER_HANGS)
}

/// The MCP App in Chromium, inside the host of the extension's own SDK.
fn mcp_app(peers: &Peers, visus: &Path) -> Result<()> {
    let mut command = peers.node();
    command.arg(root().join("tests/page/app.mjs")).arg(visus).arg(peers.folder());
    command.args(std::env::var_os("VISUS_PICTURES"));
    succeeds_within(command, "the MCP App", BROWSER_HANGS)
}

/// Runs a command; what it said is shown if it fails, and a summary of it if not.
fn succeeds(command: Command, what: &str) -> Result<()> {
    succeeds_within(command, what, HANGS)
}

fn succeeds_within(command: Command, what: &str, seconds: u64) -> Result<()> {
    let output = bounded(command, seconds)?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{what}: {}\n{said}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let held = said.lines().filter(|line| line.trim_start().starts_with("ok:")).count();
    println!("{what}: passed{}", if held > 0 { format!(", {held} checks") } else { String::new() });
    Ok(())
}
