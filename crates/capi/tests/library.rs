//! Our library through the C ABI: every function, its error codes, leaks, threads, headers.

mod api;

use std::ffi::c_void;
use std::process::Command;
use std::ptr::null_mut;

use api::{Api, CollectionScore, EINVAL, ModelConfig, NAMES, Picture, PictureConfiguration, QUIET, c, ours};

const YUV420: i32 = 1;
const SIZE: (u32, u32) = (96, 64);
const STALE: *mut c_void = 0x7ff0 as *mut c_void;

#[test]
fn it_says_what_it_is() {
    let version = Api::ours().version_text();
    assert!(version.starts_with("3.2.0-visus-"), "{version}");
}

#[test]
fn scores_are_there_as_early_as_they_can_be() {
    let api = Api::ours();
    for threads in [0, 3] {
        let context = api.context(api::Configuration { n_threads: threads, ..QUIET });
        let (code, model) = api.model("vmaf_v0.6.1", None, 0);
        assert_eq!(code, 0);
        // SAFETY: both are alive.
        assert_eq!(unsafe { (api.use_features_from_model)(context, model) }, 0);
        assert_eq!(api.feature(context, "psnr", &[]), 0);
        for index in 0..4 {
            assert_eq!(api.read(context, YUV420, 8, SIZE, index), 0);
            assert_eq!(api.feature_score(context, "psnr_y", index).0, 0);
            if index > 0 {
                assert_eq!(api.score(context, model, index - 1).0, 0, "frame before {index}");
            }
        }
        assert_eq!(api.score(context, model, 3).0, EINVAL, "its motion is not known yet");
        assert_eq!(api.flush(context), 0);
        assert_eq!(api.flush(context), EINVAL);
        assert_eq!(api.read(context, YUV420, 8, SIZE, 4), EINVAL);
        let (code, pooled) = api.pooled(context, model, 3, 0, 3);
        assert_eq!(code, 0);
        let single: f64 = (0..4).map(|index| api.score(context, model, index).1).sum();
        assert_eq!(pooled, single / 4.0);
        assert_eq!(api.pooled(context, model, 3, 0, 4).0, EINVAL);
        let (code, log) = api.log(context, 2);
        assert_eq!(code, 0);
        assert!(log.contains("\"integer_adm2\": ") && log.contains("\"vmaf\": {"), "{log}");
        // SAFETY: alive until here.
        unsafe {
            (api.model_destroy)(model);
            assert_eq!((api.close)(context), 0);
        }
    }
}

#[test]
fn bootstrap_collections() {
    let api = Api::ours();
    let (code, model, mut collection) = api.collection("vmaf_b_v0.6.3");
    assert_eq!(code, 0);
    assert_eq!(api.model("vmaf_b_v0.6.3", None, 0).0, EINVAL);
    assert_eq!(api.collection("vmaf_v0.6.1").0, EINVAL);
    let context = api.context(QUIET);
    let mut score = CollectionScore::default();
    // SAFETY: all objects are alive until they are destroyed.
    unsafe {
        let options = api.dictionary(&[("vif_enhn_gain_limit", "1.0")]);
        let overload =
            (api.model_collection_feature_overload)(model, &mut collection, c("vif").as_ptr(), options);
        assert_eq!(overload, 0);
        assert_eq!((api.use_features_from_model_collection)(context, collection), 0);
        assert_eq!((api.use_features_from_model)(context, model), 0);
        (0..2).for_each(|index| assert_eq!(api.read(context, YUV420, 8, SIZE, index), 0));
        assert_eq!(api.flush(context), 0);
        assert_eq!((api.score_at_index_model_collection)(context, collection, &mut score, 0), 0);
        assert_eq!(score.kind, 1);
        assert!(score.low <= score.bagging && score.bagging <= score.high, "{score:?}");
        let again = (api.score_at_index_model_collection)(context, collection, &mut score, 0);
        assert_eq!(again, EINVAL, "as in libvmaf, once");
        assert_eq!((api.score_pooled_model_collection)(context, collection, 3, &mut score, 1, 1), 0);
        assert_eq!(api.score(context, model, 0).0, 0);
        (api.model_collection_destroy)(collection);
        (api.model_destroy)(model);
        assert_eq!((api.score_at_index_model_collection)(context, collection, &mut score, 0), EINVAL);
        (api.close)(context);
    }
}

