//! Kernels against a naive truth, the fold against the definition, and whole scores against libvmaf's.

use visus_video::{Chroma, Format, Frame};

use super::scalar::{Blur, mean_difference};
use super::{INFO, TAPS_1, TAPS_3, TAPS_5};
use crate::picture::FloatPlane;
use crate::separable::mirror;
use crate::simd::{Target, level_tests};
use crate::testing::{self, Content};
use crate::{Appears, Level, Pair, Window, registry};

fn naive_blur(source: &FloatPlane, taps: &[f32], x: usize, y: usize) -> f32 {
    let radius = taps.len() as isize / 2;
    let at = |position: usize, tap: usize, len| mirror(position as isize + tap as isize - radius, len);
    let column = |x| {
        (0..taps.len()).fold(0.0, |sum, tap| sum + taps[tap] * source.row(at(y, tap, source.height()))[x])
    };
    (0..taps.len()).fold(0.0, |sum, tap| sum + taps[tap] * column(at(x, tap, source.width())))
}

fn naive_difference(a: &FloatPlane, b: &FloatPlane) -> f32 {
    let row = |y: usize| a.row(y).iter().zip(b.row(y)).fold(0.0f32, |sum, (a, b)| sum + (a - b).abs());
    (0..a.height()).fold(0.0f32, |sum, y| sum + row(y)) / (a.width() * a.height()) as f32
}

/// The plane that the blur looks at, and what it makes of it.
fn naive_blurred(frame: &Frame, taps: &[f32]) -> FloatPlane {
    let (width, height) = (frame.format().width(), frame.format().height());
    let mut loaded = FloatPlane::new(width, height);
    loaded.load(frame.plane(0), frame.format().depth(), -128.0);
    let mut out = FloatPlane::new(width, height);
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        out.row_mut(y)[x] = naive_blur(&loaded, taps, x, y);
    }
    out
}

level_tests! {
    fn kernels_equal_the_naive_truth(level) {
        let target = Target::new(level);
        for (width, height) in [(3, 3), (4, 5), (16, 8), (17, 13), (70, 16), (33, 19)] {
            for (depth, content) in [8, 16].into_iter().flat_map(|depth| Content::ALL.map(|c| (depth, c))) {
                for taps in [TAPS_1, TAPS_3, TAPS_5] {
                    let frames = [7, 8].map(|seed| {
                        testing::frame(format(width, height, Chroma::C400, depth), content, seed)
                    });
                    let mut blur = Blur::new(width, taps);
                    let mut held = FloatPlane::new(width, height);
                    let mut before = FloatPlane::new(width, height);
                    for frame in &frames {
                        let difference = target.run(
                            #[inline(always)]
                            || blur.advance(frame.plane(0), depth, &mut held),
                        );
                        let now = naive_blurred(frame, taps);
                        let halves = target.run(
                            #[inline(always)]
                            || mean_difference(&before, &now),
                        );
                        for y in 0..height {
                            assert_eq!(held.row(y), now.row(y), "{width}x{height} row {y}");
                        }
                        assert_eq!(difference, naive_difference(&before, &now), "{width}x{height}");
                        assert_eq!(halves, difference, "{width}x{height}");
                        before = now;
                    }
                }
            }
        }
    }
}

fn format(width: usize, height: usize, chroma: Chroma, depth: u8) -> Format {
    Format::new(width, height, chroma, depth).unwrap()
}

fn check(format: Format, options: &str, expected: &[(&str, &[f64])]) {
    let scores = testing::score_clips(&INFO, options, &testing::clips(format, expected[0].1.len()));
    let got: Vec<(&str, &[f64])> = scores.columns().collect();
    assert_eq!(got, expected, "{options}");
}

#[test]
fn scores_are_libvmafs() {
    let only = 24.41010856628418;
    check(
        format(33, 19, Chroma::C420, 8),
        "",
        &[("motion2", &[0.0, only]), ("motion", &[0.0, only]), ("motion3", &[only, only])],
    );
    let (a, b, c) = (215.94620513916016, 219.18547821044922, 217.21909332275391);
    check(
        format(40, 26, Chroma::C444, 10),
        "motion_add_uv=true:motion_add_scale1=true:motion_filter_size=3",
        &[
            ("motion2_mdc_mau_mfs_3", &[0.0, a, c, c]),
            ("motion_mdc_mau_mfs_3", &[0.0, a, b, c]),
            ("motion3_mdc_mau_mfs_3", &[a, a, c, c]),
        ],
    );
    let first = 26.113293647766113;
    check(
        format(20, 18, Chroma::C422, 16),
        "motion_blend_factor=0.3:motion_blend_offset=20:motion_fps_weight=1.5:motion_max_val=34",
        &[
            ("motion2_mbf_0.3_mbo_20_mfw_1.5_mmxv_34", &[0.0, 34.0, 34.0]),
            ("motion_mbf_0.3_mbo_20_mfw_1.5_mmxv_34", &[0.0, 34.0, 34.0]),
            ("motion3_mbf_0.3_mbo_20_mfw_1.5_mmxv_34", &[first, first, 26.209011173248292]),
        ],
    );
}

