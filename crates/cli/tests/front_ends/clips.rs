//! The clips that requests are about.

use std::path::{Path, PathBuf};
use std::process::Command;

use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, ChromaRounding, Format, write_raw, write_y4m};

pub struct Clips {
    pub folder: tempfile::TempDir,
}

impl Clips {
    pub fn new() -> Self {
        let clips = Self { folder: tempfile::tempdir().unwrap() };
        for (name, size, depth, rate, frames) in [
            ("small", (96, 64), 8, (25, 1), 4),
            ("tiny", (64, 48), 8, (25, 1), 2),
            ("medium", (256, 216), 8, (25, 1), 2),
            ("fast", (96, 64), 8, (60, 1), 4),
            ("fast_medium", (320, 320), 8, (60, 1), 2),
            ("deep", (96, 64), 10, (24000, 1001), 3),
            ("odd", (177, 145), 8, (25, 1), 2),
            ("wide", (128, 64), 8, (25, 1), 4),
            ("qcif", (176, 144), 8, (25, 1), 12),
        ] {
            clips.pair(name, size, depth, rate, frames);
        }
        clips.raw();
        clips.damaged();
        clips.encoded();
        clips.models();
        clips
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn pair(&self, name: &str, size: (usize, usize), depth: u8, rate: (u32, u32), frames: u64) {
        let format = Format::new(size.0, size.1, Chroma::C420, depth).unwrap();
        let reference = Clip::scene(format, frames, 5);
        let distorted = reference.clone().distorted(Distortion::Blocking { step: 24 });
        for (side, clip) in [("ref", &reference), ("dis", &distorted)] {
            let file = std::fs::File::create(self.path(&format!("{name}_{side}.y4m"))).unwrap();
            write_y4m(file, &format, rate, clip.frames()).unwrap();
        }
    }

    fn raw(&self) {
        let format = Format::new(96, 64, Chroma::C420, 8).unwrap();
        let reference = Clip::scene(format, 4, 5);
        let distorted = reference.clone().distorted(Distortion::Blocking { step: 24 });
        for (name, clip) in [("raw_ref.yuv", reference), ("raw_dis.yuv", distorted)] {
            let mut file = std::fs::File::create(self.path(name)).unwrap();
            write_raw(&mut file, ChromaRounding::Up, clip.frames()).unwrap();
        }
    }

    fn damaged(&self) {
        let whole = std::fs::read(self.path("small_dis.y4m")).unwrap();
        std::fs::write(self.path("cut.y4m"), &whole[..whole.len() - 100]).unwrap();
        std::fs::write(self.path("header.y4m"), "YUV4MPEG2 W96 H64 F25:1\n").unwrap();
        std::fs::write(self.path("garbage.y4m"), "no video at all").unwrap();
        std::fs::write(self.path("garbage.mp4"), "no video at all").unwrap();
    }

    fn encoded(&self) {
        ["frames", "gap"].iter().for_each(|name| std::fs::create_dir(self.path(name)).unwrap());
        for (from, to, words) in [
            ("qcif_ref.y4m", "ref.mkv", &["-c:v", "ffv1"][..]),
            ("qcif_dis.y4m", "dis.mkv", &["-c:v", "ffv1"]),
            ("qcif_ref.y4m", "crf30.mp4", &["-c:v", "libx264", "-crf", "30"]),
            ("qcif_ref.y4m", "bars.mkv", &["-vf", "pad=176:176:0:16", "-c:v", "ffv1"]),
            ("qcif_ref.y4m", "bars_crf30.mp4", &["-vf", "pad=176:176:0:16", "-c:v", "libx264", "-crf", "30"]),
            ("qcif_ref.y4m", "picture.png", &["-frames:v", "1"]),
            ("qcif_ref.y4m", "picture.jpg", &["-frames:v", "1", "-update", "1"]),
            ("qcif_ref.y4m", "frames/%03d.png", &[]),
            ("qcif_ref.y4m", "gap/%03d.png", &[]),
            (
                "ref.mkv",
                "two.mkv",
                &["-map", "0:v", "-map", "0:v", "-c:v:0", "ffv1", "-c:v:1", "mpeg2video", "-q:v:1", "5"],
            ),
            ("qcif_ref.y4m", "half.mp4", &["-vf", "scale=88:72", "-c:v", "libx264", "-crf", "20"]),
        ] {
            self.encode(from, to, words);
        }
        std::fs::remove_file(self.path("gap/005.png")).unwrap();
    }

    /// One video from another.
    pub fn encode(&self, from: &str, to: &str, words: &[&str]) {
        let made = Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error", "-y", "-i"])
            .arg(self.path(from))
            .args(words)
            .arg(self.path(to))
            .status();
        assert!(made.expect("ffmpeg is installed").success(), "{to}");
    }

    /// A pair in PQ.
    pub fn encode_hdr(&self) {
        let tags = ["-pix_fmt", "yuv420p10le", "-color_trc", "smpte2084", "-color_primaries", "bt2020"];
        let tags = [&tags[..], &["-colorspace", "bt2020nc", "-frames:v", "4"]].concat();
        self.encode("qcif_ref.y4m", "hdr_ref.mkv", &[&tags[..], &["-c:v", "ffv1"]].concat());
        self.encode("qcif_dis.y4m", "hdr_dis.mkv", &[&tags[..], &["-c:v", "ffv1"]].concat());
    }

    /// A model file of the user's own.
    fn models(&self) {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        std::fs::copy(models.join("vmaf_v0.6.1neg.json"), self.path("own.json")).unwrap();
        std::fs::write(self.path("broken.json"), "{").unwrap();
    }
}