#[test]
fn imported_scores_are_inputs_of_models() {
    let api = Api::ours();
    let (_, model) = api.model("vmaf_v0.6.1", Some("mine"), 0);
    let context = api.context(QUIET);
    let inputs = ["adm2", "motion2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"];
    for name in inputs {
        let name = c(&format!("VMAF_integer_feature_{name}_score"));
        // SAFETY: alive, and the string ends with a zero.
        unsafe {
            assert_eq!((api.import_feature_score)(context, name.as_ptr(), 0.9, 0), 0);
            assert_eq!((api.import_feature_score)(context, name.as_ptr(), 0.8, 0), EINVAL);
        }
    }
    let (code, score) = api.score(context, model, 0);
    assert_eq!(code, 0);
    assert_eq!(api.feature_score(context, "mine", 0), (0, score));
    assert!(api.log(context, 3).1.starts_with("Frame,integer_adm2,integer_motion2,"));
    // SAFETY: alive until here.
    unsafe { (api.close)(context) };
}

/// Null, stale and wrong arguments: an error each, never a crash.
#[test]
fn wrong_arguments() {
    let api = Api::ours();
    let context = api.context(QUIET);
    let (_, model) = api.model("vmaf_v0.6.1", None, 0);
    let (mut object, mut score, mut many) = (null_mut(), 0.0, CollectionScore::default());
    let (mut picture, mut other) = (Picture::ZERO, Picture::ZERO);
    let mut config = ModelConfig { name: std::ptr::null(), flags: 0 };
    let (text, null) = (c("x"), std::ptr::null());
    let pictures = PictureConfiguration { w: 96, h: 64, bpc: 8, pix_fmt: 1, pic_cnt: 2 };
    // SAFETY: that wrong pointers are not followed is what is tested; all others are variables'.
    unsafe {
        assert_eq!((api.init)(null_mut(), QUIET), EINVAL);
        for bad in [null_mut(), STALE] {
            let codes = [
                (api.close)(bad),
                (api.use_features_from_model)(bad, model),
                (api.use_features_from_model)(context, bad),
                (api.use_features_from_model_collection)(bad, bad),
                (api.use_features_from_model_collection)(context, bad),
                (api.use_feature)(bad, c("psnr").as_ptr(), null_mut()),
                (api.import_feature_score)(bad, text.as_ptr(), 1.0, 0),
                (api.read_pictures)(bad, null_mut(), null_mut(), 0),
                (api.score_at_index)(bad, model, &mut score, 0),
                (api.score_at_index)(context, bad, &mut score, 0),
                (api.score_at_index_model_collection)(context, bad, &mut many, 0),
                (api.feature_score_at_index)(bad, text.as_ptr(), &mut score, 0),
                (api.score_pooled)(bad, model, 3, &mut score, 0, 0),
                (api.score_pooled)(context, bad, 3, &mut score, 0, 0),
                (api.score_pooled_model_collection)(context, bad, 3, &mut many, 0, 0),
                (api.feature_score_pooled)(bad, text.as_ptr(), 3, &mut score, 0, 0),
                (api.preallocate_pictures)(bad, pictures),
                (api.fetch_preallocated_picture)(bad, &mut picture),
                (api.write_output)(bad, c("/nonexistent/x").as_ptr(), 1),
                (api.model_feature_overload)(bad, c("vif").as_ptr(), null_mut()),
            ];
            assert!(codes.iter().all(|code| *code == EINVAL), "{codes:?}");
            (api.model_destroy)(bad);
            (api.model_collection_destroy)(bad);
        }
        let codes = [
            (api.use_feature)(context, null, null_mut()),
            (api.use_feature)(context, text.as_ptr(), null_mut()),
            (api.use_feature)(context, c("psnr").as_ptr(), STALE),
            (api.import_feature_score)(context, null, 1.0, 0),
            (api.read_pictures)(context, &mut picture, &mut other, 0),
            (api.read_pictures)(context, &mut picture, null_mut(), 0),
            (api.feature_score_at_index)(context, null, &mut score, 0),
            (api.feature_score_at_index)(context, text.as_ptr(), null_mut(), 0),
            (api.score_at_index)(context, model, null_mut(), 0),
            (api.score_at_index)(context, model, &mut score, 0),
            (api.score_pooled)(context, model, 0, &mut score, 0, 0),
            (api.score_pooled)(context, model, 3, &mut score, 1, 0),
            (api.feature_score_pooled)(context, text.as_ptr(), 9, &mut score, 0, 0),
            (api.preallocate_pictures)(context, PictureConfiguration { w: 0, ..pictures }),
            (api.preallocate_pictures)(context, PictureConfiguration { pic_cnt: 0, ..pictures }),
            (api.preallocate_pictures)(context, PictureConfiguration { bpc: 7, ..pictures }),
            (api.preallocate_pictures)(context, PictureConfiguration { pix_fmt: 0, ..pictures }),
            (api.fetch_preallocated_picture)(context, &mut picture),
            (api.write_output)(context, null, 1),
            (api.write_output)(context, c("/nonexistent/x").as_ptr(), 1),
            (api.model_load)(null_mut(), &mut config, c("vmaf_v0.6.1").as_ptr()),
            (api.model_load)(&mut object, null_mut(), c("vmaf_v0.6.1").as_ptr()),
            (api.model_load)(&mut object, &mut config, null),
            (api.model_load)(&mut object, &mut config, text.as_ptr()),
            (api.model_load_from_path)(&mut object, &mut config, text.as_ptr()),
            (api.model_collection_load_from_path)(&mut object, &mut object, &mut config, text.as_ptr()),
            (api.model_feature_overload)(model, null, null_mut()),
            (api.model_feature_overload)(model, c("vif").as_ptr(), null_mut()),
            (api.model_collection_feature_overload)(model, null_mut(), c("vif").as_ptr(), null_mut()),
            (api.picture_alloc)(null_mut(), 1, 8, 4, 4),
            (api.picture_alloc)(&mut picture, 0, 8, 4, 4),
            (api.picture_alloc)(&mut picture, 1, 7, 4, 4),
            (api.picture_alloc)(&mut picture, 1, 17, 4, 4),
            (api.picture_unref)(null_mut()),
            (api.picture_unref)(&mut picture),
            (api.feature_dictionary_set)(null_mut(), text.as_ptr(), text.as_ptr()),
            (api.feature_dictionary_set)(&mut object, null, text.as_ptr()),
            (api.feature_dictionary_set)(&mut object, text.as_ptr(), null),
            (api.feature_dictionary_free)(null_mut()),
        ];
        assert!(codes.iter().all(|code| *code == EINVAL), "{codes:?}");
        object = null_mut();
        assert_eq!((api.feature_dictionary_free)(&mut object), 0);
        assert_eq!(api.log(context, 7).0, EINVAL);
        assert_eq!((api.close)(context), 0);
        assert_eq!((api.close)(context), EINVAL);
        (api.model_destroy)(model);
        (api.model_destroy)(model);
    }
}

