//! Which pairs of a clip a run is about, and which it reads around them.

use crate::Plan;

/// Pairs are counted from the first that both inputs have after their skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first pair that is read: metrics look back at it.
    pub read: u64,
    /// The first pair that is measured: folds look back at its row.
    pub context: u64,
    /// The first pair whose scores are wanted.
    pub from: u64,
    /// The first pair whose scores are not wanted any more.
    pub to: Option<u64>,
    /// Pairs behind the last one that are measured.
    pub after: u64,
}

impl Span {
    /// The first `limit` pairs, with nothing read behind them.
    pub fn first(limit: Option<u64>) -> Self {
        Self { read: 0, context: 0, from: 0, to: limit, after: 0 }
    }

    /// A part of a clip, with `observed` pairs on both sides for an observer. At least one pair behind it is read, to know
    /// whether there is one.
    pub fn part(plan: &Plan, observed: u64, from: u64, to: Option<u64>) -> Self {
        let reach = plan.reach();
        let context = from.saturating_sub(reach.before.max(observed));
        let read = context.saturating_sub(plan.history() as u64);
        Self { read, context, from, to, after: reach.after.max(observed).max(1) }
    }

    pub fn contains(&self, index: u64) -> bool {
        index >= self.from && self.to.is_none_or(|to| index < to)
    }

    pub fn reads(&self, index: u64) -> bool {
        self.to.is_none_or(|to| index < to.saturating_add(self.after))
    }

    /// How many of the span's pairs lie before this one.
    pub fn done_before(&self, index: u64) -> u64 {
        self.to.map_or(index, |to| index.min(to)).saturating_sub(self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_reads_what_metrics_and_folds_look_back_at() {
        let plan = Plan::new(&[crate::ModelSpec::version("vmaf_v1.0.16_hfr_3d0h")], &[], true).unwrap();
        let span = Span::part(&plan, 0, 10, Some(20));
        assert_eq!(span, Span { read: 6, context: 8, from: 10, to: Some(20), after: 2 });
        assert!(span.contains(19) && !span.contains(20) && span.reads(21) && !span.reads(22));
        assert_eq!((span.done_before(8), span.done_before(15), span.done_before(21)), (0, 5, 10));
        assert_eq!(Span::part(&plan, 0, 1, None).read, 0);
        let observed = Span::part(&plan, 6, 10, Some(20));
        assert_eq!(observed, Span { read: 2, context: 4, from: 10, to: Some(20), after: 6 });
    }
}
