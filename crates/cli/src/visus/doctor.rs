//! `visus doctor`: what protects this machine's server and children, what is found here, and what to do about what is not.

use anyhow::Result;
use serde_json::{Value, json};
use visus_child::Protections;
use visus_server::config::{Config, Flags, environment};
use visus_tune::cache::Cache;

use super::score::print_all;
use super::server_args::DoctorArgs;

/// One thing that was looked at.
#[derive(Debug)]
struct Finding {
    name: &'static str,
    ok: bool,
    text: String,
    /// What to do where it is not.
    advice: Option<String>,
}

impl Finding {
    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, ok: true, text: text.into(), advice: None }
    }

    fn lacking(name: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, ok: false, text: text.into(), advice: Some(advice.into()) }
    }

    fn json(&self) -> Value {
        json!({ "name": self.name, "ok": self.ok, "text": self.text, "advice": self.advice })
    }
}

pub fn run(args: &DoctorArgs) -> Result<()> {
    let config =
        Config::read(&Flags { http: true, launcher: super::launcher(), ..Flags::default() }, &environment)?;
    let mut findings = protections(Protections::detect());
    findings.push(descriptors());
    findings.push(ffmpeg());
    findings.push(gpu());
    findings.push(memory(&config));
    findings.push(roots(&config));
    findings.push(writing(&config));
    findings.push(cache());
    findings.push(token(&|name| environment(name).map(|value| value.to_string_lossy().into_owned())));
    if args.json {
        let all: Vec<Value> = findings.iter().map(Finding::json).collect();
        return print_all(&format!("{}\n", serde_json::to_string_pretty(&all)?));
    }
    print_all(&text(&findings))
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.ok { "ok" } else { "--" };
        text.push_str(&format!("{mark}  {:<12} {}\n", finding.name, finding.text));
        if let Some(advice) = &finding.advice {
            text.push_str(&format!("    {:<12} {advice}\n", ""));
        }
    }
    text
}

fn protections(active: Protections) -> Vec<Finding> {
    let landlock = match active.landlock {
        0 => Finding::lacking(
            "landlock",
            "this kernel has none: children read whatever this user may read",
            "use Linux 5.13 or later with landlock in lsm=, or run the server as a user of its own",
        ),
        1 | 2 => Finding::ok(
            "landlock",
            format!("version {}: files of children, but not truncation", active.landlock),
        ),
        3 => Finding::ok("landlock", "version 3: files of children, but not their network"),
        version => Finding::ok("landlock", format!("version {version}: files and network of children")),
    };
    let seccomp = match active.seccomp {
        true => Finding::ok("seccomp", "children cannot open sockets, trace processes or change mounts"),
        false => Finding::lacking(
            "seccomp",
            "not available: children may open sockets",
            "use a kernel with CONFIG_SECCOMP_FILTER, or a container without a network",
        ),
    };
    let limits = match active.limits {
        true => Finding::ok("rlimits", "memory, files, descriptors and core dumps of children are limited"),
        false => Finding::lacking("rlimits", "not available on this system", "run the server on Linux"),
    };
    vec![landlock, seccomp, limits]
}

#[cfg(unix)]
fn descriptors() -> Finding {
    use std::io::Read;
    let mut text = String::new();
    let limits = std::fs::File::open("/proc/self/limits").and_then(|mut file| file.read_to_string(&mut text));
    let line = text.lines().find(|line| line.starts_with("Max open files"));
    let hard = line.and_then(|line| line.split_whitespace().nth(4)).and_then(|word| word.parse::<u64>().ok());
    match (limits, hard) {
        (Ok(_), Some(hard)) if hard < 4096 => Finding::lacking(
            "descriptors",
            format!("{hard} at most, of which a quarter is for connections"),
            "raise it: LimitNOFILE=65536 in a systemd unit, --ulimit nofile=65536 for a container",
        ),
        (Ok(_), Some(hard)) => {
            Finding::ok("descriptors", format!("{hard} at most, of which a quarter is for connections"))
        }
        _ => Finding::ok("descriptors", "the limit is not known on this system"),
    }
}

#[cfg(not(unix))]
fn descriptors() -> Finding {
    Finding::ok("descriptors", "the limit is not known on this system")
}

fn ffmpeg() -> Finding {
    match visus_media::Tools::find(super::media::decoders().launch(), "encoded video") {
        Ok(tools) => Finding::ok("ffmpeg", format!("{} at {}", tools.version(), tools.ffmpeg.display())),
        Err(error) => Finding::lacking(
            "ffmpeg",
            error.to_string(),
            "without it Y4M and raw video are scored; set VISUS_FFMPEG and VISUS_FFPROBE if it is not on PATH",
        ),
    }
}

