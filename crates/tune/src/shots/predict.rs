//! A guess at each shot's setting from what it looks like, without encoding anything.

use schemars::JsonSchema;
use serde::Serialize;

use super::Shots;

/// What is guessed for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictSettings {
    pub target: f64,
    pub crf_min: i32,
    pub crf_max: i32,
}

/// A shot with its guess; `end_frame` is inclusive.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PredictedShot {
    /// Its number, from 0.
    pub shot_id: usize,
    /// First frame.
    pub start_frame: u64,
    /// Its last frame.
    pub end_frame: u64,
    /// Number of frames.
    pub frames: u64,
    /// Mean gradient of luma, on the 8-bit scale.
    pub mean_complexity: f64,
    /// Mean difference of luma from frame to frame, on the 8-bit scale.
    pub mean_motion: f64,
    /// The setting that is expected to meet the target.
    pub predicted_crf: i32,
}

/// The guess for each shot. CRF 29 meets VMAF 90 for usual texture; a point of target costs 0.6 CRF; twice the texture
/// costs one, and motion, which hides flaws, gives one back. It orders shots well and is no substitute for measuring.
pub fn predict(shots: &Shots, settings: &PredictSettings) -> Vec<PredictedShot> {
    let usual = 29.0 + 0.6 * (90.0 - settings.target);
    let row = |(shot_id, shot): (usize, &super::Shot)| {
        let texture = (shot.complexity.max(0.5) / 6.0).log2();
        let hidden = (1.0 + shot.motion / 4.0).log2();
        let crf = (usual - texture + hidden).round() as i32;
        PredictedShot {
            shot_id,
            start_frame: shot.start,
            end_frame: shot.end - 1,
            frames: shot.end - shot.start,
            mean_complexity: rounded(shot.complexity),
            mean_motion: rounded(shot.motion),
            predicted_crf: crf.clamp(settings.crf_min, settings.crf_max),
        }
    };
    shots.shots.iter().enumerate().map(row).collect()
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The same as a table.
pub fn predicted_csv(shots: &[PredictedShot]) -> String {
    let mut text =
        "shot_id,start_frame,end_frame,frames,mean_complexity,mean_motion,predicted_crf\n".to_owned();
    for shot in shots {
        text.push_str(&format!(
            "{},{},{},{},{},{},{}\n",
            shot.shot_id,
            shot.start_frame,
            shot.end_frame,
            shot.frames,
            shot.mean_complexity,
            shot.mean_motion,
            shot.predicted_crf
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Shot;
    use super::*;

    fn guess(complexity: f64, motion: f64, target: f64) -> PredictedShot {
        let shots =
            Shots { shots: vec![Shot { start: 10, end: 30, complexity, motion }], ..Shots::default() };
        predict(&shots, &PredictSettings { target, crf_min: 18, crf_max: 35 }).remove(0)
    }

    #[test]
    fn guesses_go_in_the_right_direction_and_stay_in_range() {
        assert!(guess(6.0, 2.0, 95.0).predicted_crf < guess(6.0, 2.0, 85.0).predicted_crf);
        assert!(guess(20.0, 2.0, 90.0).predicted_crf < guess(3.0, 2.0, 90.0).predicted_crf);
        assert_eq!(guess(6.0, 0.0, 10.0).predicted_crf, 35);
        assert_eq!(guess(400.0, 0.0, 99.0).predicted_crf, 18);
        let shot = guess(6.0, 2.0, 90.0);
        assert_eq!((shot.start_frame, shot.end_frame, shot.frames), (10, 29, 20));
        assert!(predicted_csv(&[shot]).ends_with("\n0,10,29,20,6,2,30\n"));
    }
}
