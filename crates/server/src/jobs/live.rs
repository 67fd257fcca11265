//! What a running job has found so far, for whoever follows it: scores in frame order, and settings that were measured.
//!
//! It is dropped when the job ends. The result holds all of it by then.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Scores that are kept, at most: some six days of video. A longer run goes on without more of them.
const MOST_SCORES: usize = 1 << 24;
/// Measured settings that are kept, at most.
const MOST_SAMPLES: usize = 10_000;

/// The findings of a running job.
#[derive(Debug, Default)]
pub struct Live(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    /// By frame number; NaN where a frame has no score.
    scores: Vec<f32>,
    samples: Vec<Value>,
}

/// How much of the findings a follower has already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub scores: usize,
    pub samples: usize,
}

/// What a follower has not seen yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct News {
    pub scores: Vec<f32>,
    pub samples: Vec<Value>,
    /// More is there than fits into one message.
    pub more: bool,
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the score of a frame; frames in between have none.
    pub fn score(&self, frame: u64, score: f64) {
        let Ok(place) = usize::try_from(frame) else { return };
        let mut found = self.lock();
        if place >= found.scores.len() && place < MOST_SCORES {
            found.scores.resize(place, f32::NAN);
            found.scores.push(score as f32);
        }
    }

    /// Adds a setting that was measured.
    pub fn sample(&self, sample: Value) {
        let mut found = self.lock();
        if found.samples.len() < MOST_SAMPLES {
            found.samples.push(sample);
        }
    }

    /// What came after `seen`, at most `limit` scores of it.
    pub fn since(&self, seen: Seen, limit: usize) -> News {
        let found = self.lock();
        let scores = found.scores.get(seen.scores..).unwrap_or_default();
        let samples = found.samples.get(seen.samples..).unwrap_or_default();
        News {
            scores: scores[..scores.len().min(limit)].to_vec(),
            samples: samples.to_vec(),
            more: scores.len() > limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn followers_get_what_they_have_not_seen() {
        let live = Live::default();
        live.score(0, 90.0);
        live.score(2, 91.0);
        live.score(1, 5.0);
        let news = live.since(Seen::default(), 10);
        assert_eq!(news.scores.len(), 3);
        assert!(news.scores[1].is_nan() && news.scores[2] == 91.0 && !news.more);
        live.sample(json!({ "crf": 20 }));
        let next = live.since(Seen { scores: 3, samples: 0 }, 10);
        assert!(next.scores.is_empty());
        assert_eq!(next.samples, [json!({ "crf": 20 })]);
    }

    #[test]
    fn a_backlog_comes_in_pieces_and_a_wrong_place_gives_nothing() {
        let live = Live::default();
        (0..10).for_each(|frame| live.score(frame, 1.0));
        let piece = live.since(Seen { scores: 2, samples: 0 }, 5);
        assert!(piece.more && piece.scores.len() == 5);
        assert_eq!(live.since(Seen { scores: 99, samples: 99 }, 5), News::default());
    }
}
