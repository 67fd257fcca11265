//! The whole metric, against figures of the reference library for the same pictures.

use visus_video::{Chroma, Frame};

use super::INFO;
use crate::registry;
use crate::simd::level_tests;
use crate::testing::{Content, Scores, assert_as_scalar, assert_scores, format, frame, score};

const WAVES: (Content, u32) = (Content::Waves, 1);
const OTHER_WAVES: (Content, u32) = (Content::Waves, 2);

fn clip(format: visus_video::Format) -> Vec<(Frame, Frame)> {
    let reference = frame(format, Content::Waves, 1);
    vec![(reference.clone(), frame(format, Content::Waves, 2)), (reference, frame(format, Content::Noise, 3))]
}

fn run(options: &[(&str, &str)], pairs: &[(Frame, Frame)]) -> Scores {
    score(&INFO, options, pairs).expect("every format is taken")
}

#[test]
fn psnr_mse_and_apsnr_at_8_bits() {
    let out =
        run(&[("enable_mse", "true"), ("enable_apsnr", "true")], &clip(format(35, 27, Chroma::C420, 8)));
    assert_eq!(out.keys, ["psnr_y", "mse_y", "psnr_cb", "mse_cb", "psnr_cr", "mse_cr"]);
    let expected = [
        [44.106597503704194, 8.6220986082615987],
        [2.5259259259259261, 8930.3915343915342],
        [43.372711750673801, 9.1295529533144215],
        [2.9909502262443439, 7945.570135746606],
        [44.139628698245915, 9.0708386353205412],
        [2.5067873303167421, 8053.7194570135744],
    ];
    assert_eq!(out.scores, expected);
    let aggregates =
        [("apsnr_y", 11.631170353824762), ("apsnr_cb", 12.138218403259753), ("apsnr_cr", 12.079787024507755)];
    assert_eq!(out.aggregates, aggregates.map(|(name, value)| (name.to_owned(), value)));
}

#[test]
fn reduced_peak_and_smallest_error_at_10_bits() {
    let options = [("reduced_hbd_peak", "true"), ("enable_apsnr", "true"), ("min_sse", "0.5")];
    let out = run(&options, &clip(format(34, 26, Chroma::C422, 10)));
    let expected = [
        [44.004920225492071, 8.8917219246533943],
        [43.918972060904728, 9.368818257891407],
        [43.787110865691979, 9.446587274204969],
    ];
    assert_eq!(out.scores, expected);
    assert_eq!(out.aggregates[1].1, 12.37759523951131);
}

#[test]
fn the_largest_errors_at_16_bits() {
    let format = format(20, 9, Chroma::C444, 16);
    let pair = [(frame(format, Content::Dark, 4), frame(format, Content::Bright, 5))];
    let out = run(&[("enable_apsnr", "true")], &pair);
    assert_eq!(out.scores, [[0.00027096992757672509], [0.00025477001591551064], [0.00026066089508427462]]);
    assert_eq!(out.aggregates[0].1, 0.00027096992758046667);
}

#[test]
fn without_chroma_only_luma_is_scored() {
    let format = format(20, 9, Chroma::C400, 12);
    let [psnr, apsnr] = [44.271402327649795, 44.271402327649781];
    assert_scores(&INFO, &[], format, (WAVES, OTHER_WAVES), &[("psnr_y", psnr)]);
    let pair = [(frame(format, Content::Waves, 1), frame(format, Content::Waves, 2))];
    let out = run(&[("enable_apsnr", "true")], &pair);
    assert_eq!(out.aggregates[0].1, apsnr);
    assert!(out.aggregates[1..].iter().all(|(_, value)| *value == f64::NEG_INFINITY));
}

#[test]
fn identical_planes_reach_the_limits() {
    for (depth, best) in [(8, 60.0), (10, 72.0), (12, 84.0), (16, 108.0)] {
        let same = frame(format(16, 16, Chroma::C420, depth), Content::Noise, 9);
        let out = run(&[("enable_apsnr", "true")], &[(same.clone(), same)]);
        assert!(out.scores.iter().all(|scores| scores == &[best]));
        let pixels = 256.0 * f64::from((1u32 << depth) - 1).powi(2);
        assert_eq!(out.aggregates[0].1, (10.0 * (pixels * 2.0).log10()).ceil());
    }
    let same = frame(format(16, 16, Chroma::C420, 8), Content::Noise, 9);
    let out = run(&[("min_sse", "0.5")], &[(same.clone(), same)]);
    // ceil(10 log10(255^2 / (0.5 / 256))) and the same for 64 samples.
    assert_eq!(out.scores, [[76.0], [70.0], [70.0]]);
}

#[test]
fn it_runs_on_every_frame() {
    assert!(registry::build(&INFO, &[]).unwrap().needs().every_frame);
    let luma = registry::build(&INFO, &[("enable_chroma".into(), "false".into())]).unwrap();
    assert_eq!(luma.keys().len(), 1);
}

level_tests! {
    fn every_level_gives_the_same_bits(level) {
        let sizes = [(1, 1), (35, 27), (200, 10)];
        let formats = sizes.map(|(width, height)| {
            [8, 10, 16].map(|depth| format(width, height, Chroma::C420, depth))
        });
        assert_as_scalar(level, &INFO, &[], formats.as_flattened());
    }
}
