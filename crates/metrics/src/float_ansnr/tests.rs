//! The whole metric, against figures of the reference library, and its filters against naive ones.

use visus_video::{Chroma, PlaneView};

use super::INFO;
use super::filter::Filters;
use super::scalar::Energy;
use crate::simd::{Target, level_tests};
use crate::testing::{Content, assert_as_scalar, assert_scores, format, frame, score_pair};

const WAVES: (Content, u32) = (Content::Waves, 1);

#[test]
fn figures_of_the_reference() {
    let check = |depth, pair, [ansnr, anpsnr]: [f64; 2]| {
        let expected = [("float_ansnr", ansnr), ("float_anpsnr", anpsnr)];
        assert_scores(&INFO, &[], format(33, 21, Chroma::C400, depth), pair, &expected);
    };
    for (depth, scores) in [
        (8, [34.988079316224947, 49.204825898917875]),
        (10, [36.066639557168664, 50.310136911604644]),
        (12, [35.196117178020444, 49.426080262725407]),
        (16, [35.451794400812517, 49.690382586759469]),
    ] {
        check(depth, (WAVES, (Content::Waves, 2)), scores);
    }
    let dark_bright = ((Content::Dark, 4), (Content::Bright, 5));
    check(16, dark_bright, [-6.0204627198145104, 0.00026604584361185558]);
}

/// Every window by itself, as the reference filters.
fn naive(reference: PlaneView<'_>, distorted: PlaneView<'_>) -> Energy {
    let (PlaneView::U16(reference), PlaneView::U16(distorted)) = (reference, distorted) else {
        unreachable!("more than 8 bits")
    };
    let (width, height) = (reference.width() as i64, reference.height() as i64);
    let fold = |at: i64, side: i64| (if at < 0 { -at } else { at.min(2 * side - 1 - at) }) as usize;
    let filter = |plane: visus_video::Plane<'_, u16>, window: &[&[f64]], over: f64, x: i64, y: i64| {
        let radius = window.len() as i64 / 2;
        let mut sum = 0.0f32;
        for (v, row) in (-radius..).zip(window) {
            let mut inner = 0.0f32;
            for (u, weight) in (-radius..).zip(*row) {
                let sample = plane.row(fold(y + v, height))[fold(x + u, width)];
                inner += (weight / over) as f32 * (f32::from(sample) / 4.0 - 128.0);
            }
            sum += inner;
        }
        sum
    };
    let [outer, second, middle] =
        [[2.0, 7.0, 12.0, 7.0, 2.0], [7.0, 31.0, 52.0, 31.0, 7.0], [12.0, 52.0, 127.0, 52.0, 12.0]];
    let mut total = Energy::default();
    for y in 0..height {
        let mut row = Energy::default();
        for x in 0..width {
            let one = filter(reference, &[&[1.0, 2.0, 1.0], &[2.0, 4.0, 2.0], &[1.0, 2.0, 1.0]], 16.0, x, y);
            let two = filter(distorted, &[&outer, &second, &middle, &second, &outer], 571.0, x, y);
            row.signal += one * one;
            row.noise += (one - two) * (one - two);
        }
        total = Energy { signal: total.signal + row.signal, noise: total.noise + row.noise };
    }
    total
}

level_tests! {
    fn filters_equal_the_naive_ones(level) {
        for (width, height) in [(3, 3), (4, 5), (5, 4), (17, 9), (40, 11), (9, 8)] {
            for (one, two) in [
                (Content::Noise, Content::Noise),
                (Content::Waves, Content::Waves),
                (Content::Dark, Content::Dark),
                (Content::Bright, Content::Dark),
            ] {
                let format = format(width, height, Chroma::C400, 10);
                let (one, two) = (frame(format, one, 1), frame(format, two, 2));
                let mut filters = Filters::new(width);
                let expected = naive(one.plane(0), two.plane(0));
                // Twice: nothing of one picture may be left for the next.
                for _ in 0..2 {
                    let energy = filters.energy(Target::new(level), one.plane(0), two.plane(0), 10);
                    assert_eq!(energy, expected, "{width}x{height}");
                }
            }
        }
    }

    fn every_level_gives_the_same_bits(level) {
        let sizes = [(3, 3), (35, 27), (200, 10)];
        let formats = sizes.map(|(width, height)| {
            [8, 10, 16].map(|depth| format(width, height, Chroma::C420, depth))
        });
        assert_as_scalar(level, &INFO, &[], formats.as_flattened());
    }
}

#[test]
fn flat_pictures_and_small_ones() {
    let black = visus_video::Frame::new(format(8, 8, Chroma::C400, 8));
    let scores = score_pair(&INFO, &[], &black, &black).unwrap();
    assert_eq!(scores.iter().map(|(_, score)| *score).collect::<Vec<_>>(), [60.0, 60.0]);
    let mut grey = black.clone();
    for y in 0..8 {
        grey.plane_mut_u8(0).unwrap().row_mut(y).fill(128);
    }
    let scores =
        score_pair(&INFO, &[], &grey, &frame(format(8, 8, Chroma::C400, 8), Content::Dark, 1)).unwrap();
    assert_eq!(scores[0].1, f64::NEG_INFINITY);
    for (width, height) in [(2, 9), (9, 2)] {
        let small = frame(format(width, height, Chroma::C400, 8), Content::Noise, 1);
        assert!(score_pair(&INFO, &[], &small, &small).unwrap_err().to_string().contains("3 or more"));
    }
}
