//! The server's memory, threads, descriptors and processes over time, and whether any of it was left behind.

use std::fs;
use std::time::{Duration, Instant};

use super::server::{MEMORY, Server};
use super::tally::Tally;

/// Memory that is not counted in the budget: code, threads' stacks, kept results, what the allocator has not given back.
const ALLOWED: u64 = MEMORY + MEMORY / 10;
/// How far memory may have grown from the second quarter to the last one: results are kept for an hour.
const GROWTH: u64 = 96;
/// Beyond a fresh server's: what is made once and stays.
const MORE_DESCRIPTORS: u64 = 8;
const MORE_THREADS: u64 = 4;
const EVERY: Duration = Duration::from_secs(1);
/// Lines of the table.
const LINES: usize = 10;

/// One look.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: Duration,
    requests: u64,
    /// In MiB.
    resident: u64,
    peak: u64,
    /// Of that, results that are kept, as the server counts them.
    results: u64,
    threads: u64,
    descriptors: u64,
    processes: u64,
}

pub struct Watch<'a> {
    server: &'a Server,
    started: Instant,
    fresh: Sample,
    samples: Vec<Sample>,
}

impl<'a> Watch<'a> {
    /// The server must be fresh: what it has now is what it may have at the end.
    pub fn new(server: &'a Server) -> Self {
        let mut watch =
            Self { server, started: Instant::now(), fresh: Sample::default(), samples: Vec::new() };
        watch.fresh = watch.sample(0);
        watch
    }

    fn sample(&self, requests: u64) -> Sample {
        let proc = format!("/proc/{}", self.server.pid);
        let status = fs::read_to_string(format!("{proc}/status")).unwrap_or_default();
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
        };
        let entries = |name: &str| fs::read_dir(format!("{proc}/{name}")).map_or(0, Iterator::count) as u64;
        Sample {
            at: self.started.elapsed(),
            requests,
            resident: number("VmRSS").unwrap_or(0) >> 10,
            peak: number("VmHWM").unwrap_or(0) >> 10,
            results: self.result_bytes() >> 20,
            threads: number("Threads").unwrap_or(0),
            descriptors: entries("fd"),
            processes: self.working() as u64,
        }
    }

    fn result_bytes(&self) -> u64 {
        let Ok(answer) = self.server.client.ask("GET", "/metrics", None) else { return 0 };
        let text = answer.body.as_str().unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("visus_result_bytes "));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    }

    fn working(&self) -> usize {
        self.server.processes().iter().filter(|process| !process.is_janitor()).count()
    }

    /// Looks every second.
    pub fn look_until(&mut self, end: Instant, tally: &Tally) {
        self.started = Instant::now();
        while Instant::now() < end && self.server.is_alive() {
            std::thread::sleep(EVERY.min(end.saturating_duration_since(Instant::now())));
            self.samples.push(self.sample(tally.requests()));
        }
    }

    /// What is wrong with what was seen, once everything had time to come to rest.
    pub fn verdict(&mut self, patience: Duration) -> Vec<String> {
        let until = Instant::now() + patience;
        let mut last = self.sample(0);
        while !self.leftovers(&last).is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(200));
            last = self.sample(0);
        }
        let mut faults = self.leftovers(&last);
        last.requests = self.samples.last().map_or(0, |sample| sample.requests);
        last.at = self.started.elapsed();
        let left = self.server.processes().into_iter().filter(|process| !process.is_janitor());
        faults.extend(left.map(|process| format!("still runs: {}", process.command)));
        if last.peak > ALLOWED {
            faults.push(format!(
                "{} MiB were taken, {ALLOWED} MiB are allowed ({MEMORY} and a tenth)",
                last.peak
            ));
        }
        if let Some((early, late)) = self.growth().filter(|(early, late)| *late > early + GROWTH) {
            faults.push(format!("memory grows: {early} MiB in the second quarter, {late} MiB in the last"));
        }
        self.samples.push(last);
        faults
    }

    fn leftovers(&self, now: &Sample) -> Vec<String> {
        let mut faults = Vec::new();
        let mut check = |what: &str, found: u64, allowed: u64| {
            if found > allowed {
                faults.push(format!("{found} {what} at rest, {allowed} are allowed"));
            }
        };
        check("descriptors", now.descriptors, self.fresh.descriptors + MORE_DESCRIPTORS);
        check("threads", now.threads, self.fresh.threads + MORE_THREADS);
        check("processes", now.processes, 0);
        faults
    }

    /// The median of resident memory in the second and in the last quarter.
    fn growth(&self) -> Option<(u64, u64)> {
        let quarter = self.samples.len() / 4;
        let median = |from: usize, to: usize| {
            let mut sizes: Vec<u64> =
                self.samples.get(from..to)?.iter().map(|sample| sample.resident).collect();
            sizes.sort_unstable();
            sizes.get(sizes.len() / 2).copied()
        };
        Some((median(quarter, 2 * quarter)?, median(3 * quarter, self.samples.len())?))
    }

    /// What was seen, as Markdown: the fresh server, a few moments, the server at rest.
    pub fn table(&self) -> String {
        let mut text = "| seconds | requests | memory MiB | peak MiB | results MiB | threads | descriptors | children |\n|---|---|---|---|---|---|---|---|\n".to_owned();
        let step = self.samples.len().div_ceil(LINES).max(1);
        let (rest, during) =
            self.samples.split_last().map_or((None, &[][..]), |(last, rest)| (Some(last), rest));
        let some = during.iter().skip(step - 1).step_by(step);
        let line = |sample: &Sample, when: String| {
            let Sample { requests, resident, peak, results, threads, descriptors, processes, .. } = sample;
            format!(
                "| {when} | {requests} | {resident} | {peak} | {results} | {threads} | {descriptors} | {processes} |\n"
            )
        };
        text.push_str(&line(&self.fresh, "fresh".to_owned()));
        some.for_each(|sample| text.push_str(&line(sample, sample.at.as_secs().to_string())));
        rest.into_iter().for_each(|sample| text.push_str(&line(sample, "at rest".to_owned())));
        text
    }
}
