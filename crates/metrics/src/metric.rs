//! The shape every metric has: definition, extractor, fold.

use std::any::Any;
use std::ops::BitOr;

use visus_video::{Alone, Format, Frame, PlaneSet, Spread};

use crate::device::DeviceTask;
use crate::{ClipInfo, Level, OptionError, OptionSpec, Options};

/// What the registry knows of a metric before any options are given.
#[derive(Debug)]
pub struct Info {
    /// The name that `--feature` takes.
    pub name: &'static str,
    /// One sentence for people.
    pub help: &'static str,
    pub options: &'static [OptionSpec],
    /// The features that models may ask for by name.
    pub features: &'static [&'static str],
    pub build: Build,
}

/// Makes a metric from checked options.
pub type Build = fn(&'static Info, &Options) -> Result<Box<dyn Metric>, MetricError>;

/// When libvmaf first writes a score of this key; it fixes the order of keys in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Appears {
    /// With this frame.
    Frame(u64),
    /// When the clip has ended.
    End,
}

impl Appears {
    /// The same, in a clip that may end before.
    pub fn within(self, frames: u64) -> Self {
        match self {
            Self::Frame(frame) if frame < frames => self,
            _ => Self::End,
        }
    }
}

/// A column of scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The feature's full name, as models ask for it.
    pub feature: &'static str,
    /// The name in reports: short form and options.
    pub name: String,
    pub appears: Appears,
}

impl Key {
    /// A key whose report name is `short`, followed by the options that differ from their defaults. `feature` is the
    /// name models use; `short` libvmaf's alias for it (the same text where there is none).
    pub fn new(feature: &'static str, short: &str, options: &Options) -> Self {
        let name = format!("{short}{}", options.suffix());
        Self { feature, name, appears: Appears::Frame(0) }
    }

    /// The same key, first written later than with frame 0.
    pub fn appearing(mut self, appears: Appears) -> Self {
        self.appears = appears;
        self
    }
}

/// Which frames beside the current pair a metric looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// How many earlier pairs: 0, 1 or 2.
    pub history: usize,
    /// Whether it runs on every frame even where only each n-th is listed.
    pub every_frame: bool,
}

/// Which planes of the two pictures a metric looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanesRead {
    pub reference: PlaneSet,
    pub distorted: PlaneSet,
}

impl PlanesRead {
    pub const NONE: Self = Self::of_both(PlaneSet::NONE);
    pub const LUMA: Self = Self::of_both(PlaneSet::LUMA);
    pub const ALL: Self = Self::of_both(PlaneSet::ALL);

    /// The same planes of both pictures.
    pub const fn of_both(planes: PlaneSet) -> Self {
        Self { reference: planes, distorted: planes }
    }
}

impl BitOr for PlanesRead {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { reference: self.reference | other.reference, distorted: self.distorted | other.distorted }
    }
}

/// How far a fold looks: so many rows on both sides decide on a frame's scores, beside its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    pub before: u64,
    pub after: u64,
}

/// A pair of pictures that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    pub reference: &'a Frame,
    pub distorted: &'a Frame,
}

/// What an extractor sees: a pair and the pairs before it.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    pub index: u64,
    pub current: Pair<'a>,
    pub previous: Option<Pair<'a>>,
    pub before_previous: Option<Pair<'a>>,
}

