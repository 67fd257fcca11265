//! Alignment of made signatures: offsets, gaps, rates, still and periodic scenes.

use super::*;

/// A blob that wanders over a grid of 12×8 in a way that does not repeat.
fn picture(time: f32) -> Signature {
    let (x, y) = (6.0 + 5.0 * (time * 0.13).sin(), 4.0 + 3.0 * (time * 0.071 + 1.0).cos());
    let cell = |at: usize| {
        let (dx, dy) = ((at % 12) as f32 - x, (at / 12) as f32 - y);
        60.0 + 120.0 * (-(dx * dx + dy * dy) / 6.0).exp() + (at % 5) as f32 * 8.0
    };
    Signature::from_cells((0..96).map(cell).collect())
}

/// The same with a little error, as an encoder makes it.
fn coded(time: f32, seed: u32) -> Signature {
    coarse(time, seed, 1.0)
}

/// The same with errors of so many levels.
fn coarse(time: f32, seed: u32, levels: f32) -> Signature {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(time.to_bits());
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as f32 / 65_536.0 - 0.5
    };
    let clean = picture(time);
    Signature::from_cells(clean.cells_for_tests().iter().map(|cell| cell + levels * noise()).collect())
}

fn aligner(reference: &[f32], distorted: &[f32]) -> Aligner {
    let mut aligner = Aligner::new([None, None]);
    reference.iter().for_each(|time| aligner.push_reference(picture(*time)));
    distorted.iter().for_each(|time| aligner.push_distorted(coded(*time, 7)));
    aligner
}

fn times(range: std::ops::Range<usize>) -> Vec<f32> {
    range.map(|time| time as f32).collect()
}

fn offset(start: &Start) -> i64 {
    start.skip_reference as i64 - start.skip_distorted as i64
}

#[test]
fn every_offset_is_found() {
    for shift in 0..=25 {
        let later = aligner(&times(0..60), &times(shift..shift + 60)).start().unwrap();
        assert_eq!(offset(&later), shift as i64, "{later:?}");
        assert!(later.confidence > 0.5 && later.likeness.unwrap() > 0.9, "{later:?}");
        let earlier = aligner(&times(shift..shift + 60), &times(0..60)).start().unwrap();
        assert_eq!(offset(&earlier), -(shift as i64), "{earlier:?}");
    }
}

#[test]
fn a_drop_is_found_where_it_is() {
    for count in [1, 2, 5, 9] {
        let mut distorted = times(0..40);
        distorted.drain(10..10 + count);
        let steps = aligner(&times(0..40), &distorted).steps(100, true);
        let mut expected = vec![Step::Pair; 10];
        expected.extend(vec![Step::Missing; count]);
        expected.extend(vec![Step::Pair; 30 - count]);
        assert_eq!(steps, expected, "{count}");
    }
}

#[test]
fn of_two_equal_frames_the_second_is_extra() {
    let mut aligner = Aligner::new([None, None]);
    times(0..30).iter().for_each(|time| aligner.push_reference(picture(*time)));
    let mut distorted: Vec<f32> = times(0..30);
    distorted.insert(13, 12.0);
    distorted.iter().for_each(|time| aligner.push_distorted(coded(*time, 7)));
    let steps = aligner.steps(100, true);
    let extra: Vec<usize> = (0..steps.len()).filter(|at| steps[*at] == Step::Extra).collect();
    assert_eq!((extra, steps.len()), (vec![13], 31));
}

#[test]
fn of_two_equal_frames_the_second_is_extra_even_if_it_is_coded_better() {
    let slow = |frame: usize| frame as f32 * 0.4;
    let mut aligner = Aligner::new([None, None]);
    (0..30).for_each(|frame| aligner.push_reference(picture(slow(frame))));
    for frame in 0..30 {
        aligner.push_distorted(coarse(slow(frame), frame as u32, 6.0));
        if frame == 12 {
            aligner.push_distorted(coarse(slow(frame), 99, 5.0));
        }
    }
    let steps = aligner.steps(100, true);
    let extra: Vec<usize> = (0..steps.len()).filter(|at| steps[*at] == Step::Extra).collect();
    assert_eq!((extra, steps.len()), (vec![13], 31));
}

/// No frame by itself tells the offset, all together do.
#[test]
fn offsets_of_a_coarse_encode_of_a_slow_scene() {
    for shift in [1, 2, 5, 11, 25] {
        let mut aligner = Aligner::new([None, None]);
        for frame in 0..96usize {
            aligner.push_reference(picture(frame as f32 * 0.15));
            let levels = if frame.is_multiple_of(8) { 8.0 } else { 14.0 };
            aligner.push_distorted(coarse((frame + shift) as f32 * 0.15, frame as u32, levels));
        }
        let start = aligner.start().unwrap();
        assert_eq!(offset(&start), shift as i64, "{start:?}");
    }
}

#[test]
fn a_freeze_keeps_its_place() {
    let mut distorted = times(0..40);
    distorted[20..25].fill(19.0);
    let steps = aligner(&times(0..40), &distorted).steps(100, true);
    assert_eq!(steps.len(), 40);
    let in_place = steps.iter().filter(|step| **step == Step::InPlace).count();
    assert!(
        steps.iter().all(|step| matches!(step, Step::Pair | Step::InPlace)) && in_place >= 3,
        "{steps:?}"
    );
}

#[test]
fn half_the_rate() {
    let half: Vec<f32> = (0..30).map(|time| 2.0 * time as f32).collect();
    let mut aligner = Aligner::new([Some(60.0), Some(30.0)]);
    times(0..60).iter().for_each(|time| aligner.push_reference(picture(*time)));
    half.iter().for_each(|time| aligner.push_distorted(coded(*time, 3)));
    let steps = aligner.steps(100, true);
    for (at, step) in steps.iter().enumerate().take(58) {
        assert_eq!(*step, if at % 2 == 0 { Step::Pair } else { Step::Missing }, "{at} {steps:?}");
    }
}

#[test]
fn still_and_periodic_scenes_are_not_sure() {
    let still = aligner(&[3.0; 40], &[3.0; 40]).start().unwrap();
    assert_eq!((offset(&still), still.confidence), (0, 0.0));
    let periodic: Vec<f32> = (0..60).map(|time| (time % 8) as f32).collect();
    let start = aligner(&periodic, &periodic).start().unwrap();
    assert_eq!(offset(&start), 0);
    assert!(start.confidence < 0.2, "{start:?}");
}

#[test]
fn strangers_are_not_alike() {
    let mut aligner = Aligner::new([None, None]);
    for time in 0..40 {
        aligner.push_reference(picture(time as f32));
        let other = |at: usize| if (at + time) % 12 < 6 { 40.0 } else { 200.0 };
        aligner.push_distorted(Signature::from_cells((0..96).map(other).collect()));
    }
    assert!(aligner.start().unwrap().likeness.unwrap() < 0.5);
}

#[test]
fn only_what_is_certain_is_committed() {
    let steps = aligner(&times(0..40), &times(0..40)).steps(8, false);
    assert_eq!(steps, vec![Step::Pair; 8]);
    let mut aligner = aligner(&times(0..4), &times(0..4));
    assert_eq!(aligner.check_front(), Check::Sure);
    aligner.pop_reference();
    assert_eq!(aligner.check_front(), Check::Contradicted);
}
