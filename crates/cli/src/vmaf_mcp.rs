//! `vmaf-mcp`: the peer's flags and environment, on our server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use visus_server::config::{EngineKind, Flags};
use visus_server::http;
use visus_server::report::Detail;
use visus_server::tools::offer::{Offer, SetName};

use crate::visus::mcp;

const USAGE: &str = "\
usage: vmaf-mcp [--transport stdio|http] [--port PORT] [--log-level LEVEL] [--engine native|external] [--allow DIR]
                [--toolset SETS] [--tools NAMES]

  --transport   stdio (default) or http
  --port        HTTP port (default: VMAFX_PORT or 8080)
  --log-level   log level (default: VMAFX_LOG_LEVEL or info)
  --engine      native (default), or external: a vmaf executable (VMAF_BIN)
  --allow DIR   a further folder whose files may be read; may be repeated (see VMAF_MCP_ALLOW)
  --toolset     offer only these sets of tools: core, tuning, models, all (default: all)
  --tools       offer these tools, by name
";

/// What the arguments ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    http: bool,
    port: Option<String>,
    log_level: Option<String>,
    engine: Option<EngineKind>,
    allow: Vec<PathBuf>,
    toolset: Vec<SetName>,
    tools: Vec<String>,
    help: bool,
}

/// Runs the command with these arguments, the program's name first. Its exit code is decided here.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args = args.skip(1).peekable();
    if args.next_if(|arg| arg == visus_child::supervise::MARKER).is_some() {
        return visus_child::supervise::main(args);
    }
    if args.next_if(|arg| arg == visus_eval::onnx::worker::MARKER).is_some() {
        return crate::onnx_worker(args);
    }
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let result = Asked::parse(&args).and_then(|asked| run(&asked));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vmaf-mcp: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(asked: &Asked) -> Result<()> {
    if asked.help {
        print!("{USAGE}");
        return Ok(());
    }
    visus_server::allocator::fix_thresholds();
    let flags = Flags {
        engine: asked.engine,
        allow: asked.allow.clone(),
        http: asked.http,
        launcher: crate::visus::launcher(),
        // Clients of the server that this one stands in for expect all tools and whole reports.
        offer: Offer::from_flags(&asked.toolset, &asked.tools, Offer::all()).map_err(anyhow::Error::msg)?,
        auto_detail: Detail::Full,
        ..Flags::default()
    };
    if asked.http {
        let flags_of_http = http::Flags {
            page: false,
            port: asked.port.clone(),
            log_level: asked.log_level.clone(),
            ..http::Flags::default()
        };
        return Ok(http::serve(&flags_of_http, &flags)?);
    }
    mcp::serve(&flags)
}

impl Asked {
    /// Reads the flags. Those that the peer does not know, it passes over; so do we.
    fn parse(args: &[String]) -> Result<Self> {
        let mut asked = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (arg.as_str(), None),
            };
            let mut value = || match inline.clone().or_else(|| args.next().cloned()) {
                Some(value) => Ok(value),
                None => bail!("{name} needs a value\n{USAGE}"),
            };
            match name {
                "--transport" => asked.http = is_http(&value()?)?,
                "--port" => asked.port = Some(value()?),
                "--log-level" => asked.log_level = Some(value()?),
                "--engine" => asked.engine = Some(value()?.parse().map_err(anyhow::Error::msg)?),
                "--allow" => asked.allow.push(PathBuf::from(value()?)),
                "--toolset" => {
                    let sets = value()?;
                    for set in sets.split(',') {
                        asked.toolset.push(set.parse().map_err(anyhow::Error::msg)?);
                    }
                }
                "--tools" => asked.tools.push(value()?),
                "-h" | "--help" => asked.help = true,
                _ => {}
            }
        }
        Ok(asked)
    }
}

fn is_http(transport: &str) -> Result<bool> {
    match transport {
        "stdio" => Ok(false),
        "http" => Ok(true),
        other => bail!("invalid --transport '{other}': must be one of stdio|http"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Asked> {
        Asked::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_peers_flags() {
        let asked =
            parse("--transport=http --port 9000 --log-level debug --bogus --allow /a --allow=/b").unwrap();
        assert!(asked.http);
        assert_eq!((asked.port.as_deref(), asked.log_level.as_deref()), (Some("9000"), Some("debug")));
        assert_eq!(asked.allow, [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!(parse("").unwrap(), Asked::default());
        assert_eq!(parse("--engine external").unwrap().engine, Some(EngineKind::External));
        let offered = parse("--toolset=core,models --tools vmaf_bench").unwrap();
        assert_eq!(offered.toolset, [SetName::Core, SetName::Models]);
        assert_eq!(offered.tools, ["vmaf_bench"]);
    }

    #[test]
    fn wrong_values_are_refused() {
        assert!(parse("--transport ws").unwrap_err().to_string().contains("stdio|http"));
        assert!(parse("--port").unwrap_err().to_string().contains("needs a value"));
        assert!(parse("--engine gpu").unwrap_err().to_string().contains("native|external"));
        assert!(parse("--toolset core,none").unwrap_err().to_string().contains("core|tuning|models|all"));
    }
}
