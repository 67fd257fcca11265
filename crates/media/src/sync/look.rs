//! Two sequences of pictures, as far as pairing looks at them.

use crate::sync::evidence::FLOOR;

/// Distances between pictures of two videos, and within each.
pub trait Look {
    /// Frames of the reference and of the distorted video.
    fn lengths(&self) -> (usize, usize);

    /// Mean squared difference of a frame of the reference and one of the distorted video, brightness apart.
    fn distance(&self, reference: usize, distorted: usize) -> f32;

    /// The same between two frames of one side.
    fn within(&self, side: usize, a: usize, b: usize) -> f32;

    /// By how much the second of two frames of one side is brighter than the first.
    fn brighter(&self, side: usize, a: usize, b: usize) -> f32;

    /// 1 for the same picture, near 0 for two that have nothing in common; `None` if both are flat.
    fn likeness(&self, reference: usize, distorted: usize) -> Option<f32>;
}

/// Frames of the reference that differ by less than this (square levels) are one picture.
const SAME: f32 = 0.02;
/// How far around a pair other offsets are compared.
const AROUND: i64 = 25;

/// Whether two frames of the reference, that may lie outside it, show the same picture.
pub fn is_same(look: &dyn Look, a: i32, b: i32) -> bool {
    let place = |at: i32| usize::try_from(at).ok().filter(|at| *at < look.lengths().0);
    a == b || place(a).zip(place(b)).is_some_and(|(a, b)| look.within(0, a, b) < SAME)
}

/// How much worse the nearest other offset would be for all pairs, 0 to 1. Pictures that repeat the paired one are no other offset.
pub fn confidence(look: &dyn Look, pairs: &[(usize, usize)]) -> f32 {
    let (reference, _) = look.lengths();
    let mut worst: Option<f32> = None;
    for shift in (-AROUND..=AROUND).filter(|shift| *shift != 0) {
        let (mut own, mut other, mut count) = (0.0, 0.0, 0);
        for (i, j) in pairs {
            let shifted = usize::try_from(*i as i64 + shift).ok().filter(|at| *at < reference);
            let Some(shifted) = shifted.filter(|at| look.within(0, *i, *at) >= SAME) else { continue };
            own += look.distance(*i, *j) + FLOOR;
            other += look.distance(shifted, *j) + FLOOR;
            count += 1;
        }
        if count >= 3.max(pairs.len() / 4) {
            worst = Some(worst.unwrap_or(0.0).max(own / other));
        }
    }
    worst.map_or(0.0, |worst| (1.0 - worst).clamp(0.0, 1.0))
}

/// The median likeness of pairs; `None` if they are too flat to tell.
pub fn median_likeness(look: &dyn Look, pairs: &[(usize, usize)]) -> Option<f32> {
    let mut all: Vec<f32> = pairs.iter().filter_map(|(i, j)| look.likeness(*i, *j)).collect();
    all.sort_by(f32::total_cmp);
    all.get(all.len() / 2).copied()
}
