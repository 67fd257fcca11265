//! What a `vmaf` executable says of itself: asked once, remembered, and shared by all who ask at the same time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::DEVICES;
use visus_child::ChildCommand;

/// How long `--help` and `--version` may take.
const LIMIT: Duration = Duration::from_secs(5);

/// The words of `--help`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Help {
    text: String,
}

impl Help {
    pub fn of(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// Whether an option stands there as a whole word.
    pub fn shows(&self, option: &str) -> bool {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        self.text.match_indices(option).any(|(at, _)| {
            let before = self.text[..at].chars().next_back();
            let after = self.text[at + option.len()..].chars().next();
            !before.is_some_and(is_name) && !after.is_some_and(is_name)
        })
    }

    /// A GPU backend is there if it can be switched off.
    pub fn has(&self, backend: &str) -> bool {
        backend == "cpu" || self.shows(&format!("--no_{backend}"))
    }

    pub fn available(&self) -> Vec<&'static str> {
        DEVICES.into_iter().filter(|backend| self.has(backend)).collect()
    }
}

/// What is known of a binary, and when it was asked.
#[derive(Clone, Debug)]
struct Answer {
    help: Option<Help>,
    at: Instant,
}

/// One binary: the lock is held while it is asked, so that others wait for that answer.
type Slot = Arc<Mutex<Option<Answer>>>;

/// The memory of probes.
#[derive(Debug, Default)]
pub struct Probes {
    slots: Mutex<HashMap<PathBuf, Slot>>,
    launcher: Option<PathBuf>,
}

impl Probes {
    pub fn new(launcher: Option<PathBuf>) -> Self {
        Self { slots: Mutex::default(), launcher }
    }

    /// The help of a binary; `None` if it could not be had, which is asked again next time. Blocks.
    #[expect(clippy::disallowed_methods, reason = "the operator names the executable")]
    pub fn help(&self, binary: &Path, refresh: bool) -> Option<Help> {
        let arrived = Instant::now();
        let key = binary.canonicalize().unwrap_or_else(|_| binary.to_path_buf());
        let slot = self.slot(&key);
        let mut answer = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match &*answer {
            // Somebody asked while we waited: good or bad, that is the answer.
            Some(known) if known.at >= arrived => return known.help.clone(),
            Some(Answer { help: Some(help), .. }) if !refresh => return Some(help.clone()),
            _ => {}
        }
        let help =
            self.ask(&key, "--help").filter(|text| !text.trim().is_empty()).map(|text| Help::of(&text));
        *answer = Some(Answer { help: help.clone(), at: Instant::now() });
        help
    }

    fn slot(&self, key: &Path) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key.to_path_buf()).or_default())
    }

    /// Both outputs of the binary, whatever its exit code: some know no `--help`, and print their usage all the same.
    fn ask(&self, binary: &Path, option: &str) -> Option<String> {
        let command = ChildCommand {
            program: binary.to_path_buf(),
            args: vec![option.into()],
            limit: LIMIT,
            launcher: self.launcher.clone(),
            ..ChildCommand::default()
        };
        let finished = visus_child::run(&command, || false, || {}).ok()?;
        Some(format!("{}\n{}", finished.stdout, finished.stderr))
    }

    /// The version that a binary tells. Blocks.
    pub fn version(&self, binary: &Path) -> Option<String> {
        let text = self.ask(binary, "--version")?;
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(crate::error::cleaned(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(dir: &Path, body: &str) -> PathBuf {
        let path = dir.join("vmaf");
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn backends_are_whole_words() {
        let help = Help::of("usage\n --no_cuda: x\n --no_syclish y\n --precision/-p\n[--no_hip]");
        assert_eq!(help.available(), ["cpu", "cuda", "hip"]);
        assert!(help.shows("--precision") && !help.shows("--backend"));
    }

    #[test]
    fn usage_after_an_error_counts() {
        let dir = tempfile::tempdir().unwrap();
        let binary = script(dir.path(), "echo 'vmaf: unknown option' >&2; echo ' --no_vulkan' >&2; exit 1");
        assert_eq!(Probes::default().help(&binary, false).unwrap().available(), ["cpu", "vulkan"]);
    }

    #[test]
    fn simultaneous_misses_share_one_probe_and_the_answer_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let binary = script(dir.path(), &format!("echo x >> {}; sleep 0.2; echo --no_cuda", log.display()));
        let probes = Probes::default();
        let asked = || std::fs::read_to_string(&log).unwrap().lines().count();
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..20).map(|_| scope.spawn(|| probes.help(&binary, false).unwrap())).collect();
            all.into_iter().for_each(|one| assert!(one.join().unwrap().has("cuda")));
        });
        assert_eq!(asked(), 1);
        probes.help(&binary, false).unwrap();
        assert_eq!(asked(), 1);
        probes.help(&binary, true).unwrap();
        assert_eq!(asked(), 2);
    }

    #[test]
    fn failures_are_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let binary = dir.path().join("vmaf");
        let probes = Probes::default();
        assert_eq!(probes.help(&binary, false), None);
        script(dir.path(), "echo --no_cuda");
        assert!(probes.help(&binary, false).unwrap().has("cuda"));
    }
}
