//! The whole metric, against figures of the reference library.

use visus_video::Chroma;

use super::INFO;
use crate::MetricError;
use crate::simd::level_tests;
use crate::testing::{Content, assert_as_scalar, assert_scores, format, frame, score_pair};

const WAVES: (Content, u32) = (Content::Waves, 1);
const OTHER_WAVES: (Content, u32) = (Content::Waves, 2);

#[test]
fn every_term_of_every_scale() {
    assert_scores(
        &INFO,
        &[("enable_lcs", "true")],
        format(181, 179, Chroma::C400, 8),
        (WAVES, OTHER_WAVES),
        &[
            ("float_ms_ssim", 0.99963363051729393),
            ("float_ms_ssim_l_scale0", 0.99999165534973145),
            ("float_ms_ssim_l_scale1", 0.99999845027923584),
            ("float_ms_ssim_l_scale2", 0.9999997615814209),
            ("float_ms_ssim_l_scale3", 1.0),
            ("float_ms_ssim_l_scale4", 1.0),
            ("float_ms_ssim_c_scale0", 0.99990051984786987),
            ("float_ms_ssim_c_scale1", 0.99999117851257324),
            ("float_ms_ssim_c_scale2", 0.99999904632568359),
            ("float_ms_ssim_c_scale3", 0.99999970197677612),
            ("float_ms_ssim_c_scale4", 0.99999988079071045),
            ("float_ms_ssim_s_scale0", 0.99513685703277588),
            ("float_ms_ssim_s_scale1", 0.99955254793167114),
            ("float_ms_ssim_s_scale2", 0.99996268749237061),
            ("float_ms_ssim_s_scale3", 0.99999397993087769),
            ("float_ms_ssim_s_scale4", 0.99999815225601196),
        ],
    );
}

#[test]
fn scores_of_the_reference() {
    let db = ("enable_db", "true");
    let format_12 = format(176, 176, Chroma::C400, 12);
    assert_scores(&INFO, &[db], format_12, (WAVES, OTHER_WAVES), &[("float_ms_ssim", 34.167268632378402)]);
    let noise = (Content::Noise, 3);
    let format_10 = format(200, 180, Chroma::C420, 10);
    assert_scores(&INFO, &[], format_10, (WAVES, noise), &[("float_ms_ssim", 0.036875351723285002)]);
}

#[test]
fn the_terms_do_not_change_the_score() {
    let format = format(190, 200, Chroma::C400, 8);
    let (one, two) = (frame(format, Content::Waves, 1), frame(format, Content::Noise, 2));
    let plain = score_pair(&INFO, &[], &one, &two).unwrap();
    let with_terms = score_pair(&INFO, &[("enable_lcs", "true")], &one, &two).unwrap();
    assert_eq!(plain[0], with_terms[0]);
}

#[test]
fn pictures_that_are_too_small_are_refused() {
    for (width, height) in [(175, 300), (300, 175), (8, 8)] {
        let picture = frame(format(width, height, Chroma::C400, 8), Content::Noise, 1);
        let error = score_pair(&INFO, &[], &picture, &picture).unwrap_err();
        assert!(matches!(&error, MetricError::Format { .. }) && error.to_string().contains("176"), "{error}");
    }
}

level_tests! {
    fn every_level_gives_the_same_bits(level) {
        let formats = [(176, 176), (181, 179), (320, 200), (561, 177)]
            .map(|(width, height)| [8, 10, 16].map(|depth| format(width, height, Chroma::C400, depth)));
        for options in [&[("enable_lcs", "true")][..], &[]] {
            assert_as_scalar(level, &INFO, options, formats.as_flattened());
        }
    }
}
