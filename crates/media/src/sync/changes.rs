//! How much pictures change from frame to frame, on both sides.
//!
//! A frame that is shown twice does not change, and where a frame was dropped the picture changes by two frames' worth. So a
//! step of the distorted video tells which step of the reference it shows, also where an encoder is so coarse that its pictures
//! themselves fit several frames.

use crate::sync::evidence::FLOOR;
use crate::sync::look::Look;

/// A frame repeats the one before if it differs from it by less than this share of what frames in motion differ by; what an
/// encoder does to a repeated frame lies within these bounds.
const COPY: f32 = 0.1;
const COPY_BOUNDS: (f32, f32) = (0.004, 1.0);
/// Steps over more frames of the reference than this are not compared.
const FARTHEST: usize = 3;
/// Evidence per unit of the logarithm, and the most that one step says.
const WEIGHT: f32 = 1.5;
const CAP: f32 = 2.0;
/// Steps may differ by this much (as a logarithm) at no loss.
const SLACK: f32 = 0.7;
/// The share of an encoder's noise that changes from frame to frame.
const FLICKER: f32 = 0.1;

/// Steps of both sides.
pub struct Changes {
    /// From each frame of the distorted video to the next.
    distorted: Vec<f32>,
    /// From each frame of the reference to the first, second and third after it.
    reference: [Vec<f32>; FARTHEST],
    /// The frames of both sides that repeat the one before.
    pub copies: [Vec<bool>; 2],
}

impl Changes {
    pub fn new(look: &dyn Look) -> Self {
        let (reference, distorted) = look.lengths();
        let steps = |side: usize, count: usize, far: usize| -> Vec<f32> {
            (far..count).map(|at| look.within(side, at - far, at)).collect()
        };
        let reference = std::array::from_fn(|far| steps(0, reference, far + 1));
        let distorted = steps(1, distorted, 1);
        let copies = [copies(&reference[0], look.lengths().0), copies(&distorted, look.lengths().1)];
        Self { distorted, reference, copies }
    }

    /// What the step to a frame of the distorted video says against a step from one frame of the reference to another.
    pub fn against(&self, frame: usize, before: i32, now: i32, noise: f32) -> f32 {
        let step = match (usize::try_from(before), usize::try_from(now - before)) {
            (_, Ok(0)) => Some(0.0),
            (Ok(before), Ok(far @ 1..=FARTHEST)) => self.reference[far - 1].get(before).copied(),
            _ => None,
        };
        let floor = FLOOR + FLICKER * noise;
        let ratio = |step: f32| ((self.distorted[frame - 1] + floor) / (step + floor)).ln().abs();
        step.map_or(CAP / 2.0, |step| (WEIGHT * (ratio(step) - SLACK)).clamp(0.0, CAP))
    }
}

fn copies(steps: &[f32], count: usize) -> Vec<bool> {
    let limit = copy_limit(steps);
    std::iter::once(false).take(count).chain(steps.iter().map(|step| *step < limit)).collect()
}

/// Steps below this are repetitions.
pub fn copy_limit(steps: &[f32]) -> f32 {
    const ENOUGH: usize = 12;
    let mut sorted = steps.to_vec();
    sorted.sort_by(f32::total_cmp);
    let moving = sorted.get(sorted.len() * 3 / 4).copied().unwrap_or(0.0);
    if steps.len() < ENOUGH { COPY_BOUNDS.0 } else { (COPY * moving).clamp(COPY_BOUNDS.0, COPY_BOUNDS.1) }
}
