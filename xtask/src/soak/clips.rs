//! What the soak scores, and the right figures for it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Two videos and their score.
#[derive(Clone, Debug)]
pub struct Pair {
    pub reference: PathBuf,
    pub distorted: PathBuf,
    /// The mean of VMAF by `visus score`, in a process of its own.
    pub vmaf: f64,
}

/// All files of a soak.
#[derive(Debug)]
pub struct Clips {
    /// What clients may read.
    pub folder: PathBuf,
    /// Where clients may have files written.
    pub out: PathBuf,
    /// Temporary files of the server and its children, and its cache.
    pub temporary: PathBuf,
    pub cache: PathBuf,
    pub plain: Vec<Pair>,
    pub encoded: Vec<Pair>,
    pub table: PathBuf,
}

impl Clips {
    pub fn make(binary: &Path, base: &Path) -> Result<Self> {
        let folder = |name: &str| -> Result<PathBuf> {
            let path = base.join(name);
            fs::create_dir(&path).with_context(|| path.display().to_string())?;
            Ok(path)
        };
        let (films, out) = (folder("films")?, folder("out")?);
        let (temporary, cache) = (folder("temporary")?, folder("cache")?);
        #[cfg(unix)]
        fs::set_permissions(&cache, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        let mut clips = Self {
            table: films.join("table.csv"),
            folder: films,
            out,
            temporary,
            cache,
            plain: Vec::new(),
            encoded: Vec::new(),
        };
        fs::write(&clips.table, table())?;
        for (name, size, coarse) in [("small", 64, 9), ("middle", 160, 14), ("large", 352, 24)] {
            clips.plain.push(clips.plain_pair(binary, name, size, coarse)?);
        }
        for crf in [24, 38] {
            clips.encoded.push(clips.encoded_pair(binary, crf)?);
        }
        Ok(clips)
    }

    fn plain_pair(&self, binary: &Path, name: &str, size: usize, coarse: usize) -> Result<Pair> {
        let [reference, distorted] =
            ["ref", "dis"].map(|side| self.folder.join(format!("{name}_{side}.y4m")));
        film(&reference, size, 1)?;
        film(&distorted, size, coarse)?;
        pair(binary, reference, distorted)
    }

    fn encoded_pair(&self, binary: &Path, crf: u32) -> Result<Pair> {
        let reference = self.folder.join("middle_ref.y4m");
        let distorted = self.folder.join(format!("crf{crf}.mp4"));
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "error", "-nostdin", "-y", "-i"]).arg(&reference);
        command.args(["-c:v", "libx264", "-threads", "1", "-crf", &crf.to_string()]).arg(&distorted);
        let status = command.status().context("ffmpeg does not start; the soak needs it")?;
        if !status.success() {
            bail!("ffmpeg: {status}");
        }
        pair(binary, reference, distorted)
    }

    /// Paths as JSON-RPC arguments name them.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A pair with its right figure.
fn pair(binary: &Path, reference: PathBuf, distorted: PathBuf) -> Result<Pair> {
    let report = reference.with_extension("report.json");
    let mut command = Command::new(binary);
    command.args(["score", "-q", "--model", "vmaf_v0.6.1"]).arg(&reference).arg(&distorted);
    command.arg(format!("--json={}", report.display()));
    let output = command.output().with_context(|| binary.display().to_string())?;
    if !output.status.success() {
        bail!("visus score: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let text = fs::read_to_string(&report)?;
    fs::remove_file(&report)?;
    let report: Value = serde_json::from_str(&text)?;
    let pooled = report["pooled_metrics"].as_object().context("no pooled metrics")?;
    let vmaf = pooled.iter().find(|(name, _)| name.starts_with("vmaf")).context("no VMAF")?.1;
    Ok(Pair { reference, distorted, vmaf: vmaf["mean"].as_f64().context("no mean")? })
}

/// A moving pattern, in steps of `coarse` grey levels.
fn film(path: &Path, size: usize, coarse: usize) -> Result<()> {
    const FRAMES: usize = 24;
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    writeln!(file, "YUV4MPEG2 W{size} H{size} F25:1 Ip A1:1 C420jpeg")?;
    for frame in 0..FRAMES {
        file.write_all(b"FRAME\n")?;
        let luma = (0..size * size).map(|place| {
            let (x, y) = (place % size, place / size);
            let wave = (x * 3 + y * 2 + frame * 5) % 255;
            let texture = (x * x + y * 7 + x * y / 3) % 31;
            ((wave * 7 / 8 + texture) / coarse * coarse) as u8
        });
        file.write_all(&luma.collect::<Vec<u8>>())?;
        file.write_all(&vec![128; size * size / 2])?;
    }
    Ok(file.flush()?)
}

/// Features and opinion scores of sixty made-up videos.
fn table() -> String {
    let mut text = "key,adm2,vif_scale0,vif_scale1,vif_scale2,vif_scale3,motion2,mos\n".to_owned();
    for row in 0..60 {
        let quality = f64::from(row * 37 % 60) / 60.0;
        let vif: Vec<String> = [0.90, 0.95, 0.97, 0.98].map(|part| format!("{:.4}", quality * part)).to_vec();
        let motion = f64::from(row * 13 % 29) / 7.0;
        text.push_str(&format!("k{row},{quality:.4},{},{motion:.4},{:.2}\n", vif.join(","), quality * 100.0));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_film_has_all_its_frames_and_the_table_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film.y4m");
        film(&path, 32, 3).unwrap();
        let head = fs::read(&path).unwrap().iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(fs::metadata(&path).unwrap().len() as usize, head + 24 * (6 + 32 * 32 * 3 / 2));
        assert_eq!(table().lines().count(), 61);
    }
}
