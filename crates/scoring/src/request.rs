//! What a front end asks for.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use visus_engine::{Device, Settings, model};
use visus_media::{
    Facts, FoundPairs, HD, Launch, PairOptions, PreviewSink, Scale, Scaler, Sync, Treatment, display_of,
};
use visus_metrics::Level;
use visus_video::Format;

use crate::names::RequestedModel;
use crate::range::{self, Moment, Range};
use crate::{BackendRequest, InputOptions, RequestError, Selection, Video};

/// Everything that decides on a result.
#[derive(Debug)]
pub struct ScoreRequest {
    pub videos: Videos,
    pub selection: Selection,
    pub options: RunOptions,
}

/// The two videos, and how they are brought together.
#[derive(Debug)]
pub struct Videos {
    pub reference: Video,
    pub distorted: Video,
    /// The format of raw video. A Y4M file brings its own, which must not contradict this one.
    pub raw: Option<Format>,
    pub pairing: Pairing,
    /// Frames to leave out at the start of reference and distorted video.
    pub skip: [u64; 2],
}

/// How frames are paired and converted.
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    /// `None`: by content for encoded video, frame by frame for Y4M and raw.
    pub sync: Option<Sync>,
    /// `None`: as [`Scale::Auto`] for encoded video, no conversion for Y4M and raw.
    pub scale: Option<Scale>,
    /// The kernel with which pictures are resized.
    pub scaler: Scaler,
    /// Score even if the videos are not comparable, and ignore decode errors.
    pub force: bool,
    /// One of ffmpeg's hardware decoders, or `auto`.
    pub hwaccel: Option<String>,
    pub decoders: Decoders,
    /// What is done to each video before it is compared.
    pub inputs: InputOptions,
    /// Bring HDR to SDR before it is compared.
    pub tone_mapped: bool,
    /// Who decodes beside ffmpeg.
    pub decoding: DeviceDecoding,
    /// Decode in this process what can be, in builds with the feature `libav`: quicker, and without the sandbox around ffmpeg. For
    /// front ends whose user trusts the videos; a server never asks for it.
    pub in_process: bool,
    /// What [`Prepared::find_pairs`](crate::Prepared::find_pairs) found in these videos, opened in the same way.
    pub found: Option<Arc<FoundPairs>>,
}

/// Whether a device decodes encoded video.
#[derive(Clone, Debug, Default)]
pub enum DeviceDecoding {
    #[default]
    Never,
    /// What it can; the rest is ffmpeg's.
    On(Arc<dyn Device>),
    /// It has been tried, and this is why it is not used.
    Failed(String),
}

impl Pairing {
    /// Whether Y4M or raw video is to be paired by content or scaled.
    pub fn is_asked_for(&self) -> bool {
        self.sync.is_some() || self.scale.is_some() || self.inputs.rates_differ()
    }

    pub(crate) fn options(&self, encoded: bool, skip: [u64; 2]) -> PairOptions {
        let rated = encoded || self.inputs.rates_differ();
        let usual = if rated && self.inputs.offset.is_none() { Sync::Full } else { Sync::Off };
        PairOptions {
            sync: self.sync.unwrap_or(usual),
            scale: self.scale.unwrap_or_default(),
            scaler: self.scaler,
            forgive: self.force,
            hwaccel: self.hwaccel.clone(),
            device: match &self.decoding {
                // Who names one of ffmpeg's hardware decoders gets that.
                DeviceDecoding::On(device) if self.hwaccel.is_none() => Some(Arc::clone(device)),
                _ => None,
            },
            // A device takes its pictures from pinned memory.
            in_process: self.in_process && matches!(self.decoding, DeviceDecoding::Never),
            not_on_device: match &self.decoding {
                DeviceDecoding::Failed(reason) => Some(reason.clone()),
                _ => None,
            },
            skip,
            found: self.found.clone(),
            launch: self.decoders.launch(),
            purpose: self.decoders.purpose.clone(),
            previews: self.decoders.previews.clone(),
            treatments: self
                .inputs
                .treatments()
                .map(|treatment| Treatment { tone_map: self.tone_mapped, ..treatment }),
            ..PairOptions::default()
        }
    }
}

/// How ffmpeg is started.
#[derive(Clone, Debug)]
pub struct Decoders {
    /// Our own program, which supervises children; without it children are started directly.
    pub launcher: Option<PathBuf>,
    /// How long a child may be silent.
    pub limit: Duration,
    /// How long it may run altogether.
    pub total: Option<Duration>,
    /// What ffmpeg is needed for, as in "install ffmpeg to use …".
    pub purpose: String,
    /// Where small pictures of both videos go, for somebody who looks at frames later.
    pub previews: Option<Arc<dyn PreviewSink>>,
}

impl Default for Decoders {
    fn default() -> Self {
        Self {
            launcher: None,
            limit: visus_media::DEFAULT_LIMIT,
            total: None,
            purpose: "encoded video".to_owned(),
            previews: None,
        }
    }
}

impl Decoders {
    pub fn launch(&self) -> Launch {
        Launch { launcher: self.launcher.clone(), limit: self.limit, total: self.total, ..Launch::default() }
    }
}

/// How the run is done. Nothing here but the range and the step changes a score.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// `None`: all cores.
    pub threads: Option<usize>,
    /// List every n-th frame only.
    pub subsample: u64,
    /// Score at most so many pairs.
    pub frames: Option<u64>,
    pub from: Option<Moment>,
    pub to: Option<Moment>,
    pub level: Level,
    pub backend: BackendRequest,
    /// Whether to look for faults that models do not see, see [`Faults`](crate::Faults). `None`: in encoded video, where that
    /// costs little beside decoding.
    pub detectors: Option<bool>,
}

impl RunOptions {
    /// All frames on all cores, with the instructions that the environment allows.
    pub fn from_environment() -> Result<Self, RequestError> {
        Ok(Self::with_level(crate::cpu::from_environment()?))
    }

    pub fn with_level(level: Level) -> Self {
        let backend = BackendRequest::default();
        Self {
            threads: None,
            subsample: 1,
            frames: None,
            from: None,
            to: None,
            level,
            backend,
            detectors: None,
        }
    }

    /// The device on which encoded video is decoded: the one that computes the scores, if one does.
    pub fn decoding(&self) -> DeviceDecoding {
        let device = self.backend.open(self.level).ok().and_then(|backend| backend.device);
        device.map_or(DeviceDecoding::Never, |request| DeviceDecoding::On(request.device))
    }

    /// The part of the clip that is asked for, if any.
    pub fn range(&self, frame_rate: Option<(u32, u32)>) -> Result<Option<Range>, RequestError> {
        range::of(self.from, self.to, frame_rate)
    }

    pub(crate) fn settings(&self, skip: [u64; 2]) -> Result<Settings, RequestError> {
        let defaults = Settings::default();
        Ok(Settings {
            threads: self.threads.unwrap_or(defaults.threads).max(1),
            subsample: self.subsample.max(1),
            range: self.frames.into(),
            skip_reference: skip[0],
            skip_distorted: skip[1],
            backend: self.backend.open(self.level)?,
            observer: None,
        })
    }
}

/// The display that the first model stands for; both videos are brought to it where their sizes differ.
pub(crate) fn display(models: &[RequestedModel], reference: &Facts) -> (usize, usize) {
    let automatic = || display_of(model::automatic(&reference.format, reference.frame_rate).0);
    match models.first() {
        Some(RequestedModel::Auto | RequestedModel::All) => automatic(),
        Some(RequestedModel::One(model)) => display_of(&model.spec.label()),
        Some(RequestedModel::None) | None => HD,
    }
}
