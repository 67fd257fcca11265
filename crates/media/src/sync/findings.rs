//! What pairing found out, frame by frame and in figures.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use visus_engine::Side;
use visus_video::shots::{DetectSettings, detect_from_changes};

use crate::sync::log::{Check, Laid, Noted, Tail};
use crate::sync::plan::Start;
use crate::sync::runs::{Doubts, Run, Runs};

/// How frames are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// One after another, as they come.
    Off,
    /// Find where the two begin, then one after another.
    Offset,
    /// Find drops and repeated frames as well, and stay in step.
    #[default]
    Full,
}

impl Sync {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Offset => "offset",
            Self::Full => "full",
        }
    }
}

impl std::str::FromStr for Sync {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "offset" => Ok(Self::Offset),
            "full" => Ok(Self::Full),
            _ => Err(format!("'{text}' is not a way to pair frames; it is off, offset or full")),
        }
    }
}

/// Everything that pairing found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub sync: Sync,
    /// Where the streams meet, if that was looked for.
    pub start: Option<Start>,
    /// Where small copies of both files were looked at to their ends.
    pub searched_far: bool,
    pub pairs: u64,
    /// Frames of the reference that the distorted video does not have: dropped.
    pub missing: Runs,
    /// Frames of the distorted video that the reference does not have: doubled.
    pub extra: Runs,
    /// Pairs in which the distorted video stands still while the reference moves.
    pub frozen: Runs,
    /// Pairs whose pictures are not alike.
    pub unlike: Runs,
    /// Pairs for which another pairing would explain the pictures nearly as well.
    pub doubtful: Doubts,
    /// Pairs whose distorted frame shows two frames of the reference at once.
    pub blended: Runs,
    /// Pairs that were re-checked against their neighbours: sure, unclear, contradicted.
    pub checks: [u64; 3],
    /// The side that goes on after the other has ended.
    pub longer: Option<Side>,
    /// How much the reference changes from pair to pair, on the scale of 8 bits; the first is 0.
    pub changes: Vec<f32>,
    /// How far the two are apart in every pair, at the place where they are farthest, on the scale of 8 bits; 0 for those that
    /// are frozen or unlike altogether.
    pub farthest: Vec<f32>,
    /// Brightness of the distorted video against the reference: factor and summand, on the scale of 8 bits.
    pub brightness: Option<(f32, f32)>,
    /// Black rows and columns at the edges, in samples of the files: top, bottom, left, right.
    pub bars: [[usize; 4]; 2],
    /// How the pictures were laid over each other to pair them.
    pub laid: Laid,
    /// Frames of both files, of those that were read to their end.
    pub counted: [Option<u64>; 2],
    /// What decoders complained about where damage is forgiven.
    pub complaints: Vec<String>,
    /// Numbers of the frames of every pair in both files.
    pub shown: Vec<(u64, u64)>,
}

impl Findings {
    /// Frames of the reference before the first that the distorted video has; negative if that one begins earlier.
    pub fn offset(&self) -> i64 {
        self.start.map_or(0, |start| start.skip_reference as i64 - start.skip_distorted as i64)
    }

    /// Pairs at which a new shot begins; the first is 0.
    pub fn shots(&self) -> Vec<u64> {
        let found = detect_from_changes(&self.changes, &DetectSettings::default());
        found.shots.iter().map(|shot| shot.start).collect()
    }

    /// Pairs in which a part of the picture is far off although it is not in most others: damage that a decoder did not notice,
    /// or something that only one side shows. An encoder's own faults grow and shrink less from frame to frame.
    pub fn patches(&self) -> Vec<u64> {
        const LEVELS: f32 = 24.0;
        const TIMES: f32 = 6.0;
        let mut sorted = self.farthest.clone();
        sorted.sort_by(f32::total_cmp);
        let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let limit = LEVELS.max(TIMES * usual);
        (0..).zip(&self.farthest).filter(|(_, value)| **value > limit).map(|(index, _)| index).collect()
    }

    /// Adds a pair; frames between it and the one before belong to none.
    pub(crate) fn add(&mut self, pair: &Noted, before: Option<&Noted>) {
        if let Some(before) = before {
            (before.reference + 1..pair.reference).for_each(|at| self.add_missing(at, before.distorted + 1));
            (before.distorted + 1..pair.distorted).for_each(|at| self.add_extra(pair.reference, at));
        }
        let (reference, distorted) = (pair.reference, pair.distorted);
        self.pairs += 1;
        self.changes.push(pair.change);
        self.farthest.push(pair.farthest);
        match pair.check {
            Check::None => {}
            Check::Sure => self.checks[0] += 1,
            Check::Unclear => self.checks[1] += 1,
            Check::Contradicted => self.checks[2] += 1,
            Check::Frozen => self.frozen.add(reference, distorted, (1, 1)),
            Check::Unlike => self.unlike.add(reference, distorted, (1, 1)),
        }
        if let Some(alternative) = pair.doubt {
            self.doubtful.add((reference, distorted), alternative, pair.rescored);
        }
        self.shown.push((reference, distorted));
    }

    pub(crate) fn add_blends(&mut self, blended: &[u64]) {
        let (first, last) = (self.shown.first().map(|pair| pair.1), self.shown.last().map(|pair| pair.1));
        let within = |frame: &&u64| first.is_some_and(|first| first <= **frame) && last >= Some(**frame);
        for frame in blended.iter().filter(within) {
            if let Ok(at) = self.shown.binary_search_by_key(frame, |pair| pair.1) {
                self.blended.add(self.shown[at].0, *frame, (1, 1));
            }
        }
    }

