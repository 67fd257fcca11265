//! The whole metric against libvmaf's figures, and a scale against a naive truth.

mod naive;
mod small;

use visus_video::{Chroma, Format, Frame};

use super::scale::{Scale, Workspace};
use super::settings::Settings;
use super::*;
use crate::{Pair, registry};

/// The generator of the synthetic pictures.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 16
    }
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Noise,
    Dark,
    Bright,
    Texture,
    Coarse,
    Flat,
    Grey,
}
use Content::*;

impl Content {
    fn sample(self, x: u32, y: u32, peak: u32, noise: u32) -> u32 {
        let texture = peak / 4 + (x * 7 + y * 5) % 41 * peak / 90;
        let step = peak / 32 + 1;
        match self {
            Noise => noise,
            Dark => noise & 3,
            Bright => peak - (noise & 3),
            Texture => texture + (noise >> 4),
            Coarse => texture * 9 / 10 / step * step + (noise >> 5),
            Flat => peak / 3,
            Grey => peak / 2 + 1,
        }
    }

    fn frame(self, format: Format, seed: u32) -> Frame {
        let (mut frame, mut random) = (Frame::new(format), Random(seed));
        let peak = format.peak();
        for y in 0..format.height() {
            for x in 0..format.width() {
                let sample = self.sample(x as u32, y as u32, peak, random.next() & peak);
                if let Some(mut plane) = frame.plane_mut_u8(0) {
                    plane.row_mut(y)[x] = sample as u8;
                }
                if let Some(mut plane) = frame.plane_mut_u16(0) {
                    plane.row_mut(y)[x] = sample as u16;
                }
            }
        }
        frame
    }
}

