//! What is counted, as Prometheus text. Names and buckets are the contract with dashboards that exist already.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The media type of the text format.
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the duration histogram, in seconds.
const BUCKETS: [f64; 10] = [0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// Numbers that somebody else keeps and that are asked for when the text is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges {
    pub queued: u64,
    pub running: u64,
    pub frames: u64,
    pub result_bytes: u64,
    pub reserved_bytes: u64,
}

/// The counters of the scoring endpoints.
#[derive(Debug, Default)]
pub struct Meters(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// By endpoint and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    errors: u64,
    /// How many requests took at most as long as each bound; not summed up.
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

impl Meters {
    /// A scoring request was answered.
    pub fn answered(&self, endpoint: &'static str, status: u16, took: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry((endpoint, status)).or_default() += 1;
        counts.errors += u64::from(status >= 500);
        let seconds = took.as_secs_f64();
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            counts.buckets[bucket] += 1;
        }
        counts.count += 1;
        counts.seconds += seconds;
    }

    /// Everything as text.
    pub fn text(&self, gauges: Gauges) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        counts.write_requests(&mut text);
        single(
            &mut text,
            "vmaf_scoring_errors_total",
            "counter",
            "Scoring requests answered with 500 or above",
            counts.errors,
        );
        counts.write_durations(&mut text);
        single(&mut text, "visus_queue_depth", "gauge", "Jobs that wait for a slot", gauges.queued);
        single(&mut text, "visus_jobs_running", "gauge", "Jobs that run", gauges.running);
        single(&mut text, "visus_frames_scored_total", "counter", "Pairs of frames scored", gauges.frames);
        let kept = "Memory of results that are kept";
        single(&mut text, "visus_result_bytes", "gauge", kept, gauges.result_bytes);
        let reserved = "Memory of the budget that jobs and answers have reserved";
        single(&mut text, "visus_memory_reserved_bytes", "gauge", reserved, gauges.reserved_bytes);
        text
    }
}

impl Counts {
    fn write_requests(&self, text: &mut String) {
        let name = "vmaf_scoring_requests_total";
        head(text, name, "counter", "Scoring requests by endpoint and HTTP status");
        for ((endpoint, status), count) in &self.requests {
            let _ = writeln!(text, "{name}{{endpoint=\"{endpoint}\",status=\"{status}\"}} {count}");
        }
    }

    fn write_durations(&self, text: &mut String) {
        let name = "vmaf_scoring_duration_seconds";
        head(text, name, "histogram", "How long scoring requests took");
        let mut sum = 0;
        for (bound, count) in BUCKETS.iter().zip(self.buckets) {
            sum += count;
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound:?}\"}} {sum}");
        }
        let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(text, "{name}_sum {:?}\n{name}_count {}", self.seconds, self.count);
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn single(text: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(text, name, kind, help);
    let _ = writeln!(text, "{name} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_contract() {
        let meters = Meters::default();
        meters.answered("/v1/score", 200, Duration::from_millis(100));
        meters.answered("/v1/score", 200, Duration::from_secs(1000));
        meters.answered("/v1/score", 500, Duration::from_millis(2400));
        let text =
            meters.text(Gauges { queued: 1, running: 2, frames: 3, result_bytes: 4, reserved_bytes: 5 });
        let expected = "\
# HELP vmaf_scoring_requests_total Scoring requests by endpoint and HTTP status
# TYPE vmaf_scoring_requests_total counter
vmaf_scoring_requests_total{endpoint=\"/v1/score\",status=\"200\"} 2
vmaf_scoring_requests_total{endpoint=\"/v1/score\",status=\"500\"} 1
# HELP vmaf_scoring_errors_total Scoring requests answered with 500 or above
# TYPE vmaf_scoring_errors_total counter
vmaf_scoring_errors_total 1
# HELP vmaf_scoring_duration_seconds How long scoring requests took
# TYPE vmaf_scoring_duration_seconds histogram
vmaf_scoring_duration_seconds_bucket{le=\"0.1\"} 1
vmaf_scoring_duration_seconds_bucket{le=\"0.5\"} 1
vmaf_scoring_duration_seconds_bucket{le=\"1.0\"} 1
vmaf_scoring_duration_seconds_bucket{le=\"2.5\"} 2
vmaf_scoring_duration_seconds_bucket{le=\"5.0\"} 2
vmaf_scoring_duration_seconds_bucket{le=\"10.0\"} 2
vmaf_scoring_duration_seconds_bucket{le=\"30.0\"} 2
vmaf_scoring_duration_seconds_bucket{le=\"60.0\"} 2
vmaf_scoring_duration_seconds_bucket{le=\"120.0\"} 2
vmaf_scoring_duration_seconds_bucket{le=\"300.0\"} 2
vmaf_scoring_duration_seconds_bucket{le=\"+Inf\"} 3
vmaf_scoring_duration_seconds_sum 1002.5
vmaf_scoring_duration_seconds_count 3
# HELP visus_queue_depth Jobs that wait for a slot
# TYPE visus_queue_depth gauge
visus_queue_depth 1
# HELP visus_jobs_running Jobs that run
# TYPE visus_jobs_running gauge
visus_jobs_running 2
# HELP visus_frames_scored_total Pairs of frames scored
# TYPE visus_frames_scored_total counter
visus_frames_scored_total 3
# HELP visus_result_bytes Memory of results that are kept
# TYPE visus_result_bytes gauge
visus_result_bytes 4
# HELP visus_memory_reserved_bytes Memory of the budget that jobs and answers have reserved
# TYPE visus_memory_reserved_bytes gauge
visus_memory_reserved_bytes 5
";
        assert_eq!(text, expected);
    }
}
