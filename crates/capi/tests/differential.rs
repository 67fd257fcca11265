//! Our library against the real one: the same random sequences of calls on both, and the same results, error codes and logs.
//!
//! `cargo xtask test` brings the real library; without it nothing is compared, and the test says so. The variable
//! `VISUS_SEQUENCES` sets how many sequences there are.
//!
//! Deliberately different, and therefore not in the sequences: calls that crash libvmaf (null strings, sizes that are too small
//! for a metric, stale objects), extractors that are added after the first pair, frame numbers with gaps, scores that are
//! imported under the name of a computed one, and pairs with two bit depths. Version and speed in logs are those of each.
//! Motion, and with it a model's score, is known to ours with the next pair and to libvmaf 3.2 after the flush, so it is not
//! asked for before.

mod api;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use api::{Api, CollectionScore, Configuration, PictureConfiguration, QUIET, c};

/// How many sequences are compared, unless `VISUS_SEQUENCES` says otherwise.
const SEQUENCES: u64 = 10_000;

fn real() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?;
    let folder = std::fs::read_dir(root.join("target/peers/libvmaf/av.libs")).ok()?;
    folder.flatten().map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("libvmaf-"))
}

/// A small generator of numbers: the same for both libraries.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn one_in(&mut self, end: u64) -> bool {
        self.below(end) == 0
    }
}

/// Metrics of the wheel's build, with options.
const FEATURES: &[(&str, &[(&str, &str)])] = &[
    ("psnr", &[]),
    ("psnr", &[("enable_mse", "true"), ("enable_apsnr", "true")]),
    ("psnr", &[("bogus", "1")]),
    ("psnr", &[("enable_mse", "yes")]),
    ("vif", &[]),
    ("vif", &[("debug", "true")]),
    ("vif", &[("vif_enhn_gain_limit", "1.50")]),
    ("vif", &[("vif_enhn_gain_limit", "0.5")]),
    ("adm", &[]),
    ("adm", &[("adm_enhn_gain_limit", "1")]),
    ("motion", &[]),
    ("motion", &[("debug", "true")]),
    ("motion", &[("motion_force_zero", "true")]),
    ("float_ssim", &[]),
    ("ciede", &[]),
    ("psnr_hvs", &[]),
    ("null", &[]),
    ("bogus", &[]),
];

/// Those that need larger pictures, and take longer.
const LARGE_FEATURES: &[(&str, &[(&str, &str)])] = &[
    ("cambi", &[]),
    ("cambi", &[("full_ref", "true"), ("max_log_contrast", "3")]),
    ("speed_chroma", &[]),
    ("speed_temporal", &[]),
    ("float_ms_ssim", &[]),
    ("motion", &[]),
];

/// Those that score pictures of this size: at smaller ones than theirs libvmaf's SpEED crashes.
const LARGE_MODELS: &[&str] = &["vmaf_v1.0.16_3d0h", "vmaf_v1.0.16_hfr_3d0h"];

/// One sequence in so many has large pictures.
const LARGE_EVERY: u64 = 50;

const MODELS: &[&str] =
    &["vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1", "vmaf_4k_v0.6.1neg", "vmaf_b_v0.6.3", "bogus"];

const NAMES: &[&str] = &[
    "psnr_y",
    "psnr_cb",
    "mse_y",
    "VMAF_integer_feature_vif_scale0_score",
    "integer_vif_scale0",
    "integer_vif_scale0_egl_1.5",
    "VMAF_integer_feature_motion2_score",
    "VMAF_integer_feature_motion_sad_score",
    "VMAF_integer_feature_adm2_score",
    "integer_adm2_egl_1",
    "float_ssim",
    "psnr_hvs",
    "cambi",
    "speed_temporal",
    "float_ms_ssim",
    "imported",
    "vmaf",
    "m1",
    "vmaf_bagging",
    "bogus",
];

const OVERLOADS: &[(&str, &[(&str, &str)])] = &[
    ("vif", &[("vif_enhn_gain_limit", "1.0")]),
    ("adm", &[("adm_enhn_gain_limit", "1.0"), ("bogus", "x")]),
    ("cambi", &[("enc_width", "1920")]),
    ("bogus", &[("x", "1")]),
    ("vif", &[("vif_enhn_gain_limit", "0.1")]),
];

