//! Small clips in a folder of their own.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, ChromaRounding, Format, write_raw, write_y4m};

/// A folder with `ref.y4m`, `dis.y4m`, and the same as raw video.
pub struct Clips {
    _dir: tempfile::TempDir,
    pub folder: PathBuf,
    pub width: usize,
    pub height: usize,
}

impl Clips {
    pub fn new(frames: u64) -> Self {
        Self::sized(64, 64, frames)
    }

    pub fn sized(width: usize, height: usize, frames: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let format = Format::new(width, height, Chroma::C420, 8).unwrap();
        let reference = Clip::scene(format, frames, 5);
        write(&folder, "ref", &reference);
        write(&folder, "dis", &reference.distorted(Distortion::Blur { radius: 1 }));
        Self { _dir: dir, folder, width, height }
    }

    /// A short reference, and the same blurred more and more.
    pub fn blurred(&self, count: usize) -> (String, Vec<String>) {
        let format = Format::new(self.width, self.height, Chroma::C420, 8).unwrap();
        let reference = Clip::scene(format, 4, 5);
        write(&self.folder, "sharp", &reference);
        let blurred = (1..=count).map(|radius| {
            let name = format!("blurred{radius}");
            write(&self.folder, &name, &reference.clone().distorted(Distortion::Blur { radius }));
            self.path(&format!("{name}.y4m"))
        });
        (self.path("sharp.y4m"), blurred.collect())
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// Arguments of a score of the Y4M files.
    pub fn y4m(&self) -> Value {
        json!({ "ref": self.path("ref.y4m"), "dis": self.path("dis.y4m") })
    }

    /// Arguments of a score of the raw files.
    pub fn raw(&self) -> Value {
        json!({
            "ref": self.path("ref.yuv"), "dis": self.path("dis.yuv"),
            "width": self.width, "height": self.height, "pixfmt": "420", "bitdepth": 8,
        })
    }
}

fn write(folder: &Path, name: &str, clip: &Clip) {
    let create = |kind: &str| BufWriter::new(File::create(folder.join(format!("{name}.{kind}"))).unwrap());
    write_y4m(create("y4m"), visus_video::Source::format(clip), (25, 1), clip.frames()).unwrap();
    write_raw(create("yuv"), ChromaRounding::Up, clip.frames()).unwrap();
}

/// Two shots of twelve frames in one clip, damaged by different blocks; arguments of a score of the raw files.
pub fn two_shots(clips: &Clips) -> Value {
    let format = Format::new(192, 128, Chroma::C420, 8).unwrap();
    let shots = [(3, 50), (40, 60)].map(|(seed, step)| {
        let clip = Clip::scene(format, 12, seed);
        (clip.clone(), clip.distorted(Distortion::Blocking { step }))
    });
    let create = |name: &str| BufWriter::new(File::create(clips.folder.join(name)).unwrap());
    let frames = |clip: &Clip| clip.frames().collect::<Vec<_>>();
    let reference = shots.iter().flat_map(|(clip, _)| frames(clip));
    write_raw(create("shots_ref.yuv"), ChromaRounding::Up, reference).unwrap();
    let distorted = shots.iter().flat_map(|(_, clip)| frames(clip));
    write_raw(create("shots_dis.yuv"), ChromaRounding::Up, distorted).unwrap();
    json!({
        "ref": clips.path("shots_ref.yuv"), "dis": clips.path("shots_dis.yuv"),
        "width": 192, "height": 128, "pixfmt": "420", "bitdepth": 8,
    })
}

/// The same arguments with some more.
pub fn with(mut arguments: Value, more: Value) -> Value {
    let (Value::Object(into), Value::Object(more)) = (&mut arguments, more) else { panic!("two objects") };
    into.extend(more);
    arguments
}

/// Twenty thousand black frames that take no room on the disk: scoring them takes long.
pub fn endless(clips: &Clips) -> Value {
    let size = 640 * 360 * 3 / 2;
    for name in ["long_ref.yuv", "long_dis.yuv"] {
        let file = File::create(clips.folder.join(name)).unwrap();
        file.set_len(size * 20_000).unwrap();
    }
    json!({
        "ref": clips.path("long_ref.yuv"), "dis": clips.path("long_dis.yuv"),
        "width": 640, "height": 360, "pixfmt": "420", "bitdepth": 8,
    })
}
