//! Who reads files: one thread that does everything, workers in turn, or threads of their own. The result does not show it.

use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use visus_engine::{
    Cancel, EngineError, Event, FeatureSpec, Flow, ModelSpec, Outcome, Plan, Settings, Side, Silent, Sink,
    run,
};
use visus_metrics::Level;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, Frame, Info, PlaneSet, ReadError, Source, Spread};

/// A clip that never blocks, as a file does not, notes who reads which planes, hands over no others, and may be cut short.
struct File {
    clip: Clip,
    readers: Arc<Mutex<Vec<ThreadId>>>,
    planes: Arc<Mutex<Vec<PlaneSet>>>,
    broken_after: u64,
}

impl Source for File {
    fn format(&self) -> &Format {
        self.clip.format()
    }
    fn name(&self) -> &str {
        "file"
    }
    fn info(&self) -> &Info {
        self.clip.info()
    }
    fn frames_read(&self) -> u64 {
        self.clip.frames_read()
    }
    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.readers.lock().unwrap().push(std::thread::current().id());
        if self.frames_read() == self.broken_after {
            let (file, frame, whole_frames) = ("file".to_owned(), self.broken_after, self.broken_after);
            return Err(ReadError::Truncated { file, frame, whole_frames, byte: 0, expected: 100, got: 7 });
        }
        self.clip.read(frame)
    }
    fn read_planes(
        &mut self,
        frame: &mut Frame,
        planes: PlaneSet,
        _hands: &dyn Spread,
    ) -> Result<bool, ReadError> {
        self.planes.lock().unwrap().push(planes);
        let more = self.read(frame)?;
        for index in (0..3).filter(|index| !planes.range(3).contains(index)) {
            let mut plane = frame.plane_mut_u8(index).unwrap();
            (0..plane.height()).for_each(|y| plane.row_mut(y).fill(99));
        }
        Ok(more)
    }
    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        self.clip.skip(count)
    }
    fn total_frames(&self) -> Option<u64> {
        self.clip.total_frames()
    }
    fn never_blocks(&self) -> bool {
        true
    }
}

/// The two sides of a run and what became of them.
struct Case {
    frames: [u64; 2],
    broken_after: u64,
    settings: Settings,
}

impl Case {
    fn new(threads: usize) -> Self {
        let settings = Settings { threads, backend: Level::Scalar.into(), ..Settings::default() };
        Self { frames: [7, 7], broken_after: u64::MAX, settings }
    }

    fn run(&self, cancel: &Cancel, sink: &mut dyn Sink) -> (Result<Outcome, EngineError>, Vec<ThreadId>) {
        let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true).unwrap();
        let readers = Arc::default();
        let scene = |frames| Clip::scene(Format::new(96, 64, Chroma::C420, 8).unwrap(), frames, 5);
        let file = |clip, broken_after| {
            Box::new(File { clip, readers: Arc::clone(&readers), planes: Arc::default(), broken_after })
        };
        let reference = file(scene(self.frames[0]), u64::MAX);
        let distorted =
            file(scene(self.frames[1]).distorted(Distortion::Blocking { step: 30 }), self.broken_after);
        let result = run(&plan, reference, distorted, &self.settings, cancel, sink);
        let readers = readers.lock().unwrap().clone();
        (result, readers)
    }
}

fn scores(outcome: &Outcome) -> Vec<Vec<(u64, u64)>> {
    let bits = |column: &visus_engine::Column| column.iter().map(|(i, value)| (i, value.to_bits())).collect();
    outcome.scores.columns().iter().map(bits).collect()
}

#[test]
fn one_thread_is_one_and_gives_what_many_give() {
    for (frames, skips) in [([7, 7], [0, 0]), ([7, 5], [0, 0]), ([4, 7], [0, 0]), ([7, 7], [2, 1])] {
        let case = |threads| {
            let mut case = Case { frames, ..Case::new(threads) };
            [case.settings.skip_reference, case.settings.skip_distorted] = skips;
            case.run(&Cancel::new(), &mut Silent)
        };
        let me = std::thread::current().id();
        let (alone, readers) = case(1);
        let alone = alone.unwrap();
        assert!(readers.iter().all(|reader| *reader == me), "the calling thread reads");
        // The last is more than any machine has processors: then workers read.
        for threads in [2, 3, 1 << 12] {
            let (together, readers) = case(threads);
            let together = together.unwrap();
            assert_eq!(scores(&alone), scores(&together));
            assert_eq!((alone.frames, alone.shorter), (together.frames, together.shorter));
            assert!(readers.iter().all(|reader| *reader != me), "with more threads, others read");
        }
    }
}

