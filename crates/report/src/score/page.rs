//! Frames in pages, for reports that are too long for one answer.

use schemars::JsonSchema;
use serde::Serialize;

use super::ScoreReport;
use super::full::{Frame, FrameScores};

/// Frames on one page, if nobody says how many.
const PAGE: usize = 100;
/// Frames on one page at most.
pub const MAX_PAGE: usize = 1000;

/// Some of the frames of a report.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FramesPage<'a> {
    /// The job that made the report.
    job_id: &'a str,
    /// Pairs of frames that were scored.
    frame_count: u64,
    /// The first frame that was asked for.
    from: u64,
    /// Frames on this page.
    count: usize,
    /// Their scores.
    #[schemars(with = "Vec<FrameScores>")]
    frames: Vec<Frame<'a>>,
    /// Address of the next page; null after the last one.
    next: Option<String>,
}

impl<'a> ScoreReport<'a> {
    /// Listed frames from `from` on, at most `count`, and where the next page begins.
    pub fn page(self, from: u64, count: Option<usize>) -> FramesPage<'a> {
        let count = count.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let id = self.job_id.unwrap_or_default();
        let mut listed = self.listed().skip_while(|index| *index < from);
        let frames: Vec<Frame<'a>> = listed.by_ref().take(count).map(|index| self.frame(index)).collect();
        let next = listed.next().map(|index| format!("visus://jobs/{id}/frames?from={index}&count={count}"));
        FramesPage { job_id: id, frame_count: self.outcome.frames, from, count: frames.len(), frames, next }
    }
}
