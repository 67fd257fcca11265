//! The whole metric against the naive truth and against libvmaf's figures, and kernels that need pictures.

mod kernels;
mod naive;
mod pictures;
mod shared;

use visus_video::{Chroma, Format, Frame};

use super::luminance::Eotf;
use crate::simd::level_tests;
use crate::{Level, Metric, MetricError, Pair, Window, registry};
use naive::{Grid, Settings};
use pictures::{KINDS, Kind, picture};

fn build(given: &str) -> Result<Box<dyn Metric>, MetricError> {
    let pairs = given.split(':').filter_map(|pair| pair.split_once('='));
    let given: Vec<_> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    registry::build(&super::INFO, &given)
}

fn frame(luma: &Grid<u16>, depth: u32) -> Frame {
    let format = Format::new(luma.width, luma.height, Chroma::C400, depth as u8).unwrap();
    let mut frame = Frame::new(format);
    for (y, row) in luma.data.chunks_exact(luma.width).enumerate() {
        if let Some(mut plane) = frame.plane_mut_u16(0) {
            plane.row_mut(y).copy_from_slice(row);
        }
        if let Some(mut plane) = frame.plane_mut_u8(0) {
            plane.row_mut(y).iter_mut().zip(row).for_each(|(out, sample)| *out = *sample as u8);
        }
    }
    frame
}

fn scores(given: &str, reference: &Frame, distorted: &Frame) -> Result<Vec<f64>, MetricError> {
    scores_at(Level::detect(), given, reference, distorted)
}

/// Scores one pair twice with the same extractor: nothing may be left over from a picture.
fn scores_at(
    level: Level,
    given: &str,
    reference: &Frame,
    distorted: &Frame,
) -> Result<Vec<f64>, MetricError> {
    let metric = build(given)?;
    let mut extractor = metric.extractor(&(*distorted.format()).into(), level)?;
    let current = Pair { reference, distorted };
    let mut rows = [vec![0.0; metric.raw_len()], vec![0.0; metric.raw_len()]];
    for (index, raw) in rows.iter_mut().enumerate() {
        let window = Window { index: index as u64, current, previous: None, before_previous: None };
        extractor.extract(&window, raw)?;
    }
    assert_eq!(rows[0], rows[1], "the second time");
    Ok(rows[0].clone())
}

fn score(given: &str, luma: &Grid<u16>, depth: u32) -> f64 {
    let frame = frame(luma, depth);
    scores(given, &frame, &frame).unwrap()[0]
}

fn defaults(window: usize, depth: u32) -> Settings {
    Settings {
        window,
        halved: false,
        undither: depth < 10,
        steps: 4,
        threshold: 0.019,
        floor: 0.0,
        share: 0.6,
        eotf: Eotf::Bt1886,
    }
}

#[test]
fn pictures_of_every_kind_and_depth() {
    let sizes =
        [(216, 64, 3), (217, 99, 3), (61, 233, 3), (232, 216, 5), (5, 217, 3), (370, 3, 5), (4, 390, 5)];
    let mut banded = 0;
    for (index, (width, height, window)) in sizes.into_iter().enumerate() {
        for kind in KINDS {
            let depth = [8, 9, 10, 11, 12, 16][(index + kind as usize) % 6];
            let luma = picture(kind, width, height, depth, 7 + index as u32);
            let truth = naive::cambi(&luma, depth, &defaults(window, depth));
            assert_eq!(score("", &luma, depth), truth, "{width}x{height} {kind:?} {depth}-bit");
            banded += usize::from(truth > 0.1);
        }
    }
    assert!(banded >= 8, "only {banded} pictures show banding");
}

#[test]
fn every_option_that_changes_the_score() {
    let luma = picture(Kind::Bands, 240, 220, 8, 3);
    let base = || defaults(5, 8);
    let cases = [
        ("window_size=127", Settings { window: 9, ..base() }),
        ("window_size=15", Settings { window: 1, ..base() }),
        ("topk=0.2", Settings { share: 0.2, ..base() }),
        ("cambi_topk=0.0001", Settings { share: 0.0001, ..base() }),
        ("topk=0.9:cambi_topk=0.1", Settings { share: 0.9, ..base() }),
        ("topk=1", Settings { share: 1.0, ..base() }),
        ("tvi_threshold=0.005", Settings { threshold: 0.005, ..base() }),
        ("tvi_threshold=0.06", Settings { threshold: 0.06, ..base() }),
        ("cambi_vis_lum_threshold=16", Settings { floor: 16.0, ..base() }),
        ("max_log_contrast=0", Settings { steps: 1, ..base() }),
        ("max_log_contrast=3", Settings { steps: 8, ..base() }),
        ("max_log_contrast=5", Settings { steps: 32, ..base() }),
        ("enc_bitdepth=10", Settings { undither: false, ..base() }),
        ("eotf=pq", Settings { eotf: Eotf::Pq, ..base() }),
        ("cambi_eotf=pq", Settings { eotf: Eotf::Pq, ..base() }),
        ("eotf=pq:cambi_eotf=bt1886", Settings { eotf: Eotf::Pq, ..base() }),
        ("eotf=nonsense:cambi_eotf=pq", Settings { eotf: Eotf::Pq, ..base() }),
    ];
    let plain = score("", &luma, 8);
    for (given, settings) in cases {
        let truth = naive::cambi(&luma, 8, &settings);
        assert_eq!(score(given, &luma, 8), truth, "{given}");
        assert_ne!(truth, plain, "{given} has no effect on this picture");
    }
    assert_eq!(score("cambi_vis_lum_threshold=300", &luma, 8), 0.0);
    assert_eq!(score("cambi_max_val=0.25", &luma, 8), 0.25);
}

