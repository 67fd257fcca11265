//! Progress of many encodes as one number that only grows.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use visus_tune::Event;

use crate::jobs::Context;

/// Counts frames that were encoded, scored or looked at, over all jobs.
pub struct Tally<'a> {
    context: &'a Context,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: u64,
    total: u64,
    encodes: usize,
    at_most: usize,
    part: String,
    latest: HashMap<String, u64>,
    estimate: Option<visus_tune::Estimate>,
}

impl<'a> Tally<'a> {
    pub fn new(context: &'a Context) -> Self {
        Self { context, state: Mutex::new(State::default()) }
    }

    /// What was told before the work began.
    pub fn estimate(&self) -> Option<visus_tune::Estimate> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).estimate.clone()
    }

    pub fn event(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let words = match event {
            Event::Estimate(estimate) => {
                // Every frame is encoded, then scored.
                state.total = state.done + 2 * estimate.frames;
                state.at_most = estimate.encodes;
                let words = format!("at most {} encodes, about {:.0} s", estimate.encodes, estimate.seconds);
                state.estimate = Some(estimate);
                words
            }
            Event::Part { name, index, of } => {
                state.part = format!("{name} ({} of {of}), ", index + 1);
                return;
            }
            Event::Encoding { job, done, .. } => state.step(format!("encoding {job}"), done),
            Event::Scoring { job, done, .. } => {
                self.context.count_frames(state.gained(&format!("scoring {job}"), done));
                state.step(format!("scoring {job}"), done)
            }
            Event::Looking { done, .. } => state.step("looking for shots".to_owned(), done),
            Event::Measured { job, quality, score, kbps, cached } => {
                self.context.live.sample(json!({
                    "job": job, "quality": quality, "score": score, "kbps": kbps, "cached": cached,
                }));
                state.encodes += 1;
                state.latest.retain(|name, _| !name.contains(&job));
                format!("{job} {quality} scores {score:.2}")
            }
            _ => return,
        };
        let count =
            format!("{}{words}; encodes done: {} of at most {}", state.part, state.encodes, state.at_most);
        let total = (state.total >= state.done && state.total > 0).then_some(state.total);
        self.context.progress(state.done, total, count);
    }
}

impl State {
    fn gained(&self, job: &str, done: u64) -> u64 {
        done.saturating_sub(self.latest.get(job).copied().unwrap_or(0))
    }

    fn step(&mut self, job: String, done: u64) -> String {
        self.done += self.gained(&job, done);
        let words = job.clone();
        self.latest.insert(job, done);
        words
    }
}
