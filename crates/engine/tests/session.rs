//! Promises of a session: the scores of a run, early scores, bounded frames, clear errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use visus_engine::{
    Cancel, ClipInfo, EngineError, Event, Flow, FrameRange, ModelSpec, Outcome, Plan, PushSession, Settings,
    Side, Silent, Sink, run,
};
use visus_metrics::Level;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Buffer, Chroma, Format, Frame};

const FRAMES: u64 = 9;

fn format() -> Format {
    Format::new(96, 64, Chroma::C420, 8).unwrap()
}

fn clips() -> [Clip; 2] {
    let clip = || Clip::scene(format(), FRAMES, 5);
    [clip(), clip().distorted(Distortion::Blocking { step: 30 })]
}

fn plan() -> Plan {
    let models = [ModelSpec::version("vmaf_v0.6.1"), ModelSpec::version("vmaf_b_v0.6.3").named("boot")];
    Plan::new(&models, &["float_motion".parse().unwrap(), "psnr".parse().unwrap()], true).unwrap()
}

fn settings(threads: usize) -> Settings {
    Settings { threads, backend: Level::Scalar.into(), ..Settings::default() }
}

fn session(settings: &Settings, cancel: &Cancel, sink: Box<dyn Sink + Send>) -> PushSession {
    PushSession::new(&plan(), ClipInfo::from(format()), settings, cancel, sink).unwrap()
}

fn push_all(settings: &Settings) -> Result<Outcome, EngineError> {
    let mut session = session(settings, &Cancel::new(), Box::new(Silent));
    let [reference, distorted] = clips();
    for (index, (reference, distorted)) in (0..).zip(reference.frames().zip(distorted.frames())) {
        assert_eq!(session.push(reference, distorted)?, index);
    }
    session.finish()
}

fn pulled(settings: &Settings) -> Outcome {
    let [reference, distorted] = clips();
    run(&plan(), Box::new(reference), Box::new(distorted), settings, &Cancel::new(), &mut Silent).unwrap()
}

/// Everything a result says, as text.
fn text(outcome: &Outcome) -> String {
    let mut text = format!("{} {} {}\n", outcome.first_frame, outcome.frames, outcome.identical);
    for column in outcome.scores.columns() {
        let value = |(index, value): (u64, f64)| format!(" {index}:{:016x}", value.to_bits());
        text.push_str(&format!("{}{}\n", column.name(), column.iter().map(value).collect::<String>()));
    }
    text
}

#[test]
fn pushed_frames_have_the_scores_of_a_run() {
    for range in [FrameRange::All, FrameRange::First(4), FrameRange::Part { from: 3, to: Some(6) }] {
        for subsample in [1, 3] {
            let settings = |threads| Settings { range, subsample, ..settings(threads) };
            let want = text(&pulled(&settings(2)));
            for threads in [0, 1, 2, 7] {
                let outcome = push_all(&settings(threads)).unwrap();
                assert_eq!(text(&outcome), want, "{range:?}, every {subsample}, {threads} threads");
            }
        }
    }
}

#[test]
fn scores_are_there_before_the_end() {
    let whole = pulled(&settings(1));
    for threads in [0, 1, 3] {
        let mut session = session(&settings(threads), &Cancel::new(), Box::new(Silent));
        let [reference, distorted] = clips();
        for (index, (reference, distorted)) in (0..).zip(reference.frames().zip(distorted.frames())) {
            session.push(reference, distorted).unwrap();
            session.settle().unwrap();
            let get = |name: &str, index| session.scores().column(name).unwrap().get(index);
            let want = |name: &str, index| whole.scores.column(name).unwrap().get(index);
            // What looks at its own frame alone is known at once, motion with the next frame.
            assert_eq!(get("integer_vif_scale0", index), want("integer_vif_scale0", index));
            assert!(get("vmaf", index).is_none());
            if let Some(before) = index.checked_sub(1) {
                assert_eq!(get("vmaf", before), want("vmaf", before));
                assert_eq!(get("integer_motion2", before), want("integer_motion2", before));
            }
        }
        assert_eq!(session.pushed(), FRAMES);
        assert_eq!(text(&session.finish().unwrap()), text(&whole));
    }
}

/// Memory that counts how much of it is alive.
struct Counted {
    bytes: Vec<u8>,
    alive: Arc<AtomicUsize>,
}

