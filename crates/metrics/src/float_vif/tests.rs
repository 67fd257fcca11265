//! Kernels against a naive truth, and whole scores against libvmaf's.

use visus_video::{Chroma, Format};

use super::scalar::{Halving, Information, Scratch, halve, information};
use super::{INFO, Model};
use crate::picture::FloatPlane;
use crate::separable::mirror;
use crate::simd::{Target, level_tests};
use crate::testing::{self, Noise};
use crate::{Level, MetricError, gaussian, registry};

/// The filtered value at (x, y) of a plane given as a function.
fn filtered(
    value: impl Fn(usize, usize) -> f32,
    size: (usize, usize),
    taps: &[f32],
    x: usize,
    y: usize,
) -> f32 {
    let radius = taps.len() / 2;
    let at = |position: usize, tap: usize, len| mirror((position + tap) as isize - radius as isize, len);
    let sum = |term: &dyn Fn(usize) -> f32| (0..taps.len()).fold(0.0, |sum, tap| sum + taps[tap] * term(tap));
    let column = |x| sum(&|tap| value(x, at(y, tap, size.1)));
    sum(&|tap| column(at(x, tap, size.0)))
}

fn naive_log2(x: f32) -> f32 {
    let mut exponent = 0;
    let mut mantissa = x;
    while mantissa >= 2.0 {
        (mantissa, exponent) = (mantissa / 2.0, exponent + 1);
    }
    let t = mantissa - 1.0;
    let mut value = -0.012671635276421 * t + 0.064841182402670;
    for coefficient in [
        -0.157048836463065,
        0.257167726303123,
        -0.353800560300520,
        0.480131410397451,
        -0.721314327952201,
        1.442694803896991,
    ] {
        value = value * t + coefficient;
    }
    exponent as f32 + value * t
}

fn naive_pixel(a: f32, b: f32, aa: f32, bb: f32, ab: f32, model: &Model) -> (f32, f32) {
    let (s1, s2, s12) = ((aa - a * a).max(0.0), (bb - b * b).max(0.0), ab - a * b);
    if f64::from(s1) < model.noise {
        return (1.0 - s2 * model.flat_penalty, 1.0);
    }
    let held = naive_log2((1.0 + f64::from(s1) / model.noise) as f32);
    let gain = s12 / (s1 + 1e-10);
    let kept = if s12 < 0.0 || s2 < 1e-10 {
        0.0
    } else {
        let residual = (s2 - gain * s12).max(1e-10);
        let gain = gain.min(model.gain_limit);
        naive_log2((1.0 + f64::from(gain * gain * s1) / (f64::from(residual) + model.noise)) as f32)
    };
    (kept, held)
}

fn naive(a: &FloatPlane, b: &FloatPlane, taps: &[f32], model: &Model) -> Information {
    let size = (a.width(), a.height());
    let mut sum = Information::default();
    for y in 0..size.1 {
        let mut row = Information::default();
        for x in 0..size.0 {
            let mean = |value: &dyn Fn(f32, f32) -> f32| {
                filtered(|x, y| value(a.row(y)[x], b.row(y)[x]), size, taps, x, y)
            };
            let (kept, held) = naive_pixel(
                mean(&|a, _| a),
                mean(&|_, b| b),
                mean(&|a, _| a * a),
                mean(&|_, b| b * b),
                mean(&|a, b| a * b),
                model,
            );
            row.kept += kept;
            row.held += held;
        }
        sum.kept += row.kept;
        sum.held += row.held;
    }
    sum
}

/// Pairs of planes: full range, next to the ends of the range, flat against noise, and one that grows in contrast.
fn pairs(width: usize, height: usize) -> Vec<(FloatPlane, FloatPlane)> {
    let mut generator = Noise::new(7);
    let mut plane = |low, range| testing::plane(width, height, low, range, &mut generator);
    let mut stronger = plane(-40.0, 80);
    let weaker = stronger.clone();
    for y in 0..height {
        stronger.row_mut(y).iter_mut().for_each(|value| *value *= 1.4);
    }
    vec![
        (plane(-128.0, 256), plane(-128.0, 256)),
        (plane(-128.0, 4), plane(-128.0, 4)),
        (plane(124.0, 4), plane(120.0, 8)),
        (FloatPlane::new(width, height), plane(-128.0, 256)),
        (plane(-128.0, 256), FloatPlane::new(width, height)),
        (weaker, stronger),
    ]
}

