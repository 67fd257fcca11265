//! Shots: where one scene ends and the next begins. The project's one detector.
//!
//! [`Look`] sees every frame once and keeps a few numbers of each, its [`Traits`]; [`detect`] makes shots of them. It finds
//! cuts to the frame, fades and dissolves, and tells flashes and motion from cuts. Where no frames can be seen any more,
//! only how much each differs from the one before, [`detect_from_changes`] applies the same rule to what is left.

mod detect;
mod look;

pub use detect::{Boundary, DetectSettings, Kind, Shots, detect};
pub use look::{Look, Traits};

/// A stretch of frames, `end` exclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    pub start: u64,
    pub end: u64,
    /// Mean gradient of luma, on the 8-bit scale.
    pub complexity: f64,
    /// Mean difference of luma from frame to frame, on the 8-bit scale.
    pub motion: f64,
}

/// Finds the cuts in mean differences of luma from frame to frame, on the 8-bit scale; the first has no meaning.
///
/// Motion cannot be compensated and nothing is known of brightness or of frames further back, so fades and dissolves are not
/// found, and a flash counts as a cut.
pub fn detect_from_changes(changes: &[f32], settings: &DetectSettings) -> Shots {
    let traits = |(place, change): (usize, &f32)| {
        let change = if place == 0 { 0.0 } else { *change };
        Traits { difference: change, residual: change, ..Traits::UNKNOWN }
    };
    let traits: Vec<Traits> = changes.iter().enumerate().map(traits).collect();
    detect(&traits, settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(changes: &[f32]) -> Vec<u64> {
        let found = detect_from_changes(changes, &DetectSettings::default());
        assert_eq!(found.shots.len(), found.boundaries.len() + usize::from(!changes.is_empty()));
        found.boundaries.iter().map(|boundary| boundary.frame).collect()
    }

    /// Quiet frames with changes at some places.
    fn quiet(frames: usize, loud: &[(usize, f32)]) -> Vec<f32> {
        let mut changes = vec![1.0; frames];
        loud.iter().for_each(|(place, change)| changes[*place] = *change);
        changes
    }

    #[test]
    fn cuts_stand_out_from_their_neighbours() {
        assert_eq!(cuts(&quiet(40, &[(10, 40.0), (25, 13.0)])), [10, 25]);
        assert_eq!(cuts(&quiet(40, &[(10, 11.0)])), [] as [u64; 0], "below the threshold");
        assert_eq!(cuts(&quiet(40, &[(0, 90.0)])), [] as [u64; 0], "the first frame has nothing before it");
        assert_eq!(
            cuts(&quiet(40, &[(10, 30.0), (11, 30.0)])),
            [10],
            "seen twice at a distance of two frames"
        );
        assert_eq!(cuts(&[]), [] as [u64; 0]);
    }

    #[test]
    fn fast_motion_is_no_cut_but_a_cut_into_it_is() {
        let pan: Vec<(usize, f32)> = (15..40).map(|place| (place, 20.0)).collect();
        assert_eq!(cuts(&quiet(40, &pan)), [] as [u64; 0]);
        let mut cut = pan;
        cut[0].1 = 45.0;
        assert_eq!(cuts(&quiet(40, &cut)), [15]);
    }

    #[test]
    fn shots_that_are_too_short_are_joined() {
        assert_eq!(cuts(&quiet(40, &[(3, 40.0), (20, 40.0), (38, 40.0)])), [20]);
    }
}
