//! Models written here byte by byte; those that PyPI's `onnx` makes are run in the comparison with Python.

use std::path::Path;

use super::wire::{put_bytes, put_varint};
use super::*;

fn text(number: u64, value: &str) -> Vec<u8> {
    message(number, value.as_bytes())
}

fn message(number: u64, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, number, bytes);
    out
}

fn whole(number: u64, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, number << 3);
    put_varint(&mut out, value);
    out
}

fn value_info(name: &str, sizes: &[Option<u64>]) -> Vec<u8> {
    let dimension = |size: &Option<u64>| message(1, &size.map_or(text(2, "N"), |size| whole(1, size)));
    let shape = message(2, &sizes.iter().flat_map(dimension).collect::<Vec<_>>());
    let tensor = [whole(1, 1), shape].concat();
    [text(1, name), message(2, &message(1, &tensor))].concat()
}

fn tensor(name: &str, sizes: &[u64], data: &[f32]) -> Vec<u8> {
    let sizes: Vec<u8> = sizes.iter().flat_map(|size| whole(1, *size)).collect();
    [sizes, whole(2, 1), text(8, name), message(9, bytemuck::cast_slice(data))].concat()
}

fn external(name: &str, sizes: &[u64], location: &str) -> Vec<u8> {
    let sizes: Vec<u8> = sizes.iter().flat_map(|size| whole(1, *size)).collect();
    let entry = message(13, &[text(1, "location"), text(2, location)].concat());
    [sizes, whole(2, 1), text(8, name), entry, whole(14, 1)].concat()
}

fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs: Vec<u8> = inputs.iter().flat_map(|name| text(1, name)).collect();
    [inputs, text(2, output), text(4, operator)].concat()
}

fn model(nodes: &[Vec<u8>], weights: &[Vec<u8>], inputs: &[Vec<u8>], output: Vec<u8>) -> Vec<u8> {
    let all =
        |number, list: &[Vec<u8>]| list.iter().flat_map(|item| message(number, item)).collect::<Vec<u8>>();
    let graph =
        [all(1, nodes), text(2, "g"), all(5, weights), all(11, inputs), message(12, &output)].concat();
    [whole(1, 8), message(7, &graph), message(8, &whole(2, 17))].concat()
}

/// y = x · w, with three features.
fn linear(weights: Vec<u8>) -> Vec<u8> {
    let input = value_info("features", &[None, Some(3)]);
    model(&[node("MatMul", &["features", "w"], "y")], &[weights], &[input], value_info("y", &[None, Some(1)]))
}

fn read(bytes: Vec<u8>, folder: &Path) -> Result<ModelFile, OnnxError> {
    let folder = Folder::open(folder).unwrap();
    ModelFile::from_bytes("m.onnx".to_owned(), bytes, Some(&folder), &Limits::default())
}

fn rows(rows: usize, width: usize) -> Batch {
    let data = (0..rows * width).map(|i| i as f32).collect();
    Batch { input: "features".to_owned(), row_shape: vec![width], rows, data, fixed: Vec::new() }
}

#[test]
fn a_linear_model_runs_and_chunks_do_not_show() {
    let file = read(linear(tensor("w", &[3, 1], &[1.0, 10.0, 100.0])), Path::new(".")).unwrap();
    assert!(file.rowwise);
    assert_eq!(file.inputs, [Input { name: "features".to_owned(), shape: vec![None, Some(3)] }]);
    let session = Session::load(&file).unwrap();
    for (count, threads) in [(1, 1), (5, 2), (2048, 1), (5000, 3)] {
        let outputs = session.run(&rows(count, 3), threads).unwrap();
        assert_eq!(outputs[0].shape, [count, 1]);
        let expected: Vec<f32> = (0..count).map(|row| (3 * row) as f32 * 111.0 + 210.0).collect();
        assert_eq!(outputs[0].data, expected);
    }
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let file = read(linear(tensor("w", &[3, 1], &[1.0; 3])), Path::new(".")).unwrap();
    let runner = Runner::default();
    let error = runner.run(&file, &rows(4, 5), || false).unwrap_err().to_string();
    assert_eq!(error, "model m.onnx: input 'features' takes shape (N, 3), got (4, 5)");
    let mut other = rows(4, 3);
    other.input = "x".to_owned();
    let error = runner.run(&file, &other, || false).unwrap_err().to_string();
    assert_eq!(error, "model m.onnx has no input 'x' (inputs: features)");
}

