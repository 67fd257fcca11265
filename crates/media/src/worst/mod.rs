//! The worst frames: which, what they look like, and what is wrong with them.
//!
//! [`select`] chooses among scores and the findings of detectors, [`show`] reads the frames again from an opened pair, measures them and draws a triptych
//! of each: reference, distorted, amplified difference, cropped to the worst region.

mod measure;
mod picture;

use std::collections::VecDeque;

use visus_diagnose::Finding;
use visus_engine::Outcome;
use visus_video::{Frame, Source};

use crate::MediaError;
use crate::convert::Shape;

pub use measure::Measures;
pub use picture::Region;
pub(crate) use picture::rgb;

/// A bad frame, shown and described.
#[derive(Clone, Debug)]
pub struct WorstFrame {
    /// The pair's number in the report.
    pub index: u64,
    pub score: f64,
    /// Which shot it is in, from 0.
    pub shot: usize,
    /// What the triptych shows, in luma samples.
    pub region: Region,
    /// Reference, distorted and difference side by side.
    pub png: Vec<u8>,
    pub measures: Measures,
    /// What is wrong, in a few words.
    pub what: String,
    /// The same with frame, score and region.
    pub description: String,
}

/// A frame that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    pub index: u64,
    pub score: f64,
    pub shot: usize,
}

/// Frames nearer than this to a chosen one show the same.
const APART: u64 = 8;
/// How many points a further frame of the same shot must be worse to be preferred.
const SAME_SHOT: f64 = 3.0;

/// Frames for `count` pictures, chosen by scores (index and score) *and* by what detectors found: first one frame of each
/// finding, the most certain first, then those with the lowest scores, spread over shots that begin at the given pairs.
pub fn select(scores: &[(u64, f64)], shots: &[u64], findings: &[Finding], count: usize) -> Vec<Chosen> {
    let shot_of = |index: u64| shots.partition_point(|start| *start <= index).saturating_sub(1);
    let mut named = of_findings(scores, findings, count);
    named.iter_mut().for_each(|chosen| chosen.shot = shot_of(chosen.index));
    let mut chosen = named.clone();
    while chosen.len() < count {
        let far = |index: u64| chosen.iter().all(|other| other.index.abs_diff(index) >= APART);
        let weighed = |(index, score): &(u64, f64)| {
            let shot = shot_of(*index);
            let before = chosen.iter().filter(|other| other.shot == shot).count();
            (score + SAME_SHOT * before as f64, Chosen { index: *index, score: *score, shot })
        };
        let candidates = scores.iter().filter(|(index, score)| far(*index) && score.is_finite()).map(weighed);
        let Some((_, next)) = candidates.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        chosen.push(next);
    }
    chosen[named.len()..].sort_by(|a, b| a.score.total_cmp(&b.score));
    chosen
}

/// The frame of each finding that shows it most clearly, or the listed one next to it. One frame may show several findings.
fn of_findings(scores: &[(u64, f64)], findings: &[Finding], count: usize) -> Vec<Chosen> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then((b.to - b.from).cmp(&(a.to - a.from))));
    let mut chosen: Vec<Chosen> = Vec::new();
    for finding in sorted {
        let shown = chosen.iter().any(|chosen| finding.covers(chosen.index));
        let listed = scores.iter().filter(|(index, score)| finding.covers(*index) && score.is_finite());
        let nearest = listed.min_by_key(|(index, _)| index.abs_diff(finding.peak));
        if let Some((index, score)) = nearest.filter(|_| !shown && chosen.len() < count) {
            chosen.push(Chosen { index: *index, score: *score, shot: 0 });
        }
    }
    chosen
}

/// The listed scores of a model or metric.
pub fn scores_of(outcome: &Outcome, column: &str) -> Vec<(u64, f64)> {
    let listed = |(index, _): &(u64, f64)| index.is_multiple_of(outcome.subsample.max(1));
    outcome.scores.column(column).map_or(Vec::new(), |column| column.iter().filter(listed).collect())
}

/// A pair and its neighbours.
pub(crate) struct Moment {
    pub reference: [Option<Frame>; 3],
    pub distorted: [Option<Frame>; 3],
}

/// How frames are shown.
#[derive(Clone, Debug)]
pub struct ShowOptions {
    /// Format and range of the sources.
    pub shape: Shape,
    /// The longest side of one of the three pictures.
    pub side: usize,
    /// What the score is called.
    pub score_name: String,
    /// What detectors found in the clip: frames that it covers are described by it.
    pub findings: Vec<Finding>,
}

/// Reads both sources from their beginning and shows the chosen frames, in the given order. `progress` is told how many of
/// them are done.
pub fn show(
    reference: &mut dyn Source,
    distorted: &mut dyn Source,
    chosen: &[Chosen],
    options: &ShowOptions,
    mut progress: impl FnMut(usize) -> bool,
) -> Result<Vec<WorstFrame>, MediaError> {
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    order.sort_by_key(|at| chosen[*at].index);
    let mut shown: Vec<Option<WorstFrame>> = vec![None; chosen.len()];
    let mut window = Window::new(reference, distorted);
    for (done, at) in order.into_iter().enumerate() {
        if !progress(done) {
            return Err(MediaError::Cancelled);
        }
        let moment = window.at(chosen[at].index)?;
        shown[at] = Some(one(&moment, chosen[at], options)?);
    }
    Ok(shown.into_iter().flatten().collect())
}

