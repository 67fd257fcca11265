//! What the environment and the command line decide, read once at the start.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use visus_metrics::Level;
use visus_scoring::cpu;

use crate::report::Detail;
use crate::tools::offer::Offer;

/// Who computes scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// The embedded engine, in process.
    #[default]
    Native,
    /// A `vmaf` executable, as child process.
    External,
}

impl std::str::FromStr for EngineKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "native" => Ok(Self::Native),
            "external" => Ok(Self::External),
            other => Err(format!("invalid engine '{other}': must be one of native|external")),
        }
    }
}

impl EngineKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::External => "external",
        }
    }
}

/// How many threads serve requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threading {
    /// One event-loop thread.
    Single,
    #[default]
    Multi,
}

/// Bytes of kept results, however much memory there is.
const MOST_RESULTS: usize = 256 << 20;

/// How much at once, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Jobs that run at the same time, over all transports.
    pub slots: usize,
    /// Jobs that may wait behind them.
    pub queue: usize,
    /// How long results are kept.
    pub keep: Duration,
    /// How much memory kept results may take: at most an eighth of `memory`.
    pub result_bytes: usize,
    /// How long a child may score.
    pub subprocess: Duration,
    /// How long a job, and every decoder by itself, may run altogether.
    pub job: Duration,
    /// Bytes of memory for everything that takes much.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            slots: 8,
            queue: 256,
            keep: Duration::from_secs(3600),
            result_bytes: MOST_RESULTS,
            subprocess: Duration::from_secs(600),
            job: Duration::from_secs(4 * 3600),
            memory: crate::memory::usual(),
        }
    }
}

/// Bytes of pictures that are kept for the web page, however much memory there is.
const MOST_PICTURES: u64 = 96 << 20;

/// How the memory is divided. What is kept and what arrives has shares of its own, so that neither can take the other's nor that of
/// jobs.
impl Limits {
    /// For jobs and answers: three quarters.
    pub fn job_bytes(&self) -> u64 {
        self.memory / 4 * 3
    }

    /// For the bodies of requests: a sixteenth.
    pub fn body_bytes(&self) -> usize {
        usize::try_from(self.memory / 16).unwrap_or(usize::MAX)
    }

    /// For pictures that are kept: a sixteenth, and no more than is of use.
    pub fn picture_bytes(&self) -> usize {
        usize::try_from((self.memory / 16).min(MOST_PICTURES)).unwrap_or(usize::MAX)
    }
}

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub engine: Option<EngineKind>,
    /// Further allowed roots.
    pub allow: Vec<PathBuf>,
    /// Whether HTTP is served: it has variables of its own.
    pub http: bool,
    /// The program that starts children and dies with us, see [`visus_child::supervise`].
    pub launcher: Option<PathBuf>,
    /// Bytes of memory, as `4G`.
    pub memory: Option<String>,
    /// Folders in which clients may have files written.
    pub allow_write: Vec<PathBuf>,
    /// Nothing is written, whatever else is allowed.
    pub read_only: bool,
    /// The tools that are offered over MCP.
    pub offer: Offer,
    /// What `detail: auto` means over MCP: a summary, or the whole report where this stands in for the Python server.
    pub auto_detail: Detail,
}

/// Everything that is decided at the start.
#[derive(Clone, Debug)]
pub struct Config {
    pub engine: EngineKind,
    /// The `vmaf` executable that was asked for; else it is looked up.
    pub binary: Option<PathBuf>,
    /// Allowed roots as given, not yet resolved.
    pub roots: Vec<PathBuf>,
    /// Folders that hold model files.
    pub model_dirs: Vec<PathBuf>,
    /// Folders in which clients may have files written.
    pub writable: Vec<PathBuf>,
    pub limits: Limits,
    pub level: Level,
    pub launcher: Option<PathBuf>,
    /// The tools that are offered over MCP.
    pub offer: Offer,
    /// What `detail: auto` means over MCP.
    pub auto_detail: Detail,
}

/// A value that start-up cannot go on with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "VMAF_MCP_ASYNC='{0}' is not understood: use asyncio, 0, false, no or an empty value for one event-loop thread; \
         1, true, yes or trio (or leave it unset) for the multi-threaded runtime"
    )]
    Threading(String),
    #[error("{name}='{value}' is not understood: {reason}")]
    Value { name: &'static str, value: String, reason: String },
    #[error("{0}")]
    CpuLevel(String),
}

/// Looks up an environment variable; tests bring their own.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The process's own environment.
pub fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

impl Config {
    /// Makes the memory limit that of this process.
    pub fn apply(&self) {
        visus_video::budget::Budget::process().set_limit(self.limits.job_bytes());
    }