    pub(crate) fn end(&mut self, tail: &Tail, last: Option<&Noted>) {
        let side = |side: u8| if side == 0 { Side::Reference } else { Side::Distorted };
        (self.longer, self.counted) = (tail.longer.map(side), tail.counted);
        let next = last.map_or((0, 0), |last| (last.reference + 1, last.distorted + 1));
        (0..tail.copies[0]).for_each(|at| self.add_missing(next.0 + at, next.1));
        (0..tail.copies[1]).for_each(|at| self.add_extra(next.0, next.1 + at));
    }

    fn add_missing(&mut self, reference: u64, distorted: u64) {
        self.missing.add(reference, distorted, (1, 0));
    }

    fn add_extra(&mut self, reference: u64, distorted: u64) {
        self.extra.add(reference, distorted, (0, 1));
    }

    pub fn json(&self) -> Value {
        let share = |count: u64| count as f64 / self.checks.iter().sum::<u64>().max(1) as f64;
        json!({
            "summary": self.words(),
            "sync": self.sync.name(),
            "offset": self.offset(),
            "confidence": self.start.map(|start| rounded(start.confidence)),
            "likeness": self.start.and_then(|start| start.likeness).map(rounded),
            "searched_far": self.searched_far,
            "pairs": self.pairs,
            "dropped": self.missing.json(),
            "duplicated": self.extra.json(),
            "frozen": self.frozen.json(),
            "unlike": self.unlike.json(),
            "doubtful": self.doubtful.json(self.pairs),
            "blended": self.blended.json(),
            "recheck": {
                "sure": share(self.checks[0]),
                "unclear": share(self.checks[1]),
                "contradicted": share(self.checks[2]),
            },
            "longer_input": self.longer.map(|side| side.to_string()),
            "shots": self.shots(),
        })
    }

    /// Pairing in one sentence.
    pub fn words(&self) -> String {
        let Some(start) = self.start else {
            return "frames are paired one after another, without looking at their content".to_owned();
        };
        let offset = match self.offset() {
            0 => "both begin with the same frame".to_owned(),
            late @ 1.. => format!("the distorted video begins {} later", frames(late.unsigned_abs())),
            early => format!("the distorted video begins {} earlier", frames(early.unsigned_abs())),
        };
        let mut words = format!("{offset} (confidence {:.2})", start.confidence);
        for (runs, what, side) in [
            (&self.missing, "dropped", Side::Reference),
            (&self.extra, "doubled", Side::Distorted),
            (&self.frozen, "frozen", Side::Distorted),
            (&self.unlike, "not alike", Side::Distorted),
            (&self.blended, "blended", Side::Distorted),
        ] {
            if runs.frames > 0 {
                words.push_str(&format!("; {} {what}{}", frames(runs.frames), places(runs, side)));
            }
        }
        if self.doubtful.frames > 0 {
            words.push_str(&format!("; the pairing of {} is doubtful", frames(self.doubtful.frames)));
        }
        words
    }
}

/// Where the first runs are.
fn places(runs: &Runs, side: Side) -> String {
    const SHOWN: usize = 4;
    let first = |run: &Run| if side == Side::Reference { run.reference } else { run.distorted };
    let place = |run: &Run| match run.count {
        1 => first(run).to_string(),
        count => format!("{}-{}", first(run), first(run) + count - 1),
    };
    let shown: Vec<String> = runs.listed.iter().take(SHOWN).map(place).collect();
    let more = if runs.listed.len() > SHOWN { ", …" } else { "" };
    format!(" ({side} {}{more})", shown.join(", "))
}

pub(crate) fn frames(count: u64) -> String {
    format!("{count} frame{}", if count == 1 { "" } else { "s" })
}

fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::runs::LISTED;

    #[test]
    fn runs_grow_and_are_cut() {
        let mut findings = Findings::default();
        (10..13).for_each(|frame| findings.add_missing(frame, 10));
        findings.add_missing(20, 17);
        assert_eq!(findings.missing.listed.len(), 2);
        assert_eq!(findings.missing.listed[0], Run { reference: 10, distorted: 10, count: 3 });
        (0..10_000).for_each(|frame| findings.add_extra(3 * frame, 5 * frame));
        assert_eq!((findings.extra.listed.len(), findings.extra.frames), (LISTED, 10_000));
        assert!(findings.json()["duplicated"]["complete"] == false);
    }

    #[test]
    fn words_for_people() {
        let start = Start {
            skip_reference: 5,
            skip_distorted: 0,
            confidence: 0.98,
            likeness: Some(0.99),
            pairs: 50,
            doubtful: false,
        };
        let mut findings = Findings { start: Some(start), ..Findings::default() };
        findings.add_missing(40, 35);
        assert_eq!(
            findings.words(),
            "the distorted video begins 5 frames later (confidence 0.98); 1 frame dropped (reference 40)"
        );
    }

    #[test]
    fn cuts_begin_shots() {
        let mut changes = vec![1.0; 20];
        (changes[0], changes[9]) = (0.0, 30.0);
        let findings = Findings { changes, ..Findings::default() };
        assert_eq!(findings.shots(), [0, 9]);
        assert_eq!(Findings::default().shots(), [] as [u64; 0]);
    }
}