fn one(moment: &Moment, chosen: Chosen, options: &ShowOptions) -> Result<WorstFrame, MediaError> {
    let missing = || MediaError::Picture(format!("frame {} is not there any more", chosen.index));
    let (reference, distorted) =
        moment.reference[1].as_ref().zip(moment.distorted[1].as_ref()).ok_or_else(missing)?;
    let measures = Measures::of(moment);
    let named: Vec<&Finding> = options.findings.iter().filter(|found| found.covers(chosen.index)).collect();
    let region = picture::worst_region(reference, distorted, options.side);
    let png = picture::triptych(reference, distorted, region, chosen, options)?;
    let what = what_is_wrong(&measures, &named, options.shape);
    let description = measures.describe(chosen.index, &options.score_name, chosen.score, (&what, region));
    let Chosen { index, score, shot } = chosen;
    Ok(WorstFrame { index, score, shot, region, png, measures, what, description })
}

/// What detectors found in the frame, or else what its measurements show.
fn what_is_wrong(measures: &Measures, named: &[&Finding], shape: Shape) -> String {
    if named.is_empty() {
        return measures.summary();
    }
    let one = |found: &&Finding| match found.area {
        Some(area) => {
            let place = area.place(shape.format.width(), shape.format.height());
            format!("{} ({place}, {}x{} at {},{})", found.what, area.width, area.height, area.x, area.y)
        }
        None => found.what.clone(),
    };
    named.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The last pairs that were read.
struct Window<'a> {
    sources: [&'a mut dyn Source; 2],
    next: u64,
    held: VecDeque<(u64, [Frame; 2])>,
}

impl<'a> Window<'a> {
    fn new(reference: &'a mut dyn Source, distorted: &'a mut dyn Source) -> Self {
        Self { sources: [reference, distorted], next: 0, held: VecDeque::new() }
    }

    /// The pair `index` and those before and after it, as far as they exist.
    fn at(&mut self, index: u64) -> Result<Moment, MediaError> {
        let first = index.saturating_sub(1);
        while self.next < first {
            // In turn: a pair's sources hold little, and neither may run ahead of the other.
            for source in &mut self.sources {
                source.skip(1)?;
            }
            self.next += 1;
        }
        while self.next <= index + 1 && self.read()? {}
        let take = |side: usize, wanted: Option<u64>| {
            let wanted = wanted?;
            self.held.iter().find(|(at, _)| *at == wanted).map(|(_, frames)| frames[side].clone())
        };
        let around = [index.checked_sub(1), Some(index), Some(index + 1)];
        Ok(Moment { reference: around.map(|at| take(0, at)), distorted: around.map(|at| take(1, at)) })
    }

    fn read(&mut self) -> Result<bool, MediaError> {
        let mut frames = [Frame::new(*self.sources[0].format()), Frame::new(*self.sources[1].format())];
        for (source, frame) in self.sources.iter_mut().zip(&mut frames) {
            if !source.read(frame)? {
                return Ok(false);
            }
        }
        self.held.push_back((self.next, frames));
        self.next += 1;
        while self.held.len() > 3 {
            self.held.pop_front();
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_spread() {
        // Two shots: the first is bad throughout, the second has one bad moment.
        let mut scores: Vec<(u64, f64)> = (0..100).map(|index| (index, 60.0)).collect();
        (50..100).for_each(|index| scores[index as usize].1 = 95.0);
        scores[10].1 = 40.0;
        scores[11].1 = 41.0;
        scores[70].1 = 61.0;
        let chosen = select(&scores, &[0, 50], &[], 3);
        let indices: Vec<u64> = chosen.iter().map(|chosen| chosen.index).collect();
        assert_eq!(indices[0], 10);
        assert!(!indices.contains(&11) && indices.contains(&70), "{indices:?}");
        assert_eq!(chosen.iter().find(|chosen| chosen.index == 70).map(|chosen| chosen.shot), Some(1));
    }

    #[test]
    fn there_may_be_fewer() {
        assert_eq!(select(&[(0, 50.0), (1, 40.0)], &[0], &[], 5).len(), 1);
        assert!(select(&[], &[], &[], 5).is_empty());
    }

    #[test]
    fn findings_come_first() {
        let scores: Vec<(u64, f64)> = (0..100).map(|index| (index, 90.0 - (index % 7) as f64)).collect();
        let finding = |kind, from, to, peak, confidence| Finding {
            kind,
            from,
            to,
            peak,
            area: None,
            confidence,
            what: String::new(),
            text: String::new(),
        };
        let findings = [
            finding(visus_diagnose::Kind::Hue, 20, 30, 25, 0.6),
            finding(visus_diagnose::Kind::Brightness, 22, 26, 23, 0.55),
            finding(visus_diagnose::Kind::Frozen, 60, 70, 66, 0.9),
        ];
        let chosen: Vec<u64> =
            select(&scores, &[0], &findings, 4).iter().map(|chosen| chosen.index).collect();
        assert_eq!(chosen[..2], [66, 25], "the second finding is shown by the first one's frame");
        assert_eq!(chosen.len(), 4);
    }
}