/// Bits of the scores that libvmaf 3.2.0 gives (scalar path).
#[test]
fn figures_of_libvmaf() {
    const MODEL: &str = "cambi_high_res_speedup=1080:cambi_vis_lum_threshold=0.06:cambi_max_val=17.0";
    for (kind, width, height, depth, seed, given, bits) in [
        (Kind::Bands, 240, 220, 8, 3, "", 0x4034703c6b7a358c),
        (Kind::Slopes, 352, 288, 10, 4, "", 0x401f6c80a1c3399e),
        (Kind::Slopes, 352, 288, 10, 4, "max_log_contrast=4:enc_bitdepth=8", 0x4020388f7439475f),
        (Kind::Slopes, 352, 288, 10, 4, "enc_width=300:enc_height=211:eotf=pq", 0x40203b0f53963b81),
        (Kind::Slopes, 301, 217, 12, 6, "", 0x4013389b4b9dd57d),
        (Kind::Bands, 1920, 1080, 8, 5, "", 0x4011e2f7063e106c),
        (Kind::Bands, 1920, 1080, 8, 5, MODEL, 0x4012ad807b6102fcu64),
    ] {
        let found = score(given, &picture(kind, width, height, depth, seed), depth);
        assert_eq!(found.to_bits(), bits, "{kind:?} {width}x{height} {depth}-bit {given}: {found}");
    }
}

level_tests! {
    fn every_level_gives_the_same_bits(level) {
        for (index, kind) in KINDS.into_iter().enumerate() {
            for (width, height, depth, given) in [
                (353, 217, 8, ""),
                (301, 230, 10, "max_log_contrast=4"),
                (240, 300, 12, "max_log_contrast=0:enc_bitdepth=8"),
            ] {
                let luma = frame(&picture(kind, width, height, depth, 20 + index as u32), depth);
                let truth = scores_at(Level::Scalar, given, &luma, &luma).unwrap();
                assert_eq!(scores_at(level, given, &luma, &luma).unwrap(), truth, "{kind:?} {given}");
            }
        }
    }
}

#[test]
fn halved_pictures() {
    let luma = picture(Kind::Bands, 1921, 1080, 8, 5);
    let settings = Settings { halved: true, ..defaults(5, 8) };
    let truth = naive::cambi(&luma, 8, &settings);
    assert!(truth > 0.1);
    assert_eq!(score("window_size=15:cambi_high_res_speedup=1080", &luma, 8), truth);
}

#[test]
fn smaller_encodes_are_scored_at_their_size() {
    let small = picture(Kind::Bands, 220, 160, 10, 1);
    // Each sample three times across and twice down: the nearest samples are the small picture again.
    let large = Grid::from_fn(660, 320, |x, y| small.at(x / 3, y / 2));
    assert_eq!(score("enc_width=220:enc_height=160", &large, 10), score("", &small, 10));
}

#[test]
fn the_source_is_scored_too() {
    let (banded, plain) = (picture(Kind::Bands, 320, 240, 8, 2), picture(Kind::Flat, 320, 240, 8, 2));
    let (banded, plain) = (frame(&banded, 8), frame(&plain, 8));
    let own = scores("", &plain, &banded).unwrap()[0];
    assert!(own > 0.5);
    assert_eq!(scores("full_ref=true", &plain, &banded).unwrap(), [own, 0.0, own]);
    assert_eq!(scores("full_ref=true", &banded, &plain).unwrap(), [0.0, own, 0.0]);
    assert_eq!(scores("full_ref=true:cambi_max_val=0.25", &plain, &banded).unwrap(), [0.25, 0.0, 0.25]);
}

#[test]
fn names_of_scores() {
    let names = |given| build(given).unwrap().keys().iter().map(|key| key.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(""), ["cambi"]);
    assert_eq!(
        names("full_ref=true:window_size=45"),
        ["cambi_ws_45", "cambi_source", "cambi_full_reference"]
    );
    assert_eq!(names("topk=0.2:eotf=pq:enc_width=320"), ["cambi_encw_320_eotf_pq_topk_0.2"]);
    let model = "cambi_high_res_speedup=1080:cambi_vis_lum_threshold=0.06:cambi_max_val=17.0";
    assert_eq!(names(model), ["cambi_hrs_1080_cmxv_17_vlt_0.06"]);
    assert_eq!(build("").unwrap().keys()[0].feature, "Cambi_feature_cambi_score");
}

#[test]
fn refusals_name_the_reason() {
    let reason = |given| build(given).map(|_| ()).unwrap_err().to_string();
    assert_eq!(reason("heatmaps_path=maps"), "cambi: heatmaps_path is not supported yet");
    assert_eq!(reason("eotf=hlg"), "cambi: there is no EOTF 'hlg': it must be bt1886 or pq");
    let Err(MetricError::Option { source, .. }) = build("enc_width=0") else {
        panic!("enc_width=0 is taken")
    };
    assert!(source.to_string().contains("180 to 7680"));
    let small = frame(&picture(Kind::Flat, 215, 215, 8, 0), 8);
    assert!(scores("", &small, &small).unwrap_err().to_string().contains("at least 216"));
}

#[test]
fn samples_above_the_peak_are_an_error() {
    let mut luma = picture(Kind::Flat, 400, 300, 10, 0);
    *luma.data.last_mut().unwrap() = 1024;
    let frame = frame(&luma, 10);
    for given in ["", "enc_width=250:enc_height=200", "full_ref=true"] {
        let error = scores(given, &frame, &frame).unwrap_err().to_string();
        assert!(error.contains("The input contains values greater than 1023"), "{error}");
        assert!(error.contains("for a 10-bit depth format"), "{error}");
    }
}
