//! Plans for made signatures: offsets, gaps, rates, substitutions, still and periodic scenes.

use super::*;
use crate::sync::signature::Signature;

struct Pair([Vec<Signature>; 2]);

impl Look for Pair {
    fn lengths(&self) -> (usize, usize) {
        (self.0[0].len(), self.0[1].len())
    }

    fn distance(&self, reference: usize, distorted: usize) -> f32 {
        self.0[0][reference].distance(&self.0[1][distorted])
    }

    fn within(&self, side: usize, a: usize, b: usize) -> f32 {
        self.0[side][a].distance(&self.0[side][b])
    }

    fn brighter(&self, _: usize, _: usize, _: usize) -> f32 {
        0.0
    }

    fn likeness(&self, reference: usize, distorted: usize) -> Option<f32> {
        self.0[0][reference].likeness(&self.0[1][distorted])
    }
}

/// A blob that wanders over a grid of 12×8 in a way that does not repeat.
fn picture(time: f32) -> Signature {
    let (x, y) = (6.0 + 5.0 * (time * 0.13).sin(), 4.0 + 3.0 * (time * 0.071 + 1.0).cos());
    let cell = |at: usize| {
        let (dx, dy) = ((at % 12) as f32 - x, (at / 12) as f32 - y);
        60.0 + 120.0 * (-(dx * dx + dy * dy) / 6.0).exp() + (at % 5) as f32 * 8.0
    };
    Signature::from_cells((0..96).map(cell).collect())
}

/// The same with errors of so many levels, as an encoder makes them.
fn coded(time: f32, seed: u32, levels: f32) -> Signature {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(time.to_bits());
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as f32 / 65_536.0 - 0.5
    };
    let clean = picture(time);
    Signature::from_cells(clean.cells_for_tests().iter().map(|cell| cell + levels * noise()).collect())
}

fn pair(reference: &[f32], distorted: &[f32]) -> Pair {
    let clean = reference.iter().map(|time| picture(*time)).collect();
    Pair([clean, distorted.iter().map(|time| coded(*time, 7, 1.0)).collect()])
}

fn times(range: std::ops::Range<usize>) -> Vec<f32> {
    range.map(|time| time as f32).collect()
}

fn plan(look: &Pair) -> Plan {
    let agree = look.lengths().0 == look.lengths().1;
    Plan::find(look, &Prior { agree, ..Prior::default() }).expect("a plan")
}

fn pairs(look: &Pair) -> Vec<(usize, usize)> {
    plan(look).pairs().collect()
}

#[test]
fn every_offset_is_found() {
    for shift in 1..=25 {
        let late = pair(&times(0..60), &times(shift..60));
        let start = plan(&late).start(&late);
        assert_eq!((start.skip_reference, start.skip_distorted), (shift, 0));
        assert!(start.confidence > 0.5 && start.likeness > Some(0.9), "{start:?}");
        let early = pair(&times(shift..60), &times(0..60));
        let start = plan(&early).start(&early);
        assert_eq!((start.skip_reference, start.skip_distorted), (0, shift));
    }
}

#[test]
fn drops_are_found_where_they_are() {
    for count in [1, 2, 5, 30] {
        let mut distorted = times(0..90);
        distorted.drain(20..20 + count);
        let expected: Vec<_> = (0..20).chain(20 + count..90).zip(0..).collect();
        assert_eq!(pairs(&pair(&times(0..90), &distorted)), expected, "{count}");
    }
}

#[test]
fn of_two_equal_frames_the_second_is_extra() {
    let mut distorted = times(0..60);
    distorted.insert(13, 12.0);
    let plan = plan(&pair(&times(0..60), &distorted));
    let extra: Vec<usize> = (0..61).filter(|at| plan.fates[*at] == Fate::Repeat).collect();
    assert_eq!(extra, [13]);
}

#[test]
fn an_insertion_is_left_out() {
    let other = |at: usize, time: usize| if (at + time) % 12 < 6 { 40.0 } else { 200.0 };
    let other = |time: usize| Signature::from_cells((0..96).map(|at| other(at, time)).collect());
    let mut look = pair(&times(0..90), &times(0..90));
    look.0[1].splice(40..40, (0..30).map(other));
    let expected: Vec<_> = (0..90).zip((0..40).chain(70..120)).collect();
    assert_eq!(pairs(&look), expected);
}

