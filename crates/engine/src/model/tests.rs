//! Built-in models load, their figures are those of libvmaf, and broken files say what is wrong.

use super::*;
use crate::model::spec::ModelFlags;

#[test]
fn every_built_in_model_loads() {
    for builtin in BUILTIN {
        let model = NamedModel::load(&ModelSpec::version(builtin.version)).unwrap();
        for feature in &model.model.features {
            assert!(!feature.name.is_empty());
        }
        assert_eq!(model.siblings.len(), if builtin.version.contains("_b_") { 20 } else { 0 });
    }
}

/// The files are Netflix's own: their SHA-256 as published.
#[test]
fn built_in_models_are_the_published_files() {
    for (version, sha256) in [
        ("vmaf_v0.6.1", "5950d61fa1f861bd45d8149d80539ed9f3376cfc2495b8f0fa8e9f57cb131ee3"),
        ("vmaf_v0.6.1neg", "1fcda193aaa2a3136471b7516b3c5dc344546c05fcde2d58609f8c60a2387392"),
        ("vmaf_4k_v0.6.1", "73b187001309703c89d57cf58baab01660bd11e4ea6fac62bc064c5f5da6dac8"),
        ("vmaf_4k_v0.6.1neg", "f92048bf94401a5b915f551eb248709275c61df5f20d062a3ae010dcf4d4e8fc"),
        ("vmaf_b_v0.6.3", "34f620dbaff662fe7d33dd80326553c2cc3910e4135349ba4c367171d3a3cfbd"),
        ("vmaf_float_v0.6.1", "26573aa333346f1109226e7283969e8b3581119a1ab7f18897767351dd963ff8"),
        ("vmaf_float_v0.6.1neg", "8ac8e9bd6153e57fed4e9809c49711ea7654da2a14ea701423187905e914597a"),
        ("vmaf_float_4k_v0.6.1", "2af34f3068174720a35126807dbe8d0b19c5143fee328a9fc2331c15c54e4433"),
        ("vmaf_float_b_v0.6.3", "e32df73119386b124836910956fe8e0b0583a35638d2c518719e5a5069d0248b"),
        ("vmaf_v1.0.16_3d0h", "e4cf8c147e1368b35497d772920bc92f98c1ad7853c1033d8a836947f427140e"),
        ("vmaf_v1.0.16_3d0h_2160", "77f552fd8d5b6c6a2166bfc4470c9368ec68d2425ed40f1cc235b0cc500f33c2"),
        ("vmaf_v1.0.16_5d0h", "64e12d9c1e4ed5d79da7fa515b82fac7247a9e2ccc91e0ebce31d05489500385"),
        ("vmaf_v1.0.16_1d5h_2160", "634d36e0502cb797384726cdd1a106a2c207827595a9e4958d3dae1bd517b139"),
        ("vmaf_v1.0.16_hfr_3d0h", "dcfdfab1c00685c1e5f75b6f1078bb4a44c722654e4de090fa5c66784c75241b"),
        ("vmaf_v1.0.16_hfr_3d0h_2160", "1bc502f00aeee11433e2d09468186bbf1bbce56ee650c9bade06c7435ebdd4db"),
        ("vmaf_v1.0.16_hfr_5d0h", "590f612c87df94badca58e563b318fa9958eac631ab8aadd73bff8cc1adfc515"),
        ("vmaf_v1.0.16_hfr_1d5h_2160", "0371db55d3de81a760125f6d65eb4386f1d38af6cf1d00c2f48158e3596246d4"),
    ] {
        assert_eq!(sha256_hex(builtin(version).unwrap().text().as_bytes()), sha256, "{version}");
    }
    assert_eq!(BUILTIN.len(), 17);
}

/// Features of identical pictures without motion: the well-known 97.43 of the default model.
#[test]
fn prediction_of_a_perfect_still_frame() {
    let model = NamedModel::load(&ModelSpec::version("vmaf_v0.6.1")).unwrap();
    let values: Vec<f64> = model
        .model
        .features
        .iter()
        .map(|feature| if feature.name.contains("motion") { 0.0 } else { 1.0 })
        .collect();
    let score = model.model.predict(&values, Finish::Full);
    assert!((score - 97.428).abs() < 0.001, "{score}");
}

fn broken(change: impl Fn(&str) -> String) -> String {
    let text = builtin("vmaf_v0.6.1neg").unwrap().text();
    let changed = change(&text);
    assert_ne!(changed, text, "the change found nothing to change");
    json::parse(&changed, ModelFlags::default()).unwrap_err()
}

#[test]
fn broken_files_say_what_is_wrong() {
    for (from, to, reason) in [
        ("\"LIBSVMNUSVR\"", "\"RANDOMFOREST\"", "model_type 'RANDOMFOREST'"),
        ("linear_rescale", "squared", "norm_type 'squared'"),
        ("\"feature_names\"", "\"names\"", "'feature_names' is missing"),
        ("\"slopes\"", "\"slope\"", "'slopes' is missing"),
        ("\"model_dict\"", "\"dict\"", "no 'model_dict'"),
        ("\"score_clip\": [", "\"score_clip\": [5,", "'score_clip' is not"),
        ("nu_svr", "c_svc", "not a regression"),
        ("{", "{{", "not JSON"),
    ] {
        let message = broken(|text| text.replace(from, to));
        assert!(message.contains(reason), "{message:?} should say {reason:?}");
    }
}

#[test]
fn truncated_files_never_panic() {
    let text = builtin("vmaf_v0.6.1neg").unwrap().text();
    for end in (0..text.len()).step_by(97) {
        assert!(json::parse(&text[..end], ModelFlags::default()).is_err(), "cut at {end}");
    }
}

#[test]
fn unknown_versions_name_the_known_ones() {
    let error = NamedModel::load(&ModelSpec::version("vmaf_v9")).unwrap_err().to_string();
    assert!(error.starts_with("no such built-in model: \"vmaf_v9\""), "{error}");
    assert!(error.contains("vmaf_v0.6.1neg"));
}

#[test]
fn values_are_counted_outside_of_texts() {
    for (text, count) in [
        ("", 1),
        ("1", 1),
        (r#"{"a":1}"#, 3),
        (r#"[1,2,3]"#, 4),
        (r#"{"a,[{:":"b\",[","c":[]}"#, 6),
        (r#""\\","#, 2),
    ] {
        assert_eq!(json_values(text.as_bytes()), count, "{text}");
    }
}

#[test]
fn a_model_of_very_many_values_is_not_parsed() {
    let text = format!("[{}0]", r#"{"":0},"#.repeat(100_000));
    let error = NamedModel::from_json(&ModelSpec::version(""), "bomb".to_owned(), &text).unwrap_err();
    assert!(error.to_string().contains("300002 values, more than the 65536"), "{error}");
    // The largest known model is far below the limit.
    let largest = BUILTIN.iter().map(|model| json_values(model.text().as_bytes())).max();
    assert!(largest.is_some_and(|values| values < 10_000), "{largest:?}");
}