#[test]
fn operators_that_are_not_listed_are_refused() {
    for operator in ["Loop", "If", "NonZero", "RandomNormal", "Evil"] {
        let input = value_info("features", &[None, Some(3)]);
        let bytes = model(&[node(operator, &["features"], "y")], &[], &[input], value_info("y", &[None]));
        let error = read(bytes, Path::new(".")).unwrap_err().to_string();
        assert!(error.contains(&format!("uses operator '{operator}'")), "{error}");
    }
    let foreign = [node("MatMul", &["features"], "y"), text(7, "com.evil")].concat();
    let bytes = model(&[foreign], &[], &[], value_info("y", &[None]));
    assert!(read(bytes, Path::new(".")).unwrap_err().to_string().contains("com.evil.MatMul"));
}

#[test]
fn data_outside_lies_in_the_models_folder() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let weights: [f32; 3] = [1.0, 10.0, 100.0];
    std::fs::write(inner.join("weights.bin"), bytemuck::cast_slice(&weights)).unwrap();
    std::fs::write(folder.path().join("secret.bin"), bytemuck::cast_slice(&weights)).unwrap();
    let file = read(linear(external("w", &[3, 1], "weights.bin")), &inner).unwrap();
    let outputs = Session::load(&file).unwrap().run(&rows(1, 3), 1).unwrap();
    assert_eq!(outputs[0].data, [210.0]);
    let absolute = folder.path().join("secret.bin").display().to_string();
    for bad in ["../secret.bin", &absolute, "", "none.bin", "a/../../secret.bin"] {
        let error = read(linear(external("w", &[3, 1], bad)), &inner).unwrap_err();
        assert!(matches!(error, OnnxError::External { .. }), "{error}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path().join("secret.bin"), inner.join("link.bin")).unwrap();
        let error = read(linear(external("w", &[3, 1], "link.bin")), &inner).unwrap_err().to_string();
        assert!(error.contains("own folder"), "{error}");
    }
}

#[test]
fn rows_that_are_mixed_are_run_together() {
    let input = || value_info("features", &[None, Some(3)]);
    let output = || value_info("y", &[None, Some(3)]);
    let mixing = model(&[node("Softmax", &["features"], "y")], &[], &[input()], output());
    assert!(!read(mixing, Path::new(".")).unwrap().rowwise);
    let weight = tensor("w", &[3, 3], &[1.0; 9]);
    let two = [node("MatMul", &["features", "w"], "h"), node("MatMul", &["h", "h"], "y")];
    assert!(!read(model(&two, &[weight], &[input()], output()), Path::new(".")).unwrap().rowwise);
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let whole = linear(tensor("w", &[3, 1], &[1.0, 2.0, 3.0]));
    for length in 0..whole.len() {
        let _ = read(whole[..length].to_vec(), Path::new(".")).map(|file| Session::load(&file).map(|_| ()));
    }
    for place in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[place] ^= flip;
            if let Ok(file) = read(damaged, Path::new(".")) {
                let _ = Session::load(&file).and_then(|session| session.run(&rows(2, 3), 1));
            }
        }
    }
}

#[test]
fn size_has_a_limit() {
    let bytes = linear(tensor("w", &[3, 1], &[1.0; 3]));
    let limits = Limits { bytes: bytes.len() as u64 - 1, ..Limits::default() };
    let error = ModelFile::from_bytes("m".to_owned(), bytes, None, &limits).unwrap_err();
    assert!(matches!(error, OnnxError::TooLarge { .. }), "{error}");
}