    pub fn read(flags: &Flags, env: Environment<'_>) -> Result<Self, ConfigError> {
        let path = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let binary = path("VMAF_BIN").or_else(|| flags.http.then(|| path("VMAFX_VMAF_BINARY")).flatten());
        let implied = if binary.is_some() { EngineKind::External } else { EngineKind::Native };
        let model_dir = path("VMAFX_MODEL_DIR").filter(|_| flags.http);
        let root = path("VMAF_ROOT").or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        Ok(Self {
            engine: flags.engine.unwrap_or(implied),
            binary,
            roots: roots(&root, env("VMAF_MCP_ALLOW"), model_dir.as_deref(), &flags.allow),
            model_dirs: std::iter::once(root.join("model")).chain(model_dir).collect(),
            writable: writable(flags, env),
            limits: limits(flags, env)?,
            level: level(env)?,
            launcher: flags.launcher.clone(),
            offer: flags.offer.clone(),
            auto_detail: flags.auto_detail.or(Detail::Summary),
        })
    }
}

fn roots(root: &Path, extra: Option<OsString>, model_dir: Option<&Path>, flags: &[PathBuf]) -> Vec<PathBuf> {
    let mut roots = vec![
        root.join("testdata"),
        root.join("python/test/resource"),
        root.join("model"),
        PathBuf::from("/workspace/python/test/resource"),
    ];
    let extra = extra.unwrap_or_default();
    roots.extend(std::env::split_paths(&extra).filter(|path| !path.as_os_str().is_empty()));
    roots.extend(model_dir.map(Path::to_path_buf));
    roots.extend_from_slice(flags);
    roots
}

/// `--allow-write` and `VISUS_ALLOW_WRITE`, unless `--read-only` or `VISUS_READ_ONLY=1` says that there is nothing.
fn writable(flags: &Flags, env: Environment<'_>) -> Vec<PathBuf> {
    if flags.read_only || env("VISUS_READ_ONLY").is_some_and(|value| value == "1") {
        return Vec::new();
    }
    let listed = env("VISUS_ALLOW_WRITE").unwrap_or_default();
    let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
    flags.allow_write.iter().cloned().chain(listed).collect()
}

fn limits(flags: &Flags, env: Environment<'_>) -> Result<Limits, ConfigError> {
    let defaults = Limits::default();
    let memory = memory(flags, env)?.unwrap_or(defaults.memory);
    Ok(Limits {
        slots: count("VMAF_MCP_MAX_CONCURRENT", env, defaults.slots)?,
        queue: count("VISUS_MAX_QUEUE", env, defaults.queue)?,
        subprocess: seconds("VMAF_MCP_SUBPROCESS_TIMEOUT_S", env).unwrap_or(defaults.subprocess),
        job: seconds("VISUS_JOB_TIMEOUT_S", env).unwrap_or(defaults.job),
        result_bytes: usize::try_from(memory / 8).map_or(MOST_RESULTS, |share| share.min(MOST_RESULTS)),
        memory,
        ..defaults
    })
}

fn count(name: &'static str, env: Environment<'_>, default: usize) -> Result<usize, ConfigError> {
    let Some(value) = env(name).filter(|value| !value.is_empty()) else { return Ok(default) };
    let value = value.to_string_lossy().into_owned();
    match value.trim().parse() {
        Ok(count @ 1..=10_000) => Ok(count),
        _ => {
            Err(ConfigError::Value { name, value, reason: "it must be a number from 1 to 10000".to_owned() })
        }
    }
}

/// An unusable limit is no limit at all: the default stands.
fn seconds(name: &str, env: Environment<'_>) -> Option<Duration> {
    let text = env(name)?;
    let seconds: f64 = text.to_string_lossy().trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero())
}

fn memory(flags: &Flags, env: Environment<'_>) -> Result<Option<u64>, ConfigError> {
    let listed = || env("VISUS_MEMORY").map(|value| ("VISUS_MEMORY", value.to_string_lossy().into_owned()));
    let given = flags.memory.clone().map(|value| ("--memory", value)).or_else(listed);
    let Some((name, value)) = given.filter(|(_, value)| !value.is_empty()) else { return Ok(None) };
    crate::memory::parse(&value).map(Some).map_err(|reason| ConfigError::Value { name, value, reason })
}

fn level(env: Environment<'_>) -> Result<Level, ConfigError> {
    let value = env(cpu::VARIABLE).map(|text| text.to_string_lossy().into_owned());
    cpu::lowered(value.as_deref()).map_err(|error| ConfigError::CpuLevel(error.to_string()))
}

