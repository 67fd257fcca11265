//! Frames that a front end holds already: the same resolution, settings and result as for files.

use visus_engine::{Cancel, ClipInfo, PushSession, Scores, Sink};
use visus_media::Comparability;
use visus_report::part::Asked;
use visus_report::score::InputFacts;
use visus_video::SharedFrame;

use crate::pair::PairInfo;
use crate::run::ScoreResult;
use crate::{Resolved, RunOptions, ScoreError, Selection};

/// Scores pairs of frames that are pushed into it.
///
/// Which frames belong together is the caller's business; frames of another format are refused. Of the options, `from` and
/// `to` have no meaning here, and `threads: Some(0)` computes in the caller's thread.
#[derive(Debug)]
pub struct FrameScorer {
    session: PushSession,
    plan: visus_engine::Plan,
    asked: Asked,
    notes: Vec<String>,
    backend_requested: String,
    inputs: [InputFacts; 2],
}

impl FrameScorer {
    /// `names` is what a report calls the two videos.
    pub fn new(
        selection: &Selection,
        clip: ClipInfo,
        names: [&str; 2],
        options: &RunOptions,
        cancel: &Cancel,
        sink: Box<dyn Sink + Send>,
    ) -> Result<Self, ScoreError> {
        let Resolved { plan, asked, notes } = selection.resolve_clip(&clip.format, clip.frame_rate)?;
        let mut settings = options.settings([0, 0])?;
        settings.threads = options.threads.unwrap_or(settings.threads);
        let session = PushSession::new(&plan, clip, &settings, cancel, sink)?;
        let inputs = names.map(|name| InputFacts::new(name, clip.format, clip.frame_rate));
        Ok(Self { session, plan, asked, notes, backend_requested: options.backend.to_string(), inputs })
    }

    /// Hands over the next pair and says its number; waits while too many are in flight. After an error other than a frame of
    /// a wrong format, the scorer can only be dropped.
    pub fn push(
        &mut self,
        reference: impl Into<SharedFrame>,
        distorted: impl Into<SharedFrame>,
    ) -> Result<u64, ScoreError> {
        Ok(self.session.push(reference, distorted)?)
    }

    /// Pairs that were pushed so far.
    pub fn pushed(&self) -> u64 {
        self.session.pushed()
    }

    /// The scores that are known by now, without waiting.
    pub fn scores(&mut self) -> Result<&Scores, ScoreError> {
        self.session.poll()?;
        Ok(self.session.scores())
    }

    /// Waits for the rest.
    pub fn finish(self) -> Result<ScoreResult, ScoreError> {
        let Self { session, plan, asked, notes, backend_requested, inputs } = self;
        let outcome = session.finish()?;
        let [reference, distorted] = inputs;
        let totals = [Some(outcome.frames); 2];
        let pair = PairInfo::plain(Comparability::default(), Vec::new(), false);
        Ok(ScoreResult {
            plan,
            asked,
            outcome,
            backend_requested,
            reference,
            distorted,
            totals,
            part: None,
            pair,
            faults: None,
            notes,
            tone_mapped: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use visus_engine::Silent;
    use visus_metrics::Level;
    use visus_video::synthetic::{Clip, Distortion};
    use visus_video::{Chroma, Format};

    use super::*;
    use crate::{Columns, ErrorClass, run_sources};

    fn selection() -> Selection {
        Selection::parse(["v0.6.1"], ["psnr"], Columns::ByModel).unwrap()
    }

    #[test]
    fn the_same_scores_as_two_sources() {
        let format = Format::new(96, 64, Chroma::C420, 8).unwrap();
        let reference = Clip::scene(format, 5, 7);
        let distorted = reference.clone().distorted(Distortion::Blocking { step: 24 });
        let options = RunOptions::with_level(Level::detect());
        let plan = selection().resolve_clip(&format, None).unwrap().plan;
        let sources = [reference.clone(), distorted.clone()].map(Box::new);
        let [first, second] = sources;
        let expected = run_sources(&plan, first, second, &options, &Cancel::new(), &mut Silent).unwrap();
        for threads in [None, Some(0), Some(3)] {
            let options = RunOptions { threads, ..options.clone() };
            let (names, sink) = (["a", "b"], Box::new(Silent));
            let mut scorer =
                FrameScorer::new(&selection(), format.into(), names, &options, &Cancel::new(), sink).unwrap();
            for (reference, distorted) in reference.frames().zip(distorted.frames()) {
                scorer.push(reference, distorted).unwrap();
            }
            assert_eq!(scorer.pushed(), 5);
            let result = scorer.finish().unwrap();
            for column in expected.scores.columns() {
                let got = result.outcome.scores.column(column.name()).unwrap();
                assert!(column.iter().eq(got.iter()), "{} with {threads:?} threads", column.name());
            }
            let json = result.json("test");
            assert_eq!(json["provenance"]["distorted"]["file"], "b");
            assert_eq!(json["comparability"]["comparable"], "yes");
        }
    }

    #[test]
    fn a_frame_of_another_format_is_refused_and_the_scorer_goes_on() {
        let [format, other] = [96, 98].map(|width| Format::new(width, 64, Chroma::C420, 8).unwrap());
        let options = RunOptions::with_level(Level::detect());
        let (names, sink) = (["a", "b"], Box::new(Silent));
        let mut scorer =
            FrameScorer::new(&selection(), format.into(), names, &options, &Cancel::new(), sink).unwrap();
        let frame = |format| Clip::scene(format, 1, 7).frame(0);
        let error = scorer.push(frame(format), frame(other)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Request, "{error}");
        scorer.push(frame(format), frame(format)).unwrap();
        assert_eq!(scorer.finish().unwrap().outcome.frames, 1);
    }
}
