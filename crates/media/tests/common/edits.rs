//! Edits with a known truth: which frame of the source every frame of the edited video shows.

use super::contents::Random;

/// What a frame of an edited video shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// A frame of the source.
    Source(usize),
    /// A frame of something else.
    Other(usize),
    /// Two frames of the source, mixed in equal parts.
    Mix(usize, usize),
    /// The even lines of one frame and the odd ones of another.
    Fields(usize, usize),
}

use Shows::{Fields, Mix, Other, Source};

/// Two videos of one source.
#[derive(Clone, Debug)]
pub struct Edit {
    pub name: &'static str,
    pub reference: Vec<Shows>,
    pub distorted: Vec<Shows>,
    pub rates: [u32; 2],
    /// Frames of the distorted video that are coded with this quantiser.
    pub coarse: Option<(std::ops::Range<usize>, u32)>,
}

fn sources(range: std::ops::Range<usize>) -> Vec<Shows> {
    range.map(Source).collect()
}

fn others(count: usize) -> Vec<Shows> {
    (0..count).map(Other).collect()
}

/// As ffmpeg's `fps` converts to a higher frame rate: times are rounded to the nearest, and frames are repeated.
fn rate(from: u32, to: u32, frames: usize) -> Vec<Shows> {
    let at = |i: usize| ((i as f64 * f64::from(to) / f64::from(from)) + 0.5).floor() as usize;
    (0..frames).flat_map(|i| std::iter::repeat_n(Source(i), at(i + 1) - at(i))).collect()
}

/// All edits of a source of so many frames; the seed decides on their places.
pub fn all(frames: usize, seed: u64) -> Vec<Edit> {
    let mut random = Random::new(seed);
    let plain = sources(0..frames);
    let mut all = Vec::new();
    let mut add = |name, reference: &Vec<Shows>, distorted: Vec<Shows>, rates: [u32; 2]| {
        all.push(Edit { name, reference: reference.clone(), distorted, rates, coarse: None });
    };
    add("nothing", &plain, plain.clone(), [24, 24]);
    for (name, cut) in [("late1", 1), ("late5", 5), ("late25", 25)] {
        add(name, &plain, sources(cut..frames), [24, 24]);
    }
    for (name, cut) in [("tail3", 3), ("tail30", 30)] {
        add(name, &plain, sources(0..frames - cut), [24, 24]);
    }
    add("both ends", &plain, sources(7..frames - 11), [24, 24]);
    add("early4", &sources(4..frames), plain.clone(), [24, 24]);
    add("lead-in20", &plain, [others(20), plain.clone()].concat(), [24, 24]);
    let intro: Vec<Shows> = (500..531).map(Other).collect();
    add("intros", &[others(12), plain.clone()].concat(), [intro, plain.clone()].concat(), [24, 24]);
    add("card at the end", &plain, [plain.clone(), others(24)].concat(), [24, 24]);
    let mut spots: Vec<usize> = (0..6).map(|k| 12 + k * (frames - 30) / 6 + random.below(8)).collect();
    spots.sort_unstable();
    let without =
        |gone: &[usize]| -> Vec<Shows> { (0..frames).filter(|i| !gone.contains(i)).map(Source).collect() };
    let doubled = |twice: &[usize]| -> Vec<Shows> {
        (0..frames)
            .flat_map(|i| std::iter::repeat_n(Source(i), if twice.contains(&i) { 2 } else { 1 }))
            .collect()
    };
    add("one drop", &plain, without(&spots[2..3]), [24, 24]);
    add("three drops", &plain, without(&[spots[1], spots[3], spots[5]]), [24, 24]);
    add("one double", &plain, doubled(&spots[3..4]), [24, 24]);
    add("three doubles", &plain, doubled(&[spots[0], spots[2], spots[4]]), [24, 24]);
    let mut both = doubled(&[spots[4]]);
    both.remove(spots[1]);
    add("drop and double", &plain, both, [24, 24]);
    let mut freeze = plain.clone();
    (0..6).for_each(|k| freeze[spots[3] + k] = Source(spots[3] - 1));
    add("freeze", &plain, freeze, [24, 24]);
    let middle = spots[2];
    add("cut out 30", &plain, [sources(0..middle), sources(middle + 30..frames)].concat(), [24, 24]);
    add("cut out 12", &plain, [sources(0..middle), sources(middle + 12..frames)].concat(), [24, 24]);
    add("insert 30", &plain, [sources(0..middle), others(30), sources(middle..frames)].concat(), [24, 24]);
    let mut second: Vec<usize> = (1..frames / 24).map(|k| 24 * k - 5).collect();
    second.dedup();
    add("double a second", &plain, doubled(&second), [24, 24]);
    add("24 to 30", &plain, rate(24, 30, frames), [24, 30]);
    add("24 to 60", &plain, rate(24, 60, frames), [24, 60]);
    add("24 to 12", &plain, (0..frames).step_by(2).map(Source).collect(), [24, 12]);
    add("60 to 30", &plain, (0..frames).step_by(2).map(Source).collect(), [60, 30]);
    add("60 to 30 odd", &plain, (1..frames).step_by(2).map(Source).collect(), [60, 30]);
    add("every fifth gone", &plain, (0..frames).filter(|i| i % 5 != 3).map(Source).collect(), [30, 24]);
    let telecine = (0..frames / 4).flat_map(|k| {
        let i = 4 * k;
        [Source(i), Source(i + 1), Fields(i + 1, i + 2), Fields(i + 2, i + 3), Source(i + 3)]
    });
    add("telecine", &plain, telecine.collect(), [24, 30]);
    let blended = (0..frames * 25 / 30 - 1).map(|j| {
        let place = j as f64 * 30.0 / 25.0;
        let (i, part) = (place.floor() as usize, place.fract());
        if part < 0.05 { Source(i) } else { Mix(i, i + 1) }
    });
    add("blended", &plain, blended.collect(), [30, 25]);
    for (name, q) in [("stretch at 42", 42), ("stretch at 51", 51)] {
        for at in [spots[1], spots[3]] {
            all.push(Edit {
                name,
                reference: plain.clone(),
                distorted: plain.clone(),
                rates: [24, 24],
                coarse: Some((at..at + 12, q)),
            });
        }
    }
    all
}
