//! Parts of a clip: what each knows of the pairing, and how that joins.
//!
//! Every part pairs its files from their beginnings, by the same rules, so all find the same pairs. A part keeps those that it scored;
//! joined, they are the pairs of one run, and what a report says about pairing is made of them as in one run.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::compare::{self, Comparability, Outline};
use crate::sync::log::{Log, Noted};

/// What one part knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Share {
    pub known: Comparability,
    pub outlines: [Outline; 2],
    pub log: Log,
    pub complaints: Vec<String>,
}

impl Share {
    pub fn json(&self) -> Value {
        // Such data hold nothing that JSON could not.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The sections of a report that belong to all parts together.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedPairing {
    pub comparability: Value,
    pub pairing: Value,
}

/// Joins what parts know of their pairing, in their order. The reason says why they are no parts of one pair.
pub fn join_shares(shares: &[Value]) -> Result<JoinedPairing, String> {
    let shares = shares.iter().map(|share| Share::deserialize(share).map_err(|error| error.to_string()));
    let mut shares = shares.collect::<Result<Vec<Share>, String>>()?.into_iter();
    let Some(mut all) = shares.next() else { return Err("there are no parts".to_owned()) };
    for share in shares {
        all.append(share)?;
    }
    let mut findings = all.log.findings(0..u64::MAX, all.log.tail.is_some());
    findings.complaints = all.complaints;
    let mut comparability = all.known;
    compare::content(&mut comparability, &findings, &all.outlines);
    Ok(JoinedPairing { comparability: comparability.json(), pairing: findings.json() })
}

impl Share {
    fn append(&mut self, next: Self) -> Result<(), String> {
        let setting = |log: &Log| json!([log.sync, log.start, log.brightness, log.bars, log.laid]);
        if (&self.known, &self.outlines) != (&next.known, &next.outlines) {
            return Err("what is known of the videos differs".to_owned());
        }
        if setting(&self.log) != setting(&next.log) {
            return Err("where they begin, or how they are compared, differs".to_owned());
        }
        // Each part scores its own pairs again where they are doubtful, not the one before.
        let as_paired = |pair: &Noted| Noted { rescored: None, ..*pair };
        if self.log.pairs.last().map(as_paired) != next.log.before.as_ref().map(as_paired) {
            return Err("the pairs of one do not follow those of the other".to_owned());
        }
        let Log { searched_far, pairs, tail, blended, .. } = next.log;
        self.log.pairs.extend(pairs);
        self.log.tail = tail;
        self.log.searched_far |= searched_far;
        if blended.len() > self.log.blended.len() {
            self.log.blended = blended;
        }
        for complaint in next.complaints {
            if !self.complaints.contains(&complaint) {
                self.complaints.push(complaint);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::runs::Alternative;

    fn share(log: Log) -> Value {
        let outline = Outline { width: 64, height: 36, rate: Some(25.0), stated_frames: None };
        let outlines = [outline.clone(), outline];
        Share { known: Comparability::default(), outlines, log, complaints: Vec::new() }.json()
    }

    /// Each part scores its own doubtful pairs again; joined, they say what one run says.
    #[test]
    fn scores_of_alternatives_join() {
        let pair = |at: u64| {
            let doubtful = (3..9).contains(&at);
            Noted {
                reference: at,
                distorted: at,
                doubt: doubtful.then_some(Alternative::Shift(1)),
                rescored: doubtful.then_some([90.0 + 0.1 * at as f64, 80.3 + 0.7 * at as f64]),
                ..Noted::default()
            }
        };
        let whole = Log { pairs: (0..12).map(pair).collect(), ..Log::default() };
        for cut in 1..12u64 {
            let mut second = whole.part(cut..12, true);
            second.before = second.before.map(|before| Noted { rescored: None, ..before });
            let parts = [share(whole.part(0..cut, false)), share(second)];
            let joined = join_shares(&parts).unwrap();
            let one = join_shares(&[share(whole.clone())]).unwrap();
            assert_eq!(joined.pairing["doubtful"], one.pairing["doubtful"], "{cut}");
            assert_eq!(joined.pairing["doubtful"]["runs"][0]["rescored"], 6);
            assert!(joined.pairing["doubtful"]["mean_change"].as_f64().unwrap() < -2.0);
        }
    }
}
