//! Where between two frames of the reference a frame of the distorted video lies.
//!
//! Along steady motion the distance to a frame of the reference grows with the square of how far away that frame is, so three
//! distances around the nearest give the place of the least to a fraction of a frame. A coarse encode shows a scene a little
//! early or late, mostly late, by an amount that scatters the more the less the picture moves beside its coding noise. A pair
//! that is one frame off lies outside of that scatter all the time, though its pictures are hardly worse than the right ones;
//! over a stretch of frames that adds up, where a comparison of distances says nothing at all.
//!
//! How late an encode is changes slowly from frame to frame. A step in it is where frames were dropped or doubled: the change
//! of lateness, less what fades by itself, is weighed by [`Place::step`].

use crate::sync::evidence::{CAP, FLOOR};
use crate::sync::look::Look;

/// How places scatter, as a variance in square frames: always, for each time that the noise is as large as the motion, and
/// for the square of that, where an encoder no longer follows the motion frame by frame.
const SCATTER: f32 = 0.02;
const NOISE: f32 = 0.012;
const LOST: f32 = 0.001;
/// Frames beyond this are judged by their pictures.
const NEAR: f32 = 2.5;
/// The share of a frame's evidence that its neighbours do not have already: encoders are late over several frames.
const WEIGHT: f32 = 0.2;
/// The share of a frame's lateness that the next one has too.
const KEPT: f32 = 0.8;
/// Evidence per unit of the logarithm that steps have, and the most that one says.
const STEP_WEIGHT: f32 = 0.3;
const STEP_CAP: f32 = 2.0;
/// Motion is steady if two frames away the distance has grown to at least this share of what the square would be.
const STEADY: f32 = 0.3;

/// The place of a frame in the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// A frame of the reference, and the fraction by which the picture looks newer.
    at: f32,
    /// The variance of that, in square frames.
    variance: f32,
}

impl Place {
    /// The place of a frame of the distorted video, of which `nearest` is the frame of the reference that fits best; `None`
    /// where nothing moves, or not steadily.
    pub fn find(look: &dyn Look, frame: usize, nearest: usize) -> Option<Self> {
        let (reference, _) = look.lengths();
        let distance = |at: Option<usize>| at.filter(|at| *at < reference).map(|at| look.distance(at, frame));
        let repeats = |a: usize, b: usize| b < reference && look.within(0, a, b) < FLOOR;
        // Where the reference shows a picture twice, the place lies between the two.
        if nearest == 0 || repeats(nearest - 1, nearest) || repeats(nearest, nearest + 1) {
            return None;
        }
        let own = look.distance(nearest, frame);
        let (before, after) = (distance(nearest.checked_sub(1))?, distance(Some(nearest + 1))?);
        // Per square frame.
        let motion = 0.5 * (before + after) - own;
        let fraction = 0.25 * (before - after) / motion;
        if motion <= FLOOR || !(-0.5..=0.5).contains(&fraction) {
            return None;
        }
        let noise = own - motion * fraction * fraction;
        let steady = |at: Option<usize>, away: f32| {
            distance(at).is_none_or(|distance| distance - noise >= STEADY * motion * away * away)
        };
        let is_steady =
            steady(nearest.checked_sub(2), 2.0 + fraction) && steady(Some(nearest + 2), 2.0 - fraction);
        let share = (noise.max(0.0) + FLOOR) / motion;
        let variance = SCATTER + NOISE * share + LOST * share * share;
        is_steady.then_some(Self { at: nearest as f32 + fraction, variance })
    }

    /// The frames of the reference around it.
    fn around(&self) -> [i32; 2] {
        [self.at.floor() as i32, self.at.ceil() as i32]
    }

    /// What the change of lateness says against a pair with frame `now` of the reference, behind a pair of the frame before,
    /// whose place is `earlier`, with frame `before`: beyond what it says against the best of all such pairs.
    pub fn step(&self, now: i32, earlier: &Self, before: i32) -> Option<f32> {
        let near = |place: &Self, at: i32| (place.at - at as f32).abs() < NEAR;
        let (befores, nows) = (earlier.around(), self.around());
        let all =
            befores.iter().flat_map(|before| nows.iter().map(|now| self.change(*now, earlier, *before)));
        let least = all.fold(f32::MAX, f32::min);
        let change = self.change(now, earlier, before);
        (near(self, now) && near(earlier, before)).then(|| (change - least).clamp(0.0, STEP_CAP))
    }

    fn change(&self, now: i32, earlier: &Self, before: i32) -> f32 {
        let (late, was) = (self.at - now as f32, earlier.at - before as f32);
        let variance = 0.5 * (1.0 - KEPT * KEPT) * (self.variance + earlier.variance);
        STEP_WEIGHT * 0.5 * (late - KEPT * was).powi(2) / variance
    }

    /// What it says against a pair with a frame of the reference, beyond what it says against the nearest; `None` where that is
    /// too far away to tell.
    pub fn against(&self, reference: i32) -> Option<f32> {
        let away = self.at - reference as f32;
        let least = self.at - self.at.round();
        let beyond = (away * away - least * least) / self.variance;
        (away.abs() < NEAR).then(|| (WEIGHT * 0.5 * beyond).min(CAP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scene in steady motion, coded with some noise: frame `i` of the distorted video lies at `shown[i]` of the reference.
    struct Steady {
        shown: Vec<f32>,
        motion: f32,
        noise: f32,
    }

    impl Look for Steady {
        fn lengths(&self) -> (usize, usize) {
            (40, self.shown.len())
        }

        fn distance(&self, reference: usize, distorted: usize) -> f32 {
            self.noise + self.motion * (reference as f32 - self.shown[distorted]).powi(2)
        }

        fn within(&self, _: usize, a: usize, b: usize) -> f32 {
            self.motion * (a as f32 - b as f32).powi(2)
        }

        fn likeness(&self, _: usize, _: usize) -> Option<f32> {
            None
        }
    }

    fn steady(motion: f32, noise: f32) -> Steady {
        Steady { shown: vec![9.8, 10.8, 12.8, 13.8], motion, noise }
    }

    fn find(look: &Steady, frame: usize) -> Place {
        Place::find(look, frame, look.shown[frame].round() as usize).unwrap()
    }

    #[test]
    fn a_place_is_known_to_a_fraction_of_a_frame() {
        let look = steady(0.3, 4.0);
        let place = find(&look, 0);
        assert!((place.at - 9.8).abs() < 1e-3, "{place:?}");
        let [own, next] = [10, 11].map(|at| place.against(at).unwrap());
        assert!(own < 0.1 && next > 5.0 * own, "{own} {next}");
        assert_eq!(place.against(20), None);
    }

    #[test]
    fn coarser_encodes_say_less() {
        let says = |noise: f32| find(&steady(0.3, noise), 0).against(11).unwrap();
        assert!(says(0.1) > 2.0 * says(6.0) && says(6.0) > 2.0 * says(60.0));
    }

    #[test]
    fn a_step_of_lateness_is_a_dropped_frame() {
        let look = steady(0.3, 1.0);
        let (before, after) = (find(&look, 1), find(&look, 2));
        let (dropped, not) = (after.step(13, &before, 11).unwrap(), after.step(12, &before, 11).unwrap());
        assert!(dropped < 0.1 && not > 1.0, "{dropped} {not}");
    }

    #[test]
    fn what_does_not_move_has_no_place() {
        assert_eq!(Place::find(&steady(0.001, 1.0), 0, 10), None);
        assert_eq!(Place::find(&steady(0.3, 1.0), 0, 0), None);
    }
}
