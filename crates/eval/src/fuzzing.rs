//! Bodies of the fuzz targets: they take any bytes and must not panic, hang or exhaust memory.
//!
//! The targets in `fuzz/` call them under a fuzzer, the tests below on mutated seeds.

use std::io::{Seek, Write};
use std::path::Path;

use crate::onnx::{Limits, ModelFile};
use crate::table::{Table, Wanted};
use crate::tiny::Sidecar;

/// The wire format, the scan and tensors outside of an ONNX file.
pub fn onnx(bytes: &[u8]) {
    let limits = Limits { bytes: 1 << 20, ..Limits::default() };
    if let Ok(model) = ModelFile::from_bytes("fuzzed".to_owned(), bytes.to_vec(), None, &limits) {
        assert!(model.sha256().len() == 64);
    }
}

/// The description beside a model.
pub fn sidecar(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(sidecar) = Sidecar::parse(text) {
        assert!(sidecar.encoders.len() <= 1024);
    }
}

/// A CSV file.
pub fn csv(bytes: &[u8]) {
    table("t.csv", bytes);
}

/// A Parquet file with any compression.
pub fn parquet(bytes: &[u8]) {
    table("t.parquet", bytes);
}

fn table(name: &str, bytes: &[u8]) {
    let Ok(mut file) = tempfile::tempfile() else { return };
    if file.write_all(bytes).and_then(|()| file.rewind()).is_err() {
        return;
    }
    let wanted = Wanted { numbers: &|_| true, key: "key" };
    if let Ok(table) = Table::read(name.to_owned(), Path::new(name), file, wanted) {
        assert!(table.key().is_none_or(|key| key.len() == table.rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, TableWriter};

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
                match self.below(5) {
                    0 => bytes.truncate(at),
                    1 => drop(bytes.drain(at..end)),
                    2 => bytes.extend_from_within(at..end),
                    3 => bytes.splice(at..end, [0xff; 9]).for_each(drop),
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

    fn smoke(seed: &[u8], rounds: usize, body: fn(&[u8])) {
        let mut dice = Dice(7);
        body(seed);
        (0..rounds).for_each(|_| body(&dice.mutated(seed)));
    }

    #[test]
    fn mutated_models_and_descriptions() {
        // An input of two sizes, one node, one tensor outside.
        let seed = b"\x08\x08\x3a\x37\x0a\x0e\x0a\x01x\x12\x01y\x22\x06\x49dent\x2a\x0f\x08\x01\x10\x01\x42\x01w\x6a\x04\x0a\x00\x12\x00\x70\x01\x5a\x10\x0a\x01x\x12\x0b\x0a\x09\x08\x01\x12\x05\x0a\x00\x0a\x01\x08";
        smoke(seed, 3000, onnx);
        let seed = br#"{"feature_order":["adm2","vif"],"feature_mean":[1,2],"feature_std":[1,1],"encoder_vocab":["libx264"]}"#;
        smoke(seed, 3000, sidecar);
    }

    #[test]
    fn mutated_tables() {
        let folder = tempfile::tempdir().unwrap();
        for (name, body) in [("t.csv", csv as fn(&[u8])), ("t.parquet", parquet)] {
            let path = folder.path().join(name);
            let mut writer =
                TableWriter::new(&path, ["key", "adm2", "mos"].map(str::to_owned).to_vec()).unwrap();
            for row in 0..20 {
                writer.push(vec![Cell::Text(format!("k{row}")), Cell::Number(0.5), Cell::Whole(row)]);
            }
            writer.finish().unwrap();
            smoke(&std::fs::read(&path).unwrap(), 400, body);
        }
    }
}
