//! Runs the body of a fuzz target within an ordinary test: seeds are changed, and what leads to a new outcome is kept.
//!
//! A body takes any bytes and says in words what became of them, mostly the text of an error. Words that were not seen before,
//! numbers and names left out, stand for code that was not reached before; such an input joins the corpus, and is changed
//! further. This needs no instrumented build, so it runs wherever the tests run. With instrumented builds, `fuzz/` hands the same
//! bodies to libFuzzer.
//!
//! By itself a run has a fixed number of rounds, so that a failure repeats. `cargo xtask fuzz` sets [`SECONDS`] and [`CORPUS`]:
//! then it lasts that long, and the corpus is kept from run to run.

#![forbid(unsafe_code)]

mod corpus;
mod mutate;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use corpus::Corpus;
use mutate::Dice;

/// How long each target runs. For `cargo xtask fuzz`.
pub const SECONDS: &str = "VISUS_FUZZ_SECONDS";
/// The folder with a corpus for each target that grows. For `cargo xtask fuzz`.
pub const CORPUS: &str = "VISUS_FUZZ_CORPUS";
/// Longer inputs are cut: what is wrong with large files is nearly always wrong with small ones.
const LONGEST: usize = 64 << 10;
/// The longest part of an outcome that tells it from others.
const TOLD_APART: usize = 160;

/// A fuzz target: its name, its body, and where to begin.
#[derive(Debug)]
pub struct Fuzz {
    target: &'static str,
    body: fn(&[u8]) -> String,
    seeds: Vec<Vec<u8>>,
    words: Vec<&'static [u8]>,
    rounds: u64,
}

impl Fuzz {
    pub fn new(target: &'static str, body: fn(&[u8]) -> String) -> Self {
        Self { target, body, seeds: Vec::new(), words: Vec::new(), rounds: 1000 }
    }

    /// A valid input.
    #[must_use]
    pub fn seed(mut self, seed: impl Into<Vec<u8>>) -> Self {
        self.seeds.push(seed.into());
        self
    }

    #[must_use]
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.seeds.extend(seeds);
        self
    }

    /// Pieces that mean something to the parser.
    #[must_use]
    pub fn words(mut self, words: &[&'static [u8]]) -> Self {
        self.words.extend_from_slice(words);
        self
    }

    /// How many changed inputs are tried when nobody says how long.
    #[must_use]
    pub fn rounds(mut self, rounds: u64) -> Self {
        self.rounds = rounds;
        self
    }

    /// Runs it.
    ///
    /// # Panics
    /// Panics if the body does, with the input made as short as it could be.
    pub fn run(self) {
        let seconds = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok());
        let folder = std::env::var_os(CORPUS).map(|folder| std::path::Path::new(&folder).join(self.target));
        let corpus = Corpus::open(folder, &committed(self.target), &self.seeds);
        self.run_on(corpus, seconds.map(Duration::from_secs_f64));
    }

    fn run_on(&self, mut corpus: Corpus, length: Option<Duration>) {
        let mut seen = HashSet::new();
        let known = corpus.inputs().to_vec();
        seen.extend(known.iter().map(|input| self.outcome(&corpus, input)));
        let mut dice = Dice::new(self.target, length.is_some());
        let (started, mut tried) = (Instant::now(), 0);
        let goes_on = |tried: u64| length.map_or(tried < self.rounds, |length| started.elapsed() < length);
        while goes_on(tried) {
            let input = dice.changed(corpus.inputs(), &self.words, LONGEST);
            tried += 1;
            let outcome = self.outcome(&corpus, &input);
            if seen.insert(outcome.clone()) {
                let shorter = shrink(input, |input| self.outcome(&corpus, input) == outcome);
                corpus.keep(shorter);
            }
        }
        let (all, new) = (corpus.inputs().len(), corpus.inputs().len() - known.len());
        println!("fuzz {}: {tried} inputs, {} outcomes, corpus of {all}, {new} new", self.target, seen.len());
    }

    /// What becomes of an input, as far as it tells inputs apart.
    fn outcome(&self, corpus: &Corpus, input: &[u8]) -> String {
        corpus.remember(input);
        match catch_unwind(AssertUnwindSafe(|| (self.body)(input))) {
            Ok(words) => signature(&words),
            Err(_) => {
                let fails = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| (self.body)(input))).is_err();
                let input = shrink(input.to_vec(), fails);
                let place = corpus.report(&input);
                panic!("fuzz target {} fails on b\"{}\"{place}", self.target, input.escape_ascii());
            }
        }
    }
}

