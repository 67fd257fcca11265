//! The fused rows against the naive truth, and whole frames against figures of libvmaf's scalar path.

mod naive;

use proptest::prelude::*;
use visus_video::{Chroma, Format, Frame, Plane};

use super::decouple::Decoupling;
use super::plan::Plan;
use super::settings::{OPTIONS, Settings};
use super::vector::Vectors;
use super::{AdmShifts, NAME, extractor, geometry, scale};
use crate::device::DeviceTask;
use crate::simd::level_tests;
use crate::testing::Backwards;
use crate::{Alone, Level, MetricError, Options, Pair, Spread, Window, registry};
use naive::Picture;

/// Knuth's linear congruential generator, the upper bits.
struct Noise(u64);

impl Noise {
    fn next(&mut self, below: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % below) as i64
    }
}

/// What a test picture shows.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// Texture and a coarser, noisy copy of it.
    Texture,
    /// Full-range noise on both sides.
    Noise,
    /// Black and white at random: the largest coefficients there are.
    Extremes,
    /// Columns by turns darker and brighter, so that most coefficients are just below the largest usual ones of the vector
    /// kernels.
    Stripes,
    /// Almost nothing: black with a few steps of one.
    NearBlack,
    /// Almost white.
    NearWhite,
}

fn pair(content: Content, width: usize, height: usize, bits: u32, seed: u64) -> [Picture; 2] {
    let peak = (1i64 << bits) - 1;
    let mut noise = Noise(seed);
    let mut pictures = [vec![vec![0; width]; height], vec![vec![0; width]; height]];
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let (a, b) = (noise.next(1 << 20), noise.next(1 << 20));
        let [reference, distorted] = match content {
            Content::Texture => {
                let texture = ((x * x / 7 + y * 5) % 160) as i64 + a % 60;
                [texture * peak / 255, (texture / 6 * 6 + b % 9) * peak / 255]
            }
            Content::Noise => [a & peak, b & peak],
            Content::Extremes => [a % 2 * peak, b % 2 * peak],
            Content::Stripes => {
                let step = if x % 2 == 0 { 64 } else { 191 };
                [step * peak / 255, (step + b % 9 - 4) * peak / 255]
            }
            Content::NearBlack => [a % 3, b % 2],
            Content::NearWhite => [peak - a % 2, peak - b % 3],
        };
        pictures[0][y][x] = reference.clamp(0, peak);
        pictures[1][y][x] = distorted.clamp(0, peak);
    }
    pictures
}

