//! Bodies of the fuzz targets: they take any bytes and must not panic, hang or exhaust memory. Each says what became of them.
//!
//! The targets in `fuzz/` call them under libFuzzer, the tests below through `visus_fuzzing`.

use std::io::{Seek, Write};
use std::path::Path;

use crate::onnx::{Limits, ModelFile};
use crate::table::{Table, Wanted};
use crate::tiny::Sidecar;

/// The wire format, the scan and tensors outside of an ONNX file.
pub fn onnx(bytes: &[u8]) -> String {
    let limits = Limits { bytes: 1 << 20, ..Limits::default() };
    match ModelFile::from_bytes("fuzzed".to_owned(), bytes.to_vec(), None, &limits) {
        Ok(model) => {
            assert!(model.sha256().len() == 64);
            "read".to_owned()
        }
        Err(error) => error.to_string(),
    }
}

/// The description beside a model.
pub fn sidecar(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return "no text".to_owned() };
    match Sidecar::parse(text) {
        Ok(sidecar) => {
            assert!(sidecar.encoders.len() <= 1024);
            "read".to_owned()
        }
        Err(error) => error.to_string(),
    }
}

/// A CSV file.
pub fn csv(bytes: &[u8]) -> String {
    table("t.csv", bytes)
}

/// A Parquet file with any compression.
pub fn parquet(bytes: &[u8]) -> String {
    table("t.parquet", bytes)
}

fn table(name: &str, bytes: &[u8]) -> String {
    let Ok(mut file) = tempfile::tempfile() else { return "no room".to_owned() };
    if file.write_all(bytes).and_then(|()| file.rewind()).is_err() {
        return "no room".to_owned();
    }
    let wanted = Wanted { numbers: &|_| true, key: "key" };
    match Table::read(name.to_owned(), Path::new(name), file, wanted) {
        Ok(table) => {
            assert!(table.key().is_none_or(|key| key.len() == table.rows));
            format!("read, with a key: {}", table.key().is_some())
        }
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, TableWriter};
    use visus_fuzzing::Fuzz;

    #[test]
    fn mutated_models_and_descriptions() {
        // An input of two sizes, one node, one tensor outside.
        let seed = b"\x08\x08\x3a\x37\x0a\x0e\x0a\x01x\x12\x01y\x22\x06\x49dent\x2a\x0f\x08\x01\x10\x01\x42\x01w\x6a\x04\x0a\x00\x12\x00\x70\x01\x5a\x10\x0a\x01x\x12\x0b\x0a\x09\x08\x01\x12\x05\x0a\x00\x0a\x01\x08";
        Fuzz::new("onnx", onnx).seed(*seed).rounds(3000).run();
        let seed = br#"{"feature_order":["adm2","vif"],"feature_mean":[1,2],"feature_std":[1,1],"encoder_vocab":["libx264"]}"#;
        Fuzz::new("sidecar", sidecar).seed(*seed).rounds(3000).run();
    }

    #[test]
    fn mutated_tables() {
        let folder = tempfile::tempdir().unwrap();
        for (name, body) in [("csv", csv as fn(&[u8]) -> String), ("parquet", parquet)] {
            let path = folder.path().join("t").with_extension(name);
            let mut writer =
                TableWriter::new(&path, ["key", "adm2", "mos"].map(str::to_owned).to_vec()).unwrap();
            for row in 0..20 {
                writer.push(vec![Cell::Text(format!("k{row}")), Cell::Number(0.5), Cell::Whole(row)]);
            }
            writer.finish().unwrap();
            Fuzz::new(name, body).seed(std::fs::read(&path).unwrap()).rounds(400).run();
        }
    }
}
