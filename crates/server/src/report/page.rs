//! Frames in pages, for reports that are too long for one answer.

use serde_json::{Value, json};

use super::ScoreReport;

/// Frames in one page, if nobody says how many.
const PAGE: usize = 100;
/// Frames in one page at most.
pub const MAX_PAGE: usize = 1000;

impl ScoreReport {
    /// Listed frames from index `from` on, at most `count`, and where the next page begins.
    pub fn page(&self, id: &str, from: u64, count: Option<usize>) -> Value {
        let count = count.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let mut listed = self.listed().skip_while(|index| *index < from);
        let frames: Vec<Value> = listed.by_ref().take(count).map(|index| self.frame(index)).collect();
        let next = listed.next().map(|index| format!("visus://jobs/{id}/frames?from={index}&count={count}"));
        json!({
            "job_id": id,
            "frame_count": self.outcome.frames,
            "from": from,
            "count": frames.len(),
            "frames": frames,
            "next": next,
        })
    }
}
