//! The pairs of long encoded videos, found once while planning.
//!
//! Who scores a range of an encoded film would have to decode and pair all that precedes it. Instead, both videos are read to
//! their ends while planning, without being scored, and every range gets the pairs that it needs: `pairs/…/KEY.json` beside the
//! plan, named by the key of its task. A worker then decodes from the key frame before its range. One that finds no such file, or
//! frames other than those that were paired, pairs its range from the beginning; its result is the same.
//!
//! Reading films takes a good third of the time that scoring them takes, on the machine that plans, so it has a limit; what is
//! beyond it is cut as if no pairs could be found.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::bundle::{Head, Task, name};
use super::cost::{self, Film, Piece};
use super::folder::PlanFolder;
use super::place::StageArgs;
use super::plan::Look;
use super::score::Scorer;
use crate::visus::draw::Bar;

/// What it takes to find pairs.
pub struct Finder<'a> {
    pub folder: &'a PlanFolder,
    pub head: &'a Head,
    /// About this many seconds of one core.
    pub budget: f64,
    pub piece: Piece,
    pub stage: &'a StageArgs,
    pub quiet: bool,
}

/// A film that is worth it.
struct Candidate {
    key: String,
    /// The whole of it.
    task: Task,
    film: Film,
}

/// The number of pairs of each film that has been read, by its key.
pub type Found = HashMap<String, u64>;

/// A name for a whole pair of videos and how they are scored.
pub fn key(task: &Task, head: &Head) -> String {
    name(&format!("pairs\n{}", task.key(&head.common, &head.score)))
}

impl Finder<'_> {
    /// Reads the longest films first. One that cannot be read is left to whoever scores it.
    pub fn find(&self, looks: &[Look]) -> Result<Found> {
        let candidates = self.candidates(looks);
        if candidates.is_empty() {
            return Ok(Found::new());
        }
        let (scorer, bar) = (Scorer::new(self.head)?, Bar::new(self.quiet));
        bar.start(candidates.iter().map(|candidate| candidate.film.frames()).sum());
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let take = || {
            while let Some((place, candidate)) = {
                let place = next.fetch_add(1, Ordering::Relaxed);
                candidates.get(place).map(|candidate| (place, candidate))
            } {
                let pairs = self.known(candidate).and_then(|known| match known {
                    Some(pairs) => Ok(Some(pairs)),
                    None => self.read(&scorer, candidate, (place + 1, candidates.len()), &bar),
                });
                found.lock().unwrap_or_else(PoisonError::into_inner).push((&candidate.key, pairs));
            }
        };
        // A film keeps two decoders and the thread that pairs busy.
        let lanes = std::thread::available_parallelism().map_or(1, usize::from) / 2;
        std::thread::scope(|scope| (0..lanes.max(1)).for_each(|_| drop(scope.spawn(take))));
        bar.clear();
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter();
        found.filter_map(|(key, pairs)| pairs.transpose().map(|pairs| Ok((key.clone(), pairs?)))).collect()
    }

    /// Films that would be cut, the dearest first, as many as the budget allows.
    fn candidates(&self, looks: &[Look]) -> Vec<Candidate> {
        let mut seen = HashSet::new();
        let candidate = |look: &Look| {
            let film = Film::of(look.shape, look.shape?.frames)?;
            let task = look.whole();
            let is_cut =
                look.is_encoded() && cost::cut(Some(film), self.head.ns_per_pixel, self.piece).len() > 1;
            is_cut.then(|| Candidate { key: key(&task, self.head), task, film })
        };
        let mut all: Vec<Candidate> =
            looks.iter().filter_map(candidate).filter(|film| seen.insert(film.key.clone())).collect();
        all.sort_by(|a, b| b.film.decoding().total_cmp(&a.film.decoding()));
        let mut left = self.budget;
        all.retain(|candidate| {
            left -= candidate.film.decoding();
            left >= 0.0
        });
        all
    }

    /// What an earlier plan found, if it was cut in the same way.
    fn known(&self, candidate: &Candidate) -> Result<Option<u64>> {
        let Some(pairs) = self.folder.pair_count(&candidate.key)? else { return Ok(None) };
        for part in self.parts(candidate, pairs) {
            if !self.folder.has_pairs(&part.key(&self.head.common, &self.head.score))? {
                return Ok(None);
            }
        }
        Ok(Some(pairs))
    }

    fn parts(&self, candidate: &Candidate, pairs: u64) -> Vec<Task> {
        let film = candidate.film.with_frames(pairs);
        let ranges = cost::cut(Some(film), self.head.ns_per_pixel, self.piece);
        ranges.into_iter().map(|range| Task { range, ..candidate.task.clone() }).collect()
    }

    fn read(
        &self,
        scorer: &Scorer,
        candidate: &Candidate,
        (number, of): (usize, usize),
        bar: &Bar,
    ) -> Result<Option<u64>> {
        let say = |text: String| {
            if !self.quiet {
                bar.say(&format!("visus: {}: {text}", candidate.task.distorted().display()));
            }
        };
        say(format!("finding its pairs ({number} of {of})"));
        let found = match scorer.find_pairs(&candidate.task, self.stage, &mut || bar.add(1)) {
            Ok(found) => found,
            Err(reason) => {
                say(format!("{reason:#}; its ranges are paired when they are scored"));
                return Ok(None);
            }
        };
        for part in self.parts(candidate, found.end()) {
            let (from, to) = part.range.unwrap_or((0, None));
            let key = part.key(&self.head.common, &self.head.score);
            self.folder.put_pairs(&key, &found.part(from, to))?;
        }
        self.folder.put_pair_count(&candidate.key, found.end())?;
        Ok(Some(found.end()))
    }
}
