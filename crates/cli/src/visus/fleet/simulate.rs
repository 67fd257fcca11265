//! How long a plan would take on many workers, by simulation.
//!
//! A scheduler hands a shard to every worker that is free, in order. Workers are unequal: their speeds are spread
//! log-normally, and one in fifty is three times slower. A worker dies after an exponential time; its shard is started again
//! after a while, before those that nobody has begun, and only the bundle that it was at is lost. The ideal is all work divided by
//! all speed; what is above it is starting, loss, and waiting at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bundle::{Bundle, Plan};
use super::cost::{Sizes, balance};

/// How many pairs are simulated: those of the plan, repeated.
const PAIRS: usize = 1_000_000;
/// Numbers of workers in the table.
const WORKERS: [usize; 4] = [10, 100, 1_000, 10_000];
/// Shards for each worker: enough that the last ones are short, few enough that starting them costs little.
pub const SHARDS_PER_WORKER: usize = 20;
/// Mean time until a worker dies, in seconds.
const LIFE: f64 = 6.0 * 3600.0;
/// Spread of the logarithm of speeds.
const SPREAD: f64 = 0.15;
/// One in so many workers is slower by [`SLOWNESS`].
const STRAGGLERS: u64 = 50;
const SLOWNESS: f64 = 3.0;
/// Time to start a worker on a shard, in seconds.
const START: f64 = 2.0;

/// Time until the shard of a dead worker can be started again, in seconds.
const BACKOFF: f64 = 10.0;

/// A table of makespans, in words.
pub fn table(plan: &Plan) -> String {
    let costs: Vec<f64> = plan.bundles.iter().map(Bundle::cost).collect();
    let repeat = (PAIRS as f64 / plan.head.pairs.max(1) as f64).max(1.0).ceil() as usize;
    let all: Vec<f64> = costs.iter().copied().cycle().take(costs.len() * repeat).collect();
    let mut text = format!(
        "{} pairs like these, {:.0} hours of one core like this one's\nworkers     shards     ideal  simulated  above\n",
        plan.head.pairs * repeat,
        all.iter().sum::<f64>() / 3600.0
    );
    for workers in WORKERS {
        let shards = (workers * SHARDS_PER_WORKER).min(all.len());
        let run = simulate(&all, workers, shards, Sizes::Falling, 1);
        text.push_str(&format!(
            "{workers:>7} {shards:>10} {:>8.2}h {:>9.2}h {:>5.1}%\n",
            run.ideal / 3600.0,
            run.makespan / 3600.0,
            100.0 * (run.makespan / run.ideal - 1.0)
        ));
    }
    text
}

/// What a simulation found, in seconds.
#[derive(Clone, Copy, Debug)]
struct Run {
    ideal: f64,
    makespan: f64,
}

/// A small generator of random numbers; the same seed gives the same run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn speed(&mut self) -> f64 {
        let usual = (SPREAD * self.normal()).exp();
        if self.next().is_multiple_of(STRAGGLERS) { usual / SLOWNESS } else { usual }
    }
}

fn simulate(costs: &[f64], workers: usize, shards: usize, sizes: Sizes, seed: u64) -> Run {
    let mut random = Random(seed);
    let speeds: Vec<f64> = (0..workers).map(|_| random.speed()).collect();
    let ideal = costs.iter().sum::<f64>() / speeds.iter().sum::<f64>();
    let mut tasks_of = vec![Vec::new(); shards];
    for (task, shard) in balance(costs, shards, sizes).into_iter().enumerate() {
        tasks_of[shard].push(costs[task]);
    }
    // Times are whole microseconds, so that a heap can order them.
    let micros = |seconds: f64| (seconds * 1e6) as u64;
    let mut free: BinaryHeap<Reverse<(u64, usize)>> =
        (0..workers).map(|worker| Reverse((0, worker))).collect();
    let mut queue: std::collections::VecDeque<Vec<f64>> = tasks_of.into();
    let mut again: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let (mut left, mut last) = (Vec::new(), 0);
    while let Some(Reverse((time, worker))) = free.pop() {
        let is_ready = again.peek().is_some_and(|Reverse((ready, _))| *ready <= time || queue.is_empty());
        let (ready, tasks) = match (is_ready, again.peek().copied()) {
            (true, Some(Reverse((ready, place)))) => {
                again.pop();
                (ready, std::mem::take(&mut left[place]))
            }
            _ => match queue.pop_front() {
                Some(tasks) => (0, tasks),
                None => break,
            },
        };
        let begin = time.max(ready) as f64 / 1e6;
        let death = random.exponential(LIFE);
        let (mut spent, mut finished) = (START, 0);
        for cost in &tasks {
            let end = spent + cost / speeds[worker];
            if end > death {
                break;
            }
            (spent, finished) = (end, finished + 1);
        }
        let is_dead = finished < tasks.len();
        let end = micros(begin + if is_dead { death } else { spent });
        if is_dead {
            again.push(Reverse((end + micros(BACKOFF), left.len())));
            left.push(tasks[finished..].to_vec());
        }
        free.push(Reverse((end, worker)));
        last = last.max(end);
    }
    Run { ideal, makespan: last as f64 / 1e6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table's own case: a million pairs of ten seconds in 1080p.
    #[test]
    fn a_million_pairs_come_within_15_percent_of_the_ideal() {
        let costs: Vec<f64> = (0..1_000_000).map(|pair| 3.0 + f64::from(pair % 50) / 10.0).collect();
        for workers in WORKERS {
            let run = simulate(&costs, workers, workers * SHARDS_PER_WORKER, Sizes::Falling, 7);
            let above = run.makespan / run.ideal;
            assert!((1.0..1.15).contains(&above), "{workers} workers: {above}");
        }
    }

    #[test]
    fn one_shard_per_worker_waits_for_stragglers() {
        let costs = vec![10.0; 100_000];
        let coarse = simulate(&costs, 500, 500, Sizes::Even, 3);
        let even = simulate(&costs, 500, 500 * SHARDS_PER_WORKER, Sizes::Even, 3);
        let falling = simulate(&costs, 500, 500 * SHARDS_PER_WORKER, Sizes::Falling, 3);
        assert!(coarse.makespan > 1.5 * even.makespan, "{coarse:?} {even:?}");
        assert!(falling.makespan < even.makespan, "{even:?} {falling:?}");
    }
}
