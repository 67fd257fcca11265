//! Runs of frames that share a fate, and runs of pairs that are doubtful.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Frames in a row, by their numbers in both files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub reference: u64,
    pub distorted: u64,
    pub count: u64,
}

impl Run {
    pub(crate) fn json(&self) -> Value {
        json!({ "reference": self.reference, "distorted": self.distorted, "count": self.count })
    }
}

/// Runs of frames that share a fate. Only the first are listed; all are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    pub listed: Vec<Run>,
    pub frames: u64,
}

/// Reports stay readable, and memory bounded, when every other frame is missing.
pub(crate) const LISTED: usize = 200;

impl Runs {
    /// Adds a frame; `steps` says by how much the two numbers grow within a run.
    pub(crate) fn add(&mut self, reference: u64, distorted: u64, steps: (u64, u64)) {
        self.frames += 1;
        if let Some(last) = self.listed.last_mut() {
            let next = (last.reference + last.count * steps.0, last.distorted + last.count * steps.1);
            if next == (reference, distorted) {
                last.count += 1;
                return;
            }
        }
        if self.listed.len() < LISTED {
            self.listed.push(Run { reference, distorted, count: 1 });
        }
    }

    pub(crate) fn json(&self) -> Value {
        let listed: Vec<Value> = self.listed.iter().map(Run::json).collect();
        json!({ "frames": self.frames, "runs": listed, "complete": self.listed.iter().map(|run| run.count).sum::<u64>() == self.frames })
    }
}

/// What another pairing pairs a frame of the distorted video with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alternative {
    /// With the frame of the reference that lies by so many frames later.
    Shift(i32),
    /// With none.
    Alone,
}

/// The scores of doubtful pairs, as they were paired and as the alternative pairs them, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rescored {
    pub pairs: u64,
    pub score: f64,
    pub alternative: f64,
}

impl Rescored {
    fn add(&mut self, scores: Option<[f64; 2]>) {
        if let Some([score, alternative]) = scores {
            self.pairs += 1;
            self.score += score;
            self.alternative += alternative;
        }
    }

    /// The mean of both; `None` where no pair was scored again.
    pub fn means(&self) -> Option<[f64; 2]> {
        let count = self.pairs as f64;
        (self.pairs > 0).then(|| [self.score / count, self.alternative / count])
    }
}

/// A run of doubtful pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubtfulRun {
    pub run: Run,
    pub alternative: Alternative,
    pub rescored: Rescored,
}

/// Runs of pairs of which another pairing is nearly as likely.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doubts {
    /// Each with what the other pairing does.
    pub listed: Vec<DoubtfulRun>,
    pub frames: u64,
    /// All doubtful pairs that were scored again.
    pub rescored: Rescored,
}

impl Doubts {
    pub(crate) fn add(&mut self, pair: (u64, u64), alternative: Alternative, scores: Option<[f64; 2]>) {
        self.frames += 1;
        self.rescored.add(scores);
        if let Some(DoubtfulRun { run, alternative: same, rescored }) = self.listed.last_mut()
            && (run.reference + run.count, run.distorted + run.count) == pair
            && *same == alternative
        {
            run.count += 1;
            rescored.add(scores);
            return;
        }
        if self.listed.len() < LISTED {
            let mut rescored = Rescored::default();
            rescored.add(scores);
            let run = Run { reference: pair.0, distorted: pair.1, count: 1 };
            self.listed.push(DoubtfulRun { run, alternative, rescored });
        }
    }

    /// By how much the mean over `pairs` pairs would change if all doubtful ones were paired otherwise, by those of them that were
    /// scored again.
    pub fn mean_change(&self, pairs: u64) -> Option<f64> {
        let [score, alternative] = self.rescored.means()?;
        Some((alternative - score) * self.frames as f64 / pairs.max(1) as f64)
    }

    pub(crate) fn json(&self, pairs: u64) -> Value {
        let listed: Vec<Value> = self.listed.iter().map(DoubtfulRun::json).collect();
        let complete = self.listed.iter().map(|doubt| doubt.run.count).sum::<u64>() == self.frames;
        let change = self.mean_change(pairs);
        json!({ "frames": self.frames, "runs": listed, "complete": complete, "mean_change": change })
    }
}

impl DoubtfulRun {
    fn json(&self) -> Value {
        let Run { reference, distorted, count } = self.run;
        let shift = match self.alternative {
            Alternative::Shift(shift) => Some(shift),
            Alternative::Alone => None,
        };
        let means = self.rescored.means();
        json!({
            "reference": reference,
            "distorted": distorted,
            "count": count,
            "alternative_shift": shift,
            "rescored": self.rescored.pairs,
            "score": means.map(|means| means[0]),
            "alternative_score": means.map(|means| means[1]),
        })
    }
}
