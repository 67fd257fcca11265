//! The clips of the self-test, and what is computed on them.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use visus_engine::{FeatureSpec, ModelSpec};
use visus_video::synthetic::{Clip, Distortion, Pattern};
use visus_video::{Chroma, ChromaRounding, Format, Source, write_raw, write_y4m};

/// A pair and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    width: usize,
    height: usize,
    chroma: Chroma,
    depth: u8,
    frames: u64,
    content: Content,
    models: &'static [&'static str],
    features: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
enum Content {
    /// A scene and the damage done to it.
    Scene(u32, Distortion),
    /// Two patterns.
    Patterns(Pattern, Pattern),
}

const V0: &[&str] = &["vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1", "vmaf_b_v0.6.3"];
const FLOAT: &[&str] = &["vmaf_float_v0.6.1", "vmaf_float_v0.6.1neg"];
const BOTH: &[&str] = &["vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_float_v0.6.1"];
const V1: &[&str] = &["vmaf_v1.0.16_3d0h", "vmaf_v1.0.16_5d0h", "vmaf_v1.0.16_hfr_3d0h"];
const SIBLINGS: &[&str] =
    &["psnr", "psnr_hvs", "float_ssim", "float_ms_ssim", "ciede", "cambi", "speed_chroma", "speed_temporal"];

/// All cases, the quick ones first.
pub fn all() -> Vec<Case> {
    use Chroma::{C420, C422, C444};
    let blocks = Content::Scene(1, Distortion::Blocking { step: 24 });
    let blur = Content::Scene(2, Distortion::Blur { radius: 1 });
    let grain = Content::Scene(3, Distortion::Noise { amplitude: 6, seed: 9 });
    let bands = Content::Scene(4, Distortion::Banding { bits: 5 });
    let noise = Content::Patterns(Pattern::Noise { seed: 11 }, Pattern::Noise { seed: 12 });
    let checks = Content::Patterns(
        Pattern::Checkerboard { cell: 8, shift: 0 },
        Pattern::Checkerboard { cell: 8, shift: 3 },
    );
    let case = |name, (width, height), chroma, depth, frames, content, models, features| Case {
        name,
        width,
        height,
        chroma,
        depth,
        frames,
        content,
        models,
        features,
    };
    vec![
        case("blocks 8-bit", (352, 288), C420, 8, 4, blocks, V0, &[]),
        case("blur 8-bit", (288, 162), C420, 8, 3, blur, FLOAT, &[]),
        case("grain 10-bit 4:2:2", (240, 136), C422, 10, 3, grain, BOTH, &[]),
        case("bands 12-bit 4:4:4", (176, 144), C444, 12, 2, bands, BOTH, &[]),
        case("noise 8-bit", (160, 120), C420, 8, 2, noise, BOTH, &[]),
        case("noise 16-bit", (98, 66), C420, 16, 2, noise, BOTH, &[]),
        case("checks 8-bit", (128, 96), C420, 8, 2, checks, BOTH, &[]),
        case("v1 8-bit", (416, 336), C420, 8, 3, blocks, V1, SIBLINGS),
        case("v1 10-bit", (352, 352), C444, 10, 2, bands, V1, SIBLINGS),
    ]
}

impl Case {
    pub fn models(&self) -> Vec<ModelSpec> {
        self.models.iter().map(|model| ModelSpec::version(model).named(model)).collect()
    }

    pub fn features(&self) -> Result<Vec<FeatureSpec>> {
        self.features.iter().map(|text| Ok(text.parse()?)).collect()
    }

    pub fn clips(&self) -> Result<(Clip, Clip)> {
        let format = Format::new(self.width, self.height, self.chroma, self.depth)?;
        Ok(match self.content {
            Content::Scene(seed, distortion) => {
                let reference = Clip::scene(format, self.frames, seed);
                (reference.clone(), reference.distorted(distortion))
            }
            Content::Patterns(reference, distorted) => {
                (Clip::pattern(format, self.frames, reference), Clip::pattern(format, self.frames, distorted))
            }
        })
    }

    /// How libvmaf's tool is asked for the same figures.
    fn arguments(&self, extension: &str) -> String {
        let file = self.name.replace([' ', ':'], "_");
        let mut words = vec![format!("-r {file}_ref.{extension} -d {file}_dis.{extension}")];
        if extension == "yuv" {
            words.push(format!("-w {} -h {} -p 420 -b {}", self.width, self.height, self.depth));
        }
        words.extend(self.models.iter().map(|model| format!("--model version={model}:name={model}")));
        words.extend(self.features.iter().map(|feature| format!("--feature {feature}")));
        words.join(" ")
    }
}

/// Writes all clips into a folder, with a list of the arguments for a `vmaf` tool. 16 bits go into raw files, since
/// libvmaf's tool reads them from no other.
pub fn write_clips(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut list = String::new();
    for case in all() {
        let extension = if case.depth == 16 { "yuv" } else { "y4m" };
        let (reference, distorted) = case.clips()?;
        for (clip, side) in [(reference, "ref"), (distorted, "dis")] {
            let path = folder.join(format!("{}_{side}.{extension}", case.name.replace([' ', ':'], "_")));
            let out = BufWriter::new(
                File::create(&path).with_context(|| format!("cannot create {}", path.display()))?,
            );
            match extension {
                "yuv" => write_raw(out, ChromaRounding::Down, clip.frames())?,
                _ => write_y4m(out, clip.format(), (25, 1), clip.frames())?,
            }
        }
        list.push_str(&format!("{}\t{}\n", case.name, case.arguments(extension)));
    }
    let path = folder.join("arguments.txt");
    std::fs::write(&path, list).with_context(|| format!("cannot write {}", path.display()))
}
