//! What became of every request of a soak.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What became of one request.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// It ended as it had to: with the right figure, with a refusal where one was due, or cancelled as asked.
    Right,
    /// The server had no room for it, and said so.
    Busy,
    /// It failed while one of the server's children was killed, with this error, which says so.
    Hit(String),
    /// What must not be.
    Fault(String),
}

/// Counts of one kind of request.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    right: u64,
    busy: u64,
    hit: u64,
    faults: u64,
    longest: Duration,
}

#[derive(Debug, Default)]
pub struct Tally {
    counts: Mutex<BTreeMap<&'static str, Count>>,
    faults: Mutex<Vec<String>>,
    kills: AtomicU64,
    /// What requests were told whose child was killed; each text once, without its numbers.
    hits: Mutex<BTreeSet<String>>,
}

/// So many faults are shown; the counts have all.
const SHOWN: usize = 20;

impl Tally {
    pub fn add(&self, kind: &'static str, outcome: Outcome, took: Duration) {
        let mut counts = lock(&self.counts);
        let count = counts.entry(kind).or_default();
        count.longest = count.longest.max(took);
        match outcome {
            Outcome::Right => count.right += 1,
            Outcome::Busy => count.busy += 1,
            Outcome::Hit(error) => {
                count.hit += 1;
                lock(&self.hits).insert(without_numbers(&error));
            }
            Outcome::Fault(text) => {
                count.faults += 1;
                let mut faults = lock(&self.faults);
                if faults.len() < SHOWN {
                    eprintln!("!!! {kind}: {text}");
                    faults.push(format!("{kind}: {text}"));
                }
            }
        }
    }

    /// Somebody is about to kill, or has killed, a process of the server's.
    pub fn kill(&self) {
        self.kills.fetch_add(1, Ordering::SeqCst);
    }

    pub fn kills(&self) -> u64 {
        self.kills.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> u64 {
        lock(&self.counts).values().map(|count| count.right + count.busy + count.hit + count.faults).sum()
    }

    pub fn faults(&self) -> Vec<String> {
        lock(&self.faults).clone()
    }

    /// All counts as Markdown.
    pub fn table(&self) -> String {
        let mut text = "| requests | right | busy | hit by a kill | wrong or lost | longest |\n|---|---|---|---|---|---|\n".to_owned();
        for (kind, count) in lock(&self.counts).iter() {
            let Count { right, busy, hit, faults, longest } = count;
            text.push_str(&format!(
                "| {kind} | {right} | {busy} | {hit} | {faults} | {:.1} s |\n",
                longest.as_secs_f64()
            ));
        }
        text.push_str("\nWhat requests were told whose child was killed:\n");
        lock(&self.hits).iter().for_each(|error| text.push_str(&format!("- {error}\n")));
        text
    }
}

/// Numbers and the ends of paths differ from one request to the next.
fn without_numbers(error: &str) -> String {
    let words =
        error.split_whitespace().map(|word| match word.starts_with(['/', '\'', '"']) && word.contains('/') {
            true => "PATH".to_owned(),
            false => word.replace(|c: char| c.is_ascii_digit(), "#"),
        });
    words.collect::<Vec<_>>().join(" ")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_counted_and_kept() {
        let tally = Tally::default();
        tally.add("score", Outcome::Right, Duration::from_secs(1));
        tally.add("score", Outcome::Fault("wrong".to_owned()), Duration::from_secs(2));
        assert_eq!((tally.requests(), tally.faults()), (2, vec!["score: wrong".to_owned()]));
        assert!(tally.table().contains("| score | 1 | 0 | 0 | 1 | 2.0 s |"), "{}", tally.table());
    }
}
