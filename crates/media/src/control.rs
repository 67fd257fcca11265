//! What stays with the caller while a pair is scored: what is known about it, the verdict, and the end of all threads.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use visus_child::StderrTail;
use visus_engine::{Cancel, Side};
use visus_video::Source;

use crate::compare::{self, Comparability, Outline, Verdict};
use crate::decode::first_damage;
use crate::open::Reopen;
use crate::share::Share;
use crate::sync::findings::Findings;
use crate::sync::otherwise::OtherPairs;
use crate::sync::threads::Threads;
use crate::sync::{Shared, lock};
use crate::{Facts, MediaError};

/// Two videos, ready to be scored, and what is known about them.
pub struct OpenPair {
    pub reference: Box<dyn Source>,
    pub distorted: Box<dyn Source>,
    pub control: Control,
}

impl std::fmt::Debug for OpenPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenPair").field("control", &self.control).finish_non_exhaustive()
    }
}

/// Doubtful pairs as the alternative pairs them.
#[derive(Debug)]
pub struct Otherwise {
    pub pair: OpenPair,
    /// For each pair the number of the scored one that it is the alternative of; none for those that are read for the sake of
    /// motion.
    pub stands_for: Vec<Option<u64>>,
}

/// Stays with the caller while the sources are scored: what was found, and the end of all threads and decoders.
#[derive(Debug)]
pub struct Control {
    pub(crate) again: Reopen,
    pub(crate) facts: Arc<[Facts; 2]>,
    pub(crate) conversions: Arc<Vec<(Side, String)>>,
    pub(crate) known: Comparability,
    pub(crate) log: Shared,
    /// The pairs that were scored, and whether the streams ended with them; all that were handed over, if it is not known.
    pub(crate) scored: Mutex<Option<(Range<u64>, bool)>>,
    pub(crate) threads: Arc<Threads>,
    pub(crate) words: [Option<StderrTail>; 2],
    pub(crate) forgive: bool,
    pub(crate) ffmpeg: Option<String>,
}

impl Control {
    pub fn facts(&self) -> &[Facts; 2] {
        &self.facts
    }

    pub fn conversions(&self) -> &[(Side, String)] {
        &self.conversions
    }

    /// The doubtful ones among the scored pairs, opened once more as the alternative pairs them; `None` where nothing is doubtful or
    /// the videos can be read only once.
    pub fn open_otherwise(&self, cancel: &Cancel) -> Result<Option<Otherwise>, MediaError> {
        let (scored, _) = self.range();
        let log = lock(&self.log);
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(log.pairs.len());
        let others = OtherPairs::of(&log.pairs, place(scored.start)..place(scored.end));
        drop(log);
        let OtherPairs { pairs, stands_for } = others;
        if pairs.is_empty() {
            return Ok(None);
        }
        let pair = self.again.open(&self.facts, pairs, cancel)?;
        Ok(pair.map(|pair| Otherwise { pair, stands_for }))
    }

    /// Notes the score of a doubtful pair and what it would be as the alternative pairs it.
    pub fn rescored(&self, index: u64, scores: [f64; 2]) {
        let mut log = lock(&self.log);
        if let Some(pair) = usize::try_from(index).ok().and_then(|index| log.pairs.get_mut(index)) {
            pair.rescored = Some(scores);
        }
    }

    /// From now on tells of these pairs only, and of the ends of the streams only if they `ended` with them. What was read ahead
    /// is a matter of time and must not show in a report.
    pub fn scored(&self, pairs: Range<u64>, ended: bool) {
        *self.scored.lock().unwrap_or_else(PoisonError::into_inner) = Some((pairs, ended));
    }

    /// What pairing has found so far.
    pub fn findings(&self) -> Findings {
        let (scored, ended) = self.range();
        let mut findings = lock(&self.log).findings(scored, ended);
        if self.forgive {
            let complaint =
                |words: &Option<StderrTail>| words.as_ref().and_then(|words| first_damage(&words.text()));
            findings.complaints = self.words.iter().filter_map(complaint).collect();
        }
        findings
    }

    /// What was known before a frame was looked at.
    fn known(&self) -> Comparability {
        let mut all = self.known.clone();
        for (side, words) in self.conversions.iter() {
            all.add(Verdict::Yes, "conversion", format!("{side}: {words}"));
        }
        all
    }

    fn outlines(&self) -> [Outline; 2] {
        self.facts.each_ref().map(Outline::of)
    }

    /// What a part of a clip carries of the pairing, for [`join_shares`](crate::join_shares): everything about the pairs that
    /// were scored.
    pub fn share(&self) -> Value {
        let (scored, ended) = self.range();
        let log = lock(&self.log).part(scored, ended);
        Share { known: self.known(), outlines: self.outlines(), log, complaints: self.findings().complaints }
            .json()
    }

    fn range(&self) -> (Range<u64>, bool) {
        let scored = self.scored.lock().unwrap_or_else(PoisonError::into_inner).clone();
        scored.unwrap_or((0..u64::MAX, true))
    }

    /// The verdict by what is known so far.
    pub fn comparability(&self) -> Comparability {
        let mut all = self.known();
        compare::content(&mut all, &self.findings(), &self.outlines());
        all
    }

    /// Ends decoders and threads, waits for them, and gives the last word.
    pub fn finish(&self) -> (Findings, Comparability) {
        self.threads.end();
        (self.findings(), self.comparability())
    }

    /// Sections for a report: comparability, pairing, conversions, inputs.
    pub fn report(&self) -> Vec<(String, Value)> {
        let conversions: Vec<Value> = self
            .conversions
            .iter()
            .map(|(side, words)| json!({ "input": side.to_string(), "conversion": words }))
            .collect();
        vec![
            ("comparability".to_owned(), self.comparability().json()),
            ("pairing".to_owned(), self.findings().json()),
            ("conversions".to_owned(), Value::Array(conversions)),
            (
                "media".to_owned(),
                json!({
                    "ffmpeg": self.ffmpeg,
                    "reference": self.facts[0].json(),
                    "distorted": self.facts[1].json(),
                }),
            ),
        ]
    }
}