impl Buffer for Counted {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A copy of the frame in foreign memory.
fn foreign(frame: &Frame, alive: &Arc<AtomicUsize>) -> Frame {
    alive.fetch_add(1, Ordering::SeqCst);
    let buffer = Counted { bytes: frame.bytes().to_vec(), alive: Arc::clone(alive) };
    let layouts = [0, 1, 2].map(|plane| frame.plane_layout(plane));
    Frame::wrap(*frame.format(), Box::new(buffer), layouts).unwrap()
}

#[test]
fn foreign_frames_are_neither_copied_nor_piled_up() {
    for threads in [0, 1, 3] {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut session = session(&settings(threads), &Cancel::new(), Box::new(Silent));
        let [reference, distorted] = clips();
        let mut most = 0;
        for round in 0..60 {
            let (a, b) = (reference.frame(round % FRAMES), distorted.frame(round % FRAMES));
            session.push(foreign(&a, &alive), foreign(&b, &alive)).unwrap();
            most = most.max(alive.load(Ordering::SeqCst));
        }
        // Per side: two pairs in flight for each worker, each with the two that metrics may look back at, and the newest.
        assert!(most <= 2 * (3 * 2 * threads + 3), "{most} frames alive with {threads} threads");
        assert_eq!(session.finish().unwrap().frames, 60);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn one_frame_is_enough_and_none_is_an_error() {
    for threads in [0, 1, 64] {
        let mut one = session(&settings(threads), &Cancel::new(), Box::new(Silent));
        let [reference, distorted] = clips();
        one.push(reference.frame(0), distorted.frame(0)).unwrap();
        let outcome = one.finish().unwrap();
        assert!(outcome.scores.column("vmaf").unwrap().get(0).is_some());
        let none = session(&settings(threads), &Cancel::new(), Box::new(Silent));
        assert!(matches!(none.finish(), Err(EngineError::NoFrames)));
        drop(session(&settings(threads), &Cancel::new(), Box::new(Silent)));
    }
}

#[test]
fn a_frame_of_another_format_is_refused_and_the_session_goes_on() {
    let mut session = session(&settings(1), &Cancel::new(), Box::new(Silent));
    let frame = || clips()[0].frame(0);
    session.push(frame(), frame()).unwrap();
    let other = Frame::new(Format::new(96, 66, Chroma::C420, 8).unwrap());
    let error = session.push(frame(), other).unwrap_err();
    assert!(matches!(error, EngineError::WrongFrame { side: Side::Distorted, index: 1, .. }), "{error:?}");
    session.push(frame(), frame()).unwrap();
    let outcome = session.finish().unwrap();
    assert_eq!((outcome.frames, outcome.identical), (2, true));
}

#[test]
fn a_fired_cancel_ends_it_and_it_stays_ended() {
    for threads in [0, 2] {
        let cancel = Cancel::new();
        let mut cancelled = session(&settings(threads), &cancel, Box::new(Silent));
        let frame = || clips()[0].frame(0);
        cancelled.push(frame(), frame()).unwrap();
        cancel.fire();
        assert!(matches!(cancelled.push(frame(), frame()), Err(EngineError::Cancelled)));
        assert!(matches!(cancelled.push(frame(), frame()), Err(EngineError::SessionFailed)));
        assert!(matches!(cancelled.finish(), Err(EngineError::Cancelled)));
    }
}

#[test]
fn a_sink_hears_of_every_frame_once_and_can_stop_it() {
    for threads in [0, 2] {
        let (send, heard) = std::sync::mpsc::channel();
        let sink = move |event: Event<'_>| {
            if let Event::Frame { index, .. } = event {
                send.send(index).unwrap();
            }
            Flow::Continue
        };
        let mut listened = session(&settings(threads), &Cancel::new(), Box::new(sink));
        let [reference, distorted] = clips();
        for (reference, distorted) in reference.frames().zip(distorted.frames()) {
            listened.push(reference, distorted).unwrap();
            listened.poll().unwrap();
        }
        listened.finish().unwrap();
        assert_eq!(heard.iter().collect::<Vec<_>>(), (0..FRAMES).collect::<Vec<_>>());
        let stop = |event: Event<'_>| match event {
            Event::Progress { .. } => Flow::Stop,
            _ => Flow::Continue,
        };
        let mut stopped = session(&settings(threads), &Cancel::new(), Box::new(stop));
        let frame = || clips()[0].frame(0);
        let result = stopped.push(frame(), frame()).and_then(|_| stopped.settle());
        assert!(matches!(result, Err(EngineError::Cancelled)), "{result:?}");
    }
}

#[test]
fn a_session_moves_between_threads() {
    let mut session = session(&settings(2), &Cancel::new(), Box::new(Silent));
    let [reference, distorted] = clips();
    for index in 0..FRAMES {
        let (reference, distorted) = (reference.frame(index), distorted.frame(index));
        session = std::thread::spawn(move || {
            session.push(reference, distorted).unwrap();
            session
        })
        .join()
        .unwrap();
    }
    assert_eq!(text(&session.finish().unwrap()), text(&pulled(&settings(2))));
}
