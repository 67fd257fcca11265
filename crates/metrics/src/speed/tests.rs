//! The metrics as a whole: figures of libvmaf's scalar path, refusals, and what flat planes score.

use visus_video::{Chroma, Format, Frame};

use super::{CHROMA, TEMPORAL};
use crate::simd::level_tests;
use crate::testing::{self, Backwards, Noise};
use crate::{Info, Level, Metric, MetricError, Pair, Window, registry};

fn build(name: &str, options: &str) -> Result<Box<dyn Metric>, MetricError> {
    let pairs = options.split(':').filter_map(|pair| pair.split_once('='));
    let given: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    registry::build(registry::by_name(name).unwrap(), &given)
}

fn format(width: usize, height: usize, chroma: Chroma, depth: u8) -> Format {
    Format::new(width, height, chroma, depth).unwrap()
}

/// The scores of the last frame.
fn last(info: &'static Info, options: &str, clips: &(Vec<Frame>, Vec<Frame>)) -> Vec<f64> {
    testing::score_clips(info, options, clips).scores.iter().map(|frames| frames[frames.len() - 1]).collect()
}

fn last_bits(info: &'static Info, options: &str, format: Format, frames: usize) -> Vec<u64> {
    last(info, options, &testing::clips(format, frames)).iter().map(|score| score.to_bits()).collect()
}

#[test]
fn chroma_scores_are_libvmafs() {
    let model = "speed_sigma_nn=0.19:speed_nn_floor=0.1:speed_max_val=45:speed_weight_var_mode=5";
    let scaled = "speed_prescale=0.9:speed_prescale_method=bilinear:speed_weight_var_mode=3";
    let wide = "speed_kernelscale=1.5:speed_weight_var_mode=6";
    let cases = [
        (416, 400, Chroma::C420, 8, "", [0x40349978a0000000, 0x40397617c0000000, 0x403707c840000000]),
        (416, 400, Chroma::C420, 8, model, [0x402fe75680000000, 0x4034d84980000000, 0x403265fa60000000]),
        (241, 208, Chroma::C444, 10, scaled, [0x402f6a3000000000, 0x402d5cfd80000000, 0x402e6396c0000000]),
        (420, 208, Chroma::C422, 12, wide, [0x401eb12e00000000, 0x4034ac5300000000, 0x402c589e80000000]),
    ];
    for (width, height, chroma, depth, options, expected) in cases {
        let format = format(width, height, chroma, depth);
        assert_eq!(last_bits(&CHROMA, options, format, 1), expected, "{format} {options}");
    }
}

#[test]
fn temporal_scores_are_libvmafs() {
    let scaled = "speed_use_ref_diff=true:speed_prescale=0.95:speed_prescale_method=lanczos4";
    for (height, depth, options, expected) in
        [(192, 8, "", 0x403bd356a0000000), (193, 16, scaled, 0x4029687680000000)]
    {
        let format = format(208, height, Chroma::C420, depth);
        assert_eq!(last_bits(&TEMPORAL, options, format, 2), [expected], "{format} {options}");
    }
}

level_tests! {
    fn every_level_gives_the_same_bits_alone_and_shared(level) {
        let scaled = "speed_prescale=0.9:speed_prescale_method=bilinear";
        for (name, options, frames) in
            [("speed_chroma", "", 1), ("speed_chroma", scaled, 1), ("speed_temporal", "", 2)]
        {
            for depth in [8, 10] {
                let clips = testing::clips(format(645, 560, Chroma::C420, depth), frames);
                let [truth, found] = [Level::Scalar, level].map(|level| raw(level, name, options, &clips));
                assert_eq!(found, truth, "{name} {options} {depth}-bit");
            }
        }
    }
}

/// The raw numbers of the last frame, as bits.
fn raw(level: Level, name: &str, options: &str, clips: &(Vec<Frame>, Vec<Frame>)) -> Vec<u64> {
    let metric = build(name, options).unwrap();
    let mut extractor = metric.extractor(&(*clips.0[0].format()).into(), level).unwrap();
    let last = clips.0.len() - 1;
    let pair = |at: usize| Pair { reference: &clips.0[at], distorted: &clips.1[at] };
    let window = Window {
        index: last as u64,
        current: pair(last),
        previous: last.checked_sub(1).map(pair),
        before_previous: None,
    };
    let mut raw = vec![0.0; metric.raw_len()];
    extractor.extract(&window, &mut raw).unwrap();
    assert_ne!(raw[0], 0.0, "nothing was compared");
    for width in [2, 3, 7] {
        let mut shared = vec![0.0; raw.len()];
        extractor.extract_spread(&window, &mut shared, &Backwards(width)).unwrap();
        assert_eq!(shared, raw, "shared among {width}");
    }
    raw.into_iter().map(f64::to_bits).collect()
}

#[test]
fn change_needs_a_previous_picture_and_no_chroma() {
    let clips = testing::clips(format(208, 192, Chroma::C400, 8), 3);
    let scores = testing::score_clips(&TEMPORAL, "", &clips).scores[0].clone();
    assert_eq!(scores[0], 0.0);
    assert!(scores[1] > 0.0 && scores[2] > 0.0 && scores[1] != scores[2]);
    let same = (clips.0.clone(), clips.0);
    assert_eq!(testing::score_clips(&TEMPORAL, "", &same).scores[0], [0.0; 3]);
}

#[test]
fn the_maximum_clips_chroma_but_not_change() {
    let max = 25.0f64.to_bits();
    let got = last_bits(&CHROMA, "speed_max_val=25", format(416, 400, Chroma::C420, 8), 1);
    assert_eq!(got, [0x40349978a0000000, max, 0x403707c840000000]);
    let got = last_bits(&TEMPORAL, "speed_max_val=25", format(208, 192, Chroma::C420, 8), 2);
    assert_eq!(got, [0x403bd356a0000000]);
    assert!(f64::from_bits(got[0]) > 25.0);
}

