//! Memory is taken when an extractor is made and with its first frames, and then no more: no metric allocates per frame.

use visus_metrics::{Level, Metric, Pair, Window, registry};
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, Frame};

const FRAMES: u64 = 6;

/// Frames after which all scratch has been made.
const WARM: u64 = 3;

fn frames(clip: &Clip) -> Vec<Frame> {
    (0..FRAMES).map(|index| clip.frame(index)).collect()
}

/// How often memory was asked for while a metric looked at warm frames.
fn allocations(metric: &dyn Metric, reference: &[Frame], distorted: &[Frame], level: Level) -> u64 {
    let mut extractor = metric.extractor(&(*reference[0].format()).into(), level).unwrap();
    let mut raw = vec![0.0; metric.raw_len()];
    let pair = |index: u64| {
        let index = index as usize;
        Pair { reference: &reference[index], distorted: &distorted[index] }
    };
    let mut extract = |index: u64| {
        let earlier = |back: u64| index.checked_sub(back).map(pair);
        let (previous, before_previous) = (earlier(1), earlier(2));
        let window = Window { index, current: pair(index), previous, before_previous };
        extractor.extract(&window, &mut raw).unwrap();
    };
    (0..WARM).for_each(&mut extract);
    allocation_counter::measure(|| (WARM..FRAMES).for_each(&mut extract)).count_total
}

#[test]
fn no_metric_allocates_per_frame() {
    let mut wasteful = Vec::new();
    for depth in [8, 10] {
        let clip = Clip::scene(Format::new(320, 192, Chroma::C420, depth).unwrap(), FRAMES, 5);
        let reference = frames(&clip);
        let distorted = frames(&clip.distorted(Distortion::Blocking { step: 30 }));
        for info in registry::METRICS {
            let metric = registry::build(info, &[]).unwrap();
            for level in Level::available() {
                let count = allocations(&*metric, &reference, &distorted, level);
                if count > 0 {
                    wasteful.push(format!("{} at {level}, {depth} bits: {count}", info.name));
                }
            }
        }
    }
    assert!(wasteful.is_empty(), "allocations in {} frames:\n{}", FRAMES - WARM, wasteful.join("\n"));
}
