//! Frames that show two frames of the reference at once: blended by a conversion of frame rates, or interlaced as in telecine.
//!
//! A single frame shows it where an encode is fine. In a coarse one the noise hides it; but a conversion blends the same frames of
//! every period of its cadence, and together they show it.

use crate::sync::evidence::FLOOR;
use crate::sync::lag::between;
use crate::sync::look::Look;

/// A picture is a blend if it is nearer to the mean of two frames than this share of its distance to the nearer one, if these two
/// differ by more than this (square levels), and the nearer one lies farther than this share of that.
const BLEND: f32 = 0.4;
const MOTION: f32 = 0.5;
const SHARE: f32 = 0.12;
/// Of the frames at one place of the period, at least so many must move, by this much, for them to show anything together.
const FEWEST: usize = 4;
const LEAST_MOTION: f32 = 0.05;
/// Together they are blends if their mean evidence (the logarithm of how many times nearer the mean of two frames is) is more
/// than this, and more than so many times its standard error.
const TOGETHER: f32 = 0.03;
const ERRORS: f32 = 4.0;

/// The distance to the frame's own reference, to the nearest mean of it and a neighbour, and how much these two differ.
fn nearest_mean(look: &dyn Look, reference: usize, distorted: usize) -> Option<[f32; 3]> {
    let own = look.distance(reference, distorted);
    let others = [reference.checked_sub(1), Some(reference + 1)].into_iter().flatten();
    let others = others.filter(|other| *other < look.lengths().0);
    let means = others.map(|other| {
        let apart = look.within(0, reference, other);
        [own, between(0.5, own, look.distance(other, distorted), apart), apart]
    });
    means.min_by(|a, b| a[1].total_cmp(&b[1]))
}

/// The pairs (reference and distorted) whose distorted frame shows two frames of the reference, by their distorted frames.
/// `period`: after how many frames a conversion of frame rates repeats itself.
pub fn find(look: &dyn Look, pairs: &[(usize, usize)], period: Option<usize>) -> Vec<usize> {
    let looked: Vec<(usize, [f32; 3])> = pairs
        .iter()
        .filter_map(|(reference, distorted)| Some((*distorted, nearest_mean(look, *reference, *distorted)?)))
        .filter(|(_, [_, _, between])| *between > LEAST_MOTION)
        .collect();
    let blended = periods_with_blends(&looked, period);
    let is_blend = |(distorted, [own, mean, between]): &&(usize, [f32; 3])| {
        let shown = *between > MOTION && *mean < BLEND * own && *own > SHARE * between;
        shown || period.is_some_and(|period| blended[distorted % period])
    };
    looked.iter().filter(is_blend).map(|(distorted, _)| *distorted).collect()
}

/// The places of the period at which frames are blends, taken together.
fn periods_with_blends(looked: &[(usize, [f32; 3])], period: Option<usize>) -> Vec<bool> {
    let Some(period) = period else { return Vec::new() };
    let says = |[own, mean, _]: &[f32; 3]| ((own + FLOOR) / (mean + FLOOR)).ln();
    let at = |place: usize| {
        let all: Vec<f32> = looked
            .iter()
            .filter(|(distorted, _)| distorted % period == place)
            .map(|(_, distances)| says(distances))
            .collect();
        let count = all.len() as f32;
        let mean = all.iter().sum::<f32>() / count.max(1.0);
        let variance = all.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count.max(1.0);
        all.len() >= FEWEST && mean > TOGETHER && mean > ERRORS * (variance / count).sqrt()
    };
    (0..period).map(at).collect()
}
