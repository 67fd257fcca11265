//! Which encoders the local ffmpeg really has: a tiny trial encode finds out, and shows the library's version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use super::{Adapter, VersionSource};
use crate::TuneError;
use crate::cache::{Cache, Key};
use crate::tools::Tools;

/// An encoder that was tried and works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// The encoder library's version as it reports it, or ffmpeg's where it reports none.
    pub version: String,
    /// Sample formats it takes; empty if ffmpeg does not say.
    pub pix_fmts: Vec<String>,
}

type Answer = Arc<Result<Available, String>>;

/// Tries each encoder at most once.
#[derive(Debug)]
pub struct Detector {
    tools: Tools,
    cache: Cache,
    tried: Mutex<HashMap<&'static str, Answer>>,
}

impl Detector {
    pub fn new(tools: Tools, cache: Cache) -> Self {
        Self { tools, cache, tried: Mutex::new(HashMap::new()) }
    }

    /// The encoder, or why it cannot be used.
    pub fn check(&self, adapter: &'static Adapter) -> Result<Available, TuneError> {
        let known = self.tried.lock().unwrap_or_else(PoisonError::into_inner).get(adapter.name).cloned();
        let answer = match known {
            Some(answer) => answer,
            None => {
                let answer = Arc::new(self.attempt(adapter));
                let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(tried.entry(adapter.name).or_insert(answer))
            }
        };
        (*answer).clone().map_err(|reason| TuneError::EncoderAbsent { name: adapter.name.to_owned(), reason })
    }

    fn attempt(&self, adapter: &'static Adapter) -> Result<Available, String> {
        let trial = self.tools.look(&trial_arguments(adapter)).map_err(|error| error.chain())?;
        if trial.code != 0 && !self.is_listed(adapter.name) {
            return Err("the local ffmpeg was built without it".to_owned());
        }
        if trial.code != 0 {
            return Err(format!("a trial encode failed: {}", reason(&trial.stderr)));
        }
        let version = library_version(adapter, &trial.stderr, &trial.stdout);
        let version = version.unwrap_or_else(|| format!("ffmpeg {}", self.tools.version()));
        Ok(Available { version, pix_fmts: self.pix_fmts(adapter) })
    }

    /// Whether ffmpeg names it among its encoders; only a failure makes that a question.
    fn is_listed(&self, name: &str) -> bool {
        let list = self.tools.look(&["-hide_banner", "-encoders"].map(String::from));
        list.is_ok_and(|list| names(&list.stdout, name))
    }

    /// The sample formats that ffmpeg hands to the encoder: a fact of this version of ffmpeg, so it is asked once.
    fn pix_fmts(&self, adapter: &Adapter) -> Vec<String> {
        let version = self.tools.version();
        let key = Key::new(json!({ "kind": "formats", "ffmpeg": version, "encoder": adapter.name }));
        if let Some(known) = self.cache.get(&key) {
            return known;
        }
        let ask = ["-hide_banner".to_owned(), "-h".to_owned(), format!("encoder={}", adapter.name)];
        let help = self.tools.look(&ask).map(|answer| answer.stdout).unwrap_or_default();
        let line = help.lines().find_map(|line| line.trim().strip_prefix("Supported pixel formats:"));
        let formats: Vec<String> = line.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        // What cannot be kept is asked again.
        let _ = self.cache.put(&key, &formats);
        formats
    }
}

/// One small frame, printed where the version stands in the stream alone.
fn trial_arguments(adapter: &Adapter) -> Vec<String> {
    let head =
        ["-hide_banner", "-nostdin", "-nostats", "-f", "lavfi", "-i", "color=gray:s=256x144:r=5:d=0.2"];
    let printed = adapter.version == VersionSource::Stream;
    let tail: &[&str] = if printed { &["-f", adapter.codec, "pipe:1"] } else { &["-f", "null", "-"] };
    let mut args: Vec<String> = head.iter().map(|&word| word.to_owned()).collect();
    args.extend(["-frames:v".to_owned(), "1".to_owned()]);
    args.extend(adapter.arguments(adapter.knob.start, &super::Choices::default()));
    args.extend(tail.iter().map(|&word| word.to_owned()));
    args
}

