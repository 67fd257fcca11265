//! The report of a run that has just ended, by the engine in this process.

use serde_json::Value;
use visus_engine::{Outcome, Plan};

use crate::score::{ScoreFacts, ScoreReport};

pub use crate::score::{IDENTICAL, InputFacts};

/// Everything a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct FullReport<'a> {
    pub version: &'a str,
    pub plan: &'a Plan,
    pub outcome: &'a Outcome,
    pub reference: &'a InputFacts,
    pub distorted: &'a InputFacts,
}

impl FullReport<'_> {
    /// What the report says besides the scores.
    pub fn facts(&self) -> ScoreFacts {
        let inputs = [self.reference.clone(), self.distorted.clone()];
        ScoreFacts::native(self.version, self.plan, self.outcome, inputs)
    }

    /// The report as JSON. What JSON cannot hold (infinities, not a number) is null.
    pub fn json(&self) -> Value {
        ScoreReport::new(&self.facts(), self.outcome).json()
    }
}
