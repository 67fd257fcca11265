//! An encode that shows everything a little late.
//!
//! An encoder that saves bits follows motion late, by a part of a frame or more that hardly changes over a video. A picture that
//! is late by a share of a frame lies between its own frame of the reference and the one before, nearly on the straight line
//! between them, and its distance to any point of that line follows from three distances that are known. So every explanation is
//! weighed at several lags, and the lag is found together with the edit: one that is steady speaks for no edit and against no
//! offset, and a step in it, where a frame was dropped or doubled, does.

use crate::sync::look::Look;

/// Lags that are weighed, as shares of a frame of the reference.
pub const LAGS: [f32; 3] = [0.0, 0.5, 1.0];
/// What a lag of a frame costs.
pub const PRICE: f32 = 3.0;

/// How far the frames of the reference are apart.
pub struct Steps(Vec<f32>);

impl Steps {
    pub fn new(look: &dyn Look) -> Self {
        let step = |at: usize| look.within(0, at - 1, at) - look.brighter(0, at - 1, at).powi(2);
        Self(std::iter::once(0.0).chain((1..look.lengths().0).map(step)).collect())
    }

    /// The distance to a picture that is late by a share of a frame, by those to a frame of the reference and to the one before it;
    /// without one before it, to the frame itself.
    pub fn late(&self, share: f32, at: usize, own: f32, before: f32) -> f32 {
        match self.0.get(at) {
            Some(apart) if share > 0.0 && at > 0 && before < f32::MAX => between(share, own, before, *apart),
            _ => own,
        }
    }
}

/// The distance to a point of the line between two pictures, by the distances to both and between them (Stewart's theorem).
/// `share`: how much of the second one is in it.
pub fn between(share: f32, first: f32, second: f32, apart: f32) -> f32 {
    ((1.0 - share) * first + share * second - share * (1.0 - share) * apart).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_to_a_point_between() {
        // Pictures of one sample: at 0 and 4, and one at 3.
        assert_eq!(between(0.5, 9.0, 1.0, 16.0), 1.0);
        assert_eq!(between(0.75, 9.0, 1.0, 16.0), 0.0);
        assert_eq!((between(0.0, 9.0, 1.0, 16.0), between(1.0, 9.0, 1.0, 16.0)), (9.0, 1.0));
    }

    #[test]
    fn the_first_frame_is_never_late() {
        let steps = Steps(vec![0.0, 16.0]);
        assert_eq!(steps.late(0.5, 0, 9.0, 1.0), 9.0);
        assert_eq!(steps.late(0.5, 1, 9.0, f32::MAX), 9.0);
        assert_eq!(steps.late(0.5, 1, 9.0, 1.0), 1.0);
    }
}
