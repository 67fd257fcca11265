//! Where ffmpeg and ffprobe are, which version, and how they are called safely.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use visus_child::{ChildCommand, Finished, RunError, Sandbox};

use crate::{MediaError, Opening};

/// How long a child may be silent, or run if it only answers a question.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(600);
const VERSION_LIMIT: Duration = Duration::from_secs(30);
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// The most pixels of a picture that a decoder takes: four times 8K. A small file can claim any size, and a decoder holds
/// dozens of pictures.
pub const MAX_PIXELS: u64 = 128 << 20;
/// Memory of one decoder, at most.
const MAX_MEMORY: u64 = 4 << 30;

/// Containers and streams that may be opened. Left out are those that read further files or devices (playlists,
/// concatenation scripts, numbered pictures, capture, Magic Lantern's videos in parts) and those that take any text for a
/// picture.
pub(crate) const FORMATS: &str = "matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mpegts,mpegtsraw,mpeg,mpegvideo,m4v,avi,flv,live_flv,ivf,obu,av1,\
h261,h263,h264,hevc,vvc,evc,apv,vc1,vc1test,cavsvideo,avs2,avs3,dirac,dnxhd,mjpeg,mjpeg_2000,mxf,gxf,asf,asf_o,wtv,ogg,nut,nuv,\
rm,dv,swf,yuv4mpegpipe,apng,gif,gif_pipe,png_pipe,jpeg_pipe,jpegls_pipe,jpegxl_pipe,jpegxl_anim,j2k_pipe,webp_pipe,tiff_pipe,\
bmp_pipe,dpx_pipe,exr_pipe,qoi_pipe,ppm_pipe,pgm_pipe,pgmyuv_pipe,pam_pipe,cine,r3d,lxf,kux,ty,nsv,pva,vividas,roq,\
bink,smk,flic,film_cpk,mp3,wav,flac,aac,aiff,ac3,eac3";

const HINT: &str = if cfg!(target_os = "macos") {
    " (brew install ffmpeg)"
} else if cfg!(windows) {
    " (winget install ffmpeg)"
} else {
    " (Debian and Ubuntu: apt install ffmpeg; Fedora: dnf install ffmpeg; Arch: pacman -S ffmpeg)"
};

/// How children are started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program that stands between us and a child, see [`visus_child::supervise`].
    pub launcher: Option<PathBuf>,
    /// How long a decoder may be silent.
    pub limit: Duration,
    /// How long it may run altogether.
    pub total: Option<Duration>,
    /// Bytes of memory that one of them may take.
    pub memory: u64,
}

impl Default for Launch {
    fn default() -> Self {
        Self { launcher: None, limit: DEFAULT_LIMIT, total: None, memory: MAX_MEMORY }
    }
}

/// An ffmpeg that is there.
#[derive(Clone, Debug)]
pub struct Tools {
    pub ffmpeg: PathBuf,
    pub ffprobe: PathBuf,
    /// What ffmpeg says of itself, once it was asked: starting it takes as long as decoding a few frames.
    about: Arc<OnceLock<About>>,
    launch: Launch,
}

/// What a version of ffmpeg calls itself, and what it can do.
#[derive(Clone, Debug)]
struct About {
    /// `5.1.9-0+deb12u1`, `n7.1`, `N-118000-g…`.
    version: String,
    knows_fps_mode: bool,
}

impl Tools {
    /// Looks for both programs: the variables `VISUS_FFMPEG` and `VISUS_FFPROBE`, then PATH. `purpose` is what they are
    /// wanted for: it ends the sentence that says they are not there.
    pub fn find(launch: Launch, purpose: &str) -> Result<Self, MediaError> {
        Self::located(launch, purpose)?.with_version()
    }

