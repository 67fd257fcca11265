//! The clips that transcripts are about: a source, encodes of it, and what goes wrong with encodes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

/// Each clip's name, and how ffmpeg makes it of the source.
const ENCODES: [(&str, &[&str]); 7] = [
    ("good.mp4", &["-crf", "18"]),
    ("fair.mp4", &["-crf", "36"]),
    ("bad.mp4", &["-crf", "46"]),
    ("blurred.mp4", &["-crf", "18", "-vf", "boxblur=6:1:enable='between(t,2,3)'"]),
    ("late.mp4", &["-crf", "18", "-vf", "trim=start_frame=10,setpts=PTS-STARTPTS"]),
    ("dropped.mp4", &["-crf", "18", "-vf", "select='not(between(n,50,52))',setpts=N/25/TB"]),
    ("small.mp4", &["-crf", "20", "-vf", "scale=160:90"]),
];
/// A picture that moves everywhere, with noise.
const SOURCE: &str = "testsrc2=s=320x180:r=25:d=4,noise=alls=6:allf=t";
const OTHER: &str = "mandelbrot=s=320x180:r=25:start_scale=2";

pub fn make(visus: &Path) -> Result<TempDir> {
    let folder = TempDir::with_prefix("visus-agents-")?;
    let place = |name: &str| folder.path().join(name);
    let source = ["-f", "lavfi", "-i", SOURCE, "-c:v", "libx264", "-crf", "4"];
    ffmpeg(&source, &place("source.mp4"))?;
    let other = ["-f", "lavfi", "-i", OTHER, "-t", "4", "-c:v", "libx264", "-crf", "18"];
    ffmpeg(&other, &place("other.mp4"))?;
    for (name, how) in ENCODES {
        let source = place("source.mp4");
        let source = source.to_string_lossy();
        ffmpeg(&[&["-i", &source, "-c:v", "libx264"], how].concat(), &place(name))?;
    }
    let status = Command::new(visus).args(["demo", "--quiet", "--keep"]).arg(folder.path()).status()?;
    if !status.success() {
        bail!("visus demo ended with {status}");
    }
    Ok(folder)
}

fn ffmpeg(how: &[&str], to: &Path) -> Result<()> {
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin", "-y"]).args(how).arg(to);
    let output = command.output().context("ffmpeg does not start")?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
