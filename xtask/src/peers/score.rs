//! `mcpscore`: some 150 rules about how well a server behaves and describes itself.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::install::Peers;
use super::server::{Served, bounded};
use crate::steps::root;

/// Of a hundred.
const ENOUGH: f64 = 98.0;

/// Over stdio, over HTTP, and over HTTP with a certificate.
pub fn all(peers: &Peers, visus: &Path) -> Result<()> {
    let mut command = audit(peers);
    command.arg("--stdio").arg(visus).arg("mcp");
    judge("stdio", command, &[])?;
    let folder = tempfile::tempdir()?;
    let open = ("VMAFX_MCP_HTTP_NO_AUTH", "1");
    let served = Served::start(visus, &[open], folder.path())?;
    let mut command = audit(peers);
    command.arg(served.url("/mcp"));
    // Without a certificate one rule cannot hold; the next run has one.
    judge("HTTP", command, &["security_tls_enabled"])?;
    drop(served);
    over_tls(peers, visus, folder.path())
}

fn over_tls(peers: &Peers, visus: &Path, folder: &Path) -> Result<()> {
    let mut command = peers.python();
    command.arg(root().join("tests/clients/certificate.py")).arg(folder);
    super::succeeds(command, "a certificate")?;
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (certificate, key) = (path("server.pem"), path("server.key"));
    let environment = [
        ("VMAFX_MCP_HTTP_NO_AUTH", "1"),
        ("VMAFX_MCP_HTTP_TLS_CERT", certificate.as_str()),
        ("VMAFX_MCP_HTTP_TLS_KEY", key.as_str()),
    ];
    let served = Served::start(visus, &environment, folder)?;
    let mut command = audit(peers);
    command.arg(served.url("/mcp")).env("SSL_CERT_FILE", path("authority.pem"));
    judge("HTTPS", command, &[])
}

fn audit(peers: &Peers) -> Command {
    let mut command = peers.python_tool("mcpscore");
    command.args(["--no-config", "--json"]);
    command
}

fn judge(what: &str, command: Command, excused: &[&str]) -> Result<()> {
    let output = bounded(command, super::HANGS)?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no report: {}", String::from_utf8_lossy(&output.stderr)))?;
    let (score, most) = points(&report, excused)?;
    let per_cent = 100.0 * score / most;
    println!("{what}: {score} of {most} points, {per_cent:.1} %");
    for rule in failed(&report) {
        println!("  not held: {}", rule["rule_name"].as_str().unwrap_or_default());
    }
    if per_cent < ENOUGH {
        bail!("{what}: {per_cent:.1} % is less than {ENOUGH} %");
    }
    Ok(())
}

fn failed(report: &Value) -> impl Iterator<Item = &Value> {
    report["results"].as_array().into_iter().flatten().filter(|rule| rule["passed"] == false)
}

/// Points won and points to win, without the rules that are excused and did fail.
fn points(report: &Value, excused: &[&str]) -> Result<(f64, f64)> {
    let number = |key: &str| report[key].as_f64().with_context(|| format!("the report has no {key}"));
    let left_out: f64 = failed(report)
        .filter(|rule| rule["rule_id"].as_str().is_some_and(|id| excused.contains(&id)))
        .filter_map(|rule| rule["severity_value"].as_f64())
        .sum();
    Ok((number("score")?, number("max_score")? - left_out))
}
