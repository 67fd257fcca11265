//! Detectors beside a run: what they saw of its frames, and the faults that follow.

use serde::Deserialize;
use serde_json::Value;
use visus_diagnose::{Finding, FrameFacts, Watch, judge};
use visus_engine::PairObserver;
use visus_metrics::Pair;
use visus_report::score::{FaultWarning, WarningRegion};
use visus_video::Format;

/// Detectors that look at the pairs of a run.
#[derive(Debug)]
pub(crate) struct FaultObserver {
    watch: Watch,
    first: u64,
    /// The first pair that nobody needs to look at.
    end: Option<u64>,
}

impl FaultObserver {
    /// For the pairs from `from` up to, not including, `to`.
    pub fn new(format: &Format, from: u64, to: Option<u64>) -> Self {
        let first = from.saturating_sub(Watch::REACH);
        let end = to.map(|to| to.saturating_add(Watch::REACH));
        Self { watch: Watch::new(format, first), first, end }
    }

    /// What was seen of the scored pairs.
    pub fn finish(&self, format: &Format, from: u64, frames: u64) -> Option<Faults> {
        let (first, facts) = self.watch.finish();
        let start = usize::try_from(from - first).ok()?;
        let end = start.checked_add(usize::try_from(frames).ok()?)?;
        let facts = facts.get(start..end)?.to_vec();
        Some(Faults::new(format, from, facts))
    }
}

impl PairObserver for FaultObserver {
    fn observe(&self, index: u64, pair: Pair<'_>) {
        if index >= self.first && self.end.is_none_or(|end| index < end) {
            self.watch.look(index, pair.reference, pair.distorted);
        }
    }

    fn reach(&self) -> u64 {
        Watch::REACH
    }
}

/// What detectors found.
#[derive(Clone, Debug)]
pub struct Faults {
    format: Format,
    facts: Vec<FrameFacts>,
    /// In the order of their frames.
    pub findings: Vec<Finding>,
}

impl Faults {
    fn new(format: &Format, first: u64, facts: Vec<FrameFacts>) -> Self {
        let findings = judge(format.width(), format.height(), first, &facts);
        Self { format: *format, facts, findings }
    }

    /// The findings as a report has them.
    pub fn warnings(&self) -> Vec<FaultWarning> {
        self.findings.iter().map(|finding| warning(finding, &self.format)).collect()
    }

    /// What a part of a clip carries, so that the faults of the whole can be found.
    pub(crate) fn share(&self) -> Value {
        serde_json::to_value(&self.facts).unwrap_or_default()
    }
}

fn warning(finding: &Finding, format: &Format) -> FaultWarning {
    let region = finding.area.map(|area| WarningRegion {
        x: area.x,
        y: area.y,
        width: area.width,
        height: area.height,
        place: area.place(format.width(), format.height()).to_owned(),
    });
    FaultWarning {
        kind: finding.kind.name().to_owned(),
        from_frame: finding.from,
        to_frame: finding.to,
        region,
        confidence: (f64::from(finding.confidence) * 100.0).round() / 100.0,
        text: finding.text.clone(),
    }
}

/// The warnings of a whole clip, from what its parts carry, in their order.
pub fn join_diagnosis(format: &Format, shares: &[Value]) -> Result<Vec<FaultWarning>, String> {
    let mut facts = Vec::new();
    for share in shares {
        let part = Vec::<FrameFacts>::deserialize(share).map_err(|error| error.to_string())?;
        facts.extend(part);
    }
    Ok(Faults::new(format, 0, facts).warnings())
}
