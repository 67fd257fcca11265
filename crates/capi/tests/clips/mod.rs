//! Pairs of clips for ffmpeg's filter: made here, and the golden ones. What libvmaf's own library gives a stable answer for
//! decides what is asked for and compared.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, write_y4m};

/// A pair to be scored.
#[derive(Debug)]
pub struct Pair {
    pub name: String,
    pub reference: PathBuf,
    pub distorted: PathBuf,
    pub depth: u64,
    pub compared: Compared,
}

/// How far libvmaf's answer means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The whole log.
    All,
    /// The SIMD code of its integer ADM differs from its C code (or reads memory that it did not write): everything but ADM
    /// and what is predicted from it.
    NotAdm,
    /// Too small for its integer ADM, which reads beyond its rows; ours refuses. A model without ADM scores them.
    WithoutAdm,
}

/// Below this size, in either direction, libvmaf crashes or its integer ADM reads memory that it did not write.
const SMALLEST: u64 = 33;

/// Pairs in the formats that the filter takes, even and odd sizes.
pub fn generated(folder: &Path) -> Vec<Pair> {
    let formats = [
        (576, 324, Chroma::C420, 8),
        (640, 360, Chroma::C420, 10),
        (544, 306, Chroma::C422, 8),
        (560, 316, Chroma::C422, 10),
        (576, 324, Chroma::C444, 8),
        (640, 360, Chroma::C444, 10),
        (576, 323, Chroma::C420, 12),
        (577, 325, Chroma::C420, 8),
    ];
    let pair = |(width, height, chroma, depth): (usize, usize, Chroma, u8)| {
        let format = Format::new(width, height, chroma, depth).unwrap();
        let reference = Clip::scene(format, 4, u32::from(depth) + width as u32);
        let distorted = reference.clone().distorted(Distortion::Blocking { step: 30 });
        let name = format!("{width}x{height}-{}-{depth}", chroma.to_string().replace(':', ""));
        let write = |side: &str, clip: &Clip| {
            let path = folder.join(format!("{name}-{side}.y4m"));
            write_y4m(fs::File::create(&path).unwrap(), &format, (25, 1), clip.frames()).unwrap();
            path
        };
        let [reference, distorted] = [write("ref", &reference), write("dis", &distorted)];
        Pair { reference, distorted, name, depth: depth.into(), compared: Compared::All }
    };
    formats.into_iter().map(pair).collect()
}

/// All golden pairs, as Y4M.
pub fn golden(folder: &Path) -> Vec<Pair> {
    let Some(golden) = std::env::var_os("VISUS_GOLDEN").map(PathBuf::from) else { return Vec::new() };
    let manifest: Value = serde_json::from_slice(&fs::read(golden.join("manifest.json")).unwrap()).unwrap();
    let cases = manifest["cases"].as_array().unwrap();
    let mut pairs: Vec<Pair> = Vec::new();
    for case in cases {
        let name = text(case, "pair");
        if pairs.iter().any(|pair| pair.name == name) {
            continue;
        }
        let compared = compared(case, cases);
        let [reference, distorted] =
            ["ref", "dis"].map(|side| as_y4m(&golden.join(text(case, side)), case, folder));
        let depth = case["bitdepth"].as_u64().unwrap();
        pairs.push(Pair { name: name.to_owned(), reference, distorted, depth, compared });
    }
    assert!(pairs.len() > 50, "only {} golden pairs", pairs.len());
    pairs
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_default()
}

/// The manifest marks the cases in which libvmaf's SIMD code differs from its C code. The filter is asked for what the profiles
/// `v0` and `basic` compute.
fn compared(case: &Value, cases: &[Value]) -> Compared {
    let side = |key: &str| case[key].as_u64().unwrap_or(0);
    if side("width") < SMALLEST || side("height") < SMALLEST {
        return Compared::WithoutAdm;
    }
    let marks = ["expected_avx2", "expected_avx512", "nondeterministic_avx2", "nondeterministic_avx512"];
    let differs = cases
        .iter()
        .filter(|other| other["pair"] == case["pair"] && ["v0", "basic"].contains(&text(other, "profile")))
        .any(|other| marks.iter().any(|mark| other.get(mark).is_some()));
    if differs { Compared::NotAdm } else { Compared::All }
}

/// A file of the golden folder in this one, unpacked; raw video gets the headers of Y4M.
fn as_y4m(file: &Path, case: &Value, folder: &Path) -> PathBuf {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let path = folder.join(format!("{}.y4m", name.split('.').next().unwrap()));
    if path.exists() {
        return path;
    }
    let bytes = unpacked(file);
    if text(case, "container") == "y4m" {
        fs::write(&path, bytes).unwrap();
    } else {
        write_raw_as_y4m(&path, case, &bytes);
    }
    path
}

fn unpacked(file: &Path) -> Vec<u8> {
    use std::io::Read;
    let bytes = fs::read(file).unwrap();
    if file.extension().is_none_or(|ending| ending != "zst") {
        return bytes;
    }
    let mut out = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(&bytes[..]).unwrap().read_to_end(&mut out).unwrap();
    out
}

fn write_raw_as_y4m(path: &Path, case: &Value, bytes: &[u8]) {
    let number = |key: &str| case[key].as_u64().unwrap();
    let (width, height, depth) = (number("width"), number("height"), number("bitdepth"));
    let chroma = text(case, "pix_fmt");
    let luma = width * height;
    let samples = match chroma {
        "420" => luma * 3 / 2,
        "422" => luma * 2,
        "444" => luma * 3,
        other => panic!("{other} is no layout of planes"),
    };
    let (sample_bytes, suffix) = if depth > 8 { (2, format!("p{depth}")) } else { (1, String::new()) };
    let frame = usize::try_from(samples * sample_bytes).unwrap();
    assert_eq!(bytes.len() % frame, 0, "{}", path.display());
    let mut out = fs::File::create(path).unwrap();
    writeln!(out, "YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C{chroma}{suffix}").unwrap();
    for frame in bytes.chunks(frame) {
        out.write_all(b"FRAME\n").unwrap();
        out.write_all(frame).unwrap();
    }
}
