//! Promises of the pipeline: the same result for any number of threads, bounded memory, cancellation, clear ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use visus_engine::{
    Cancel, EngineError, Event, FeatureSpec, Flow, FrameRange, ModelSpec, Outcome, Plan, Settings, Side,
    Silent, run,
};
use visus_metrics::Level;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, Frame, Info, ReadError, Source};

fn format() -> Format {
    Format::new(96, 64, Chroma::C420, 8).unwrap()
}

fn reference(frames: u64) -> Clip {
    Clip::scene(format(), frames, 5)
}

fn distorted(frames: u64) -> Clip {
    reference(frames).distorted(Distortion::Blocking { step: 30 })
}

fn plan() -> Plan {
    let models = [ModelSpec::version("vmaf_v0.6.1"), ModelSpec::version("vmaf_b_v0.6.3").named("boot")];
    Plan::new(&models, &["float_motion".parse().unwrap()], true).unwrap()
}

fn settings(threads: usize) -> Settings {
    Settings { threads, backend: Level::Scalar.into(), ..Settings::default() }
}

/// Everything a result says, as text.
fn text(outcome: &Outcome) -> String {
    let column = |column: &visus_engine::Column| {
        let values: Vec<String> =
            column.iter().map(|(index, value)| format!("{index}:{:016x}", value.to_bits())).collect();
        format!("{} {}\n", column.name(), values.join(" "))
    };
    outcome.scores.columns().iter().map(column).collect()
}

fn score(settings: &Settings, frames: u64) -> Outcome {
    run(
        &plan(),
        Box::new(reference(frames)),
        Box::new(distorted(frames)),
        settings,
        &Cancel::new(),
        &mut Silent,
    )
    .unwrap()
}

#[test]
fn the_number_of_threads_does_not_show() {
    let one = score(&settings(1), 9);
    assert_eq!(one.frames, 9);
    assert!(!one.identical);
    for threads in [2, 3, 7, 16] {
        assert_eq!(text(&score(&settings(threads), 9)), text(&one), "{threads} threads");
    }
}

#[test]
fn several_threads_on_one_frame_do_not_show() {
    let one = score(&settings(1), 1);
    for threads in [2, 5, 16] {
        assert_eq!(text(&score(&settings(threads), 1)), text(&one), "{threads} threads");
    }
}

#[test]
fn subsampling_lists_fewer_frames_with_the_same_motion() {
    let all = score(&settings(2), 9);
    let some = score(&Settings { subsample: 4, ..settings(2) }, 9);
    let indices: Vec<u64> = some.scores.column("vmaf").unwrap().iter().map(|(index, _)| index).collect();
    assert_eq!(indices, [0, 4, 8]);
    for (index, value) in some.scores.column("vmaf").unwrap().iter() {
        assert_eq!(Some(value), all.scores.column("vmaf").unwrap().get(index));
    }
}

#[test]
fn skips_and_limits() {
    let plan = Plan::new(&[], &["vif".parse::<FeatureSpec>().unwrap()], true).unwrap();
    let limited =
        Settings { range: FrameRange::First(2), skip_reference: 3, skip_distorted: 3, ..settings(2) };
    let score = |settings: &Settings| {
        run(&plan, Box::new(reference(9)), Box::new(distorted(9)), settings, &Cancel::new(), &mut Silent)
            .unwrap()
    };
    let (part, whole) = (score(&limited), score(&settings(2)));
    assert_eq!(part.frames, 2);
    assert_eq!(part.shorter, None);
    let vif = |outcome: &Outcome, index| outcome.scores.column("integer_vif_scale0").unwrap().get(index);
    assert_eq!(vif(&part, 1), vif(&whole, 4));
}

#[test]
fn the_shorter_side_is_named() {
    for (frames, side) in [((3, 5), Some(Side::Reference)), ((5, 3), Some(Side::Distorted)), ((3, 3), None)] {
        let (a, b) = (Box::new(reference(frames.0)), Box::new(distorted(frames.1)));
        let outcome = run(&plan(), a, b, &settings(2), &Cancel::new(), &mut Silent).unwrap();
        assert_eq!((outcome.frames, outcome.shorter), (3, side));
    }
}

#[test]
fn no_frames_is_an_error() {
    let skip_all = Settings { skip_reference: 100, ..settings(1) };
    for (frames, settings) in [(0, settings(1)), (3, skip_all)] {
        let result = run(
            &plan(),
            Box::new(reference(frames)),
            Box::new(distorted(frames)),
            &settings,
            &Cancel::new(),
            &mut Silent,
        );
        assert!(matches!(result, Err(EngineError::NoFrames)), "{result:?}");
    }
}

