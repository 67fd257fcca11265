//! Descriptions, codec blocks and resampling; models themselves are run in the comparison with Python.

use super::picture::{Resize, resized};
use super::*;

#[test]
fn a_description_as_trainers_write_it() {
    let text = r#"{"name": "tiny", "feature_order": ["adm2", "motion2"], "feature_mean": [0.9, 4], "feature_std": [0.1, 2.0],
                   "encoder_vocab": ["libx264", "unknown"], "norm_mean": 0.45, "norm_std": [0.22]}"#;
    let sidecar = Sidecar::parse(text).unwrap();
    assert_eq!(sidecar.scaling, Some(vec![(0.9, 0.1), (4.0, 2.0)]));
    assert_eq!(sidecar.picture_scaling, Some((0.45, 0.22)));
    let baked = text.replace("\"name\"", "\"onnx_has_scaler\": true, \"name\"");
    assert_eq!(Sidecar::parse(&baked).unwrap().scaling, None);
    for bad in ["[]", "{", r#"{"features": [1]}"#, r#"{"feature_mean": [1], "feature_std": [0]}"#] {
        assert!(Sidecar::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn codec_blocks() {
    let vocabulary = ["libx264", "libx265", "libsvtav1", "unknown"].map(str::to_owned);
    let block = codec::block(&vocabulary, "HEVC", Some("slow"), 28).unwrap();
    assert_eq!(block, [0.0, 1.0, 0.0, 0.0, 6.0 / 9.0, 28.0 / 63.0]);
    let block = codec::block(&vocabulary, "libsvtav1", Some("12"), 63).unwrap();
    assert_eq!(block, [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
    assert_eq!(codec::block(&vocabulary, "libx264", None, 0).unwrap()[4], 5.0 / 9.0);
    assert_eq!(codec::block(&vocabulary, "libx266", None, 0), None);
}

#[test]
fn resampling_keeps_constants_and_lines() {
    let line: Vec<f32> = (0..12 * 8).map(|i| (i % 12) as f32).collect();
    for how in [Resize::Bilinear, Resize::Nearest, Resize::Bicubic] {
        let flat = resized(&[0.5; 12 * 8], (12, 8), (7, 5), how);
        assert!(flat.iter().all(|value| (value - 0.5).abs() < 1e-6), "{how:?}");
        let half = resized(&line, (12, 8), (6, 4), how);
        let expected = if how == Resize::Nearest { 5.0 } else { 4.5 };
        assert!((half[2] - expected).abs() < 1e-6, "{how:?} {}", half[2]);
    }
    assert_eq!(resized(&line, (12, 8), (12, 8), Resize::Bicubic), line);
}

#[test]
fn features_come_from_metrics() {
    assert_eq!(provider("adm2"), Some(("adm", "integer_adm2".to_owned())));
    assert_eq!(provider("vif_scale3"), Some(("vif", "integer_vif_scale3".to_owned())));
    assert_eq!(provider("psnr_y"), Some(("psnr", "psnr_y".to_owned())));
    assert_eq!(provider("ssim"), Some(("float_ssim", "float_ssim".to_owned())));
    assert_eq!(provider("nonsense"), None);
}