/// Notes of what a library answered.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn code(&mut self, call: &str, code: i32) {
        self.0.push(format!("{call}: {code}"));
    }

    fn score(&mut self, call: &str, (code, score): (i32, f64)) {
        let score = if code == 0 { format!(" {score:?}") } else { String::new() };
        self.0.push(format!("{call}: {code}{score}"));
    }

    fn collection(&mut self, call: &str, code: i32, score: &CollectionScore) {
        let score = if code == 0 { format!(" {score:?}") } else { String::new() };
        self.0.push(format!("{call}: {code}{score}"));
    }
}

type Object = *mut std::ffi::c_void;

/// Everything that a sequence has made.
struct Sequence<'a> {
    api: &'a Api,
    random: Random,
    notes: Notes,
    context: Object,
    models: Vec<Object>,
    collections: Vec<Object>,
    has_extractor: bool,
    has_motion: bool,
    has_ciede: bool,
    is_large: bool,
    pairs: u32,
}

/// Runs one sequence and gives what the library answered.
fn sequence(api: &Api, seed: u64) -> Vec<String> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
    let subsample = random.pick(&[0, 1, 1, 1, 2, 3]);
    let context = api.context(Configuration { n_subsample: subsample, ..QUIET });
    let mut run = Sequence {
        api,
        random,
        notes: Notes::default(),
        context,
        models: Vec::new(),
        collections: Vec::new(),
        has_extractor: false,
        has_motion: false,
        has_ciede: false,
        is_large: seed % LARGE_EVERY == LARGE_EVERY - 1,
        pairs: 0,
    };
    run.prepare();
    run.import();
    run.read();
    run.ask();
    run.close();
    run.notes.0
}