/// Where inputs of a target lie that belong to the project.
fn committed(target: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// The words of an outcome without numbers and quoted names, which differ without meaning anything.
fn signature(words: &str) -> String {
    let mut text = String::new();
    let mut quote = None;
    for c in words.chars() {
        match quote {
            Some(end) => {
                if c == end {
                    quote = None;
                }
                continue;
            }
            None if matches!(c, '"' | '`') => quote = Some(c),
            None => {}
        }
        let c = if c.is_ascii_digit() { '#' } else { c };
        if !(c == '#' && text.ends_with('#')) {
            text.push(c);
        }
        if text.len() >= TOLD_APART {
            break;
        }
    }
    text
}

/// The input without pieces that are not needed for `holds`. Tries a few hundred times at most.
fn shrink(mut input: Vec<u8>, holds: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    const MOST: usize = 300;
    let mut tries = 0;
    let mut piece = input.len() / 2;
    while piece > 0 && tries < MOST {
        let mut at = 0;
        while at < input.len() && tries < MOST {
            let shorter = [&input[..at], &input[(at + piece).min(input.len())..]].concat();
            tries += 1;
            if holds(&shorter) {
                input = shorter;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows a word of four letters, one letter after the other, and panics on it.
    fn picky(input: &[u8]) -> String {
        let right = input.iter().zip(b"fuzz").take_while(|(a, b)| a == b).count();
        assert!(right < 4, "found");
        ["none", "one", "two", "three"][right].to_owned()
    }

    #[test]
    fn new_outcomes_lead_to_what_no_single_change_reaches() {
        let fuzz = Fuzz::new("picky", picky).seed("aaaa").rounds(1_000_000);
        let found = catch_unwind(AssertUnwindSafe(|| {
            fuzz.run_on(Corpus::open(None, "".as_ref(), &fuzz.seeds), None)
        }));
        let text = found.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(*text, "fuzz target picky fails on b\"fuzz\"", "and it is as short as can be");
    }

    #[test]
    fn a_corpus_is_kept_from_run_to_run_and_failures_are_written_down() {
        let place = tempfile::tempdir().unwrap();
        let folder = || Some(place.path().join("known"));
        let body = |input: &[u8]| format!("{} letters", if input.contains(&b'x') { "odd" } else { "plain" });
        let fuzz = Fuzz::new("known", body).seed("abc").words(&[b"x"]).rounds(500);
        fuzz.run_on(Corpus::open(folder(), "".as_ref(), &fuzz.seeds), None);
        let corpus = Corpus::open(folder(), "".as_ref(), &fuzz.seeds);
        assert!(corpus.inputs().iter().any(|input| input == b"x"), "{:?}", corpus.inputs());
        let broken = Fuzz::new("known", |input| panic!("{}", input.len())).seed("abc");
        let failed = catch_unwind(AssertUnwindSafe(|| {
            broken.run_on(Corpus::open(folder(), "".as_ref(), &broken.seeds), None)
        }));
        let text = *failed.unwrap_err().downcast::<String>().unwrap();
        let written = text.rsplit_once(" (in ").unwrap().1.trim_end_matches(')');
        assert!(std::path::Path::new(written).exists(), "{text}");
    }

    #[test]
    fn numbers_and_names_do_not_tell_outcomes_apart() {
        assert_eq!(signature("line 12: \"abc\" is 3.5"), signature("line 4711: \"x\" is 0.25"));
        assert_ne!(signature("too long"), signature("too short"));
        assert!(signature(&"x".repeat(10_000)).len() <= TOLD_APART);
    }
}
