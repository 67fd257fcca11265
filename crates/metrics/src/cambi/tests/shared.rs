//! Pictures that several threads share.

use visus_video::Frame;

use super::pictures::{KINDS, Kind, picture};
use super::{frame, naive::Grid};
use crate::testing::{Backwards, Hands, raw_bits, raw_bits_spread};
use crate::{Level, Spread};

const INFO: &crate::Info = &super::super::INFO;

fn options(given: &str) -> Vec<(&str, &str)> {
    given.split(':').filter_map(|option| option.split_once('=')).collect()
}

/// Compares with a single thread: the first frame again in the end, so that something would show that others left behind.
fn check(level: Level, given: &str, frames: &[Frame], hands: &[&dyn Spread]) {
    let pair = |(one, two): (&Frame, &Frame)| (one.clone(), two.clone());
    let clip: Vec<_> = frames.iter().zip(frames.iter().cycle().skip(1)).map(pair).collect();
    let clip = [&clip[..], &clip[..1]].concat();
    let alone = raw_bits(level, INFO, &options(given), &clip);
    let format = frames[0].format();
    for hands in hands {
        let found = raw_bits_spread(level, INFO, &options(given), &clip, *hands);
        assert!(found == alone, "{format} {given} {}: {found:?}, {alone:?}", hands.width());
    }
}

fn frames(width: usize, height: usize, depth: u32) -> Vec<Frame> {
    KINDS.iter().map(|kind| frame(&picture(*kind, width, height, depth, 31), depth)).collect()
}

#[test]
fn bands_do_not_show() {
    let hands: [&dyn Spread; 4] = [&Hands::new(2), &Hands::new(3), &Hands::new(7), &Backwards(16)];
    for (width, height, depth) in
        [(320, 240, 8), (233, 387, 10), (217, 301, 9), (35, 402, 16), (400, 97, 12), (216, 1, 8)]
    {
        let frames = frames(width, height, depth);
        for given in ["", "full_ref=true:window_size=15:topk=0.05", "enc_bitdepth=8", "enc_bitdepth=12"] {
            check(Level::detect(), given, &frames, &hands);
        }
        check(Level::Scalar, "max_log_contrast=4", &frames, &hands[..1]);
    }
}

#[test]
fn bands_of_resampled_pictures_do_not_show() {
    let hands: [&dyn Spread; 2] = [&Hands::new(3), &Backwards(5)];
    for (depth, given) in [
        (8, "enc_width=250:enc_height=170"),
        (10, "enc_width=250:enc_height=170:full_ref=true"),
        (8, "src_width=400:src_height=317:full_ref=true"),
        (12, "src_width=320:src_height=201:enc_bitdepth=8:full_ref=true"),
    ] {
        check(Level::detect(), given, &frames(323, 241, depth), &hands);
    }
}

/// With and without a last row that halving leaves out.
#[test]
fn bands_of_halved_pictures_do_not_show() {
    let hands: [&dyn Spread; 2] = [&Hands::new(3), &Backwards(16)];
    for (width, height, depth) in [(1921, 1080, 8), (1920, 1081, 10)] {
        let kinds = [Kind::Bands, Kind::Slopes];
        let frames = kinds.map(|kind| frame(&picture(kind, width, height, depth, 3), depth));
        let given = "cambi_high_res_speedup=1080:cambi_vis_lum_threshold=0.06:full_ref=true";
        check(Level::detect(), given, &frames, &hands);
    }
}

/// Strong banding all over a large picture, and hardly any in a corner: the sum of these strengths is rounded, in the order of
/// a single thread.
#[test]
fn bands_do_not_change_the_order_of_sums() {
    let picture = Grid::from_fn(1920, 1080, |x, y| match (x, y) {
        (100..103, 100..103) => 151,
        (..200, ..200) => 150,
        _ => 100 + ((x / 9 + y / 11) % 5) as u16,
    });
    check(Level::detect(), "topk=1:window_size=127", &[frame(&picture, 10)], &[&Hands::new(3)]);
}

#[test]
fn any_band_may_find_a_sample_above_the_peak() {
    let clean = picture(Kind::Bands, 330, 300, 10, 4);
    for place in [0, 7 * 330, 150 * 330 + 9, 299 * 330 + 329] {
        let mut luma = clean.clone();
        luma.data[place] = 1024;
        for given in ["", "enc_bitdepth=8", "enc_width=250:enc_height=200"] {
            let clip = [&luma, &clean, &clean].map(|luma| (frame(&clean, 10), frame(luma, 10)));
            let alone = raw_bits(Level::detect(), INFO, &options(given), &clip).unwrap_err().to_string();
            let found = raw_bits_spread(Level::detect(), INFO, &options(given), &clip, &Hands::new(5));
            assert_eq!(found.unwrap_err().to_string(), alone);
            assert!(alone.contains("values greater than 1023"), "{alone}");
        }
    }
}