#[test]
fn identical_inputs_are_recognised() {
    let outcome = run(
        &plan(),
        Box::new(reference(2)),
        Box::new(reference(2)),
        &settings(2),
        &Cancel::new(),
        &mut Silent,
    )
    .unwrap();
    assert!(outcome.identical);
}

#[test]
fn different_formats_are_refused() {
    let other = Clip::scene(Format::new(96, 66, Chroma::C420, 8).unwrap(), 2, 5);
    let result =
        run(&plan(), Box::new(reference(2)), Box::new(other), &settings(1), &Cancel::new(), &mut Silent);
    assert!(matches!(result, Err(EngineError::Incompatible { .. })), "{result:?}");
}

#[test]
fn too_small_pictures_are_refused_with_the_limit() {
    let clip = || Box::new(Clip::scene(Format::new(16, 16, Chroma::C420, 8).unwrap(), 2, 5));
    let error =
        run(&plan(), clip(), clip(), &settings(1), &Cancel::new(), &mut Silent).unwrap_err().to_string();
    assert!(error.contains("adm cannot score 16x16 4:2:0 8-bit"), "{error}");
}

#[test]
fn events_come_in_order_and_once() {
    let mut frames = Vec::new();
    let mut started = None;
    let mut sink = |event: Event<'_>| {
        match event {
            Event::Started { total, .. } => started = total,
            Event::Frame { index, scores } => {
                assert!(scores.column("vmaf").unwrap().get(index).is_some());
                frames.push(index);
            }
            _ => {}
        }
        Flow::Continue
    };
    run(&plan(), Box::new(reference(6)), Box::new(distorted(6)), &settings(3), &Cancel::new(), &mut sink)
        .unwrap();
    assert_eq!(started, Some(6));
    assert_eq!(frames, [0, 1, 2, 3, 4, 5]);
}

/// A clip without end that counts what is taken from it.
struct Endless {
    clip: Clip,
    taken: Arc<AtomicU64>,
}

impl Source for Endless {
    fn format(&self) -> &Format {
        self.clip.format()
    }
    fn name(&self) -> &str {
        "endless"
    }
    fn info(&self) -> &Info {
        self.clip.info()
    }
    fn frames_read(&self) -> u64 {
        self.taken.load(Ordering::SeqCst)
    }
    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        *frame = self.clip.frame(self.taken.fetch_add(1, Ordering::SeqCst) % 5);
        Ok(true)
    }
    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        Ok(count)
    }
    fn total_frames(&self) -> Option<u64> {
        None
    }
}

#[test]
fn readers_do_not_run_ahead_of_the_pool() {
    let taken = Arc::new(AtomicU64::new(0));
    let endless = |clip: Clip| Box::new(Endless { clip, taken: Arc::clone(&taken) });
    let (a, b) = (endless(reference(5)), endless(distorted(5)));
    let ahead = AtomicU64::new(0);
    let mut sink = |event: Event<'_>| {
        let Event::Progress { done } = event else { return Flow::Continue };
        ahead.fetch_max(taken.load(Ordering::SeqCst) - 2 * done, Ordering::SeqCst);
        if done == 60 { Flow::Stop } else { Flow::Continue }
    };
    let result = run(&plan(), a, b, &settings(2), &Cancel::new(), &mut sink);
    assert!(matches!(result, Err(EngineError::Cancelled)));
    // Two inputs; per input two workers, two places in the queue, history, one being read, one ahead; and rows on their way.
    assert!(ahead.into_inner() <= 2 * (2 * 2 + 2 + 2) + 2 * 4, "frames in flight are bounded");
}

/// Waits for a word that never comes, as a silent pipe does.
struct Stuck {
    format: Format,
    info: Info,
    never: Receiver<()>,
    _keep: Sender<()>,
}

impl Stuck {
    fn new() -> Self {
        let (keep, never) = channel();
        Self { format: format(), info: Info::default(), never, _keep: keep }
    }
}

impl Source for Stuck {
    fn format(&self) -> &Format {
        &self.format
    }
    fn name(&self) -> &str {
        "stuck"
    }
    fn info(&self) -> &Info {
        &self.info
    }
    fn frames_read(&self) -> u64 {
        0
    }
    fn read(&mut self, _frame: &mut Frame) -> Result<bool, ReadError> {
        let _ = self.never.recv();
        Ok(false)
    }
    fn skip(&mut self, _count: u64) -> Result<u64, ReadError> {
        Ok(0)
    }
    fn total_frames(&self) -> Option<u64> {
        None
    }
}