level_tests! {
    fn information_equals_the_naive_truth(level) {
        let target = Target::new(level);
        for (width, height, taps) in [(17, 19, 17), (16, 9, 9), (35, 7, 5), (2, 2, 3), (33, 21, 41)] {
            let taps = gaussian::kernel(taps.min(2 * width.min(height) - 1));
            for model in [Model::new(100.0, 2.0), Model::new(1.05, 2.0), Model::new(1.0, 0.4)] {
                for (index, (a, b)) in pairs(width, height).into_iter().enumerate() {
                    let mut scratch = Scratch::new(width, taps.clone());
                    let got = target.run(
                        #[inline(always)]
                        || information(&a, &b, &model, &mut scratch),
                    );
                    let want = naive(&a, &b, &taps, &model);
                    assert_eq!(got, want, "{width}x{height}, {} taps, pair {index}, {model:?}", taps.len());
                }
            }
        }
    }
}

level_tests! {
    fn halving_equals_the_naive_truth(level) {
        let target = Target::new(level);
        for (width, height, taps) in [(16, 16, 9), (33, 17, 17), (7, 5, 3), (50, 3, 5)] {
            let taps = gaussian::kernel(taps);
            let source = testing::plane(width, height, -128.0, 256, &mut Noise::new(3));
            let mut out = FloatPlane::new(width / 2, height / 2);
            let mut halving = Halving::new(width, taps.clone());
            target.run(
                #[inline(always)]
                || halve(&source, &mut halving, &mut out),
            );
            for y in 0..height / 2 {
                for x in 0..width / 2 {
                    let want = filtered(|x, y| source.row(y)[x], (width, height), &taps, 2 * x, 2 * y);
                    assert_eq!(out.row(y)[x].to_bits(), want.to_bits(), "{width}x{height} at {x}, {y}");
                }
            }
        }
    }
}