#[test]
fn pictures_are_consumed_whatever_happens() {
    let api = Api::ours();
    let context = api.context(QUIET);
    assert_eq!(api.feature(context, "psnr", &[]), 0);
    for (second, expected) in [((96, 64), 0), ((64, 64), EINVAL), ((96, 64), EINVAL)] {
        let (_, mut reference) = api.picture(YUV420, 8, 96, 64);
        let (_, mut distorted) = api.picture(YUV420, 8, second.0, second.1);
        let mut copy = reference;
        // SAFETY: pictures of the library's, and a copy that is stale afterwards.
        unsafe {
            assert_eq!((api.read_pictures)(context, &mut reference, &mut distorted, 0), expected);
            assert!(reference.is_zero() && distorted.is_zero());
            assert_eq!((api.picture_unref)(&mut reference), EINVAL);
            assert_eq!((api.picture_unref)(&mut copy), EINVAL);
        }
    }
    // SAFETY: alive.
    unsafe { (api.close)(context) };
}

#[test]
fn preallocated_pictures_are_used_again() {
    let api = Api::ours();
    let context = api.context(QUIET);
    assert_eq!(api.feature(context, "psnr", &[]), 0);
    let mut seen = Vec::new();
    // SAFETY: alive, and pictures of the library's.
    unsafe {
        let pictures = PictureConfiguration { w: 96, h: 64, bpc: 10, pix_fmt: 3, pic_cnt: 2 };
        assert_eq!((api.preallocate_pictures)(context, pictures), 0);
        for index in 0..5 {
            let (mut reference, mut distorted) = (Picture::ZERO, Picture::ZERO);
            assert_eq!((api.fetch_preallocated_picture)(context, &mut reference), 0);
            assert_eq!((api.fetch_preallocated_picture)(context, &mut distorted), 0);
            assert_eq!((reference.w, reference.stride), ([96; 3], [192; 3]));
            reference.fill(|_, x, y| (x + y) as u16);
            distorted.fill(|_, x, _| x as u16);
            seen.extend([reference.data[0].addr(), distorted.data[0].addr()]);
            assert_eq!((api.read_pictures)(context, &mut reference, &mut distorted, index), 0);
        }
        assert_eq!(api.flush(context), 0);
        assert_eq!((api.close)(context), 0);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() < 10, "ten pictures in {} places", seen.len());
}

