//! Clips made with ffmpeg, and pairs of them scored.
#![allow(dead_code)]

pub mod contents;
pub mod edits;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use visus_engine::{Cancel, ModelSpec, Outcome, Plan, Settings, Silent, run};
use visus_media::{Comparability, Findings, Input, MediaError, PairOptions, open_pair};

/// Runs ffmpeg in a folder. It must be installed: a test that cannot make its clip fails.
pub fn ffmpeg(folder: &Path, args: &[&str]) {
    if let Err(words) = try_ffmpeg(folder, args) {
        panic!("ffmpeg {args:?}: {words}");
    }
}

/// The same, where a version may not know an option.
pub fn try_ffmpeg(folder: &Path, args: &[&str]) -> Result<(), String> {
    let output = Command::new("ffmpeg")
        .current_dir(folder)
        .args(["-nostdin", "-v", "error", "-y"])
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("ffmpeg does not start ({error}); install it: apt install ffmpeg"));
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// The option that says how frames get their times, whose name changed with ffmpeg 5.1.
pub static FRAME_TIMES: LazyLock<&str> = LazyLock::new(|| {
    let output = Command::new("ffmpeg").args(["-hide_banner", "-h", "full"]).output().expect("ffmpeg");
    if String::from_utf8_lossy(&output.stdout).contains("-fps_mode") { "-fps_mode" } else { "-vsync" }
});

/// A folder with `ref.mkv`, lossless: a scene in steady motion with a little grain, 4:2:0, 8 bits.
pub struct Scene {
    pub folder: tempfile::TempDir,
    rate: u32,
}

pub const GRAIN: &str = "noise=alls=5:allf=t:all_seed=7,format=yuv420p";

impl Scene {
    pub fn new(size: &str, rate: u32, frames: u32) -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let source = format!("mandelbrot=s={size}:r={rate}:end_pts=200:maxiter=200");
        let (frames, filter) = (frames.to_string(), format!("rotate=n/40:c=gray,{GRAIN}"));
        let args =
            ["-f", "lavfi", "-i", &source, "-vf", &filter, "-frames:v", &frames, "-c:v", "ffv1", "ref.mkv"];
        ffmpeg(folder.path(), &args);
        Self { folder, rate }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `ref.mkv` through a filter and an encoder.
    pub fn encode(&self, filter: &str, args: &[&str], name: &str) -> PathBuf {
        let filter = if filter.is_empty() { "null" } else { filter };
        let mut all = vec!["-i", "ref.mkv", "-vf", filter];
        all.extend_from_slice(args);
        all.push(name);
        ffmpeg(self.folder.path(), &all);
        self.path(name)
    }

    /// The same at the scene's own rate. Without it, ffmpeg 7.1 does not know how long the last frame after a `setpts` is
    /// shown, and hides it by the edit list of an MP4.
    pub fn encode_steady(&self, filter: &str, args: &[&str], name: &str) -> PathBuf {
        let rate = self.rate.to_string();
        self.encode(filter, &[args, &["-r", &rate]].concat(), name)
    }

    /// A file as Y4M, through a filter: what a careful person aligns by hand.
    pub fn by_hand(&self, from: &str, filter: &str, name: &str) -> PathBuf {
        let times = *FRAME_TIMES;
        let args = ["-noautorotate", "-i", from, "-vf", filter, times, "passthrough", "-strict", "-1", name];
        ffmpeg(self.folder.path(), &args);
        self.path(name)
    }
}

/// x264, quick, in good quality.
pub const X264: &[&str] = &["-c:v", "libx264", "-preset", "superfast", "-crf", "20", "-threads", "2"];

pub struct Scored {
    pub findings: Findings,
    pub comparability: Comparability,
    pub outcome: Outcome,
}

pub fn plan() -> Plan {
    let spec = ModelSpec::version("vmaf_v0.6.1").named("vmaf");
    Plan::new(&[spec], &["psnr".parse().expect("feature")], true).expect("plan")
}

pub fn score(reference: &Path, distorted: &Path, options: &PairOptions) -> Result<Scored, MediaError> {
    let inputs = [reference, distorted].map(|path| Input::detect(path, None));
    let pair = open_pair(inputs, options)?;
    let outcome =
        run(&plan(), pair.reference, pair.distorted, &Settings::default(), &Cancel::new(), &mut Silent)
            .map_err(|error| match error {
                visus_engine::EngineError::Read { source, .. } => MediaError::Read(source),
                other => MediaError::Picture(other.to_string()),
            })?;
    let (findings, comparability) = pair.control.finish();
    Ok(Scored { findings, comparability, outcome })
}

/// Scores of two Y4M files, frame by frame in order.
pub fn score_by_hand(reference: &Path, distorted: &Path) -> Outcome {
    let open = |path: &Path| visus_video::open(path, None).expect("Y4M");
    run(&plan(), open(reference), open(distorted), &Settings::default(), &Cancel::new(), &mut Silent)
        .expect("scores")
}

/// Every figure of both is the same.
pub fn assert_same_scores(got: &Outcome, expected: &Outcome) {
    assert_eq!(got.frames, expected.frames, "frames");
    for column in expected.scores.columns() {
        let other = got.scores.column(column.name()).expect("the same columns");
        for (index, value) in column.iter() {
            assert_eq!(other.get(index), Some(value), "{} of frame {index}", column.name());
        }
    }
}

/// Processes whose command line names the folder, dead ones that nobody reaped included.
pub fn left_behind(folder: &Path) -> Vec<String> {
    let name = folder.to_string_lossy().into_owned();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let commands = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let commands = commands.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
    commands.filter(|command| command.contains(&name)).collect()
}

/// Planes of 8 bits, row after row.
pub struct Picture {
    pub planes: [Vec<u8>; 3],
}

/// A Y4M file in 4:2:0 and 8 bits, read and written without the code that is tested: header and pictures.
pub fn read_420(path: &Path) -> ((usize, usize), Vec<Picture>) {
    let bytes = std::fs::read(path).expect("Y4M");
    let line = |from: usize| from + bytes[from..].iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let mut at = line(0);
    let header = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let number = |mark: char| {
        let word = header.split_whitespace().find_map(|word| word.strip_prefix(mark));
        word.and_then(|word| word.parse::<usize>().ok()).expect("a size")
    };
    let (width, height) = (number('W'), number('H'));
    let chroma = width.div_ceil(2) * height.div_ceil(2);
    let mut pictures = Vec::new();
    while at < bytes.len() {
        at = line(at);
        let planes = [width * height, chroma, chroma].map(|size| {
            at += size;
            bytes[at - size..at].to_vec()
        });
        pictures.push(Picture { planes });
    }
    ((width, height), pictures)
}

pub fn write_420(path: &Path, (width, height): (usize, usize), pictures: &[Picture]) {
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420mpeg2\n").into_bytes();
    for picture in pictures {
        bytes.extend_from_slice(b"FRAME\n");
        picture.planes.iter().for_each(|plane| bytes.extend_from_slice(plane));
    }
    std::fs::write(path, bytes).expect("Y4M");
}
