//! The whole metric, against figures of the reference library.

use visus_video::Chroma;

use super::INFO;
use crate::testing::{Content, assert_scores, format, frame, score_pair};

const WAVES: (Content, u32) = (Content::Waves, 1);

#[test]
fn figures_of_the_reference() {
    assert_scores(
        &INFO,
        &[],
        format(75, 44, Chroma::C420, 8),
        (WAVES, (Content::Waves, 2)),
        &[
            ("psnr_hvs_y", 56.18446910699425),
            ("psnr_hvs_cb", 54.256764184652027),
            ("psnr_hvs_cr", 54.54296367098118),
            ("psnr_hvs", 55.763422274766),
        ],
    );
    assert_scores(
        &INFO,
        &[],
        format(30, 31, Chroma::C444, 10),
        (WAVES, (Content::Noise, 3)),
        &[
            ("psnr_hvs_y", 7.3650232503453328),
            ("psnr_hvs_cb", 6.4800998384403936),
            ("psnr_hvs_cr", 5.8894420433646077),
            ("psnr_hvs", 7.0994361111923157),
        ],
    );
    assert_scores(
        &INFO,
        &[],
        format(160, 24, Chroma::C422, 12),
        ((Content::Dark, 4), (Content::Bright, 5)),
        &[
            ("psnr_hvs_y", -4.1830281364913802),
            ("psnr_hvs_cb", -5.6217104573631342),
            ("psnr_hvs_cr", -6.1831165190214668),
            ("psnr_hvs", -4.5881257432215889),
        ],
    );
}

#[test]
fn identical_pictures_score_infinity() {
    let same = frame(format(32, 32, Chroma::C420, 8), Content::Noise, 1);
    let scores = score_pair(&INFO, &[], &same, &same).unwrap();
    assert!(scores.iter().all(|(_, score)| *score == f64::INFINITY));
}

#[test]
fn planes_without_a_block_score_nan() {
    let [one, two] = [1, 2].map(|seed| frame(format(12, 30, Chroma::C420, 8), Content::Noise, seed));
    let scores = score_pair(&INFO, &[], &one, &two).unwrap();
    assert!(scores[0].1.is_finite());
    assert!(scores[1..].iter().all(|(_, score)| score.is_nan() && score.is_sign_positive()));
}

#[test]
fn deep_pictures_and_those_without_chroma_are_refused() {
    let refused = |chroma, depth| {
        let picture = frame(format(32, 32, chroma, depth), Content::Noise, 1);
        score_pair(&INFO, &[], &picture, &picture).unwrap_err().to_string()
    };
    let deep = refused(Chroma::C444, 16);
    assert!(deep.contains("invalid bitdepth (16), bpc must be less than or equal to 12"), "{deep}");
    assert!(refused(Chroma::C400, 8).contains("chroma"));
}
