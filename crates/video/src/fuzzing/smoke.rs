//! The fuzz targets' bodies on mutated seeds: what a fuzzer does, small enough for every test run.
//!
//! Bounded by iterations and driven by a fixed seed, so a failure repeats; the input is printed when a body panics.

use std::panic::{self, AssertUnwindSafe};

use crate::synthetic::{Clip, Pattern};
use crate::{Chroma, ChromaRounding, Format, fuzzing, write_raw, write_y4m};

const ITERATIONS: u32 = 8_000;

/// xorshift64*: small, and good enough to choose mutations.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        (self.roll() % end.max(1) as u64) as usize
    }
}

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

/// Changes a few places: a bit, a byte, a word put in or over, a piece cut out, doubled or cut off at the end.
fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>, words: &[&[u8]]) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len());
        let end = (at + dice.below(24)).min(bytes.len());
        match dice.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = dice.roll() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.extend_from_within(at..end),
            4 => bytes.truncate(at),
            5 => drop(bytes.splice(at..end, bytes[..end - at].to_vec())),
            6 => drop(bytes.splice(at..at, words[dice.below(words.len())].iter().copied())),
            _ => drop(bytes.splice(at..end, words[dice.below(words.len())].iter().copied())),
        }
    }
}

fn run(seeds: &[Vec<u8>], words: &[&[u8]], body: fn(&[u8])) {
    for seed in seeds {
        body(seed);
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for iteration in 0..ITERATIONS {
        let mut bytes = seeds[dice.below(seeds.len())].clone();
        mutate(&mut dice, &mut bytes, words);
        let result = panic::catch_unwind(AssertUnwindSafe(|| body(&bytes)));
        assert!(result.is_ok(), "iteration {iteration} failed on b\"{}\"", bytes.escape_ascii());
    }
}

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
    let seeds: Vec<_> = formats().into_iter().map(seed).collect();
    run(&seeds, &WORDS, fuzzing::y4m);
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
    let seeds: Vec<_> = formats().into_iter().map(seed).collect();
    run(&seeds, &[&[0], &[1], &[16], &[255, 255]], fuzzing::raw_yuv);
}
