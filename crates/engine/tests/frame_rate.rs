//! Metrics that depend on the frame rate take it from the reference, whoever starts the run.

use visus_engine::{Cancel, FrameRange, Plan, Settings, Silent, run, run_part};
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, Frame, Info, ReadError, Source};

const FRAMES: u64 = 5;

/// A clip that says how fast it is.
struct Rated {
    clip: Clip,
    rate: Option<(u32, u32)>,
}

impl Source for Rated {
    fn format(&self) -> &Format {
        self.clip.format()
    }

    fn name(&self) -> &str {
        self.clip.name()
    }

    fn info(&self) -> &Info {
        self.clip.info()
    }

    fn frames_read(&self) -> u64 {
        self.clip.frames_read()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.clip.read(frame)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        self.clip.skip(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.clip.total_frames()
    }

    fn frame_rate(&self) -> Option<(u32, u32)> {
        self.rate
    }
}

fn sources(rate: Option<(u32, u32)>) -> (Box<dyn Source>, Box<dyn Source>) {
    let reference = Clip::scene(Format::new(160, 96, Chroma::C420, 8).unwrap(), FRAMES, 5);
    let distorted = reference.clone().distorted(Distortion::Blocking { step: 30 });
    (Box::new(Rated { clip: reference, rate }), Box::new(distorted))
}

fn plan(feature: &str) -> Plan {
    Plan::new(&[], &[feature.parse().unwrap()], true).unwrap()
}

/// The scores of the luma plane, to the bit.
fn scores(feature: &str, rate: Option<(u32, u32)>) -> Vec<u64> {
    let (reference, distorted) = sources(rate);
    let outcome =
        run(&plan(feature), reference, distorted, &Settings::default(), &Cancel::new(), &mut Silent).unwrap();
    bits(&outcome)
}

fn bits(outcome: &visus_engine::Outcome) -> Vec<u64> {
    let column = outcome.scores.column("xpsnr_y").expect("the name does not depend on the rate");
    column.iter().map(|(_, value)| value.to_bits()).collect()
}

#[test]
fn xpsnr_follows_the_reference() {
    let (slow, fast) = (scores("xpsnr=frame_rate=25", None), scores("xpsnr=frame_rate=60", None));
    assert_ne!(slow, fast, "the frame rate has no effect on this clip");
    assert_eq!(scores("xpsnr", Some((60, 1))), fast);
    assert_eq!(scores("xpsnr", Some((25, 1))), slow);
    assert_eq!(scores("xpsnr", None), slow);
    assert_eq!(scores("xpsnr=frame_rate=25", Some((60, 1))), slow);
}

#[test]
fn a_part_of_a_fast_clip_has_the_scores_of_the_whole() {
    let (reference, distorted) = sources(Some((50, 1)));
    let range = FrameRange::Part { from: 3, to: None };
    let (plan, settings) = (plan("xpsnr"), Settings { range, ..Settings::default() });
    let part = run_part(&plan, reference, distorted, &settings, &Cancel::new(), &mut Silent).unwrap();
    assert_eq!(bits(&part.outcome), scores("xpsnr", Some((50, 1)))[3..]);
}
