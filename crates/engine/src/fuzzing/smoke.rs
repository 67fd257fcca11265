//! The bodies of the fuzz targets on mutated seeds: a short run of what a fuzzer does for long.

use crate::fuzzing;
use crate::model::builtin;

/// Steps of the generator x = x * 6364136223846793005 + 1442695040888963407.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    /// A few bytes changed, removed, doubled or cut off.
    fn mutated(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let end = (at + self.below(40)).min(bytes.len());
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..end)),
                2 => bytes.extend_from_within(at..end),
                3 => bytes.splice(at..end, *b"9999999999999").for_each(drop),
                4 => bytes.splice(at..at, *b"[{-1e999:\"").for_each(drop),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = self.below(256) as u8;
                    }
                }
            }
        }
        bytes
    }
}

#[test]
fn model_files() {
    let mut dice = Dice(1);
    for version in ["vmaf_v0.6.1neg", "vmaf_v1.0.16_3d0h"] {
        let seed = builtin(version).unwrap().text();
        fuzzing::model_json(seed.as_bytes());
        for _ in 0..1500 {
            fuzzing::model_json(&dice.mutated(seed.as_bytes()));
        }
    }
}

#[test]
fn option_texts() {
    let mut dice = Dice(2);
    let seeds = [
        "vif=vif_enhn_gain_limit=1.05:debug=true",
        "version=a:name=b:disable_clip:adm.adm_csf_mode=2",
        "motion",
    ];
    for seed in seeds {
        fuzzing::specifications(seed.as_bytes());
        for _ in 0..5000 {
            fuzzing::specifications(&dice.mutated(seed.as_bytes()));
        }
    }
}
