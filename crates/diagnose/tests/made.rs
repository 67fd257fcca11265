//! Every fault, made on purpose in frames 8 to 15 of a made clip, is named with its frames; a copy has none.

use visus_diagnose::{Finding, FrameFacts, Watch, judge};
use visus_video::synthetic::Clip;
use visus_video::{Chroma, Format, Frame, PlaneView};

const FAULTY: std::ops::RangeInclusive<usize> = 8..=15;

fn format(depth: u8) -> Format {
    Format::new(320, 180, Chroma::C420, depth).unwrap()
}

fn clip(depth: u8) -> Vec<Frame> {
    Clip::scene(format(depth), 26, 11).frames().collect()
}

fn facts(reference: &[Frame], distorted: &[Frame]) -> Vec<FrameFacts> {
    let watch = Watch::new(reference[0].format(), 0);
    for (index, (a, b)) in reference.iter().zip(distorted).enumerate() {
        watch.look(index as u64, a, b);
    }
    watch.finish().1
}

fn findings(reference: &[Frame], distorted: &[Frame]) -> Vec<Finding> {
    judge(320, 180, 0, &facts(reference, distorted))
}

fn row(frame: &Frame, plane: usize, y: usize) -> Vec<i32> {
    match frame.plane(plane) {
        PlaneView::U8(view) => view.row(y).iter().map(|sample| i32::from(*sample)).collect(),
        PlaneView::U16(view) => view.row(y).iter().map(|sample| i32::from(*sample)).collect(),
    }
}

/// Changes the samples of a plane; levels are those of the frame's depth.
fn change(frame: &mut Frame, plane: usize, level: impl Fn(usize, usize, i32) -> i32) {
    let (most, wide) = ((1i32 << frame.format().depth()) - 1, frame.format().depth() > 8);
    let (width, height) = frame.format().plane_size(plane);
    for y in 0..height {
        let old = row(frame, plane, y);
        for x in 0..width {
            let value = level(x, y, old[x]).clamp(0, most);
            match wide {
                true => frame.plane_mut_u16(plane).unwrap().row_mut(y)[x] = value as u16,
                false => frame.plane_mut_u8(plane).unwrap().row_mut(y)[x] = value as u8,
            }
        }
    }
}

fn faulty(depth: u8, fault: impl Fn(&[Frame], usize) -> Frame) -> Vec<Finding> {
    let reference = clip(depth);
    let distorted: Vec<Frame> = (0..reference.len())
        .map(|at| if FAULTY.contains(&at) { fault(&reference, at) } else { reference[at].clone() })
        .collect();
    findings(&reference, &distorted)
}

#[track_caller]
fn assert_named(found: &[Finding], kind: &str) {
    let names: Vec<_> = found.iter().map(|found| (found.kind.name(), found.from, found.to)).collect();
    let near = |found: &Finding| found.from.abs_diff(8) <= 1 && found.to.abs_diff(15) <= 1;
    let right = |found: &Finding| found.kind.name() == kind && near(found);
    assert!(found.iter().any(right), "{kind} in frames 8 to 15 was not named: {names:?}");
    assert_eq!(found.len(), 1, "{names:?}");
}

/// A plane and what becomes of its levels.
type LevelChange = (usize, fn(f64) -> f64);

/// A change of planes' levels, for 8 and 10 bits alike.
fn by_levels(kind: &str, changes: &[LevelChange]) {
    for depth in [8, 10] {
        let unit = f64::from(1u32 << (depth - 8));
        let found = faulty(depth, |frames, at| {
            let mut frame = frames[at].clone();
            for (plane, level) in changes {
                change(&mut frame, *plane, |_, _, value| {
                    (level(f64::from(value) / unit) * unit).round() as i32
                });
            }
            frame
        });
        assert_named(&found, kind);
    }
}

#[test]
fn a_copy_and_a_slightly_noisy_one_are_clean() {
    let reference = clip(8);
    assert_eq!(findings(&reference, &reference), []);
    let mut distorted = reference.clone();
    for (at, frame) in distorted.iter_mut().enumerate() {
        change(frame, 0, |x, y, value| value + ((x * 7 + y * 13 + at * 5) % 3) as i32 - 1);
    }
    assert_eq!(findings(&reference, &distorted), []);
}

