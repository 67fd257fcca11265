//! Whoever dies in a run ends it with an error that names it: never a short result, never "cancelled".

use visus_engine::{
    Cancel, EngineError, FrameRange, ModelSpec, Outcome, Plan, Role, Settings, Side, Silent, run, run_part,
};
use visus_metrics::Level;
use visus_video::synthetic::Clip;
use visus_video::{Chroma, Format, Frame, Info, ReadError, Source};

/// A clip whose reader panics.
struct Fragile {
    clip: Clip,
    /// At this frame, by reading or by skipping.
    panics_at: u64,
    never_blocks: bool,
}

impl Source for Fragile {
    fn format(&self) -> &Format {
        self.clip.format()
    }
    fn name(&self) -> &str {
        "fragile"
    }
    fn info(&self) -> &Info {
        self.clip.info()
    }
    fn frames_read(&self) -> u64 {
        self.clip.frames_read()
    }
    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        assert!(self.frames_read() != self.panics_at, "no frame {}", self.panics_at);
        self.clip.read(frame)
    }
    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        assert!(self.frames_read() + count <= self.panics_at, "cannot skip so far");
        self.clip.skip(count)
    }
    fn total_frames(&self) -> Option<u64> {
        self.clip.total_frames()
    }
    fn never_blocks(&self) -> bool {
        self.never_blocks
    }
}

/// All modes of reading: one thread for everything, workers by turns (more threads than any machine has processors), and
/// readers of their own.
const MODES: [(&str, usize, bool); 4] = [
    ("one thread", 1, true),
    ("workers by turns", 1 << 12, true),
    ("own threads", 2, false),
    ("own threads, one worker", 1, false),
];

struct Case {
    panics_at: [u64; 2],
    threads: usize,
    never_blocks: bool,
}

impl Case {
    fn sources(&self) -> [Box<dyn Source>; 2] {
        let format = Format::new(64, 48, Chroma::C420, 8).unwrap();
        self.panics_at.map(|panics_at| {
            let clip = Clip::scene(format, 9, 5);
            Box::new(Fragile { clip, panics_at, never_blocks: self.never_blocks }) as Box<dyn Source>
        })
    }

    fn settings(&self) -> Settings {
        Settings { threads: self.threads, backend: Level::Scalar.into(), ..Settings::default() }
    }

    fn run(&self, settings: &Settings) -> Result<Outcome, EngineError> {
        let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true).unwrap();
        let [reference, distorted] = self.sources();
        run(&plan, reference, distorted, settings, &Cancel::new(), &mut Silent)
    }
}

#[test]
fn a_reader_that_panics_at_frame_3_is_named_in_every_mode() {
    for (mode, threads, never_blocks) in MODES {
        for (side, panics_at) in [(Side::Reference, [3, 99]), (Side::Distorted, [99, 3])] {
            let case = Case { panics_at, threads, never_blocks };
            let error = case.run(&case.settings()).unwrap_err();
            let EngineError::Died { who: Role::Reader(named), reason } = &error else {
                panic!("{mode}: {error:?}")
            };
            assert_eq!((*named, reason.as_str()), (side, "no frame 3"), "{mode}");
            let text = format!("the reader of the {side} video stopped unexpectedly: no frame 3");
            assert_eq!(error.to_string(), text, "{mode}");
        }
    }
}

#[test]
fn a_reader_that_panics_while_it_skips_is_named_too() {
    for (mode, threads, never_blocks) in MODES {
        let case = Case { panics_at: [99, 3], threads, never_blocks };
        let skipping = Settings { skip_distorted: 4, ..case.settings() };
        let error = case.run(&skipping).unwrap_err();
        let is_named = matches!(&error, EngineError::Died { who: Role::Reader(Side::Distorted), .. });
        assert!(is_named, "{mode}: {error:?}");
    }
}

#[test]
fn frames_before_the_panic_can_be_scored() {
    for (mode, threads, never_blocks) in MODES {
        let case = Case { panics_at: [3, 3], threads, never_blocks };
        let first = Settings { range: FrameRange::First(3), ..case.settings() };
        assert_eq!(case.run(&first).map(|outcome| outcome.frames).unwrap(), 3, "{mode}");
    }
}

#[test]
fn a_part_does_not_end_with_a_dead_reader() {
    for (mode, threads, never_blocks) in MODES {
        let case = Case { panics_at: [5, 99], threads, never_blocks };
        let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true).unwrap();
        let settings = Settings { range: FrameRange::Part { from: 3, to: Some(5) }, ..case.settings() };
        let [reference, distorted] = case.sources();
        let part = run_part(&plan, reference, distorted, &settings, &Cancel::new(), &mut Silent);
        assert!(matches!(part, Err(EngineError::Died { .. })), "{mode}: {part:?}");
    }
}