#[test]
fn one_frame_has_no_motion() {
    let one = format(8, 8, Chroma::C420, 8);
    check(one, "", &[("motion2", &[0.0]), ("motion", &[0.0]), ("motion3", &[0.0])]);
    check(one, "debug=false", &[("motion2", &[0.0]), ("motion3", &[0.0])]);
}

#[test]
fn forced_zeros_change_the_order() {
    let zeros: &[f64] = &[0.0; 3];
    let expected = [("motion2_force_0", zeros), ("motion3_force_0", zeros), ("motion_force_0", zeros)];
    check(format(2, 2, Chroma::C420, 8), "motion_force_zero=true", &expected);
    check(format(2, 2, Chroma::C420, 8), "motion_force_zero=true:debug=false", &expected[..2]);
}

#[test]
fn motion3_appears_with_the_second_frame() {
    let appears = |options: &[(String, String)]| {
        let metric = registry::build(&INFO, options).unwrap();
        metric.keys().iter().map(|key| key.appears).collect::<Vec<_>>()
    };
    assert_eq!(appears(&[]), [Appears::Frame(0), Appears::Frame(0), Appears::Frame(1)]);
    let force = ("motion_force_zero".to_owned(), "true".to_owned());
    assert_eq!(appears(&[force]), [Appears::Frame(0); 3]);
}

/// Without a filter, every sample changes by what the plane changes.
#[test]
fn chroma_and_the_half_size_add_up() {
    for chroma in [Chroma::C420, Chroma::C422, Chroma::C444] {
        let format = format(16, 8, chroma, 8);
        let flat = |value: u32| testing::frame_of(format, || value);
        let clip: Vec<Frame> = [10, 13, 20].map(flat).into();
        let motion = |options: &str| {
            let options = format!("motion_filter_size=1:{options}");
            testing::score_clips(&INFO, &options, &(clip.clone(), clip.clone())).scores[1].clone()
        };
        assert_eq!(motion(""), [0.0, 3.0, 7.0]);
        assert_eq!(motion("motion_add_scale1=true"), [0.0, 6.0, 14.0]);
        assert_eq!(motion("motion_add_uv=true"), [0.0, 9.0, 21.0]);
        assert_eq!(motion("motion_add_uv=true:motion_add_scale1=true"), [0.0, 18.0, 42.0]);
    }
}

#[test]
fn frames_may_come_in_any_order() {
    let format = format(19, 12, Chroma::C420, 10);
    let clip = testing::clips(format, 6).0;
    let metric = registry::build(&INFO, &[("motion_add_scale1".to_owned(), "true".to_owned())]).unwrap();
    let pair = |index: usize| Pair { reference: &clip[index], distorted: &clip[index] };
    let run = |order: &[usize]| {
        let mut extractor = metric.extractor(&format.into(), Level::Scalar).unwrap();
        let mut found = vec![f64::NAN; clip.len()];
        for index in order.iter().copied() {
            let previous = index.checked_sub(1).map(pair);
            let window =
                Window { index: index as u64, current: pair(index), previous, before_previous: None };
            extractor.extract(&window, &mut found[index..=index]).unwrap();
        }
        found
    };
    let ordered = run(&[0, 1, 2, 3, 4, 5]);
    assert!(ordered[1..].iter().all(|motion| *motion > 0.0));
    assert_eq!(run(&[5, 0, 3, 4, 1, 2]), ordered);
    assert_eq!(run(&[0, 2, 4, 1, 3, 5]), ordered);
}

#[test]
fn frames_that_are_too_small_are_refused() {
    let refusal = |options: &[(&str, &str)], width, height, chroma| {
        let given: Vec<_> = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let metric = registry::build(&INFO, &given).unwrap();
        metric
            .extractor(&format(width, height, chroma, 8).into(), Level::Scalar)
            .err()
            .map(|error| error.to_string())
    };
    let uv = ("motion_add_uv", "true");
    assert_eq!(refusal(&[], 3, 3, Chroma::C420), None);
    assert!(refusal(&[], 2, 3, Chroma::C420).unwrap().contains("at least 3x3"));
    assert_eq!(refusal(&[("motion_filter_size", "3")], 2, 2, Chroma::C420), None);
    assert_eq!(refusal(&[("motion_filter_size", "1")], 1, 1, Chroma::C420), None);
    assert_eq!(refusal(&[uv], 6, 3, Chroma::C422), None);
    assert!(refusal(&[uv], 5, 9, Chroma::C422).unwrap().contains("at least 6x3"));
    assert!(refusal(&[uv], 9, 5, Chroma::C420).unwrap().contains("at least 6x6"));
    assert!(refusal(&[uv], 64, 64, Chroma::C400).unwrap().contains("needs chroma"));
}