fn given(options: &str) -> Vec<(String, String)> {
    let pairs = options.split_whitespace().map(|option| option.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn metric(options: &str) -> Box<dyn Metric> {
    registry::build(&INFO, &given(options)).unwrap()
}

fn settings(options: &str) -> Settings {
    Settings::new(&Options::parse(OPTIONS, &given(options)).unwrap())
}

fn luma(width: usize, height: usize, depth: u8) -> Format {
    Format::new(width, height, Chroma::C400, depth).unwrap()
}

fn extract(extractor: &mut dyn Extractor, reference: &Frame, distorted: &Frame, count: usize) -> Vec<f64> {
    let current = Pair { reference, distorted };
    let window = Window { index: 0, current, previous: None, before_previous: None };
    let mut raw = vec![f64::NAN; count];
    extractor.extract(&window, &mut raw).unwrap();
    raw
}

fn scores(options: &str, format: Format, reference: Content, distorted: Content) -> Vec<f64> {
    let metric = metric(options);
    let mut extractor = metric.extractor(&format.into(), Level::Scalar).unwrap();
    let (reference, distorted) = (reference.frame(format, 1), distorted.frame(format, 2));
    extract(&mut *extractor, &reference, &distorted, metric.raw_len())
}

/// Width, height, depth, reference, distorted, options; bits of adm2, aim, adm3 and the four scales, from libvmaf.
type Figures = (usize, usize, u8, Content, Content, &'static str, [u64; 7]);

fn assert_figures(known: &[Figures]) {
    for (width, height, depth, reference, distorted, options, bits) in known {
        let scores = scores(options, luma(*width, *height, *depth), *reference, *distorted);
        let expected = bits.map(f64::from_bits);
        assert_eq!(
            scores, expected,
            "{width}x{height} {depth} bits, {reference:?}, {distorted:?}, {options}"
        );
    }
}

#[test]
fn scores_are_those_of_libvmaf() {
    #[rustfmt::skip]
    let known: &[Figures] = &[
        (17, 17, 8, Noise, Noise, "", 
            [0x3fdc9ce4a45d58ea, 0x3fdb679799c9e77e, 0x3fe04d5342a4dc5b, 0x3fda91daeec94aac,
             0x3fd3a654f94ae48d, 0x3fdeb999a8e30cbd, 0x3fe34eb2be75d2ac]),
        (17, 17, 8, Texture, Coarse, "", 
            [0x3fec8a6dfdb89b0b, 0x3f48b40f0b5894d7, 0x3fee42207cfae273, 0x3fed2d9ada7a6dfe,
             0x3fecb4cbe49b0295, 0x3fec5aad699b6e2d, 0x3feb6334345b4fb4]),
        (40, 23, 8, Texture, Coarse, "", 
            [0x3febe82abb80e1f2, 0x3f725caa333caab2, 0x3fede1b8b38d344e, 0x3fed2837b94014df,
             0x3fec8b3214cda81d, 0x3feb54ca7587830b, 0x3fe7879501619cb2]),
        (23, 40, 10, Texture, Coarse, "", 
            [0x3fec3b84b082eac5, 0x3f776a41f059a4d9, 0x3fee065816511bbe, 0x3fecf1db1bda78cf,
             0x3fed56cec183766f, 0x3fedf223f50b347f, 0x3fe0df6334d9c807]),
        (64, 49, 12, Noise, Noise, "", 
            [0x3fd74644b617184b, 0x3fe456a1fb0095f7, 0x3fd74c80600af62e, 0x3fdcfc3792b1ec97,
             0x3fd7f1ab74dc203c, 0x3fd4ab5c6a8361d5, 0x3fd1f8c9da29d7e1]),
        (50, 33, 16, Texture, Coarse, "", 
            [0x3fec5bdace4b5e4f, 0x3f527c70a1686aa8, 0x3fee294e4afd550d, 0x3fed18494b77155d,
             0x3fecfe8d1fe6c972, 0x3febe53e1139698d, 0x3fe9ced56860b301]),
        (31, 32, 8, Dark, Dark, "", 
            [0x3fee14a289a0391c, 0x3fb14e517ba224a1, 0x3fedf56c2d15fa44, 0x3feecefdcb1924fd,
             0x3fedfd65586aa80d, 0x3fed3bddd794b27c, 0x3fed21e42e36eb2b]),
        (32, 31, 10, Bright, Bright, "", 
            [0x3fef8b7f32ea9590, 0x3f92c16d645d6043, 0x3fef7ab9e3e3d547, 0x3fefabe55d5882f6,
             0x3fef7b4eccb7db81, 0x3fef53435d9c1951, 0x3fef989b601095fa]),
        (33, 30, 8, Noise, Dark, "", 
            [0x3fc388a64d78b5f8, 0x3f810b70b70ea60e, 0x3fe24efde840f973, 0x3fcc3341ef3fcce8,
             0x3fc0ef1373584ff0, 0x3fbc7ccba970d2ce, 0x3fc30eb717bf7e9f]),
        (64, 48, 8, Texture, Coarse, "adm_enhn_gain_limit=1.2", 
            [0x3fec854a26f10387, 0x3f7c76900f5dae77, 0x3fee262e83692415, 0x3fed019d58e18537,
             0x3fecdfd2e183c665, 0x3feb4db5ea62b253, 0x3fec81158df58c40]),
        (64, 48, 8, Texture, Coarse, "adm_csf_mode=1 adm_csf_scale=2 adm_csf_diag_scale=0.5 adm_norm_view_dist=1.5", 
            [0x3feb1625e2524c3b, 0x3f8b09eeb04ce4cc, 0x3fed54ff13c88c54, 0x3feac4ba90ae61e1,
             0x3fec2d7b49c3a0cd, 0x3fe995061613c497, 0x3feb1ec769f716e0]),
        (64, 48, 8, Texture, Coarse, "adm_csf_mode=2 adm_bypass_cm=1 adm_skip_aim_scale=2 adm_noise_weight=0", 
            [0x3feb4f5d9cc900ff, 0x3fc073c23684a528, 0x3feb99368793ebda, 0x3febb4964c8da16f,
             0x3fec8a1f2f38add8, 0x3fea82bb34140f1a, 0x3feb99696cc1343e]),
        (64, 48, 8, Texture, Coarse, "adm_p_norm=2.5 adm_adm3_apply_hm=true adm_ref_display_height=480", 
            [0x3febb05e0cbd220a, 0x3f732ac90d02c899, 0x3f83106456378e97, 0x3feb6e04a1f2eb68,
             0x3fec59d331c03035, 0x3feaaa69fc5a8c46, 0x3fea9fb438883155]),
        (64, 48, 8, Texture, Coarse, "adm_skip_scale0=true adm_dlm_weight=0.7 adm_f1s1=0.25 adm_f2s3=0.5", 
            [0x3febbdae7fdcb88b, 0x3f739b8cf564c5d1, 0x3fecf9033820de51, 0x0000000000000000,
             0x3fec52b4778773f2, 0x3feb4db5ea62b253, 0x3fe5acfb6cfdae70]),
        (64, 48, 8, Texture, Coarse, "adm_min_val=0.99", 
            [0x3fec861fb9c9e6be, 0x3f7c76900f5dae77, 0x3fefae147ae147ae, 0x3fed0232d16a02e1,
             0x3fece1704c552798, 0x3feb4db5ea62b253, 0x3fec81158df58c40]),
    ];
    assert_figures(known);
}

#[test]
fn scratch_does_not_leak_between_frames() {
    let format = luma(45, 38, 8);
    let metric = metric("debug=true");
    let mut extractor = metric.extractor(&format.into(), Level::Scalar).unwrap();
    let (noise, texture) = (Noise.frame(format, 1), Texture.frame(format, 2));
    let first = extract(&mut *extractor, &noise, &texture, metric.raw_len());
    let other = extract(&mut *extractor, &texture, &noise, metric.raw_len());
    assert_ne!(first, other);
    assert_eq!(extract(&mut *extractor, &noise, &texture, metric.raw_len()), first);
}

#[test]
fn identical_pictures_lose_and_gain_nothing() {
    let format = luma(64, 48, 8);
    for content in [Noise, Flat] {
        let frame = content.frame(format, 7);
        let mut extractor = metric("").extractor(&format.into(), Level::Scalar).unwrap();
        let scores = extract(&mut *extractor, &frame, &frame, 7);
        assert!((scores[0] - 1.0).abs() < 1e-6, "{content:?}: {scores:?}");
        assert!(scores[1] < 1e-6, "{content:?}: {scores:?}");
    }
}

/// Without noise floor a grey reference has nothing to lose, and whatever was added is all there is.
#[test]
fn a_reference_without_strength_has_defined_scores() {
    let format = luma(40, 40, 8);
    assert_eq!(scores("adm_noise_weight=0", format, Grey, Noise)[..3], [1.0, 1.0, 0.5]);
    assert_eq!(scores("adm_noise_weight=0", format, Grey, Grey)[..3], [1.0, 0.0, 1.0]);
}

/// A grey reference has the noise floor alone.
#[test]
fn additive_impairment_is_one_at_most() {
    assert_eq!(scores("", luma(40, 40, 8), Grey, Noise)[1], 1.0);
}

#[test]
fn keys_have_libvmafs_names_and_order() {
    let names = |options: &str| -> Vec<String> {
        metric(options).keys().iter().map(|key| key.name.clone()).collect()
    };
    let plain = ["adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3"];
    assert_eq!(names(""), plain);
    let debug = names("debug=true adm_csf_mode=2 adm_ref_display_height=720 adm_skip_scale0=true");
    let suffix = "_csf_2_rdf_720_ssz";
    let scales = (0..4).flat_map(|s| [format!("adm_num_scale{s}"), format!("adm_den_scale{s}")]);
    let mut expected: Vec<String> = plain.iter().map(|name| format!("{name}{suffix}")).collect();
    expected.push("adm".to_owned());
    let counts = ["adm_num".to_owned(), "adm_den".to_owned()].into_iter().chain(scales);
    expected.extend(counts.map(|name| format!("{name}{suffix}")));
    assert_eq!(debug, expected);
}

#[test]
fn debug_scores_belong_to_their_keys() {
    let scores = scores("debug=true", luma(64, 48, 8), Texture, Coarse);
    let [adm2, adm, numerator, denominator] = [scores[0], scores[7], scores[8], scores[9]];
    assert_eq!(adm2, adm);
    assert_eq!(adm2, numerator / denominator);
    for scale in 0..SCALES {
        assert_eq!(scores[3 + scale], scores[10 + 2 * scale] / scores[11 + 2 * scale]);
    }
}

/// A picture of samples as they come from 8-bit video; other scales see values of the same size.
fn picture(width: usize, height: usize, content: Content, seed: u32) -> naive::Plane {
    let frame = content.frame(luma(width, height, 8), seed);
    let mut plane = FloatPlane::new(width, height);
    load(&mut plane, &frame);
    naive::Plane::new(width, height, |x, y| plane.row(y)[x])
}

/// Stored as part of a larger plane, as later scales are.
fn stored(picture: &naive::Plane, extra: usize) -> FloatPlane {
    let mut plane = FloatPlane::new(picture.width + extra, picture.height + extra);
    (0..plane.height()).for_each(|y| plane.padded_row_mut(y).fill(f32::NAN));
    for (y, row) in picture.values.chunks(picture.width).enumerate() {
        plane.row_mut(y)[..picture.width].copy_from_slice(row);
    }
    plane
}

fn low_frequencies(plane: &FloatPlane, like: &naive::Plane) -> Vec<f32> {
    (0..like.height).flat_map(|y| plane.row(y)[..like.width].to_vec()).collect()
}

fn check_scale(width: usize, height: usize, contents: [Content; 2], setup: &naive::Setup, options: &str) {
    let settings = settings(options);
    let scale = Scale::new(Axis::new(width), Axis::new(height), setup.weights, &settings);
    let reference = picture(width, height, contents[0], 3);
    let distorted = picture(width, height, contents[1], 4);
    let what = format!("{width}x{height} {contents:?} {options}");
    for extra in [0, 1, 37] {
        let (mut first, mut second) = (stored(&reference, extra), stored(&distorted, extra));
        let mut workspace = Workspace::new(width + extra);
        let strengths = workspace.score(&scale, &settings, &mut first, &mut second);
        assert_eq!(strengths, naive::strengths(&reference, &distorted, setup), "{what} {extra}");
        for (picture, plane) in [(&reference, &first), (&distorted, &second)] {
            let low = naive::low(picture);
            assert_eq!(low_frequencies(plane, &low), low.values, "{what} {extra}");
        }
        let mut shrunk = stored(&reference, extra);
        workspace.shrink(&scale, &mut shrunk);
        assert_eq!(
            low_frequencies(&shrunk, &naive::low(&reference)),
            naive::low(&reference).values,
            "{what}"
        );
    }
}

#[test]
fn a_scale_is_the_naive_truth() {
    let sizes = [(3, 3), (3, 4), (4, 3), (5, 9), (18, 17), (28, 29), (29, 28), (31, 62), (83, 40)];
    let contents = [Noise, Dark, Bright, Texture, Coarse, Flat];
    let setup =
        naive::Setup { limit: 100.0, p: 3.0, floor: 0.03125, masked: true, weights: [0.7, 0.3, 0.11] };
    for (width, height) in sizes {
        for reference in contents {
            for distorted in contents {
                check_scale(width, height, [reference, distorted], &setup, "");
            }
        }
    }
}

#[test]
fn options_reach_the_scale() {
    let weights = [0.21, 0.22, 0.23];
    let usual = || naive::Setup { limit: 100.0, p: 3.0, floor: 0.03125, masked: true, weights };
    let cases = [
        ("adm_enhn_gain_limit=1.0", naive::Setup { limit: 1.0, ..usual() }),
        ("adm_enhn_gain_limit=1.2", naive::Setup { limit: 1.2, ..usual() }),
        ("adm_p_norm=2", naive::Setup { p: 2.0, ..usual() }),
        ("adm_p_norm=4.7", naive::Setup { p: 4.7, ..usual() }),
        ("adm_noise_weight=0.5", naive::Setup { floor: 0.5, ..usual() }),
        ("adm_bypass_cm=1", naive::Setup { masked: false, ..usual() }),
    ];
    let unchanged = naive::strengths(&picture(34, 27, Texture, 3), &picture(34, 27, Coarse, 4), &usual());
    for (options, setup) in cases {
        let changed = naive::strengths(&picture(34, 27, Texture, 3), &picture(34, 27, Coarse, 4), &setup);
        assert_ne!(changed, unchanged, "{options}");
        check_scale(34, 27, [Texture, Coarse], &setup, options);
        check_scale(27, 34, [Coarse, Texture], &setup, options);
    }
}