#[test]
fn a_fired_cancel_ends_every_wait() {
    for stuck_side in [Side::Reference, Side::Distorted] {
        let cancel = Cancel::new();
        let trigger = cancel.clone();
        let firing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            trigger.fire();
            Instant::now()
        });
        let (a, b): (Box<dyn Source>, Box<dyn Source>) = match stuck_side {
            Side::Reference => (Box::new(Stuck::new()), Box::new(distorted(3))),
            Side::Distorted => (Box::new(reference(3)), Box::new(Stuck::new())),
        };
        let result = run(&plan(), a, b, &settings(2), &cancel, &mut Silent);
        let fired = firing.join().unwrap();
        assert!(matches!(result, Err(EngineError::Cancelled)), "{result:?}");
        // Not a measure of speed: without the switch it would wait for ever.
        assert!(fired.elapsed() < Duration::from_secs(20));
    }
}

/// Breaks off after two frames.
struct Broken(Endless);

impl Source for Broken {
    fn format(&self) -> &Format {
        self.0.format()
    }
    fn name(&self) -> &str {
        "broken"
    }
    fn info(&self) -> &Info {
        self.0.info()
    }
    fn frames_read(&self) -> u64 {
        self.0.frames_read()
    }
    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        if self.0.frames_read() == 2 {
            let (file, expected, got) = ("broken".to_owned(), 100, 7);
            return Err(ReadError::Truncated { file, frame: 2, whole_frames: 2, byte: 200, expected, got });
        }
        self.0.read(frame)
    }
    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        Ok(count)
    }
    fn total_frames(&self) -> Option<u64> {
        None
    }
}

#[test]
fn a_truncated_input_is_an_error_that_says_where() {
    let broken = || Box::new(Broken(Endless { clip: reference(5), taken: Arc::default() }));
    let result = run(&plan(), Box::new(reference(5)), broken(), &settings(2), &Cancel::new(), &mut Silent);
    let error = result.unwrap_err();
    assert!(matches!(error, EngineError::Read { side: Side::Distorted, .. }), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("after 2 whole frames"), "{cause}");
    let only_whole = Settings { range: FrameRange::First(2), ..settings(2) };
    run(&plan(), Box::new(reference(5)), broken(), &only_whole, &Cancel::new(), &mut Silent).unwrap();
}

/// What no model reads is left out, what is left is the same, and naming the metric brings everything back.
#[test]
fn a_lean_plan_gives_the_same_scores_but_for_those_that_nobody_reads() {
    let columns = |plan: &Plan| {
        let outcome = run(
            plan,
            Box::new(reference(4)),
            Box::new(distorted(4)),
            &Settings::default(),
            &Cancel::new(),
            &mut Silent,
        )
        .unwrap();
        let column = |column: &visus_engine::Column| {
            let bits: Vec<u64> = column.iter().map(|(_, value)| value.to_bits()).collect();
            (column.name().to_owned(), bits)
        };
        outcome.scores.columns().iter().map(column).collect::<Vec<_>>()
    };
    let models = || [ModelSpec::version("vmaf_v0.6.1")];
    let whole = columns(&Plan::new(&models(), &[], true).unwrap());
    let lean = columns(&Plan::new(&models(), &[], true).unwrap().lean());
    let is_left = |name: &str| !["integer_aim", "integer_adm3"].contains(&name);
    assert_eq!(whole.iter().filter(|(name, _)| !is_left(name)).count(), 2);
    assert_eq!(lean, whole.iter().filter(|(name, _)| is_left(name)).cloned().collect::<Vec<_>>());
    let asked = Plan::new(&models(), &["adm".parse().unwrap()], true).unwrap().lean();
    assert_eq!(columns(&asked), whole);
}

/// Pictures that differ in chroma alone are not identical, also where no metric looks at chroma.
#[test]
fn a_difference_in_chroma_is_a_difference() {
    let format = Format::new(64, 48, Chroma::C420, 8).unwrap();
    let bytes = |chroma: u8| -> Vec<u8> {
        let frame: Vec<u8> =
            (0..64 * 48 * 3 / 2).map(|i| if i < 64 * 48 { i as u8 } else { chroma }).collect();
        frame.repeat(5)
    };
    let source = |chroma: u8| -> Box<dyn visus_video::Source> {
        let bytes = std::io::Cursor::new(bytes(chroma));
        Box::new(
            visus_video::raw_seekable("memory", bytes, format, visus_video::ChromaRounding::Auto).unwrap(),
        )
    };
    let plan = Plan::new(&[], &["vif".parse().unwrap()], true).unwrap();
    let identical = |chroma| {
        let outcome =
            run(&plan, source(7), source(chroma), &Settings::default(), &Cancel::new(), &mut Silent);
        outcome.unwrap().identical
    };
    assert!(identical(7));
    assert!(!identical(8));
}
