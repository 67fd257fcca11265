//! The fuzz targets' bodies on changed seeds: what a fuzzer does, small enough for every test run.

use visus_fuzzing::Fuzz;

use crate::synthetic::{Clip, Pattern};
use crate::{Chroma, ChromaRounding, Format, fuzzing, write_raw, write_y4m};

const ROUNDS: u64 = 8_000;

const WORDS: [&[u8]; 24] = [
    b"YUV4MPEG2 ",
    b"FRAME\n",
    b"FRAME Ip\n",
    b"FRAME",
    b"\n",
    b"\r\n",
    b" ",
    b" W0",
    b" W1",
    b" W3",
    b" H1",
    b" H2",
    b" H-1",
    b" F0:0",
    b" F25",
    b" It",
    b" C420p10",
    b" C444alpha",
    b" C411",
    b" Cmono16",
    b" C422",
    b" W32768 H32768",
    b" XYSCSS=444",
    b" W99999999999999999999",
];

fn formats() -> Vec<Format> {
    let chroma = [Chroma::C400, Chroma::C420, Chroma::C422, Chroma::C444];
    let sizes = [(1, 1), (2, 2), (5, 3), (64, 2)];
    let depths = [8, 10, 16];
    let all = sizes.iter().flat_map(|size| chroma.map(|chroma| (*size, chroma)));
    all.flat_map(|((w, h), chroma)| depths.map(|depth| Format::new(w, h, chroma, depth).unwrap())).collect()
}

#[test]
fn y4m_survives_mutated_files() {
    let seed = |format: Format| {
        let mut bytes = Vec::new();
        let clip = Clip::pattern(format, 2, Pattern::Noise { seed: 1 });
        write_y4m(&mut bytes, &format, (25, 1), clip.frames()).unwrap();
        bytes
    };
    Fuzz::new("y4m", fuzzing::y4m).seeds(formats().into_iter().map(seed)).words(&WORDS).rounds(ROUNDS).run();
}

#[test]
fn raw_survives_mutated_files() {
    let seed = |format: Format| {
        let chroma = [Chroma::C400, Chroma::C420, Chroma::C422, Chroma::C444];
        let chroma = chroma.iter().position(|chroma| *chroma == format.chroma()).unwrap();
        let sides = [format.width(), format.height(), chroma].map(|number| number as u8);
        let mut bytes = [&sides[..], &[format.depth(), 0]].concat();
        let clip = Clip::pattern(format, 2, Pattern::Noise { seed: 1 });
        write_raw(&mut bytes, ChromaRounding::Down, clip.frames()).unwrap();
        bytes
    };
    let seeds = formats().into_iter().map(seed);
    Fuzz::new("raw_yuv", fuzzing::raw_yuv)
        .seeds(seeds)
        .words(&[&[1], &[16], &[255, 255]])
        .rounds(ROUNDS)
        .run();
}
