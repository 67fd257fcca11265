//! Looking at the pairs that are scored, beside the metrics and on the same frames.

use std::fmt::Debug;

use visus_metrics::Pair;

/// Something that looks at every pair of a run while it is in memory. It changes no score.
pub trait PairObserver: Debug + Send + Sync {
    /// Looks at a pair. Called once for each pair that is measured, in any order, on the workers' threads.
    fn observe(&self, index: u64, pair: Pair<'_>);

    /// Pairs on both sides of a part of a clip that it must have seen as well.
    fn reach(&self) -> u64 {
        0
    }
}
