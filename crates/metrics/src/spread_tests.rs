//! Helping hands do not show: every metric gives the same bits with them as alone, and those that are meant to use them do.

use visus_video::{Chroma, Format, Frame};

use crate::testing::{self, Content, Hands, raw_bits, raw_bits_spread};
use crate::{Alone, Info, Level, Spread, registry};

/// Metrics that cut the work on a large frame.
const SPLIT: &[&str] = &[
    "vif",
    "adm",
    "motion",
    "psnr",
    "float_ssim",
    "float_ms_ssim",
    "psnr_hvs",
    "ciede",
    "ssimulacra2",
    "xpsnr",
    "float_psnr",
    "float_moment",
    "float_ansnr",
    "float_vif",
    "float_adm",
    "float_motion",
    "cambi",
];

fn clip(format: Format) -> Vec<(Frame, Frame)> {
    let contents = [
        (Content::Waves, Content::Waves),
        (Content::Noise, Content::Waves),
        (Content::Dark, Content::Bright),
    ];
    let pair =
        |(seed, (one, two))| (testing::frame(format, one, seed), testing::frame(format, two, 50 + seed));
    (1..).zip(contents).map(pair).collect()
}

fn check(info: &'static Info, level: Level, format: Format, widths: &[usize]) {
    check_options(info, &[], level, format, widths);
}

fn check_options(
    info: &'static Info,
    options: &[(&str, &str)],
    level: Level,
    format: Format,
    widths: &[usize],
) {
    let clip = clip(format);
    let expected = raw_bits(level, info, options, &clip);
    for width in widths {
        let got = raw_bits_spread(level, info, options, &clip, &Hands::new(*width));
        assert!(
            got == expected,
            "{} of {format} at {level} with {width} hands: {got:?}, {expected:?}",
            info.name
        );
    }
}

#[test]
fn every_metric_gives_the_same_bits_with_helping_hands() {
    let sizes = [(320, 192, 8), (333, 387, 10), (97, 65, 8), (66, 17, 12), (640, 9, 8), (35, 300, 16)];
    for info in registry::METRICS {
        for (width, height, depth) in sizes {
            let format = testing::format(width, height, Chroma::C420, depth);
            check(info, Level::detect(), format, &[2, 3, 7]);
        }
        check(info, Level::Scalar, testing::format(131, 203, Chroma::C444, 8), &[3]);
    }
}

#[test]
fn ssim_gives_the_same_bits_in_every_term() {
    let [terms, full_size] = [("enable_lcs", "true"), ("scale", "1")];
    let metrics: [(&str, &[(&str, &str)]); 4] = [
        ("float_ms_ssim", &[terms]),
        ("float_ms_ssim", &[]),
        ("float_ssim", &[terms]),
        ("float_ssim", &[terms, full_size]),
    ];
    for (name, options) in metrics {
        let info = registry::METRICS.iter().find(|info| info.name == name).expect("it is there");
        for (width, height, depth) in [(211, 177, 8), (177, 301, 10), (320, 523, 16), (561, 248, 8)] {
            let format = testing::format(width, height, Chroma::C400, depth);
            for level in Level::available() {
                check_options(info, options, level, format, &[2, 3, 7]);
            }
        }
    }
}

#[test]
fn large_frames_are_shared() {
    // Blocks of 2x2 pixels in XPSNR, several factors of shrinking, all scales.
    let format = testing::format(2304, 1536, Chroma::C420, 8);
    let clip: Vec<_> = clip(format).into_iter().take(2).collect();
    for info in registry::METRICS.iter().filter(|info| SPLIT.contains(&info.name)) {
        let hands = Hands::new(5);
        let got = raw_bits_spread(Level::detect(), info, &[], &clip, &hands);
        assert_eq!(got, raw_bits(Level::detect(), info, &[], &clip), "{}", info.name);
        let most = hands.most.into_inner();
        assert!(most > 3, "{} was cut into {most} pieces", info.name);
    }
    let known = |name: &&str| registry::METRICS.iter().any(|info| info.name == *name);
    assert!(SPLIT.iter().all(known) && Alone.width() == 1);
}
