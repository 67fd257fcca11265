//! JSON Schemas of this crate's answers, generated from their types.

use visus_report::schema::OutputSchema;

use crate::shots::{PredictedShot, ShotPlan};
use crate::{Comparison, FindAnswer, Ladder};

/// The outputs of this crate.
pub const OUTPUTS: &[OutputSchema] = &[
    OutputSchema::of::<FindAnswer>("search", "The answer of `visus search --json`."),
    OutputSchema::of::<Comparison>("compare", "The answer of `visus compare --json` and of run_compare."),
    OutputSchema::of::<Ladder>("ladder", "The answer of `visus ladder` and the manifest of run_ladder."),
    OutputSchema::of::<ShotPlan>(
        "shot-plan",
        "The answer of `visus shots --target --json` and of run_tune_per_shot.",
    ),
    OutputSchema::of::<Vec<PredictedShot>>("shots", "The answer of `visus shots --json` without a target."),
];