fn check(size: (usize, usize), chroma: Chroma, depth: u8, options: &str, expected: &[(&str, f64)]) {
    let format = Format::new(size.0, size.1, chroma, depth).unwrap();
    let scores = testing::score_clips(&INFO, options, &testing::clips(format, 1));
    for (name, value) in expected {
        let (_, column) =
            scores.columns().find(|(key, _)| key == name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(column[0], *value, "{name}, {options}");
    }
}

#[test]
fn defaults_give_libvmafs_scores() {
    let expected = [
        ("vif_scale0", 0.28786396282039939),
        ("vif_scale1", 0.50422654724169302),
        ("vif_scale2", 0.55138659776752874),
        ("vif_scale3", 0.5353373674187879),
        ("vif", 0.31275507451913492),
        ("vif_num", 2506.2182912826538),
        ("vif_den", 8013.3577213287354),
        ("vif_num_scale0", 2049.65185546875),
        ("vif_den_scale3", 23.053812026977539),
    ];
    check((33, 19), Chroma::C420, 8, "debug=true", &expected);
}

#[test]
fn options_give_libvmafs_scores() {
    let options = "vif_enhn_gain_limit=1.05:vif_kernelscale=0.5:vif_prescale=1.5:vif_prescale_method=bicubic:vif_sigma_nsq=0.7";
    let expected = [
        ("vif_scale0_egl_1.05_ks_0.5_ps_1.5_pm_bicubic_snsq_0.7", 0.27855882112954089),
        ("vif_scale1_egl_1.05_ks_0.5_ps_1.5_pm_bicubic_snsq_0.7", 0.35309943509826114),
        ("vif_scale2_egl_1.05_ks_0.5_ps_1.5_pm_bicubic_snsq_0.7", 0.42499703795524796),
        ("vif_scale3_egl_1.05_ks_0.5_ps_1.5_pm_bicubic_snsq_0.7", 0.42345784225110927),
    ];
    check((40, 26), Chroma::C444, 10, options, &expected);
    let expected = [
        ("vif_scale0_ps_1.3_pm_lanczos4_ssclz", 0.0),
        ("vif_scale1_ps_1.3_pm_lanczos4_ssclz", 0.40405267572714154),
        ("vif_scale2_ps_1.3_pm_lanczos4_ssclz", 0.46385045316838369),
        ("vif_scale3_ps_1.3_pm_lanczos4_ssclz", 0.45289445784255472),
        ("vif_ps_1.3_pm_lanczos4_ssclz", 0.41424361591932396),
        ("vif_num_scale0_ps_1.3_pm_lanczos4_ssclz", 0.0),
        ("vif_den_scale0_ps_1.3_pm_lanczos4_ssclz", -1.0),
    ];
    let options = "vif_prescale=1.3:vif_prescale_method=lanczos4:vif_skip_scale0=true:debug=true";
    check((20, 18), Chroma::C422, 16, options, &expected);
    let expected = [
        ("vif_scale0_ks_2.4_s2miv_0.9", 0.29491326395019729),
        ("vif_scale1_ks_2.4_s2miv_0.9", 0.65272461801613069),
        ("vif_scale2_ks_2.4_s2miv_0.9", 0.9),
        ("vif_scale3_ks_2.4_s2miv_0.9", 0.86487463394451136),
    ];
    check((64, 50), Chroma::C420, 12, "vif_kernelscale=2.4:vif_scale2_min_val=0.9", &expected);
}

#[test]
fn an_extractor_carries_nothing_over() {
    let format = Format::new(24, 20, Chroma::C400, 8).unwrap();
    let (reference, distorted) = testing::clips(format, 3);
    let twice = |index: usize| {
        let clips = (vec![reference[index].clone()], vec![distorted[index].clone()]);
        testing::score_clips(&INFO, "", &clips).scores[2][0]
    };
    let together = testing::score_clips(&INFO, "", &(reference.clone(), distorted.clone()));
    assert_eq!(together.scores[2], [twice(0), twice(1), twice(2)]);
}

fn smallest(options: &[(&str, &str)], width: usize, height: usize) -> Result<(), MetricError> {
    let given: Vec<_> = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let format = Format::new(width, height, Chroma::C420, 8).unwrap();
    registry::build(&INFO, &given)?.extractor(&format.into(), Level::Scalar).map(|_| ())
}

#[test]
fn frames_that_are_too_small_are_refused() {
    let with_window = |scale| [("vif_kernelscale", scale)];
    for (options, side) in [
        (&[][..], 16),
        (&with_window("0.5")[..], 16),
        (&with_window("3")[..], 40),
        (&with_window("3.7113")[..], 56),
        (&[("vif_prescale", "0.5")][..], 31),
        (&[("vif_prescale", "4")][..], 4),
        (&[("vif_prescale", "4"), ("vif_prescale_method", "lanczos4")][..], 5),
    ] {
        assert_eq!(smallest(options, side, side), Ok(()), "{options:?}");
        for (width, height) in [(side - 1, side), (side, side - 1)] {
            let message = smallest(options, width, height).unwrap_err().to_string();
            assert!(message.contains(&format!("at least {side}x{side}")), "{options:?}: {message}");
        }
    }
}

#[test]
fn unknown_settings_are_refused() {
    let message = smallest(&[("vif_kernelscale", "1.3")], 64, 64).unwrap_err().to_string();
    assert!(
        message.contains("1.3 is refused") && message.contains("1.25, 1.3333334, 1.4166666"),
        "{message}"
    );
    let message = smallest(&[("vif_prescale_method", "cubic")], 64, 64).unwrap_err().to_string();
    assert!(message.contains("nearest, bilinear, bicubic, lanczos4"), "{message}");
}
