//! A frame against other frames of both videos: is it the one it should be, or the last one once more?
//!
//! Frames are compared by the mean luma of their cells, less the picture's mean, and with the best factor, so that a change of
//! brightness or contrast does not matter. Distances are squared levels per cell.

use serde::{Deserialize, Serialize};

/// Frames before and behind that a frame is compared with.
pub(crate) const REACH: usize = 6;

/// What comparing with other frames gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// Distance from its own frame of the reference.
    pub own: f32,
    /// The frame of the reference that fits best, relative to its own, and the distance from that.
    pub best: i8,
    pub best_distance: f32,
    /// How far that frame of the reference is from its own one.
    pub best_apart: f32,
    /// How far both videos moved since the frame before.
    pub moved: [f32; 2],
    /// Change of the reference's mean luma since the frame before.
    pub faded: f32,
    /// How far both videos moved within the patch that is wrong; 0 without one.
    pub patch_moved: [f32; 2],
}

/// Cell means of a pair, less their mean.
pub(crate) struct Centred {
    pub pictures: [Vec<f32>; 2],
    pub power: [f32; 2],
    pub mean: [f32; 2],
    /// Cells that are wrong.
    pub wrong: Vec<usize>,
}

impl Centred {
    pub fn new(means: [Vec<f32>; 2], mean: [f32; 2], wrong: Vec<usize>) -> Self {
        let mut pictures = means;
        for (picture, mean) in pictures.iter_mut().zip(mean) {
            picture.iter_mut().for_each(|value| *value -= mean);
        }
        let power = [0, 1].map(|side| dot(&pictures[side], &pictures[side]));
        Self { pictures, power, mean, wrong }
    }

    fn count(&self) -> f32 {
        self.pictures[0].len().max(1) as f32
    }
}

/// Sum of products, in eight lanes so that the compiler can use vectors.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

fn apart(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| (a - b) * (a - b)).sum();
    for (a, b) in a8.zip(b8) {
        for lane in 0..8 {
            let difference = a[lane] - b[lane];
            sums[lane] += difference * difference;
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Compares the pair at `here` with those around it, which are given in order.
pub(crate) fn motion(around: &[&Centred], here: usize) -> Motion {
    let now = around[here];
    let count = now.count();
    let shown = &now.pictures[1];
    let distance = |at: usize| -> f32 {
        let other = around[at];
        let product = dot(shown, &other.pictures[0]);
        let explained = if product > 0.0 { product * product / other.power[0].max(1e-3) } else { 0.0 };
        ((now.power[1] - explained) / count).max(0.0)
    };
    let own = distance(here);
    let mut motion = Motion { own, best_distance: own, ..Motion::default() };
    if let Some(before) = here.checked_sub(1).map(|at| around[at]) {
        motion.moved = [0, 1].map(|side| apart(&now.pictures[side], &before.pictures[side]) / count);
        motion.faded = now.mean[0] - before.mean[0];
        motion.patch_moved = [0, 1].map(|side| {
            within(
                &now.wrong,
                &now.pictures[side],
                &before.pictures[side],
                now.mean[side] - before.mean[side],
            )
        });
    }
    for at in (0..around.len()).filter(|at| *at != here) {
        let found = distance(at);
        if found < motion.best_distance {
            motion.best_distance = found;
            motion.best = (at as isize - here as isize) as i8;
            motion.best_apart = apart(&now.pictures[0], &around[at].pictures[0]) / count;
        }
    }
    motion
}

/// How far a picture moved within some cells.
fn within(cells: &[usize], now: &[f32], before: &[f32], faded: f32) -> f32 {
    let moved = |at: &usize| Some((now.get(*at)? - before.get(*at)? + faded).powi(2));
    cells.iter().filter_map(moved).sum::<f32>() / cells.len().max(1) as f32
}