#[test]
fn what_was_replaced_is_scored_in_place() {
    let flat = |time: usize| Signature::from_cells((0..96).map(|at| ((at * 7 + time) % 50) as f32).collect());
    for agree in [true, false] {
        let mut look = pair(&times(0..80), &times(0..80));
        look.0[1].splice(30..42, (0..12).map(flat));
        let prior = Prior { agree, ..Prior::default() };
        let plan = Plan::find(&look, &prior).expect("a plan");
        assert_eq!(plan.pairs().collect::<Vec<_>>(), (0..80).zip(0..80).collect::<Vec<_>>(), "{agree}");
    }
}

#[test]
fn a_freeze_keeps_its_place() {
    let mut distorted = times(0..60);
    distorted[20..26].fill(19.0);
    assert!(plan(&pair(&times(0..60), &distorted)).begins_plain(60));
}

/// An encoder that saves bits lags behind: every frame looks like the one before.
#[test]
fn a_lag_is_no_edit() {
    let slow: Vec<f32> = (0..80).map(|time| time as f32 * 0.1).collect();
    let lag: Vec<f32> = (0..80).map(|time: i32| (time - 1).max(0) as f32 * 0.1).collect();
    let clean = slow.iter().map(|time| picture(*time)).collect();
    let late = lag.iter().enumerate().map(|(at, time)| coded(*time, at as u32, 6.0)).collect();
    assert!(plan(&Pair([clean, late])).begins_plain(80));
}

#[test]
fn every_phase_of_a_cadence() {
    for phase in 0..5 {
        let shown: Vec<usize> = (0..100).map(|frame| (frame * 4 + phase) / 5).collect();
        let distorted: Vec<f32> = shown.iter().map(|time| *time as f32).collect();
        let look = pair(&times(0..81), &distorted);
        let prior = Prior { rates: [Some(24.0), Some(30.0)], ..Prior::default() };
        let plan = Plan::find(&look, &prior).expect("a plan");
        assert!(plan.pairs().all(|(reference, frame)| shown[frame] == reference), "{phase}");
        assert!(plan.pairs().count() >= 80, "{phase}: {}", plan.pairs().count());
    }
}

#[test]
fn half_the_rate() {
    let distorted: Vec<f32> = (0..40).map(|time| 2.0 * time as f32).collect();
    let look = pair(&times(0..80), &distorted);
    let prior = Prior { rates: [Some(60.0), Some(30.0)], ..Prior::default() };
    let plan = Plan::find(&look, &prior).expect("a plan");
    assert_eq!(plan.pairs().collect::<Vec<_>>(), (0..40).map(|at| (2 * at, at)).collect::<Vec<_>>());
}

#[test]
fn still_and_periodic_scenes_are_not_sure() {
    let still = pair(&[3.0; 40], &[3.0; 40]);
    let start = plan(&still).start(&still);
    assert_eq!((start.skip_reference, start.skip_distorted, start.confidence), (0, 0, 0.0));
    let periodic: Vec<f32> = (0..60).map(|time| (time % 8) as f32).collect();
    let look = pair(&periodic, &periodic);
    assert!(plan(&look).begins_plain(60));
}

#[test]
fn blends_are_told() {
    let mut look = pair(&times(0..60), &times(0..60));
    let cells = look.0[0][30].cells_for_tests().iter().zip(look.0[0][31].cells_for_tests());
    look.0[1][30] = Signature::from_cells(cells.map(|(a, b)| (a + b) / 2.0).collect());
    assert_eq!(plan(&look).blends(&look), [30]);
}

#[test]
fn nothing_has_no_plan() {
    assert!(Plan::find(&pair(&[], &times(0..3)), &Prior::default()).is_none());
    assert!(Plan::find(&pair(&times(0..3), &[]), &Prior::default()).is_none());
    assert!(Plan::find(&pair(&[1.0], &[1.0]), &Prior::default()).is_some());
}