/// The frame with one plane made flat.
fn flattened(frame: &Frame, flat: usize) -> Frame {
    let mut out = frame.clone();
    let mut plane = out.plane_mut_u8(flat).unwrap();
    (0..plane.height()).for_each(|y| plane.row_mut(y).fill(128));
    out
}

#[test]
fn a_flat_plane_takes_the_score_of_the_other() {
    let (references, distorteds) = testing::clips(format(416, 400, Chroma::C420, 8), 1);
    let (reference, distorted) = (&references[0], &distorteds[0]);
    let score = |reference: &Frame, distorted: &Frame| {
        last(&CHROMA, "", &(vec![reference.clone()], vec![distorted.clone()]))
    };
    let whole = score(reference, distorted);
    for (flat, expected) in [(1, [0.0, whole[1], whole[1]]), (2, [whole[0], 0.0, whole[0]])] {
        let [flat_reference, flat_distorted] = [reference, distorted].map(|frame| flattened(frame, flat));
        assert_eq!(score(&flat_reference, &flat_distorted), expected, "plane {flat}");
        assert_eq!(score(&flat_reference, distorted), expected, "plane {flat} of the reference");
        assert_eq!(score(reference, &flat_distorted), expected, "plane {flat} of the distorted");
    }
    assert_eq!(score(&Frame::new(*reference.format()), distorted), [0.0; 3]);
}

#[test]
fn the_smallest_pictures_are_singular() {
    assert_eq!(last_bits(&CHROMA, "", format(160, 160, Chroma::C420, 8), 1), [0; 3]);
    assert_eq!(last_bits(&TEMPORAL, "", format(80, 80, Chroma::C420, 8), 2), [0]);
}

/// Windows are all that counts: an extractor that has seen other pictures before gives the same scores.
#[test]
fn scratch_carries_nothing_over() {
    let format = format(416, 400, Chroma::C420, 8);
    let (mut references, mut distorteds) = testing::clips(format, 1);
    let mut generator = Noise::new(9);
    let noise = testing::frame_of(format, || generator.below(256));
    references.insert(0, noise.clone());
    distorteds.insert(0, flattened(&noise, 2));
    let got = last(&CHROMA, "", &(references, distorteds));
    assert_eq!(
        got.iter().map(|score| score.to_bits()).collect::<Vec<_>>(),
        last_bits(&CHROMA, "", format, 1)
    );
}

#[test]
fn too_small_pictures_are_refused_with_the_smallest_size() {
    let cases = [
        ("speed_chroma", "", Chroma::C420, 160, 160),
        ("speed_chroma", "", Chroma::C422, 160, 80),
        ("speed_chroma", "speed_prescale=0.6", Chroma::C420, 266, 266),
        ("speed_chroma", "speed_prescale=2", Chroma::C444, 40, 40),
        ("speed_temporal", "", Chroma::C420, 80, 80),
        ("speed_temporal", "speed_prescale=0.5", Chroma::C400, 159, 159),
    ];
    for (name, options, chroma, width, height) in cases {
        let metric = build(name, options).unwrap();
        let extractor = |width: usize, height: usize| {
            metric.extractor(&format(width, height, chroma, 8).into(), Level::Scalar).err()
        };
        assert_eq!(extractor(width, height), None, "{name} {options} {chroma}");
        for error in [extractor(width - 1, height), extractor(width, height - 1)] {
            let text = error.unwrap().to_string();
            assert!(
                text.contains(&format!("at least {width}x{height}")),
                "{name} {options} {chroma}: {text}"
            );
        }
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(with_causes).unwrap_or_default();
    format!("{error} {cause}")
}

#[test]
fn what_has_no_meaning_is_refused() {
    let mono = format(640, 480, Chroma::C400, 8);
    let error = build("speed_chroma", "").unwrap().extractor(&mono.into(), Level::Scalar).err().unwrap();
    assert_eq!(error.to_string(), "speed_chroma cannot score 640x480 4:0:0 8-bit: it has no chroma planes");
    for name in ["speed_chroma", "speed_temporal"] {
        for (options, word) in [
            ("speed_kernelscale=1.3", "0.5, "),
            ("speed_prescale_method=box", "nearest, bilinear, bicubic, lanczos4"),
            ("speed_prescale=0.05", "from 0.1 to 4"),
        ] {
            let text = with_causes(&build(name, options).err().unwrap());
            assert!(text.contains(word) && text.contains(options), "{name} {options}: {text}");
        }
    }
}

#[test]
fn names_carry_the_options() {
    let options = "speed_weight_var_mode=5:speed_max_val=45:speed_sigma_nn=0.19:speed_prescale=0.6:\
                   speed_prescale_method=bilinear:speed_nn_floor=0.1:speed_kernelscale=1.5";
    let metric = build("speed_chroma", options).unwrap();
    let names: Vec<_> = metric.keys().iter().map(|key| key.name.as_str()).collect();
    let suffix = "ks_1.5_mxv_45_nnf_0.1_ps_0.6_psm_bilinear_snn_0.19_wvm_5";
    assert_eq!(names, ["u", "v", "uv"].map(|plane| format!("speed_chroma_{plane}_{suffix}")));
    let metric = build("speed_temporal", "speed_use_ref_diff=true:speed_prescale=2").unwrap();
    assert_eq!(metric.keys()[0].name, "speed_temporal_ps_2_urd");
    assert!(metric.needs().every_frame && metric.needs().history == 1);
}
