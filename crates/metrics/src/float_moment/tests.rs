//! The whole metric, against figures of the reference library.

use visus_video::Chroma;

use super::{INFO, KEYS};
use crate::simd::level_tests;
use crate::testing::{Content, assert_as_scalar, assert_scores, format};

#[test]
fn figures_of_the_reference() {
    for (depth, moments) in [
        (8, [134.5930735930736, 134.64357864357865, 20598.823953823954, 20612.0]),
        (10, [134.9404761904762, 134.96753246753246, 20686.805826118325, 20706.096681096682]),
        (12, [135.09370490620492, 135.130772005772, 20736.283904897187, 20746.413961038961]),
        (16, [135.15385439213566, 135.08402101370851, 20748.093751585329, 20735.037653935418]),
    ] {
        let expected: Vec<_> = KEYS.into_iter().zip(moments).collect();
        let pair = ((Content::Waves, 1), (Content::Waves, 2));
        assert_scores(&INFO, &[], format(33, 21, Chroma::C400, depth), pair, &expected);
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