/// Why a metric cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MetricError {
    #[error("{metric}")]
    Option { metric: &'static str, source: OptionError },
    #[error("{metric}: {reason}")]
    Setting { metric: &'static str, reason: String },
    #[error("{metric} cannot score {format}: {reason}")]
    Format { metric: &'static str, format: Format, reason: String },
    #[error("{metric} failed at frame {index}: {reason}")]
    Frame { metric: &'static str, index: u64, reason: String },
}

/// A metric with its options set.
pub trait Metric: Any + Send + Sync {
    fn info(&self) -> &'static Info;

    /// Its columns, in the order in which libvmaf writes them.
    fn keys(&self) -> &[Key];

    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What its fold must have seen around a frame, so that a part of a clip gets the scores of the whole.
    fn reach(&self) -> Reach {
        Reach::default()
    }

    /// The planes that it looks at, so that nobody need read the others.
    fn planes_read(&self) -> PlanesRead {
        PlanesRead::ALL
    }

    /// How many raw numbers an extractor gives per frame.
    fn raw_len(&self) -> usize {
        self.keys().len()
    }

    /// A cheaper one, where there is one, for those who read no other keys than `is_read` says. It has the same keys, but
    /// gives no scores of those that nobody reads.
    fn lean(&self, is_read: &dyn Fn(&Key) -> bool) -> Option<Box<dyn Metric>> {
        let _ = is_read;
        None
    }

    /// Scratch and tables for one worker. Refuses clips whose format the metric has no meaning for.
    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError>;

    /// One extractor for several metrics of this kind that differ in options only, where they share most of their work.
    /// `None` if there is nothing to gain; then each has its own.
    fn group_extractor(
        &self,
        group: &[&dyn Metric],
        clip: &ClipInfo,
        level: Level,
    ) -> Option<Result<Box<dyn GroupExtractor>, MetricError>> {
        let _ = (group, clip, level);
        None
    }

    /// The metric as work for a device, if its extractor does nothing but make sums and finish them. `None` for
    /// formats that [`extractor`](Self::extractor) refuses.
    fn device_task(&self, clip: &ClipInfo) -> Option<DeviceTask> {
        let _ = clip;
        None
    }

    /// The ordered half. The default passes raw numbers through as scores.
    fn fold(&self, format: &Format) -> Box<dyn Fold> {
        let _ = format;
        Box::new(Direct)
    }
}

/// The settings of every metric of a group, if all of them are of the kind `M`: what a
/// [`group_extractor`](Metric::group_extractor) begins with.
pub(crate) fn group_settings<M: Metric, S>(
    group: &[&dyn Metric],
    settings: impl Fn(&M) -> S,
) -> Option<Vec<S>> {
    let of = |metric: &&dyn Metric| {
        let any: &dyn Any = *metric;
        any.downcast_ref::<M>().map(&settings)
    };
    group.iter().map(of).collect()
}

/// The parallel half of a metric: a pure function of the window, with scratch memory of its own.
pub trait Extractor: Send {
    /// Fills `raw`, which has `raw_len` entries. With helping hands rows are shared out, which is worth it where frames are few
    /// and large; the result is the same.
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError>;

    /// The same on the caller's thread alone.
    fn extract(&mut self, window: &Window<'_>, raw: &mut [f64]) -> Result<(), MetricError> {
        self.extract_spread(window, raw, &Alone)
    }
}

/// The parallel half of several metrics at once.
pub trait GroupExtractor: Send {
    /// Fills one row per metric, in the order of the group.
    fn extract(
        &mut self,
        window: &Window<'_>,
        rows: &mut [&mut [f64]],
        spread: &dyn Spread,
    ) -> Result<(), MetricError>;
}

/// Receives scores from a fold.
pub trait Emit {
    /// A score of column `key` for frame `index`. Each (key, index) is given once.
    fn score(&mut self, key: usize, index: u64, value: f64);
    /// One number for the whole clip.
    fn aggregate(&mut self, name: &str, value: f64);
}

/// The ordered half of a metric: sees every raw row once, by rising frame index. In a part of a clip the first row may
/// have any index: then the scores of the first rows, as many as [`Metric::reach`] says, mean nothing and are dropped.
pub trait Fold: Send {
    fn push(&mut self, index: u64, raw: &[f64], out: &mut dyn Emit);
    /// The clip has ended.
    fn finish(&mut self, out: &mut dyn Emit) {
        let _ = out;
    }
}

/// Raw numbers are the scores.
#[derive(Debug, Default)]
pub struct Direct;

impl Fold for Direct {
    fn push(&mut self, index: u64, raw: &[f64], out: &mut dyn Emit) {
        for (key, value) in raw.iter().enumerate() {
            out.score(key, index, *value);
        }
    }
}
