//! Shots of a report: as it gives them, or as the project's detector (`visus_video::shots`) finds them in the motion of the
//! reference.

use serde_json::Value;

use visus_engine::Outcome;
use visus_video::shots::{DetectSettings, detect_from_changes};

use crate::record::{Curve, Record};

/// Frames from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shot {
    pub start: u64,
    pub end: u64,
}

impl Shot {
    pub fn contains(&self, frame: u64) -> bool {
        (self.start..self.end).contains(&frame)
    }
}

/// A list of `start_frame` and `end_frame` (exclusive), by rising frames; anything else gives none.
pub fn given(list: &Value) -> Vec<Shot> {
    let shot = |value: &Value| {
        let shot = Shot { start: value["start_frame"].as_u64()?, end: value["end_frame"].as_u64()? };
        (shot.start < shot.end).then_some(shot)
    };
    let shots: Option<Vec<Shot>> = list.as_array().and_then(|list| list.iter().map(shot).collect());
    shots.filter(|shots| shots.windows(2).all(|pair| pair[0].end <= pair[1].start)).unwrap_or_default()
}

const MOTION: &str = "VMAF_integer_feature_motion_sad_score";

/// Shots as far as the motion of the reference shows them. Only where every frame is listed: a clip of one shot is one shot.
pub fn from_motion(record: &Record) -> Vec<Shot> {
    let every_frame = record.frames.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let motion = record
        .curves
        .iter()
        .filter(|curve| curve.name.starts_with(MOTION))
        .min_by_key(|curve| curve.name.contains(FIVE_FRAMES));
    let (Some(motion), Some(first), true) = (motion, record.frames.first(), every_frame) else {
        return Vec::new();
    };
    let changes: Vec<f32> = motion.values.iter().map(|value| value.unwrap_or(0.0) as f32).collect();
    let found = detect_from_changes(&changes, &DetectSettings::default());
    found.shots.iter().map(|shot| Shot { start: first + shot.start, end: first + shot.end }).collect()
}

/// Motion over the five-frame window compares frames at distance two, so that a cut shows twice; where both are there, the
/// other one is better.
const FIVE_FRAMES: &str = "mffw";

/// Frames at which shots begin in a run that has just ended; the first is its first frame.
pub fn starts(outcome: &Outcome) -> Vec<u64> {
    let moving = || outcome.scores.columns().iter().filter(|column| column.name().starts_with(MOTION));
    let curves = moving().map(|column| Curve {
        name: column.name().to_owned(),
        values: column.iter().map(|(_, value)| Some(value)).collect(),
    });
    let frames =
        moving().next().into_iter().flat_map(|column| column.iter()).map(|(index, _)| index).collect();
    let record = Record { frames, curves: curves.collect(), ..Record::default() };
    let starts: Vec<u64> = from_motion(&record).iter().map(|shot| shot.start).collect();
    if starts.is_empty() { vec![0] } else { starts }
}

/// Shots of the listed frames, from the frames at which pairing saw them begin.
pub(crate) fn from_starts(list: &Value, frames: &[u64]) -> Vec<Shot> {
    let (Some(list), Some(first), Some(last)) = (list.as_array(), frames.first(), frames.last()) else {
        return Vec::new();
    };
    let cuts = list.iter().filter_map(Value::as_u64).filter(|start| start > first && start <= last);
    let mut starts: Vec<u64> = std::iter::once(*first).chain(cuts).collect();
    starts.dedup();
    if !starts.is_sorted() {
        return Vec::new();
    }
    let ends = starts.iter().copied().skip(1).chain([last + 1]);
    starts.iter().copied().zip(ends).map(|(start, end)| Shot { start, end }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, values: &[f64]) -> Record {
        let curve = Curve { name: name.to_owned(), values: values.iter().copied().map(Some).collect() };
        Record { frames: (100..).take(values.len()).collect(), curves: vec![curve], ..Record::default() }
    }

    #[test]
    fn cuts_are_read_off_the_motion() {
        let mut motion = [1.0; 40];
        (motion[15], motion[16]) = (40.0, 38.0);
        for name in [MOTION.to_owned(), format!("{MOTION}_{FIVE_FRAMES}")] {
            let shots = from_motion(&record(&name, &motion));
            assert_eq!(shots, [Shot { start: 100, end: 115 }, Shot { start: 115, end: 140 }]);
        }
        let mut gap = record(MOTION, &motion);
        gap.frames[39] += 1;
        assert_eq!(from_motion(&gap), [], "a frame is not listed");
        assert_eq!(from_motion(&record("vmaf", &motion)), []);
    }

    #[test]
    fn starts_become_shots_of_the_listed_frames() {
        let shots = |text: &str, frames: &[u64]| from_starts(&serde_json::from_str(text).unwrap(), frames);
        let all: Vec<u64> = (2..10).collect();
        assert_eq!(shots("[0,5,40]", &all), [Shot { start: 2, end: 5 }, Shot { start: 5, end: 10 }]);
        assert_eq!(shots("[0,7,5]", &all), []);
        assert_eq!(shots("null", &all), []);
        assert_eq!(shots("[0]", &[]), []);
    }

    #[test]
    fn given_shots_must_make_sense() {
        let shots = |text: &str| given(&serde_json::from_str(text).unwrap());
        let two = r#"[{"start_frame":0,"end_frame":5},{"start_frame":5,"end_frame":9}]"#;
        assert_eq!(shots(two), [Shot { start: 0, end: 5 }, Shot { start: 5, end: 9 }]);
        assert_eq!(shots(r#"[{"start_frame":5,"end_frame":5}]"#), []);
        assert_eq!(shots(r#"[{"start_frame":0,"end_frame":5},{"start_frame":2,"end_frame":9}]"#), []);
        assert_eq!(shots("7"), []);
    }
}