fn gpu() -> Finding {
    let adapters = visus_scoring::backend::adapters().join("; ");
    match visus_scoring::backend::probe("cuda") {
        Ok(device) => Finding::ok("gpu", device),
        Err(reason) if adapters.is_empty() => {
            Finding::ok("gpu", format!("{reason}; scores are computed on the processor"))
        }
        Err(reason) => Finding::ok("gpu", format!("{reason}; other adapters: {adapters}")),
    }
}

fn memory(config: &Config) -> Finding {
    let [all, jobs] = [config.limits.memory, config.limits.job_bytes()].map(|bytes| bytes >> 20);
    Finding::ok("memory", format!("{all} MiB, of which {jobs} MiB are for all jobs together (--memory)"))
}

fn roots(config: &Config) -> Finding {
    let there: Vec<String> =
        config.roots.iter().filter(|root| root.exists()).map(|root| root.display().to_string()).collect();
    match there.is_empty() {
        false => Finding::ok("roots", format!("clients may read {}", there.join(", "))),
        true => Finding::lacking(
            "roots",
            "no allowed folder exists: clients can name no file",
            "start the server with --allow FOLDER, or set VMAF_MCP_ALLOW",
        ),
    }
}

fn writing(config: &Config) -> Finding {
    let folders: Vec<String> = config.writable.iter().map(|folder| folder.display().to_string()).collect();
    match folders.is_empty() {
        true => Finding::ok("writing", "clients may write nothing (--allow-write FOLDER lets them)"),
        false => Finding::ok("writing", format!("clients may write in {}", folders.join(", "))),
    }
}

fn cache() -> Finding {
    let Some(folder) = Cache::usual_folder() else {
        return Finding::lacking("cache", "there is no folder for it", "set VISUS_CACHE_DIR");
    };
    let opened = Cache::usual_limit()
        .map_err(|error| error.to_string())
        .and_then(|limit| Cache::open(&folder, limit).map_err(|error| error.chain()).map(|_| limit));
    match opened {
        Ok(limit) => Finding::ok("cache", format!("{} of at most {} MiB", folder.display(), limit >> 20)),
        Err(error) => Finding::lacking(
            "cache",
            error,
            "without it nothing is remembered; set VISUS_CACHE_DIR to a folder of this user's",
        ),
    }
}

/// How strong the server's token is.
fn token(environment: &dyn Fn(&str) -> Option<String>) -> Finding {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    if set("VMAFX_MCP_HTTP_NO_AUTH").as_deref() == Some("1") {
        return Finding::lacking(
            "token",
            "VMAFX_MCP_HTTP_NO_AUTH=1: everybody on this machine may use the server",
            "unset it; other addresses than the loopback are refused with it anyway",
        );
    }
    match set("VMAFX_MCP_HTTP_TOKEN").map(|token| token.trim().chars().count()) {
        None => {
            Finding::ok("token", "none is set: each start makes one of 256 random bits and shows it once")
        }
        Some(length) if length < visus_server::http::MIN_TOKEN => Finding::lacking(
            "token",
            format!("it has {length} characters; public addresses need {}", visus_server::http::MIN_TOKEN),
            "make one with `openssl rand -hex 32`",
        ),
        Some(length) => Finding::ok("token", format!("it has {length} characters")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lack_comes_with_advice() {
        let none = Protections { landlock: 0, seccomp: false, limits: false, parent_death: false };
        let findings = protections(none);
        assert!(findings.iter().all(|finding| !finding.ok && finding.advice.is_some()), "{findings:?}");
        let shown = text(&findings);
        assert!(shown.contains("--  landlock") && shown.contains("lsm="), "{shown}");
        let all = Protections { landlock: 6, seccomp: true, limits: true, parent_death: true };
        assert!(protections(all).iter().all(|finding| finding.ok));
    }

    #[test]
    fn tokens_are_judged_by_length_and_never_shown() {
        let with = |pairs: &'static [(&str, &str)]| {
            token(&move |name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(&[]).ok);
        let weak = with(&[("VMAFX_MCP_HTTP_TOKEN", "hunter2")]);
        assert!(!weak.ok && !weak.text.contains("hunter2"), "{weak:?}");
        assert!(with(&[("VMAFX_MCP_HTTP_TOKEN", "0123456789abcdef")]).ok);
        assert!(!with(&[("VMAFX_MCP_HTTP_NO_AUTH", "1"), ("VMAFX_MCP_HTTP_TOKEN", "0123456789abcdef")]).ok);
    }
}