/// A picture's memory is used again while there is a context, and no picture has another one's chroma.
#[test]
fn memory_of_scored_pictures_is_used_again() {
    let api = Api::ours();
    let context = api.context(QUIET);
    assert_eq!(api.feature(context, "psnr", &[]), 0);
    let mut seen = Vec::new();
    for index in 0..6 {
        let ((_, mut reference), (_, mut distorted)) =
            (api.picture(YUV420, 16, 1230, 46), api.picture(YUV420, 16, 1230, 46));
        for picture in [&reference, &distorted] {
            // SAFETY: rows of the library's picture.
            let row = unsafe { std::slice::from_raw_parts(picture.data[1].cast::<u8>(), 1230) };
            assert!(row.iter().all(|byte| *byte == 0), "picture {index} has chroma");
        }
        reference.fill(|_, x, y| (x + y) as u16);
        distorted.fill(|_, x, _| x as u16 + 1);
        seen.extend([reference.data[0].addr(), distorted.data[0].addr()]);
        // SAFETY: alive, and pictures of the library's.
        assert_eq!(unsafe { (api.read_pictures)(context, &mut reference, &mut distorted, index) }, 0);
    }
    // SAFETY: alive.
    unsafe { assert_eq!((api.flush(context), (api.close)(context)), (0, 0)) };
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() < 12, "twelve pictures in {} places", seen.len());
}

/// What the process has in memory.
fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[test]
fn a_thousand_contexts_leave_nothing_behind() {
    let api = Api::ours();
    let one = |threads| {
        let context = api.context(api::Configuration { n_threads: threads, ..QUIET });
        let (_, model) = api.model("vmaf_v0.6.1", None, 0);
        // SAFETY: alive until they are destroyed.
        unsafe {
            (api.use_features_from_model)(context, model);
            assert_eq!(api.read(context, YUV420, 8, SIZE, 0), 0);
            assert_eq!(api.flush(context), 0);
            assert_eq!(api.score(context, model, 0).0, 0);
            (api.model_destroy)(model);
            (api.close)(context);
        }
    };
    (0..100).for_each(|turn| one(turn % 2));
    let before = resident_kilobytes();
    (0..900).for_each(|turn| one(turn % 2));
    let grown = resident_kilobytes().saturating_sub(before);
    assert!(grown < 32 << 10, "900 contexts left {grown} kB");
}

/// Two contexts at once, each made on one thread and closed on another.
#[test]
fn contexts_move_between_threads() {
    let api = Api::ours();
    let log = |seed: u32| {
        let context = api.context(api::Configuration { n_threads: seed, ..QUIET }).addr();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let context = std::ptr::without_provenance_mut(context);
                assert_eq!(api.feature(context, "vif", &[]), 0);
                (0..6).for_each(|index| assert_eq!(api.read(context, YUV420, 8, SIZE, index), 0));
                assert_eq!(api.flush(context), 0);
            });
            worker.join().unwrap();
        });
        let context = std::ptr::without_provenance_mut(context);
        let (code, text) = api.log(context, 3);
        assert_eq!(code, 0);
        // SAFETY: alive until here.
        assert_eq!(unsafe { (api.close)(context) }, 0);
        text
    };
    let (a, b) = std::thread::scope(|scope| {
        let (a, b) = (scope.spawn(|| log(0)), scope.spawn(|| log(2)));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!(a, b);
}

/// Only the API is exported, and its name is the one that programs look for.
#[cfg(target_os = "linux")]
#[test]
fn exported_names() {
    let Ok(output) = Command::new("nm").args(["-D", "--defined-only"]).arg(ours()).output() else {
        eprintln!("there is no nm: exported names are not compared");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut exported: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    exported.sort_unstable();
    let mut names = NAMES.to_vec();
    names.sort_unstable();
    assert_eq!((names.len(), exported), (29, names));
    let bytes = std::fs::read(ours()).unwrap();
    assert!(bytes.windows(13).any(|window| window == b"libvmaf.so.3\0"), "no SONAME");
}

/// A program in C that includes the headers, links our library and checks the layouts that programs rely on.
#[cfg(target_os = "linux")]
#[test]
fn a_program_in_c() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("there is no C compiler: the headers are not compiled");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(ours(), folder.path().join("libvmaf.so.3")).unwrap();
    let program = folder.path().join("program");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(here.join("include"))
        .arg(here.join("tests/program.c"))
        .arg(folder.path().join("libvmaf.so.3"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = Command::new(&program).env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    assert!(String::from_utf8_lossy(&run.stdout).contains("visus"), "{run:?}");
}