fn given(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(':').filter_map(|option| option.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn settings(text: &str) -> Settings {
    Settings::new(NAME, &Options::parse(OPTIONS, &given(text)).unwrap()).unwrap()
}

/// Samples with `stride - width` others behind each row, which must not be read.
fn strided<T: Copy>(picture: &Picture, stride: usize, convert: fn(i64) -> T, junk: T) -> Vec<T> {
    let row = |row: &Vec<i64>| {
        let mut samples: Vec<T> = row.iter().map(|value| convert(*value)).collect();
        samples.resize(stride, junk);
        samples
    };
    picture.iter().flat_map(row).collect()
}

fn compare(level: Level, content: Content, width: usize, height: usize, bits: u8, options: &str) {
    let settings = settings(options);
    let format = Format::new(width, height, Chroma::C400, bits).unwrap();
    let mut adm = extractor::Adm::new(settings, &format, level);
    for (seed, padding) in [(1, 0), (2, 3)] {
        let pictures = pair(content, width, height, u32::from(bits), seed);
        let stride = width + padding;
        let sums = if bits == 8 {
            let samples = pictures.each_ref().map(|picture| strided(picture, stride, |v| v as u8, 0xa5));
            adm.sums(samples.each_ref().map(|samples| Plane::new(samples, width, height, stride)), &Alone)
        } else {
            let samples = pictures.each_ref().map(|picture| strided(picture, stride, |v| v as u16, 0xa5a5));
            adm.sums(samples.each_ref().map(|samples| Plane::new(samples, width, height, stride)), &Alone)
        };
        let truth = naive::sums(pictures.each_ref(), u32::from(bits), &settings);
        for scale in 0..4 {
            let case = format!(
                "{level} {content:?} {width}x{height} {bits}-bit {options} seed {seed} scale {scale}"
            );
            assert_eq!(sums[scale], truth[scale], "{case}");
        }
    }
}

const CONTENTS: [Content; 6] = [
    Content::Texture,
    Content::Noise,
    Content::Extremes,
    Content::Stripes,
    Content::NearBlack,
    Content::NearWhite,
];

level_tests! {
    fn rows_are_the_naive_truth_for_all_contents_and_depths(level) {
        for content in CONTENTS {
            for bits in [8, 10, 12, 16] {
                compare(level, content, 97, 66, bits, "");
                compare(level, content, 260, 40, bits, "");
            }
        }
    }

    fn rows_are_the_naive_truth_for_all_sizes(level) {
        // Widths and heights at which some scale begins to reach the edges, or changes the parity of a band.
        for size in [33, 34, 36, 59, 60, 61, 63, 113, 119, 120, 121, 145] {
            compare(level, Content::Texture, size, 178 - size, 8, "");
        }
        // Every number of columns behind the last whole register.
        for width in 64..200 {
            compare(level, Content::Noise, width, 33, 8, "");
        }
        compare(level, Content::Noise, 300, 33, 8, "");
        // Rows long enough for every sum to be widened on the way.
        for content in CONTENTS {
            compare(level, content, 1700, 33, 8, "");
        }
        compare(level, Content::Noise, 33, 300, 10, "");
    }

    fn rows_are_the_naive_truth_for_other_weights_and_gains(level) {
        for options in [
            "adm_enhn_gain_limit=1",
            "adm_enhn_gain_limit=1.2",
            "adm_csf_mode=2:adm_norm_view_dist=5",
            "adm_csf_mode=3",
            "adm_csf_mode=2:adm_enhn_gain_limit=1",
            "adm_norm_view_dist=7.7:adm_ref_display_height=2000",
        ] {
            compare(level, Content::Texture, 70, 50, 8, options);
            compare(level, Content::Noise, 70, 50, 10, options);
        }
    }
}

/// Content, width, height, depth, options and the bits of the scores.
type Figures = (Content, usize, usize, u8, &'static str, [u64; 7]);

/// Bits of libvmaf 3.2.0's scalar path: adm2, aim, adm3, the four scales' ratios; numerators and denominators are held
/// by the ratios.
#[test]
fn frames_have_the_scores_of_libvmaf() {
    use Content::{Extremes, Noise, Texture};
    #[rustfmt::skip]
    let known: &[Figures] = &[
        (Texture, 64, 48, 8, "",
            [0x3fefd00f8a139b12, 0x3f26b4b2dd0cdde0, 0x3fefe7521f72e522, 0x3fef726ff6b7d506,
             0x3fef6a06c90d5f5c, 0x3fefec9792b6dbae, 0x3ff000f6b6823b64]),
        (Texture, 20, 40, 8, "",
            [0x3fef6217c80f8b1c, 0x0000000000000000, 0x3fefb10be407c58e, 0x3fef5416139a5ab2,
             0x3fefaaaded57c4c8, 0x3fefdc9a955a2266, 0x3fef166b14683cd0]),
        (Noise, 17, 33, 10, "",
            [0x3fd2aa8f044c8a6a, 0x3fe75be6b3eae362, 0x3fd1f960ce3b61d3, 0x3fde460eeb8df1bd,
             0x3fd86d1883fc6881, 0x3fd2c90550376471, 0x3fb3ee2fe2e340f1]),
        (Extremes, 95, 71, 8, "",
            [0x3fd79cfff5f398db, 0x3fe520ad7fc2df49, 0x3fd6add27b36ed24, 0x3fdb4f95f6dd704a,
             0x3fd5a8c9e51e709b, 0x3fd25d2cf305056e, 0x3fddadb1484465ec]),
        (Extremes, 95, 71, 16, "",
            [0x3fd7999784ab86fc, 0x3fe5226e8406b1e0, 0x3fd6aa5d3e4f119e, 0x3fdb49f593ffa4c9,
             0x3fd5a59f11848dd9, 0x3fd25aa2fc4b1ba7, 0x3fddabd979280c2b]),
        (Noise, 130, 90, 12, "",
            [0x3fd810e3d79fb59c, 0x3fe5269444ba8d2d, 0x3fd6e1dda7154da1, 0x3fdc90281e84a3e0,
             0x3fd88d6e51ea3cfb, 0x3fd54d076706bc3f, 0x3fd56abe09034670]),
        (Texture, 71, 85, 16, "adm_enhn_gain_limit=1.2",
            [0x3fefd0df6f63902d, 0x0000000000000000, 0x3fefe86fb7b1c816, 0x3fef5811df798aff,
             0x3fef9738c471607e, 0x3fefd3a34a4a74aa, 0x3ff003a2222c5a09]),
        (Texture, 100, 60, 8, "adm_enhn_gain_limit=1:adm_csf_mode=2:adm_noise_weight=0.02:adm_dlm_weight=0.7:adm_min_val=0.5",
            [0x3fefa14a9eb5f44c, 0x0000000000000000, 0x3fefbdb43be5c49c, 0x3fef484f293eefb6,
             0x3fef5f60c239900d, 0x3fefb6324df32864, 0x3fefb83ed6007896]),
        (Texture, 60, 100, 10, "adm_csf_mode=1",
            [0xfff8000000000000, 0x0000000000000000, 0x0000000000000000, 0x3f96380ab2a65b5a,
             0x3f82dcf217fed0c7, 0xfff8000000000000, 0xfff8000000000000]),
        (Noise, 60, 100, 8, "adm_csf_mode=1:adm_csf_scale=2.5:adm_csf_diag_scale=0.01",
            [0x3f758f22ec645af1, 0x3f84c48e9c949941, 0x3fdfd80c0b667651, 0x3f74304d7c7a6279,
             0x3f8a238616647dde, 0x3f77d3dde08f8403, 0x3f5d1ca29df6ea9f]),
        (Texture, 61, 45, 8, "adm_csf_mode=3:adm_norm_view_dist=5:adm_ref_display_height=720",
            [0x3fefe24d0c2ab8bb, 0x3f11f0c009e8f145, 0x3feff0dec31534ba, 0x3fef7abb282d9364,
             0x3fefc311ef2f71cb, 0x3fefe6ec2c73fe76, 0x3fefff9a3e1f0e4a]),
        (Texture, 77, 47, 8, "adm_norm_view_dist=10:adm_ref_display_height=1440",
            [0x3fefef524c10f8e4, 0x3f07a493145a7c3e, 0x3feff779dce253bd, 0x3feff1fcab20e18e,
             0x3fefd6524a3234d3, 0x3feff33c82420f2d, 0x3feff9c547674638]),
        (Noise, 50, 50, 10, "adm_skip_scale0=true",
            [0x3fd734e4f9550e10, 0x3fe2e202ffd7fd5d, 0x3fd8b86f7cd289ab, 0x0000000000000000,
             0x3fd6ed7fbb9e4a04, 0x3fdb15a27931cc88, 0x3fd387f416871c14]),
        (Extremes, 33, 61, 8, "adm_skip_aim=true:adm_dlm_weight=0.25",
            [0x3fd40b849b3e3aa7, 0x0000000000000000, 0x3fea81709367c755, 0x3fda96b9aabff47a,
             0x3fd51b90f8258337, 0x3fd1406365b0c7e4, 0x3fd0d46b67b4d93d]),
    ];
    for (content, width, height, bits, options, expected) in known {
        let case = format!("{content:?} {width}x{height} {bits}-bit '{options}'");
        let scores = frame_scores(*content, *width, *height, *bits, options);
        let scores: Vec<u64> = scores.iter().map(|score| score.to_bits()).collect();
        assert_eq!(scores, expected, "{case}");
    }
}

fn frame(format: Format, picture: &Picture) -> Frame {
    let mut frame = Frame::new(format);
    for (y, row) in picture.iter().enumerate() {
        if let Some(mut plane) = frame.plane_mut_u8(0) {
            plane.row_mut(y).iter_mut().zip(row).for_each(|(sample, value)| *sample = *value as u8);
        }
        if let Some(mut plane) = frame.plane_mut_u16(0) {
            plane.row_mut(y).iter_mut().zip(row).for_each(|(sample, value)| *sample = *value as u16);
        }
    }
    frame
}

fn frame_scores(content: Content, width: usize, height: usize, bits: u8, options: &str) -> Vec<f64> {
    let format = Format::new(width, height, Chroma::C400, bits).unwrap();
    let metric = registry::build(&super::INFO, &given(options)).unwrap();
    let mut extractor = metric.extractor(&format.into(), Level::detect()).unwrap();
    let pictures = pair(content, width, height, u32::from(bits), 1);
    let [reference, distorted] = pictures.each_ref().map(|picture| frame(format, picture));
    let current = Pair { reference: &reference, distorted: &distorted };
    let window = Window { index: 0, current, previous: None, before_previous: None };
    let mut raw = vec![f64::NAN; metric.raw_len()];
    extractor.extract(&window, &mut raw).unwrap();
    raw
}

#[test]
fn debug_adds_numerators_and_denominators() {
    let plain = frame_scores(Content::Texture, 64, 48, 8, "");
    let debug = frame_scores(Content::Texture, 64, 48, 8, "debug=true");
    assert_eq!((plain.len(), debug.len()), (7, 18));
    assert_eq!(plain[..], debug[..7]);
    assert_eq!(debug[7], debug[8] / debug[9]);
    for scale in 0..4 {
        assert_eq!(plain[3 + scale], debug[10 + 2 * scale] / debug[11 + 2 * scale], "scale {scale}");
    }
    let total: f64 = (0..4).map(|scale| debug[10 + 2 * scale]).sum();
    assert_eq!(debug[8], total);
}

#[test]
fn sums_of_a_device_give_the_row_of_the_extractor() {
    for options in
        ["", "debug=true", "adm_skip_aim=true", "adm_skip_scale0=true:debug=true", "adm_csf_mode=2"]
    {
        let format = Format::new(97, 66, Chroma::C400, 10).unwrap();
        let metric = registry::build(&super::INFO, &given(options)).unwrap();
        let Some(DeviceTask::Adm(task)) = metric.device_task(&format.into()) else {
            panic!("{options}: no task")
        };
        let sums = naive::sums(pair(Content::Texture, 97, 66, 10, 1).each_ref(), 10, &settings(options));
        let mut raw = vec![f64::NAN; metric.raw_len()];
        task.finish().finish(&sums, &mut raw);
        let expected = frame_scores(Content::Texture, 97, 66, 10, options);
        assert_eq!(raw, expected, "{options}");
    }
}

#[test]
fn a_device_task_has_the_constants_of_the_naive_truth() {
    let format = Format::new(1920, 1080, Chroma::C420, 8).unwrap();
    let metric = registry::build(&super::INFO, &[]).unwrap();
    let Some(DeviceTask::Adm(task)) = metric.device_task(&format.into()) else { panic!("no task") };
    let [first, second, .., last] = &task.scales;
    assert_eq!((first.input, first.band), ([1920, 1080], [960, 540]));
    assert_eq!(first.scored, [95..865, 53..487]);
    assert_eq!((first.csf, first.cm_row, first.csf_den_row), ([36453, 36453, 49417], 10, 0));
    assert_eq!(first.cm, [(29, 6), (29, 6), (30, 7)].map(|(square, cube)| AdmShifts { square, cube }));
    assert_eq!((second.cm, second.cm_row), ([AdmShifts { square: 30, cube: 9 }; 3], 9));
    assert_eq!((second.csf_den, second.csf_den_row), (AdmShifts { square: 31, cube: 9 }, 8));
    assert_eq!((last.input, last.band), ([240, 135], [120, 68]));
    assert!(metric.device_task(&Format::new(16, 33, Chroma::C420, 8).unwrap().into()).is_none());
}

#[test]
fn parts_can_be_left_out() {
    let all = frame_scores(Content::Texture, 64, 48, 8, "");
    let without_aim = frame_scores(Content::Texture, 64, 48, 8, "adm_skip_aim=true");
    assert_eq!((without_aim[0], without_aim[1]), (all[0], 0.0));
    let without_first = frame_scores(Content::Texture, 64, 48, 8, "adm_skip_scale0=true");
    assert_eq!(without_first[3], 0.0);
    assert_eq!(without_first[4..], all[4..]);
}

#[test]
fn a_reference_without_detail_loses_none() {
    let options = "adm_noise_weight=0:adm_csf_mode=1:adm_csf_scale=0:adm_csf_diag_scale=0";
    let scores = frame_scores(Content::Noise, 40, 40, 8, options);
    assert_eq!(scores[..3], [1.0, 0.0, 1.0]);
    assert!(scores[3..].iter().all(|ratio| ratio.is_nan() && ratio.is_sign_negative()));
}

level_tests! {
    fn samples_beyond_the_depth_have_one_result(level) {
        for (width, bits) in [(64, 10), (131, 9), (200, 14)] {
            let format = Format::new(width, 64, Chroma::C400, bits).unwrap();
            for content in [Content::Extremes, Content::Noise] {
                let pictures = pair(content, width, 64, 16, 1);
                let samples = pictures.each_ref().map(|picture| strided(picture, width, |v| v as u16, 0));
                let planes = samples.each_ref().map(|samples| Plane::new(samples, width, 64, width));
                let [sums, scalar] = [level, Level::Scalar]
                    .map(|level| extractor::Adm::new(settings(""), &format, level).sums(planes, &Alone));
                assert!(sums[0].reference[0] > 0);
                assert_eq!(sums, scalar, "{level} {width} {bits}-bit {content:?}");
            }
        }
    }
}

level_tests! {
    fn parts_of_a_frame_add_up_to_the_whole(level) {
        // The last has samples beyond its depth.
        for (width, height, bits, real) in [(98, 301, 8, 8), (160, 420, 10, 10), (64, 260, 9, 16)] {
            let format = Format::new(width, height, Chroma::C400, bits).unwrap();
            let pictures = pair(Content::Texture, width, height, real, 3);
            for options in ["", "adm_skip_scale0=true"] {
                let mut adm = extractor::Adm::new(settings(options), &format, level);
                let mut sums = |spread: &dyn Spread| if bits == 8 {
                    let samples = pictures.each_ref().map(|picture| strided(picture, width, |v| v as u8, 0));
                    adm.sums(samples.each_ref().map(|samples| Plane::new(samples, width, height, width)), spread)
                } else {
                    let samples = pictures.each_ref().map(|picture| strided(picture, width, |v| v as u16, 0));
                    adm.sums(samples.each_ref().map(|samples| Plane::new(samples, width, height, width)), spread)
                };
                let whole = sums(&Alone);
                assert!(whole[3].reference[0] > 0);
                for parts in [2, 3, 7, 1] {
                    assert_eq!(sums(&Backwards(parts)), whole, "{level} {width}x{height} {parts} {options}");
                }
            }
        }
    }
}

/// The level's own tests run the kernels with AVX-VNNI where the machine has it.
#[cfg(target_arch = "x86_64")]
#[test]
fn avx2_without_vnni_gives_the_sums_of_the_scalar_kernels() {
    crate::simd::with_level(Level::Avx2, |level| {
        for (width, bits) in [(98, 9), (131, 10), (64, 16)] {
            let (settings, format) = (settings(""), Format::new(width, 64, Chroma::C400, bits).unwrap());
            let pictures = pair(Content::Texture, width, 64, u32::from(bits), 3);
            let samples = pictures.each_ref().map(|picture| strided(picture, width, |v| v as u16, 0));
            let planes = samples.each_ref().map(|samples| Plane::new(samples, width, 64, width));
            let plan = Plan::new(&settings, &format);
            let lanes = crate::simd::avx2::Avx2::new(level).unwrap();
            let sums = Vectors::new(lanes, &plan).sums(&plan, planes, &Alone);
            let scalar = extractor::Adm::new(settings, &format, Level::Scalar).sums(planes, &Alone);
            assert!(sums[0].reference[0] > 0);
            assert_eq!(sums, scalar, "{width} {bits}-bit");
        }
    });
}

#[test]
fn parts_cover_all_rows_once_and_cost_about_the_same() {
    for (height, count) in [(2160, 16), (1080, 4), (300, 3), (129, 2), (64, 5)] {
        for axis in geometry::axes(height, true) {
            let (parts, written) = (scale::parts(&axis, count), axis.written());
            assert_eq!((parts[0].start, parts[parts.len() - 1].end), (written.start, written.end));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
            assert!(parts.len() <= count && parts.iter().all(|part| !part.is_empty()), "{parts:?}");
            let largest = parts.iter().map(|part| part.len()).max().unwrap();
            assert!(parts.len() == 1 || largest < written.len(), "{parts:?}");
        }
    }
    assert_eq!(scale::parts(&geometry::axes(2160, true)[0], 16).len(), 16);
}

proptest! {
    #[test]
    fn decoupling_is_the_naive_truth(
        short in prop::collection::vec((-27414i32..=27414, -27414i32..=27414), 3),
        near in prop::collection::vec((-40i32..=40, -40i32..=40), 3),
        long in prop::collection::vec((-2_100_000_000i32..=2_100_000_000, -2_100_000_000i32..=2_100_000_000), 3),
        scale in 0u32..17,
        gain in prop::sample::select(vec![1.0, 1.05, 2.0, 37.5, 100.0]),
    ) {
        // The distorted vector is also tried almost parallel to the reference.
        let parallel: Vec<_> = long.iter().map(|(o, t)| (o >> scale, (o >> scale) + t % 7)).collect();
        let narrow: Vec<_> = short.iter().map(|(o, t)| (*o, o + t % 5)).collect();
        for (coefficients, is_short) in
            [(&short, true), (&near, true), (&narrow, true), (&long, false), (&near, false), (&parallel, false)]
        {
            let o: [i32; 3] = std::array::from_fn(|band| coefficients[band].0);
            let t: [i32; 3] = std::array::from_fn(|band| coefficients[band].1);
            let (restored, additive) = decouple(o, t, gain, is_short);
            let truth = naive::restored(o.map(i64::from), t.map(i64::from), gain);
            prop_assert_eq!(restored.map(i64::from), truth, "{:?} {:?} gain {} short {}", o, t, gain, is_short);
            for band in 0..3 {
                prop_assert_eq!(i64::from(additive[band]), i64::from(t[band]) - truth[band]);
            }
        }
    }
}

fn decouple(o: [i32; 3], t: [i32; 3], gain: f64, is_short: bool) -> ([i32; 3], [i32; 3]) {
    let decoupling = Decoupling::new(gain);
    let (mut restored, mut additive) = ([[0]; 3], [[0]; 3]);
    let (reference, distorted) = (o.map(|value| [value]), t.map(|value| [value]));
    let (o, t) = (reference.each_ref().map(|b| &b[..]), distorted.each_ref().map(|b| &b[..]));
    let (k, a) = (restored.each_mut().map(|b| &mut b[..]), additive.each_mut().map(|b| &mut b[..]));
    if is_short {
        decoupling.decouple_short(o, t, k, a)
    } else {
        decoupling.decouple_long(o, t, k, a)
    }
    (restored.map(|[value]| value), additive.map(|[value]| value))
}

#[test]
fn keys_are_those_of_libvmaf() {
    let metric =
        registry::build(&super::INFO, &given("adm_csf_mode=2:adm_dlm_weight=0.7:adm_skip_aim=true")).unwrap();
    assert_eq!(metric.keys()[1].name, "integer_aim_csf_2_dlmw_0.7");
    assert_eq!(metric.keys()[1].feature, "VMAF_integer_feature_aim_score");
    assert_eq!(metric.keys()[6].name, "integer_adm_scale3_csf_2_dlmw_0.7");
    assert_eq!(registry::by_feature("VMAF_integer_feature_adm3_score").unwrap().name, "adm");
}

#[test]
fn too_small_pictures_are_refused() {
    let metric = registry::build(&super::INFO, &[]).unwrap();
    for (width, height, good) in [(17, 33, true), (16, 33, false), (17, 32, false)] {
        let format = Format::new(width, height, Chroma::C420, 8).unwrap();
        match metric.extractor(&format.into(), Level::Scalar) {
            Ok(_) => assert!(good, "{format}"),
            Err(error) => assert!(!good && error.to_string().contains("17x33"), "{error}"),
        }
    }
}

#[test]
fn viewing_conditions_without_a_meaning_are_refused() {
    for (options, said) in [
        ("adm_norm_view_dist=2.9", "at least 3240"),
        ("adm_ref_display_height=1079", "at least 3240"),
        ("adm_csf_mode=2:adm_norm_view_dist=4", "adm_csf_mode 2"),
        ("adm_csf_mode=3:adm_ref_display_height=1440", "adm_csf_mode 3"),
    ] {
        match registry::build(&super::INFO, &given(options)) {
            Err(error @ MetricError::Setting { .. }) => assert!(error.to_string().contains(said), "{error}"),
            Err(other) => panic!("{options}: {other}"),
            Ok(_) => panic!("{options} is accepted"),
        }
    }
    assert!(
        registry::build(&super::INFO, &given("adm_norm_view_dist=1.5:adm_ref_display_height=2160")).is_ok()
    );
    assert!(registry::build(&super::INFO, &given("adm_csf_mode=4")).is_err());
}