impl Sequence<'_> {
    fn prepare(&mut self) {
        for _ in 0..self.random.below(3) {
            self.load();
        }
        for _ in 0..self.random.below(4) {
            let (name, options) = self.random.pick(if self.is_large { LARGE_FEATURES } else { FEATURES });
            let code = self.api.feature(self.context, name, options);
            self.has_extractor |= code == 0;
            self.has_motion |= name == "motion";
            self.has_ciede |= name == "ciede";
            self.notes.code(&format!("use_feature {name} {options:?}"), code);
        }
    }

    fn load(&mut self) {
        let version = self.random.pick(if self.is_large { LARGE_MODELS } else { MODELS });
        let name = self.random.pick(&[None, Some("m1")]);
        let flags = self.random.pick(&[0, 0, 1, 2, 3]);
        let (code, model) = self.api.model(version, name, flags);
        self.notes.code(&format!("model_load {version} {name:?} {flags}"), code);
        self.has_motion = true;
        if code == 0 {
            self.models.push(model);
            self.overload(model);
            // SAFETY: both are alive.
            let code = unsafe { (self.api.use_features_from_model)(self.context, model) };
            self.has_extractor |= code == 0;
            self.notes.code("use_features_from_model", code);
        } else if self.collections.is_empty() {
            let (code, model, mut collection) = self.api.collection(version);
            self.notes.code(&format!("model_collection_load {version}"), code);
            if code == 0 {
                self.models.push(model);
                self.collections.push(collection);
                let (feature, options) = OVERLOADS[self.random.below(4) as usize];
                let options = self.api.dictionary(options);
                // SAFETY: all are alive, and the string ends with a zero.
                let codes = unsafe {
                    let feature = c(feature);
                    let overload = self.api.model_collection_feature_overload;
                    [
                        overload(model, &mut collection, feature.as_ptr(), options),
                        (self.api.use_features_from_model)(self.context, model),
                        (self.api.use_features_from_model_collection)(self.context, collection),
                    ]
                };
                self.has_extractor = true;
                self.notes.0.push(format!("collection {codes:?}"));
            }
        }
    }

    fn overload(&mut self, model: Object) {
        if self.random.one_in(2) {
            let (feature, options) = self.random.pick(OVERLOADS);
            let options = self.api.dictionary(options);
            // SAFETY: alive, and the string ends with a zero.
            let code = unsafe { (self.api.model_feature_overload)(model, c(feature).as_ptr(), options) };
            self.notes.code(&format!("model_feature_overload {feature}"), code);
        }
    }

    fn import(&mut self) {
        for _ in 0..self.random.below(3) {
            let index = self.random.below(3) as u32;
            // SAFETY: alive, and the string ends with a zero.
            let code = unsafe {
                (self.api.import_feature_score)(
                    self.context,
                    c("imported").as_ptr(),
                    f64::from(index) / 8.0,
                    index,
                )
            };
            self.notes.code(&format!("import {index}"), code);
        }
    }

    fn read(&mut self) {
        // SpEED needs chroma.
        let format = self.random.pick(if self.is_large { &[1, 1, 2, 3] } else { &[1, 1, 1, 2, 3, 4] });
        let bits = self.random.pick(&[8, 8, 8, 10, 12, 16]);
        // Sizes at which libvmaf reads nothing but its own memory; odd ones are not for CIEDE.
        let sizes = [(64, 48), (96, 64), (98, 66), (80, 50), (97, 65), (71, 53)];
        let size = match self.is_large {
            true => self.random.pick(&[(240, 228), (251, 233)]),
            false => self.random.pick(&sizes[..if self.has_ciede { 4 } else { 6 }]),
        };
        let count = self.random.pick(if self.is_large { &[1, 2, 3] } else { &[0, 1, 2, 3, 5] });
        for index in 0..count {
            let code = self.api.read(self.context, format, bits, size, index);
            self.notes.code(&format!("read {format} {bits} {size:?} {index}"), code);
            if code != 0 {
                return;
            }
            self.pairs += 1;
            if self.random.one_in(3) && !self.has_motion {
                self.ask();
            }
            if self.random.one_in(8) {
                let other = self.api.read(self.context, format, bits, (size.0 + 2, size.1), index + 1);
                self.notes.code("read another size", other);
            }
        }
        // Without a pair, libvmaf crashes on some extractors.
        if self.pairs > 0 || !self.has_extractor {
            let code = self.api.flush(self.context);
            self.notes.code("flush", code);
            if self.random.one_in(4) {
                let code = self.api.flush(self.context);
                self.notes.code("second flush", code);
            }
        }
    }

    fn ask(&mut self) {
        for _ in 0..self.random.below(8) {
            let (low, high) = (self.random.below(4) as u32, self.random.below(5) as u32);
            match self.random.below(6) {
                0 => {
                    let name = self.random.pick(NAMES);
                    let score = self.api.feature_score(self.context, name, low);
                    self.notes.score(&format!("feature {name} {low}"), score);
                }
                1 => self.ask_pooled_feature(low, high),
                2 if !self.models.is_empty() => {
                    let model = self.random.pick(&self.models.clone());
                    let score = self.api.score(self.context, model, low);
                    self.notes.score(&format!("score {low}"), score);
                }
                3 if !self.models.is_empty() => {
                    let model = self.random.pick(&self.models.clone());
                    let method = self.random.below(5) as i32;
                    let score = self.api.pooled(self.context, model, method, low, high);
                    self.notes.score(&format!("pooled {method} {low} {high}"), score);
                }
                4 if !self.collections.is_empty() => self.ask_collection(low, high),
                5 => {
                    let format = self.random.pick(&[1, 2, 3, 4, 9]);
                    let (code, log) = self.api.log(self.context, format);
                    // Without a pair there is no size, which ours does not know how to write.
                    let log = if self.pairs == 0 { String::new() } else { log };
                    self.notes.0.push(format!("log {format}: {code}\n{log}"));
                }
                _ => {}
            }
        }
    }

    fn ask_pooled_feature(&mut self, low: u32, high: u32) {
        let (name, method) = (self.random.pick(NAMES), self.random.below(6) as i32);
        let mut score = 0.0;
        // SAFETY: alive, a variable's pointer, and the string ends with a zero.
        let code = unsafe {
            let pooled = self.api.feature_score_pooled;
            pooled(self.context, c(name).as_ptr(), method, &mut score, low, high)
        };
        self.notes.score(&format!("pooled {name} {method} {low} {high}"), (code, score));
    }

    fn ask_collection(&mut self, low: u32, high: u32) {
        let mut score = CollectionScore::default();
        let collection = self.collections[0];
        // SAFETY: alive, and a variable's pointer.
        let (call, code) = unsafe {
            if self.random.one_in(2) {
                let at = self.api.score_at_index_model_collection;
                ("collection", at(self.context, collection, &mut score, low))
            } else {
                let pooled = self.api.score_pooled_model_collection;
                ("pooled collection", pooled(self.context, collection, 3, &mut score, low, high))
            }
        };
        self.notes.collection(&format!("{call} {low} {high}"), code, &score);
    }

    fn close(&mut self) {
        // SAFETY: all are alive and not used any more.
        unsafe {
            self.notes.code("close", (self.api.close)(self.context));
            self.models.iter().for_each(|model| (self.api.model_destroy)(*model));
            self.collections.iter().for_each(|collection| (self.api.model_collection_destroy)(*collection));
        }
    }
}