/// Lines look like ` V....D libx264   libx264 H.264 …`.
fn names(list: &str, name: &str) -> bool {
    list.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(|flags| flags.starts_with('V')) && words.next() == Some(name)
    })
}

/// What the library says of itself.
fn library_version(adapter: &Adapter, log: &str, stream: &str) -> Option<String> {
    let after = |text: &str, mark: &str| {
        let rest = text.split_once(mark)?.1;
        Some(rest.lines().next()?.trim().to_owned())
    };
    match adapter.version {
        VersionSource::Stream => {
            let words = after(stream, "x264 - core ")?;
            Some(format!("x264 core {}", words.split(" - ").next()?))
        }
        VersionSource::Log { after: mark, prefix } => Some(format!("{prefix}{}", after(log, mark)?)),
        VersionSource::OwnLine => {
            let own = log.lines().find(|line| line.starts_with(&format!("[{} @", adapter.name)))?;
            let version = own.split_once("] ")?.1.trim();
            version.starts_with('v').then(|| format!("{} {version}", adapter.name))
        }
        VersionSource::Ffmpeg => None,
    }
}

/// The line of an ffmpeg log that says what went wrong, without addresses.
pub(crate) fn reason(log: &str) -> String {
    let complains = |line: &&str| {
        !line.trim().is_empty() && !line.starts_with(' ') && !line.contains("Conversion failed")
    };
    let complaint = |line: &&str| {
        let line = line.to_ascii_lowercase();
        ["cannot", "error", "unsupported", "no ", "not ", "invalid", "failed", "unable", "unrecognized"]
            .iter()
            .any(|word| line.contains(word))
    };
    let lines: Vec<&str> =
        log.lines().filter(complains).filter(|line| !line.starts_with("Svt[info]")).collect();
    let line =
        lines.iter().copied().find(complaint).or(lines.last().copied()).unwrap_or("no reason was given");
    without_address(line)
}

/// `[libx264 @ 0x55…] text` as `libx264: text`.
fn without_address(line: &str) -> String {
    let bare = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).and_then(|(head, text)| {
        let (name, _) = head.split_once(" @ ")?;
        Some(format!("{name}: {text}"))
    });
    bare.unwrap_or_else(|| line.to_owned()).trim().chars().filter(|c| !c.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_by_words() {
        let list = "Encoders:\n V..... = Video\n ------\n V....D libx264rgb  x\n A..... libx264  y\n";
        assert!(names(list, "libx264rgb") && !names(list, "libx264") && !names(list, "libx265"));
    }

    #[test]
    fn versions_are_read_where_they_stand() {
        let version = |name, log, stream| library_version(super::super::by_name(name).unwrap(), log, stream);
        let stream = "..x264 - core 164 r3108 31e19f9 - H.264/MPEG-4 AVC codec - Copyleft";
        assert_eq!(version("x264", "", stream).as_deref(), Some("x264 core 164 r3108 31e19f9"));
        let log = "x265 [info]: HEVC encoder version 3.5+1\nmore";
        assert_eq!(version("x265", log, "").as_deref(), Some("x265 3.5+1"));
        assert_eq!(
            version("svtav1", "Svt[info]: SVT [version]:\tSVT-AV1 v1.4\n", "").as_deref(),
            Some("SVT-AV1 v1.4")
        );
        let log = "[libaom-av1 @ 0x5] v3.6.0\n";
        assert_eq!(version("aom", log, "").as_deref(), Some("libaom-av1 v3.6.0"));
        assert_eq!(version("prores", log, stream), None);
    }

    #[test]
    fn reasons_are_the_first_complaint() {
        let log = "Input #0, lavfi\n  Duration: N/A\n[h264_nvenc @ 0x5651] Cannot load libcuda.so.1\nError initializing output";
        assert_eq!(reason(log), "h264_nvenc: Cannot load libcuda.so.1");
        assert_eq!(reason(""), "no reason was given");
    }
}
