//! How much goes into one submission. What has been submitted cannot be called back, so a run ends no sooner than what it
//! has on the device; submissions are as long as the device is quick.
//!
//! Every launch has a cost, roughly nanoseconds on two processor cores. How much slower or faster than that a device is,
//! is learned from every submission that ends.

use std::time::Duration;

/// How long a submission should take: short for people, long against what a submission costs.
const TARGET: Duration = Duration::from_millis(20);
/// How long everything on the device should take.
const QUEUED: Duration = Duration::from_millis(50);
/// Submissions on the device at once: at least so many that it never waits, at most so many that little is left over.
const FEWEST: usize = 2;
pub const MOST: usize = 4;
/// What one submission can teach, as a factor.
const STEP: f64 = 4.0;

/// The speed of a device, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Nanoseconds to a unit of cost.
    nanos: f64,
}

/// A device is slow until it has shown otherwise.
impl Default for Pace {
    fn default() -> Self {
        Self { nanos: 4.0 }
    }
}

impl Pace {
    /// The cost that a submission may have.
    pub fn budget(self) -> f64 {
        TARGET.as_nanos() as f64 / self.nanos
    }

    /// Whether another submission may follow those on the device, of which the cost is given.
    pub fn has_room(self, outstanding: usize, cost: f64) -> bool {
        let queued = Duration::from_nanos((cost * self.nanos) as u64) + TARGET;
        outstanding < FEWEST || (outstanding < MOST && queued <= QUEUED)
    }

    /// Learns from a submission that has ended: slowness at once, speed by and by.
    pub fn learn(&mut self, cost: f64, took: Duration) {
        let nanos = took.as_nanos() as f64 / cost.max(1.0);
        self.nanos = if nanos > self.nanos {
            nanos.min(STEP * self.nanos)
        } else {
            (self.nanos + nanos.max(self.nanos / STEP)) / 2.0
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Submits what the budget allows to a device of some speed.
    fn settled(nanos: f64) -> Pace {
        let mut pace = Pace::default();
        for _ in 0..30 {
            let cost = pace.budget();
            pace.learn(cost, Duration::from_nanos((cost * nanos) as u64));
        }
        pace
    }

    #[test]
    fn submissions_take_as_long_as_they_should_on_any_device() {
        for nanos in [0.001, 0.5, 4.0, 300.0] {
            let took = settled(nanos).budget() * nanos / TARGET.as_nanos() as f64;
            assert!((0.9..1.1).contains(&took), "{nanos}: {took}");
        }
    }

    #[test]
    fn a_slow_device_has_two_submissions_and_none_has_more_than_four() {
        let pace = settled(300.0);
        assert!(pace.has_room(0, 0.0) && pace.has_room(1, 1e12));
        assert!(!pace.has_room(2, 2.0 * pace.budget()));
        let quick = settled(0.001);
        assert!(quick.has_room(3, 1.0) && !quick.has_room(4, 1.0));
    }

    #[test]
    fn one_submission_that_hung_does_not_stop_the_rest() {
        let mut pace = settled(1.0);
        let before = pace.budget();
        pace.learn(before, Duration::from_secs(1000));
        assert!(pace.budget() > before / 5.0, "{} of {before}", pace.budget());
    }
}
