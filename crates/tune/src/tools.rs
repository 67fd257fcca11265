//! The local ffmpeg, and how it is run: argv lists, as children that cannot be left behind.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use visus_child::{ChildCommand, Finished, RunError, Sandbox, Stream};
use visus_engine::Cancel;
use visus_media::{Launch, MediaError};

use crate::TuneError;

/// Memory of one encoder. Slow presets of 4K and 8K keep hundreds of pictures.
const MAX_MEMORY: u64 = 16 << 30;
/// The largest encode; a window of a few seconds is far smaller, a long film in ProRes is not.
const MAX_FILE: u64 = 1 << 40;
/// How long a question to ffmpeg may take.
const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// ffmpeg and ffprobe, and the launcher that stands between us and them.
#[derive(Clone, Debug)]
pub struct Tools {
    pub media: visus_media::Tools,
    launcher: Option<PathBuf>,
    limit: Duration,
}

impl Tools {
    /// Looks for the programs. `launcher` is a program of ours that supervises children (see [`visus_child::supervise`]);
    /// `limit` is how long a child may be silent.
    pub fn find(launcher: Option<PathBuf>, limit: Duration) -> Result<Self, TuneError> {
        let launch = Launch { launcher: launcher.clone(), limit, ..Launch::default() };
        let media = visus_media::Tools::find(launch, "tuning").map_err(|error| match error {
            MediaError::NoTool { tool, hint, .. } => TuneError::NoTool { tool, hint },
            other => TuneError::Source { path: PathBuf::from("ffmpeg"), reason: other.to_string() },
        })?;
        Ok(Self { media, launcher, limit })
    }

    pub fn launcher(&self) -> Option<&Path> {
        self.launcher.as_deref()
    }

    /// The words that make ffmpeg hand over every frame once, whatever its time stamp.
    pub(crate) fn every_frame(&self) -> [&'static str; 2] {
        self.media.every_frame_once()
    }

    pub fn version(&self) -> &str {
        self.media.version()
    }

    fn command(&self, args: &[OsString], limit: Duration, files: Files<'_>) -> ChildCommand {
        let owned = |path: &&Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        ChildCommand {
            program: self.media.ffmpeg.clone(),
            args: args.to_vec(),
            limit,
            total: None,
            launcher: self.launcher.clone(),
            sandbox: Sandbox {
                read: files.read.iter().map(owned).collect(),
                write: files.folder.iter().map(owned).collect(),
                memory: Some(MAX_MEMORY),
                file_bytes: files.folder.map(|_| MAX_FILE),
                devices: args.iter().any(|word| uses_device(word)),
            },
        }
    }

    /// Asks ffmpeg something that is answered at once.
    pub(crate) fn look(&self, args: &[String]) -> Result<Finished, TuneError> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let limit = LOOK_LIMIT.min(self.limit);
        let command = self.command(&args, limit, Files::default());
        visus_child::run(&command, || false, || {}).map_err(|error| self.failure(error))
    }

    /// Starts ffmpeg for its output.
    pub(crate) fn stream(
        &self,
        args: &[OsString],
        files: Files<'_>,
        cancel: &Cancel,
    ) -> Result<Stream, TuneError> {
        let cancel = cancel.clone();
        Stream::start(&self.command(args, self.limit, files), move || cancel.is_fired())
            .map_err(|error| self.failure(error))
    }

    /// Runs ffmpeg to its end; `-progress pipe:1` must be among the arguments. `frames` hears how many frames are done.
    pub(crate) fn work(
        &self,
        args: &[OsString],
        files: Files<'_>,
        cancel: &Cancel,
        mut frames: impl FnMut(u64),
    ) -> Result<Finished, TuneError> {
        let mut reader = BufReader::new(self.stream(args, files, cancel)?);
        let mut line = String::new();
        loop {
            line.clear();
            match reader.read_line(&mut line) {
                Ok(0) => break,
                Ok(_) => {
                    if let Some(done) = line.strip_prefix("frame=").and_then(|rest| rest.trim().parse().ok())
                    {
                        frames(done);
                    }
                }
                Err(_) if cancel.is_fired() => return Err(TuneError::Cancelled),
                Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                    return Err(TuneError::TimedOut { limit: self.limit });
                }
                Err(error) => return Err(TuneError::io(&self.media.ffmpeg, error)),
            }
        }
        let finished = reader.get_mut().finish();
        if cancel.is_fired() { Err(TuneError::Cancelled) } else { Ok(finished) }
    }

    fn failure(&self, error: RunError) -> TuneError {
        match error {
            RunError::Start(error) => TuneError::io(&self.media.ffmpeg, error),
            RunError::TimedOut => TuneError::TimedOut { limit: self.limit },
            RunError::Cancelled => TuneError::Cancelled,
        }
    }
}

/// The files that ffmpeg may touch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Files<'a> {
    pub read: &'a [&'a Path],
    /// Where it may write, and read what it wrote.
    pub folder: Option<&'a Path>,
}

/// Whether a word of the arguments names an encoder that runs on a graphics device.
fn uses_device(word: &std::ffi::OsStr) -> bool {
    let kinds = ["_nvenc", "_qsv", "_vaapi", "_amf", "_vulkan"];
    word.to_str().is_some_and(|word| kinds.iter().any(|kind| word.ends_with(kind)))
}

/// A path as ffmpeg takes it for a plain file, whatever it looks like.
pub(crate) fn file_url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}
