//! The whole metric, against figures of the reference library.

use visus_video::Chroma;

use super::INFO;
use crate::simd::level_tests;
use crate::testing::{Content, assert_as_scalar, assert_scores, format, frame, score_pair};

#[test]
fn figures_of_the_reference() {
    for (depth, [psnr]) in [
        (8, [44.080542395124397]),
        (10, [43.996317440918318]),
        (12, [44.004928606948688]),
        (16, [43.792505272758959]),
    ] {
        let pair = ((Content::Waves, 1), (Content::Waves, 2));
        assert_scores(&INFO, &[], format(33, 21, Chroma::C400, depth), pair, &[("float_psnr", psnr)]);
    }
}

#[test]
fn identical_pictures_reach_the_limit() {
    for (depth, best) in [(8, 60.0), (10, 72.0), (12, 84.0), (16, 108.0)] {
        let same = frame(format(16, 16, Chroma::C420, depth), Content::Noise, 9);
        assert_eq!(score_pair(&INFO, &[], &same, &same).unwrap()[0].1, best);
    }
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
