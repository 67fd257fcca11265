//! What a metric says of the planes that it looks at is true: other samples in the rest change nothing, and other samples in
//! those that it names change its numbers.

use visus_video::{Chroma, Frame, PlaneSet};

use crate::testing::{self, Content, Noise, raw_bits};
use crate::{Level, PlanesRead, registry};

/// Options that change which planes a metric looks at, or how.
const CASES: &[(&str, &[(&str, &str)])] = &[
    ("psnr", &[("enable_chroma", "false")]),
    ("cambi", &[("full_ref", "true")]),
    ("float_motion", &[("motion_add_uv", "true")]),
    ("speed_temporal", &[("speed_use_ref_diff", "true")]),
];

const COUNT: usize = 3;
const FRAMES: u32 = 3;

type Clip = Vec<(Frame, Frame)>;

/// Pairs that differ in every plane.
fn clip() -> Clip {
    let format = testing::format(640, 480, Chroma::C420, 8);
    let pair = |seed| {
        (testing::frame(format, Content::Waves, seed), testing::frame(format, Content::Waves, 50 + seed))
    };
    (1..=FRAMES).map(pair).collect()
}

/// The clip with other samples in these planes.
fn spoilt(mut clip: Clip, planes: PlanesRead) -> Clip {
    for (seed, (reference, distorted)) in (900..).zip(&mut clip) {
        replace(reference, planes.reference, seed);
        replace(distorted, planes.distorted, seed + 50);
    }
    clip
}

/// Broad steps, which are banding, with single bright samples, which are texture.
fn replace(frame: &mut Frame, planes: PlaneSet, seed: u32) {
    let mut noise = Noise::new(seed);
    for index in planes.range(COUNT) {
        let Some(mut plane) = frame.plane_mut_u8(index) else { unreachable!("frames of 8 bits") };
        for y in 0..plane.height() {
            for (x, sample) in plane.row_mut(y).iter_mut().enumerate() {
                *sample = 60 + (x / 24) as u8 + if noise.below(512) == 0 { 40 } else { 0 };
            }
        }
    }
}

fn others(planes: PlaneSet) -> PlaneSet {
    PlaneSet { luma: !planes.luma, chroma: !planes.chroma }
}

fn check(name: &str, options: &[(&str, &str)]) {
    let info = registry::find(name).expect("it is there");
    let read = registry::build(info, &testing::given(options)).expect("known options").planes_read();
    let bits = |clip: &Clip| raw_bits(Level::detect(), info, options, clip).expect("a format that it takes");
    let unread = PlanesRead { reference: others(read.reference), distorted: others(read.distorted) };
    let expected = bits(&clip());
    assert_eq!(bits(&spoilt(clip(), unread)), expected, "{name} {options:?} looks at more than {read:?}");
    for one in [PlaneSet::LUMA, PlaneSet::CHROMA] {
        let both = |planes: PlaneSet| PlaneSet {
            luma: planes.luma && one.luma,
            chroma: planes.chroma && one.chroma,
        };
        for planes in [
            PlanesRead { reference: both(read.reference), ..PlanesRead::NONE },
            PlanesRead { distorted: both(read.distorted), ..PlanesRead::NONE },
        ] {
            let changed = bits(&spoilt(clip(), planes)) != expected;
            assert_eq!(changed, planes != PlanesRead::NONE, "{name} {options:?}: {planes:?} of {read:?}");
        }
    }
}

#[test]
fn metrics_look_at_the_planes_that_they_name_and_no_others() {
    for info in registry::METRICS.iter().filter(|info| info.name != "null") {
        check(info.name, &[]);
    }
    for (name, options) in CASES {
        check(name, options);
    }
}