    /// Where both programs are. ffprobe can be asked already; ffmpeg's version is not known yet.
    pub(crate) fn located(launch: Launch, purpose: &str) -> Result<Self, MediaError> {
        let ffprobe = locate("ffprobe", "VISUS_FFPROBE", purpose)?;
        let ffmpeg = locate("ffmpeg", "VISUS_FFMPEG", purpose)?;
        Ok(Self { ffmpeg, ffprobe, about: Arc::default(), launch })
    }

    /// The same, with what ffmpeg says of itself.
    pub(crate) fn with_version(self) -> Result<Self, MediaError> {
        let about = self.ask_about()?;
        self.about.get_or_init(|| about);
        Ok(self)
    }

    fn ask_about(&self) -> Result<About, MediaError> {
        let words = self.ask_version()?;
        let version = name_of_version(&words).ok_or_else(|| MediaError::ToolBroken {
            tool: "ffmpeg",
            reason: format!("{} does not tell its version", self.ffmpeg.display()),
        })?;
        Ok(About { version, knows_fps_mode: knows_fps_mode(&words) })
    }

    /// What ffmpeg says of itself, asked where it was not yet. One that does not answer will not start either, and say so then.
    fn about(&self) -> &About {
        let unknown = || About { version: String::new(), knows_fps_mode: true };
        self.about.get_or_init(|| self.ask_about().unwrap_or_else(|_| unknown()))
    }

    /// As ffmpeg calls itself: `5.1.9-0+deb12u1`, `n7.1`, `N-118000-g…`.
    pub fn version(&self) -> &str {
        &self.about().version
    }

    /// Whether ffmpeg has said which version it is.
    #[cfg(feature = "libav")]
    pub(crate) fn was_asked(&self) -> bool {
        self.about.get().is_some()
    }

    pub fn limit(&self) -> Duration {
        self.launch.limit
    }

    /// The words that make ffmpeg hand every decoded frame over once, whatever its time stamp. The old option is gone from
    /// the newest versions, the new one came with 5.1.
    pub fn every_frame_once(&self) -> [&'static str; 2] {
        if self.about().knows_fps_mode { ["-fps_mode", "passthrough"] } else { ["-vsync", "passthrough"] }
    }

    /// A command that reads at most one file.
    pub(crate) fn command(
        &self,
        program: &Path,
        args: Vec<OsString>,
        limit: Duration,
        file: Option<&Path>,
    ) -> ChildCommand {
        let read = file.map(absolute).into_iter().collect();
        ChildCommand {
            program: program.to_path_buf(),
            args,
            limit: limit.min(self.launch.limit),
            total: self.launch.total,
            launcher: self.launch.launcher.clone(),
            sandbox: Sandbox { read, memory: Some(self.launch.memory), ..Sandbox::default() },
        }
    }