#[test]
fn the_same_answers_as_libvmaf() {
    let Some(path) = real() else {
        let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name == "libvmaf"),
            "the real libvmaf is not in target/peers"
        );
        eprintln!(
            "!!! the real libvmaf is not in target/peers (cargo xtask test brings it): NOTHING IS COMPARED"
        );
        return;
    };
    let (real, ours) = (Api::load(&path), Api::ours());
    let wanted = std::env::var("VISUS_SEQUENCES").ok().and_then(|text| text.parse().ok());
    let wanted = wanted.unwrap_or(SEQUENCES);
    let next = AtomicU64::new(0);
    let compare = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= wanted {
                break;
            }
            compare_sequence(&real, &ours, seed);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(compare))));
}

fn compare_sequence(real: &Api, ours: &Api, seed: u64) {
    let (expected, got) = (sequence(real, seed), sequence(ours, seed));
    for (step, (expected, answer)) in expected.iter().zip(&got).enumerate() {
        assert!(answer == expected, "{}", difference(seed, &got[..step], answer, expected));
    }
    assert_eq!(got.len(), expected.len(), "sequence {seed}");
}

fn difference(seed: u64, before: &[String], got: &str, expected: &str) -> String {
    format!("sequence {seed}, after\n{}\n--- ours\n{got}\n--- libvmaf\n{expected}", before.join("\n"))
}

/// Pictures: the same layout for every format and size.
#[test]
fn the_same_pictures_as_libvmaf() {
    let Some(path) = real() else { return };
    let (real, ours) = (Api::load(&path), Api::ours());
    for format in -1..=6 {
        for bits in [0, 7, 8, 9, 10, 16, 17] {
            for (width, height) in [(1, 1), (33, 17), (64, 48), (1920, 1080), (0, 8)] {
                let layout = |api: &Api| {
                    let (code, mut picture) = api.picture(format, bits, width, height);
                    let offset = |plane: usize| match picture.data[plane].addr() {
                        0 => None,
                        address => Some(address - picture.data[0].addr()),
                    };
                    let offsets = [offset(1), offset(2)];
                    let facts = (code, picture.bpc, picture.w, picture.h, picture.stride, offsets);
                    // SAFETY: the library's picture, or zeros.
                    let free = unsafe { (api.picture_unref)(&mut picture) };
                    (facts, free, picture.is_zero())
                };
                assert_eq!(layout(&ours), layout(&real), "{format} {bits} {width}x{height}");
            }
        }
    }
    for (w, h, bpc, pix_fmt, pic_cnt) in
        [(64, 48, 8, 1, 2), (0, 48, 8, 1, 2), (64, 48, 8, 0, 2), (64, 48, 8, 1, 0)]
    {
        let codes = |api: &Api| {
            let context = api.context(QUIET);
            let mut picture = api::Picture::ZERO;
            // SAFETY: alive, and a variable's pointer.
            unsafe {
                let pictures = PictureConfiguration { w, h, bpc, pix_fmt, pic_cnt };
                let none = (api.fetch_preallocated_picture)(context, &mut picture);
                let made = (api.preallocate_pictures)(context, pictures);
                let fetched = (api.fetch_preallocated_picture)(context, &mut picture);
                let facts = (none, made, fetched, picture.w, picture.stride);
                (api.picture_unref)(&mut picture);
                (facts, (api.close)(context))
            }
        };
        assert_eq!(codes(&ours), codes(&real));
    }
}
