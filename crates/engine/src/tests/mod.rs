//! What only a metric of the test's own can show: late folds and workers that die.

use visus_metrics::{
    ClipInfo, Emit, Extractor, Fold, Info, Key, Level, Metric, MetricError, Options, Reach, Spread, Window,
};
use visus_video::synthetic::Clip;
use visus_video::{Chroma, Format, Source};

use crate::{
    Cancel, EngineError, Event, Flow, Outcome, Plan, PushSession, Role, Settings, Silent, Sink, run,
};

static INFO: Info = Info {
    name: "delayed",
    help: "Gives the frame number three frames late.",
    options: &[],
    features: &["delayed"],
    build: |_, options| Ok(Box::new(Delayed::new(options, None))),
};

/// Its fold writes a frame's score when it has seen three more rows.
struct Delayed {
    keys: Vec<Key>,
    panics_at: Option<u64>,
}

impl Delayed {
    fn new(options: &Options, panics_at: Option<u64>) -> Self {
        Self { keys: vec![Key::new("delayed", "delayed", options)], panics_at }
    }
}

impl Metric for Delayed {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn reach(&self) -> Reach {
        Reach { before: 0, after: 3 }
    }

    fn extractor(&self, _clip: &ClipInfo, _level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        Ok(Box::new(FrameNumber(self.panics_at)))
    }

    fn fold(&self, _format: &Format) -> Box<dyn Fold> {
        Box::new(LateFold(Vec::new()))
    }
}

struct FrameNumber(Option<u64>);

impl Extractor for FrameNumber {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        _spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        assert!(self.0 != Some(window.index), "no number for frame {}", window.index);
        raw[0] = window.index as f64;
        Ok(())
    }
}

struct LateFold(Vec<(u64, f64)>);

impl Fold for LateFold {
    fn push(&mut self, index: u64, raw: &[f64], out: &mut dyn Emit) {
        self.0.push((index, raw[0]));
        if self.0.len() > 3 {
            let (index, value) = self.0.remove(0);
            out.score(0, index, value);
        }
    }

    fn finish(&mut self, out: &mut dyn Emit) {
        self.0.drain(..).for_each(|(index, value)| out.score(0, index, value));
    }
}

fn plan(panics_at: Option<u64>) -> Plan {
    let mut plan = Plan::new(&[], &["psnr".parse().unwrap()], true).unwrap();
    let options = Options::parse(INFO.options, &[]).unwrap();
    plan.add_metric(Box::new(Delayed::new(&options, panics_at)), options);
    plan
}

fn clip() -> Clip {
    Clip::scene(Format::new(64, 48, Chroma::C420, 8).unwrap(), 8, 5)
}

fn score(plan: &Plan, threads: usize, sink: &mut dyn Sink) -> Result<Outcome, EngineError> {
    let settings = Settings { threads, ..Settings::default() };
    run(plan, Box::new(clip()), Box::new(clip()), &settings, &Cancel::new(), sink)
}

#[test]
fn a_frame_is_announced_when_the_slowest_fold_is_past_it() {
    for threads in [1, 3] {
        let (mut frames, mut done) = (Vec::new(), 0);
        let mut sink = |event: Event<'_>| {
            match event {
                Event::Frame { index, scores } => {
                    assert_eq!(scores.column("delayed").unwrap().get(index), Some(index as f64));
                    assert!(scores.column("psnr_y").unwrap().get(index).is_some());
                    frames.push((index, done));
                }
                Event::Progress { done: rows } => done = rows,
                Event::Started { .. } => {}
            }
            Flow::Continue
        };
        score(&plan(None), threads, &mut sink).unwrap();
        // Frame n comes with row n + 3, when n + 3 rows are done; the last three come at the end.
        let want: Vec<_> = (0..8).map(|index| (index, (index + 3).min(8))).collect();
        assert_eq!(frames, want, "{threads} threads");
    }
}

#[test]
fn a_worker_that_panics_is_named() {
    for threads in [1, 2, 1 << 12] {
        let error = score(&plan(Some(3)), threads, &mut Silent).unwrap_err();
        assert!(matches!(error, EngineError::Died { who: Role::Worker, .. }), "{error:?}");
        assert_eq!(error.to_string(), "a worker stopped unexpectedly: no number for frame 3");
    }
}

#[test]
fn a_worker_that_panics_ends_a_session() {
    for threads in [0, 1, 3] {
        let settings = Settings { threads, ..Settings::default() };
        let info = ClipInfo::from(*clip().format());
        let plan = plan(Some(3));
        let mut session = PushSession::new(&plan, info, &settings, &Cancel::new(), Box::new(Silent)).unwrap();
        let pushed = clip().frames().try_for_each(|frame| session.push(frame.clone(), frame).map(drop));
        let result = pushed.and_then(|()| session.finish().map(drop));
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "a worker stopped unexpectedly: no number for frame 3", "{threads} threads");
    }
}