    /// Asks ffprobe about a file's video streams and its container.
    pub(crate) fn ask_probe(
        &self,
        opening: &Opening,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Finished, MediaError> {
        self.ask(opening, &["-show_streams", "-show_format", "-select_streams", "v"], cancelled)
    }

    /// Asks ffprobe about the first frame of a stream.
    pub(crate) fn ask_first_frame(
        &self,
        opening: &Opening,
        stream: u64,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Finished, MediaError> {
        let entries = "frame=interlaced_frame,top_field_first";
        let stream = stream.to_string();
        let words = ["-select_streams", &stream, "-read_intervals", "%+#1", "-show_entries", entries];
        self.ask(opening, &words, cancelled)
    }

    /// Has ffmpeg write down the headers of a stream's first packets, by the names that the codec's standard gives them.
    pub(crate) fn trace_headers(
        &self,
        opening: &Opening,
        stream: u64,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Finished, MediaError> {
        let mut args: Vec<OsString> = ["-hide_banner", "-nostdin", "-v", "info"].map(Into::into).to_vec();
        args.extend(opening.args());
        args.extend(["-map".into(), format!("0:{stream}").into(), "-c".into(), "copy".into()]);
        let words = ["-frames:v", "2", "-bsf:v", "trace_headers", "-f", "null", "-"];
        args.extend(words.map(OsString::from));
        let command = self.command(&self.ffmpeg, args, PROBE_LIMIT, Some(opening.access()));
        visus_child::run(&command, cancelled, || {})
            .map_err(|error| self.failure("ffmpeg", error, command.limit))
    }

    fn ask(
        &self,
        opening: &Opening,
        words: &[&str],
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Finished, MediaError> {
        let fixed = ["-v", "error", "-hide_banner", "-of", "json"];
        let mut args: Vec<OsString> = fixed.iter().chain(words).map(OsString::from).collect();
        args.extend(opening.args());
        let command = self.command(&self.ffprobe, args, PROBE_LIMIT, Some(opening.access()));
        visus_child::run(&command, cancelled, || {})
            .map_err(|error| self.failure("ffprobe", error, command.limit))
    }

    fn ask_version(&self) -> Result<String, MediaError> {
        let command = self.command(&self.ffmpeg, vec!["-version".into()], VERSION_LIMIT, None);
        let finished = visus_child::run(&command, || false, || {})
            .map_err(|error| self.failure("ffmpeg", error, command.limit))?;
        Ok(finished.stdout)
    }

    pub(crate) fn failure(&self, tool: &'static str, error: RunError, limit: Duration) -> MediaError {
        match error {
            RunError::Start(error) => MediaError::ToolBroken { tool, reason: error.to_string() },
            RunError::TimedOut => MediaError::TimedOut { seconds: limit.as_secs_f64() },
            RunError::Cancelled => MediaError::Cancelled,
        }
    }
}

/// A path that means the same from any folder, links not followed.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn locate(tool: &'static str, variable: &str, purpose: &str) -> Result<PathBuf, MediaError> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let missing = || MediaError::NoTool { tool, purpose: purpose.to_owned(), hint: HINT };
    named.or_else(|| visus_child::on_path(&program_name(tool))).ok_or_else(missing)
}

fn program_name(tool: &str) -> String {
    format!("{tool}{}", std::env::consts::EXE_SUFFIX)
}

fn name_of_version(words: &str) -> Option<String> {
    let name = words.strip_prefix("ffmpeg version ")?.split(' ').next()?;
    Some(name.to_owned())
}

/// The libavcodec of the day on which `-fps_mode` came (7 June 2022). Releases and builds of any day tell its number, whatever
/// they call themselves.
const FPS_MODE: (u32, u32) = (59, 33);

fn knows_fps_mode(words: &str) -> bool {
    let line = words.lines().find_map(|line| line.trim().strip_prefix("libavcodec "));
    let mut parts = line.unwrap_or_default().split(['.', '/']).map(|part| part.trim().parse().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= FPS_MODE,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (name, library, expected) in [
            ("4.4.2-0ubuntu0.22.04.1", "58.134.100", false),
            ("5.0.1", "59. 18.100", false),
            ("N-47683-g0e8eb07980-static", "58. 42.102", false),
            ("5.1.9-0+deb12u1", "59. 37.100", true),
            ("n7.1", "61. 19.100", true),
            ("N-118000-gabc", "61. 26.100", true),
            ("2024-11-06-git-4047b887fc-full_build", "61. 24.100", true),
        ] {
            let words = format!(
                "ffmpeg version {name} Copyright (c) 2000\nlibavutil 1. 2. 3\nlibavcodec     {library} / {library}\n"
            );
            assert_eq!(name_of_version(&words).as_deref(), Some(name));
            assert_eq!(knows_fps_mode(&words), expected, "{name}");
        }
        assert_eq!(name_of_version("usage: ffmpeg"), None);
    }

    #[test]
    fn the_sentence_about_a_missing_tool() {
        let error =
            MediaError::NoTool { tool: "ffprobe", purpose: "vmaf_score_encoded".to_owned(), hint: HINT };
        assert!(
            error.to_string().starts_with("ffprobe not on PATH; install ffmpeg to use vmaf_score_encoded")
        );
    }
}