#[test]
fn levels() {
    by_levels("brightness", &[(0, |level| level + 8.0)]);
    by_levels("contrast", &[(0, |level| 128.0 + 0.8 * (level - 128.0))]);
}

#[test]
fn colour() {
    by_levels("missing_chroma", &[(1, |_| 128.0), (2, |_| 128.0)]);
    by_levels("colour_cast", &[(1, |level| level + 9.0), (2, |level| level - 7.0)]);
}

#[test]
fn exchanged_chroma() {
    let found = faulty(8, |frames, at| {
        let mut frame = frames[at].clone();
        change(&mut frame, 1, |x, y, _| row(&frames[at], 2, y)[x]);
        change(&mut frame, 2, |x, y, _| row(&frames[at], 1, y)[x]);
        frame
    });
    assert_named(&found, "swapped_chroma");
}

#[test]
fn frames_in_another_order() {
    assert_named(&faulty(8, |frames, at| frames[at ^ 1].clone()), "frame_order");
    assert_named(&faulty(8, |frames, _| frames[7].clone()), "frozen");
}

#[test]
fn mixed_and_woven_frames() {
    let with = |mix: fn(usize, i32, i32) -> i32| {
        faulty(8, move |frames, at| {
            let mut frame = frames[at].clone();
            let before: Vec<Vec<i32>> = (0..180).map(|y| row(&frames[at - 1], 0, y)).collect();
            change(&mut frame, 0, |x, y, value| mix(y, value, before[y][x]));
            frame
        })
    };
    assert_named(&with(|_, now, before| (now + before) / 2), "blended");
    assert_named(&with(|y, now, before| if y % 2 == 1 { before } else { now }), "combing");
}

#[test]
fn a_shift() {
    let found = faulty(8, |frames, at| {
        let mut frame = frames[at].clone();
        let own: Vec<Vec<i32>> = (0..180).map(|y| row(&frames[at], 0, y)).collect();
        change(&mut frame, 0, |x, y, _| own[y][x.saturating_sub(3)]);
        frame
    });
    assert_named(&found, "shifted");
    assert!(found[0].what.contains("+3 samples horizontally"), "{}", found[0].what);
}

#[test]
fn an_overlay_is_found_where_it_is() {
    let found = faulty(8, |frames, at| {
        let mut frame = frames[at].clone();
        let inside = |x: usize, y: usize| (240..296).contains(&x) && (16..40).contains(&y);
        change(&mut frame, 0, |x, y, value| if inside(x, y) { 235 } else { value });
        frame
    });
    assert_named(&found, "overlay");
    let area = found[0].area.unwrap();
    assert!(area.x.abs_diff(240) <= 8 && area.y.abs_diff(16) <= 8, "{area:?}");
    assert!(found[0].text.contains("upper right"), "{}", found[0].text);
}

#[test]
fn facts_do_not_depend_on_the_order_of_looks_and_parts_have_those_of_the_whole() {
    let reference = clip(8);
    let mut distorted = reference.clone();
    distorted.swap(12, 13);
    let whole = facts(&reference, &distorted);
    let (from, to, reach) = (10usize, 16usize, Watch::REACH as usize);
    let watch = Watch::new(reference[0].format(), (from - reach) as u64);
    for index in (from - reach..to + reach).rev() {
        watch.look(index as u64, &reference[index], &distorted[index]);
    }
    let (first, part) = watch.finish();
    assert_eq!(part[from - first as usize..to - first as usize], whole[from..to]);
}

#[test]
fn small_pictures_are_left_alone() {
    let format = Format::new(16, 16, Chroma::C420, 8).unwrap();
    let frames: Vec<Frame> = Clip::scene(format, 3, 1).frames().collect();
    let watch = Watch::new(&format, 0);
    frames.iter().enumerate().for_each(|(index, frame)| watch.look(index as u64, frame, frame));
    assert!(watch.finish().1.is_empty());
}