/// One thread, and more than there are processors.
const THREADS: [usize; 2] = [1, 1 << 12];

#[test]
fn it_stops_when_asked() {
    THREADS.into_iter().for_each(stops_when_asked);
}

fn stops_when_asked(threads: usize) {
    let mut stop = |event: Event<'_>| match event {
        Event::Progress { done: 3 } => Flow::Stop,
        _ => Flow::Continue,
    };
    let long = Case { frames: [400, 400], ..Case::new(threads) };
    let (result, readers) = long.run(&Cancel::new(), &mut stop);
    assert!(matches!(result, Err(EngineError::Cancelled)), "{result:?}");
    assert!(readers.len() < 800 || threads > 1, "the rest is not read");
    let fired = Cancel::new();
    fired.fire();
    let (result, _) = Case::new(threads).run(&fired, &mut Silent);
    assert!(matches!(result, Err(EngineError::Cancelled)), "{result:?}");
}

#[test]
fn a_file_that_ends_early_is_an_error() {
    for threads in THREADS {
        let (result, _) = Case { broken_after: 2, ..Case::new(threads) }.run(&Cancel::new(), &mut Silent);
        let Err(EngineError::Read { side: Side::Distorted, source }) = result else { panic!("{result:?}") };
        assert!(matches!(source, ReadError::Truncated { .. }), "what was said first: {source}");
        let (result, _) = Case { frames: [0, 3], ..Case::new(threads) }.run(&Cancel::new(), &mut Silent);
        assert!(matches!(result, Err(EngineError::NoFrames)), "{result:?}");
    }
}

/// What is asked of both sides, frame by frame, and the scores. The first pictures are identical, the second ones are not.
fn asked(feature: &str, threads: usize) -> ([Vec<PlaneSet>; 2], Outcome) {
    let plan = Plan::new(&[], &[feature.parse::<FeatureSpec>().unwrap()], true).unwrap();
    let reference = Clip::scene(Format::new(640, 400, Chroma::C420, 8).unwrap(), 5, 5);
    let distorted = reference.clone().distorted(Distortion::Freeze { hold: 2 });
    let settings = Settings { threads, backend: Level::detect().into(), ..Settings::default() };
    let noted: [Arc<Mutex<Vec<PlaneSet>>>; 2] = Default::default();
    let source = |clip: &Clip, side: usize| {
        let planes = Arc::clone(&noted[side]);
        let file = File { clip: clip.clone(), readers: Arc::default(), planes, broken_after: u64::MAX };
        Box::new(file) as Box<dyn Source>
    };
    let score = |reference, distorted| {
        run(&plan, reference, distorted, &settings, &Cancel::new(), &mut Silent).unwrap()
    };
    let outcome = score(source(&reference, 0), source(&distorted, 1));
    let whole = score(Box::new(reference.clone()), Box::new(distorted.clone()));
    assert_eq!(scores(&outcome), scores(&whole), "{feature}, {threads} threads");
    (noted.map(|planes| planes.lock().unwrap().clone()), outcome)
}

#[test]
fn planes_that_nobody_looks_at_are_read_until_pictures_differ() {
    for (feature, reference, distorted) in [
        ("vif", PlaneSet::LUMA, PlaneSet::LUMA),
        ("motion", PlaneSet::LUMA, PlaneSet::NONE),
        ("cambi", PlaneSet::NONE, PlaneSet::LUMA),
        ("speed_chroma", PlaneSet::CHROMA, PlaneSet::CHROMA),
        ("psnr", PlaneSet::ALL, PlaneSet::ALL),
    ] {
        let (planes, outcome) = asked(feature, 1);
        for (side, rest) in planes.iter().zip([reference, distorted]) {
            let expected = [PlaneSet::ALL, PlaneSet::ALL, rest, rest, rest];
            assert_eq!(side[..5], expected, "{feature}");
        }
        assert!(!outcome.identical, "{feature}");
        asked(feature, 3);
    }
}
