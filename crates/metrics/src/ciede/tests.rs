//! The whole metric, against figures of the reference library.

use visus_video::Chroma;

use super::INFO;
use crate::simd::level_tests;
use crate::testing::{Content, assert_as_scalar, assert_scores, format, frame, score, score_pair};

const WAVES: (Content, u32) = (Content::Waves, 1);
const OTHER_WAVES: (Content, u32) = (Content::Waves, 2);
const NOISE: (Content, u32) = (Content::Noise, 3);

#[test]
fn figures_of_the_reference() {
    let dark_bright = ((Content::Dark, 4), (Content::Bright, 5));
    for (format, pair, expected) in [
        (format(40, 30, Chroma::C420, 8), (WAVES, OTHER_WAVES), 46.109912406014651),
        (format(40, 30, Chroma::C420, 8), (WAVES, NOISE), 11.374085041566921),
        (format(41, 20, Chroma::C422, 10), (WAVES, OTHER_WAVES), 47.137530936381431),
        (format(21, 20, Chroma::C444, 12), (WAVES, NOISE), 12.134703541175121),
        (format(20, 20, Chroma::C444, 16), dark_bright, 2.5499919935132453),
    ] {
        assert_scores(&INFO, &[], format, pair, &[("ciede2000", expected)]);
    }
}

#[test]
fn what_was_seen_before_does_not_change_scores() {
    let format = format(40, 30, Chroma::C420, 8);
    let reference = frame(format, Content::Waves, 1);
    let pairs = [(Content::Waves, 2), (Content::Noise, 3), (Content::Waves, 2)]
        .map(|(content, seed)| (reference.clone(), frame(format, content, seed)));
    let out = score(&INFO, &[], &pairs).unwrap();
    assert_eq!(out.scores, [[46.109912406014651, 11.374085041566921, 46.109912406014651]]);
}

#[test]
fn identical_pictures_score_infinity() {
    let same = frame(format(32, 32, Chroma::C420, 10), Content::Noise, 1);
    assert_eq!(score_pair(&INFO, &[], &same, &same).unwrap()[0].1, f64::INFINITY);
}

#[test]
fn odd_sizes_are_scored_and_pictures_without_chroma_refused() {
    for (width, height) in [(41, 30), (40, 31), (1, 1), (3, 1)] {
        let format = format(width, height, Chroma::C420, 8);
        let [one, two] = [1, 2].map(|seed| frame(format, Content::Noise, seed));
        let score = score_pair(&INFO, &[], &one, &two).unwrap()[0].1;
        assert!(score.is_finite(), "{width}x{height}: {score}");
    }
    let grey = frame(format(32, 32, Chroma::C400, 8), Content::Noise, 1);
    assert!(score_pair(&INFO, &[], &grey, &grey).unwrap_err().to_string().contains("chroma"));
}

level_tests! {
    fn every_level_gives_the_same_bits(level) {
        let formats = [(40, 30), (131, 9), (256, 5), (1, 3)].map(|(width, height)| {
            [(Chroma::C420, 8), (Chroma::C422, 10), (Chroma::C444, 12), (Chroma::C444, 16)]
                .map(|(chroma, depth)| format(width, height, chroma, depth))
        });
        assert_as_scalar(level, &INFO, &[], formats.as_flattened());
    }
}
