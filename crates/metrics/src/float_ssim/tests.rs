//! The whole metric, against figures of the reference library and a naive SSIM.

use visus_video::{Chroma, Frame, PlaneView};

use super::{INFO, scalar::WINDOW};
use crate::simd::level_tests;
use crate::testing::{Content, assert_as_scalar, assert_scores, format, frame, score_pair};

const WAVES: (Content, u32) = (Content::Waves, 1);
const OTHER_WAVES: (Content, u32) = (Content::Waves, 2);

#[test]
fn figures_of_the_reference() {
    let terms = ("enable_lcs", "true");
    assert_scores(
        &INFO,
        &[terms],
        format(420, 390, Chroma::C400, 8),
        (WAVES, OTHER_WAVES),
        &[
            ("float_ssim", 0.9995771050453186),
            ("float_ssim_l", 0.99999856948852539),
            ("float_ssim_c", 0.99999076128005981),
            ("float_ssim_s", 0.9995877742767334),
        ],
    );
    assert_scores(
        &INFO,
        &[terms, ("scale", "3")],
        format(65, 50, Chroma::C400, 10),
        (WAVES, OTHER_WAVES),
        &[
            ("float_ssim", 0.9998970627784729),
            ("float_ssim_l", 0.99999946355819702),
            ("float_ssim_c", 0.99999839067459106),
            ("float_ssim_s", 0.99989920854568481),
        ],
    );
    assert_scores(
        &INFO,
        &[terms, ("enable_db", "true"), ("clip_db", "true")],
        format(40, 41, Chroma::C400, 16),
        (WAVES, (Content::Noise, 3)),
        &[
            ("float_ssim", 0.050612101368122872),
            ("float_ssim_l", 0.87295633554458618),
            ("float_ssim_c", 0.40541473031044006),
            ("float_ssim_s", 0.036044701933860779),
        ],
    );
    assert_scores(
        &INFO,
        &[],
        format(40, 41, Chroma::C420, 8),
        ((Content::Dark, 4), (Content::Bright, 5)),
        &[("float_ssim", 0.0076634874567389488)],
    );
}

#[test]
fn decibels_have_a_limit_or_none() {
    let same = frame(format(40, 40, Chroma::C400, 10), Content::Waves, 1);
    let db = |options: &[(&str, &str)]| score_pair(&INFO, options, &same, &same).unwrap()[0].1;
    assert_eq!(db(&[("enable_db", "true")]), f64::INFINITY);
    // ceil(10 log10(1023^2 * 1600 * 2))
    assert_eq!(db(&[("enable_db", "true"), ("clip_db", "true")]), 96.0);
    assert_eq!(db(&[("clip_db", "true")]), 1.0);
}

#[test]
fn pictures_below_the_window_are_zero_or_refused() {
    let of = |width, height, options: &[(&str, &str)]| {
        let picture = frame(format(width, height, Chroma::C400, 8), Content::Noise, 1);
        score_pair(&INFO, options, &picture, &picture).map(|scores| scores[0].1)
    };
    assert_eq!(of(8, 8, &[]), Ok(0.0));
    assert_eq!(of(11, 11, &[]), Ok(1.0));
    for (width, height, options) in [(10, 30, &[][..]), (1, 1, &[("scale", "10")]), (7, 40, &[])] {
        let error = of(width, height, options).unwrap_err().to_string();
        assert!(error.contains("at least 11"), "{width}x{height}: {error}");
    }
}

/// Windows one by one, all in `f64`: close to the metric, whatever its order of operations.
fn naive(reference: &Frame, distorted: &Frame) -> f64 {
    let (PlaneView::U8(one), PlaneView::U8(two)) = (reference.plane(0), distorted.plane(0)) else {
        unreachable!("8 bits")
    };
    let (width, height) = (one.width() - 10, one.height() - 10);
    let mean = |x: usize, y: usize, f: &dyn Fn(f64, f64) -> f64| -> f64 {
        let taps = (0..121).map(|at| (at / 11, at % 11));
        taps.map(|(v, u)| {
            let (a, b) = (f64::from(one.row(y + v)[x + u]), f64::from(two.row(y + v)[x + u]));
            f64::from(WINDOW[v]) * f64::from(WINDOW[u]) * f(a, b)
        })
        .sum()
    };
    let (c1, c2) = (2.55f64.powi(2), 7.65f64.powi(2));
    let ssim = |x, y| {
        let (a, b) = (mean(x, y, &|a, _| a), mean(x, y, &|_, b| b));
        let (aa, bb) = (mean(x, y, &|a, _| a * a) - a * a, mean(x, y, &|_, b| b * b) - b * b);
        let ab = mean(x, y, &|a, b| a * b) - a * b;
        (2.0 * a * b + c1) * (2.0 * ab + c2) / ((a * a + b * b + c1) * (aa + bb + c2))
    };
    let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    all.map(|(x, y)| ssim(x, y)).sum::<f64>() / (width * height) as f64
}

#[test]
fn stays_close_to_the_naive_ssim() {
    for (one, two) in [(Content::Waves, Content::Waves), (Content::Waves, Content::Noise)] {
        for (width, height) in [(11, 11), (19, 30), (27, 12)] {
            let format = format(width, height, Chroma::C400, 8);
            let (one, two) = (frame(format, one, 1), frame(format, two, 2));
            let got = score_pair(&INFO, &[], &one, &two).unwrap()[0].1;
            let expected = naive(&one, &two);
            assert!((got - expected).abs() < 2e-5, "{width}x{height}: {got} for {expected}");
        }
    }
}

level_tests! {
    fn every_level_gives_the_same_bits(level) {
        let formats = [(10, 30), (11, 11), (40, 41), (420, 390)]
            .map(|(width, height)| [8, 10, 16].map(|depth| format(width, height, Chroma::C400, depth)));
        for options in [&[("enable_lcs", "true")][..], &[]] {
            assert_as_scalar(level, &INFO, options, formats.as_flattened());
        }
    }
}