/// Which runtime `VMAF_MCP_ASYNC` asks for.
pub fn threading(env: Environment<'_>) -> Result<Threading, ConfigError> {
    let Some(value) = env("VMAF_MCP_ASYNC") else { return Ok(Threading::default()) };
    let value = value.to_string_lossy().into_owned();
    match value.trim().to_ascii_lowercase().as_str() {
        "" | "asyncio" | "0" | "false" | "no" => Ok(Threading::Single),
        "1" | "true" | "yes" | "trio" => Ok(Threading::Multi),
        _ => Err(ConfigError::Threading(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn a_binary_chooses_the_external_engine() {
        let flags = Flags::default();
        assert_eq!(Config::read(&flags, &with(&[])).unwrap().engine, EngineKind::Native);
        let set = Config::read(&flags, &with(&[("VMAF_BIN", "/x/vmaf")])).unwrap();
        assert_eq!((set.engine, set.binary), (EngineKind::External, Some(PathBuf::from("/x/vmaf"))));
        let alias = [("VMAFX_VMAF_BINARY", "/y/vmaf")];
        assert_eq!(Config::read(&flags, &with(&alias)).unwrap().binary, None);
        let http = Flags { http: true, ..Flags::default() };
        assert_eq!(Config::read(&http, &with(&alias)).unwrap().binary, Some(PathBuf::from("/y/vmaf")));
        let both = [("VMAFX_VMAF_BINARY", "/y/vmaf"), ("VMAF_BIN", "/x/vmaf")];
        assert_eq!(Config::read(&http, &with(&both)).unwrap().binary, Some(PathBuf::from("/x/vmaf")));
        let native = Flags { engine: Some(EngineKind::Native), ..Flags::default() };
        assert_eq!(Config::read(&native, &with(&both)).unwrap().engine, EngineKind::Native);
    }

    #[test]
    fn roots_are_added_never_replaced() {
        let env = [("VMAF_ROOT", "/r"), ("VMAF_MCP_ALLOW", "/a::/b")];
        let flags = Flags { allow: vec![PathBuf::from("/c")], ..Flags::default() };
        let roots = Config::read(&flags, &with(&env)).unwrap().roots;
        let expected = [
            "/r/testdata",
            "/r/python/test/resource",
            "/r/model",
            "/workspace/python/test/resource",
            "/a",
            "/b",
            "/c",
        ];
        assert_eq!(roots, expected.map(PathBuf::from));
    }

    #[test]
    fn limits_and_unusable_values() {
        let read = |env: &[(&str, &str)]| Config::read(&Flags::default(), &with(env));
        assert_eq!(read(&[("VMAF_MCP_MAX_CONCURRENT", "3")]).unwrap().limits.slots, 3);
        assert!(read(&[("VMAF_MCP_MAX_CONCURRENT", "0")]).is_err());
        for (text, seconds) in
            [("5", 5.0), ("0.5", 0.5), ("0", 600.0), ("-1", 600.0), ("x", 600.0), ("inf", 600.0)]
        {
            let limits = read(&[("VMAF_MCP_SUBPROCESS_TIMEOUT_S", text)]).unwrap().limits;
            assert_eq!(limits.subprocess.as_secs_f64(), seconds, "{text}");
        }
    }

    #[test]
    fn memory_and_writing() {
        let out = PathBuf::from("/out");
        let flags = Flags { memory: Some("3G".into()), allow_write: vec![out.clone()], ..Flags::default() };
        let env = [("VISUS_MEMORY", "1G"), ("VISUS_ALLOW_WRITE", "/more")];
        let config = Config::read(&flags, &with(&env)).unwrap();
        assert_eq!(config.limits.memory, 3 << 30);
        assert_eq!(config.writable, [out, PathBuf::from("/more")]);
        let config = Config::read(&Flags::default(), &with(&env[..1])).unwrap();
        assert_eq!((config.limits.memory, config.writable.len()), (1 << 30, 0));
        assert_eq!(config.limits.result_bytes, 128 << 20, "an eighth");
        let closed = Flags { read_only: true, ..flags };
        assert!(Config::read(&closed, &with(&env)).unwrap().writable.is_empty());
        let error = Config::read(&Flags::default(), &with(&[("VISUS_MEMORY", "much")])).unwrap_err();
        assert!(error.to_string().contains("VISUS_MEMORY") && error.to_string().contains("much"), "{error}");
    }

    #[test]
    fn threading_words() {
        let read = |text: &str| threading(&with(&[("VMAF_MCP_ASYNC", text)]));
        assert_eq!(threading(&with(&[])), Ok(Threading::Multi));
        for text in ["", "asyncio", "0", "false", "no", "No"] {
            assert_eq!(read(text), Ok(Threading::Single), "{text}");
        }
        for text in ["1", "true", "yes", "trio"] {
            assert_eq!(read(text), Ok(Threading::Multi), "{text}");
        }
        assert!(read("uvloop").unwrap_err().to_string().contains("asyncio, 0, false, no"));
    }
}
