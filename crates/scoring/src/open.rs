//! From two videos of a request to two sources that can be scored.
//!
//! Opening has two steps, because `visus batch` reads a reference once for several encodes: [`Prepared::new`] looks at both
//! videos, and [`Prepared::open`] starts to decode them. In between the reference's frames may be taken from elsewhere.

use visus_engine::{Cancel, Side};
use visus_media::{Crop, FoundPairs, Input, OpenPair, PairOptions, Probed, Scale, Sequence, Sync, Verdict};
use visus_video::{Cropped, Format, ReadError, Region, Source};

use crate::handle::OpenedFile;
use crate::inputs::{InputOptions, split_stream};
use crate::names::RequestedModel;
use crate::pair::{FileNames, PairInfo};
use crate::request::{Decoders, DeviceDecoding, Pairing, Videos, display};
use crate::strata;
use crate::video::Kind;
use crate::{NotComparable, RequestError, ScoreError, Video};

/// Two videos, ready to be scored.
pub struct OpenVideos {
    pub reference: Box<dyn Source>,
    pub distorted: Box<dyn Source>,
    pub pair: PairInfo,
    /// Frames that the engine still has to leave out at the start of each.
    pub(crate) skip: [u64; 2],
    /// The same pair once more, brought to SDR.
    pub(crate) again: Option<Box<Videos>>,
    /// The same pair once more for ffmpeg alone, where a device decodes.
    pub(crate) without_device: Option<Box<WithoutDevice>>,
}

/// What it takes to open a pair again whose decoder on a device gave up.
#[derive(Debug)]
pub(crate) struct WithoutDevice {
    videos: Videos,
    models: Vec<RequestedModel>,
}

impl WithoutDevice {
    /// Opens the pair, decoded by ffmpeg; the report says why.
    pub fn open(self, reason: &str, cancel: &Cancel) -> Result<OpenVideos, ScoreError> {
        let Self { mut videos, models } = self;
        videos.pairing.decoding = DeviceDecoding::Failed(reason.to_owned());
        Prepared::new(videos, &models, cancel)?.open()
    }
}

impl std::fmt::Debug for OpenVideos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenVideos").field("pair", &self.pair).finish_non_exhaustive()
    }
}

impl OpenVideos {
    /// Leaves out the frames at the start that the request does not want, for callers that read frames themselves.
    pub fn pass_over_skipped(&mut self) -> Result<(), ReadError> {
        let [reference, distorted] = std::mem::take(&mut self.skip);
        self.reference.skip(reference)?;
        self.distorted.skip(distorted).map(|_| ())
    }

    /// Only a region of both from now on.
    fn within(self, roi: Region) -> Result<Self, ScoreError> {
        let Self { reference, distorted, mut pair, skip, again, without_device } = self;
        let refused = |reason: String| RequestError::Input(format!("roi: {reason}"));
        let reference = Box::new(Cropped::new(reference, roi).map_err(refused)?);
        let distorted = Box::new(Cropped::new(distorted, roi).map_err(refused)?);
        pair.measured_within(roi);
        Ok(Self { reference, distorted, pair, skip, again, without_device })
    }
}

/// Two videos that were looked at, not yet decoded.
#[derive(Debug)]
pub struct Prepared {
    state: State,
    skip: [u64; 2],
    force: bool,
    /// The region that is measured.
    roi: Option<Region>,
    /// The same pair once more, brought to SDR.
    again: Option<Box<Videos>>,
    without_device: Option<Box<WithoutDevice>>,
}

enum State {
    Plain(Box<Plain>),
    Media(Box<Media>),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Plain(_)) { "Plain" } else { "Media" })
    }
}

/// Raw and Y4M video that is scored as it is.
struct Plain {
    files: PlainFiles,
    /// The frames of the reference, where they come from elsewhere.
    reference: Option<Box<dyn Source>>,
    inputs: InputOptions,
}

struct PlainFiles {
    videos: [Video; 2],
    raw: [Option<Format>; 2],
    /// The format that the request gives.
    expected: Option<Format>,
}

struct Media {
    probed: Probed,
    options: PairOptions,
    names: FileNames,
}

impl Prepared {
    /// Looks at both videos. `models` decide to which size videos of different size are brought.
    pub fn new(videos: Videos, models: &[RequestedModel], cancel: &Cancel) -> Result<Self, ScoreError> {
        let again = videos.pairing.inputs.tone_map.then(|| tone_mapped(&videos)).transpose()?;
        let without_device = without_device(&videos, models).map(Box::new);
        let Videos { reference, distorted, raw, mut pairing, skip } = videos;
        if without_device.is_none() && matches!(pairing.decoding, DeviceDecoding::On(_)) {
            pairing.decoding = DeviceDecoding::Never;
        }
        if reference.is_standard_input() && distorted.is_standard_input() {
            let text = "only one of the two videos can come from standard input";
            return Err(RequestError::Format(text.to_owned()).into());
        }
        let mut videos = [reference, distorted];
        videos = spooled(videos, raw)?;
        let mut stream = std::mem::take(&mut pairing.inputs.stream);
        for (video, stream) in videos.iter_mut().zip(&mut stream) {
            if let Video::Path(path) = video {
                let (file, found) = split_stream(path);
                (*path, *stream) = (file, stream.or(found));
            }
        }
        pairing.inputs.stream = stream;
        let [reference, distorted] = videos;
        let kinds =
            [treated_kind(&reference, raw, &pairing, 0)?, treated_kind(&distorted, raw, &pairing, 1)?];
        let (force, roi) = (pairing.force, pairing.inputs.roi);
        let encoded = kinds.iter().any(|kind| matches!(kind, Kind::Encoded | Kind::Pictures));
        if !encoded && !pairing.is_asked_for() {
            let raw_format = |kind: Kind| if let Kind::Raw(format) = kind { Some(format) } else { None };
            let (videos, formats) = ([reference, distorted], kinds.map(raw_format));
            let files = PlainFiles { videos, raw: formats, expected: raw };
            let plain = Plain { files, reference: None, inputs: pairing.inputs };
            return Ok(Self {
                state: State::Plain(Box::new(plain)),
                skip,
                force,
                roi,
                again,
                without_device: None,
            });
        }
        let mut options = pairing.options(encoded, skip);
        options.cancel = cancel.clone();
        let mut names = FileNames::default();
        let inputs = [input(&reference, kinds[0], &mut names)?, input(&distorted, kinds[1], &mut names)?];
        let probed = match Probed::new(inputs, &options) {
            Ok(probed) => probed,
            Err(error) => return Err(names.reworded(error.into())),
        };
        options.display = display(models, &probed.facts[0]);
        check_scale(&probed, &options)?;
        if pairing.sync.is_none() && probed.are_numbered_alike() {
            options.sync = Sync::Off;
        }
        if let Some(offset) = pairing.inputs.offset {
            let declared = offset.skip(probed.facts[0].frame_rate)?;
            options.skip = [0, 1].map(|side| skip[side] + declared[side]);
        }
        let state = State::Media(Box::new(Media { probed, options, names }));
        Ok(Self { state, skip, force, roi, again, without_device })
    }

    /// Whether the frames of the reference are those of other pairs with the same reference.
    pub fn shares_reference(&self) -> bool {
        match &self.state {
            // Black bars are looked for in a second reading, which a shared one cannot have.
            State::Plain(plain) => plain.inputs.crop[0] != Some(Crop::Auto),
            State::Media(media) => media.probed.shares_reference(),
        }
    }

    /// The frames of the reference, to be read once for several pairs and handed to each with
    /// [`Prepared::give_reference`].
    pub fn open_reference(&mut self) -> Result<Box<dyn Source>, ScoreError> {
        match &mut self.state {
            State::Plain(plain) => plain.files.open(Side::Reference),
            State::Media(media) => {
                let Media { probed, options, names } = &mut **media;
                probed.common_reference(options).map_err(|error| names.reworded(error.into()))
            }
        }
    }

    /// Takes the reference's frames from here and not from its file.
    pub fn give_reference(&mut self, source: Box<dyn Source>) {
        match &mut self.state {
            State::Plain(plain) => plain.reference = Some(source),
            State::Media(media) => media.probed.give_reference(source),
        }
    }

    /// Reads both videos to their ends for the pairs that they make, without scoring them: parts of them can then be scored without
    /// a look at what lies before. The reason says why that would not help. `passed` is called after every pair.
    pub fn find_pairs(self, passed: &mut dyn FnMut()) -> Result<Result<FoundPairs, String>, ScoreError> {
        let State::Media(media) = self.state else {
            return Ok(Err("its frames have their places".to_owned()));
        };
        let Media { probed, options, names } = *media;
        if let Err(reason) = probed.can_be_reached(&options) {
            return Ok(Err(reason));
        }
        let options = PairOptions { finding: true, ..options };
        let found = probed.open(&options).and_then(|pair| pair.find(passed));
        found.map(Ok).map_err(|error| names.reworded(error.into()))
    }

    /// Both from any frame on, paired one after another; refuses what cannot be reached so.
    pub(crate) fn random_access(self) -> Result<RandomAccess, ScoreError> {
        let Self { state, skip, force, roi, .. } = self;
        let refuse = |reason: String| {
            let text = format!("a sample cannot be drawn: {reason}; score all frames instead");
            ScoreError::from(RequestError::Input(text))
        };
        match state {
            State::Plain(plain) => {
                let OpenVideos { reference, distorted, pair, skip, .. } = open_plain(*plain, skip, force)?;
                pair.check()?;
                let lengths = [&reference, &distorted].map(|source| source.total_frames());
                let (Some(first), Some(second)) = (lengths[0], lengths[1]) else {
                    return Err(refuse("a pipe can be read only once".to_owned()));
                };
                let (first, second) = (first.saturating_sub(skip[0]), second.saturating_sub(skip[1]));
                if first != second {
                    return Err(refuse(format!(
                        "the reference has {first} frames, the distorted video {second}"
                    )));
                }
                let notes = pair.plain_conversions().iter().map(|(side, words)| format!("{side}: {words}"));
                let (notes, sources) = (notes.collect(), Sources::Plain([reference, distorted]));
                Ok(RandomAccess { sources, skip, frames: first, roi, notes })
            }
            State::Media(media) => {
                let frames = media.probed.frames_in_step(media.options.skip).map_err(refuse)?;
                let comparability = media.probed.comparability();
                let reasons = |weight: Verdict| {
                    let of = comparability.reasons.iter().filter(move |reason| reason.weight == weight);
                    of.map(|reason| reason.text.clone()).collect::<Vec<_>>()
                };
                if !force && comparability.verdict() == Verdict::No {
                    let reasons = reasons(Verdict::No);
                    return Err(NotComparable { reasons, can_be_forced: true }.into());
                }
                let mut notes: Vec<String> = media.probed.treated().collect();
                notes.extend(reasons(Verdict::Warn));
                let skip = media.options.skip;
                Ok(RandomAccess { sources: Sources::Media(media), skip, frames, roi, notes })
            }
        }
    }

    /// Opens both videos, and refuses what can be refused before a frame is scored.
    pub fn open(self) -> Result<OpenVideos, ScoreError> {
        let Self { state, skip, force, roi, again, without_device } = self;
        let mut videos = match state {
            State::Plain(plain) => open_plain(*plain, skip, force)?,
            State::Media(media) => {
                let Media { probed, options, names } = *media;
                match probed.open(&options) {
                    Ok(OpenPair { reference, distorted, control }) => {
                        let pair = PairInfo::synchronised(control, names, force);
                        pair.check()?;
                        // Pairing has left out the first frames already.
                        OpenVideos {
                            reference,
                            distorted,
                            pair,
                            skip: [0, 0],
                            again: None,
                            without_device: None,
                        }
                    }
                    Err(error) => return Err(names.reworded(error.into())),
                }
            }
        };
        if let Some(roi) = roi {
            videos = videos.within(roi)?;
        }
        (videos.again, videos.without_device) = (again, without_device);
        Ok(videos)
    }
}

/// Both videos from any frame on.
pub(crate) struct RandomAccess {
    sources: Sources,
    skip: [u64; 2],
    frames: u64,
    roi: Option<Region>,
    notes: Vec<String>,
}

enum Sources {
    Plain([Box<dyn Source>; 2]),
    Media(Box<Media>),
}

impl RandomAccess {
    /// How many pairs there are.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Whether frames come from decoders, which begin at a key frame.
    pub fn is_decoded(&self) -> bool {
        matches!(self.sources, Sources::Media(_))
    }

    /// What was done to the videos, and what should be known about them.
    pub fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let paired = self
            .is_decoded()
            .then(|| "frames are paired one after another, without a look at their content".to_owned());
        let roi = self.roi.map(|roi| format!("measured in the region {roi} alone"));
        self.notes.iter().cloned().chain(paired).chain(roi)
    }

    /// The same error, with the names that the user knows.
    pub fn reworded(&self, error: ScoreError) -> ScoreError {
        match &self.sources {
            Sources::Plain(_) => error,
            Sources::Media(media) => media.names.reworded(error),
        }
    }

    /// Strata of runs of so many pairs, by what containers say of their frames.
    pub fn strata(&self, run: u64, cancel: &Cancel) -> Option<Vec<u32>> {
        let Sources::Media(media) = &self.sources else { return None };
        strata::by_motion(&media.probed.packets(self.skip, cancel)?, run)
    }

    /// Both from a pair on.
    pub fn open_at(&self, pair: u64, cancel: &Cancel) -> Result<[Box<dyn Source>; 2], ScoreError> {
        let start = self.skip.map(|skip| skip + pair);
        let [reference, distorted] = match &self.sources {
            Sources::Media(media) => {
                let opened = media.probed.open_at(&media.options, start, cancel);
                opened.map_err(|error| media.names.reworded(error.into()))?
            }
            Sources::Plain(sources) => {
                let [reference, distorted] = sources;
                [
                    from_frame(&**reference, Side::Reference, start[0])?,
                    from_frame(&**distorted, Side::Distorted, start[1])?,
                ]
            }
        };
        let Some(roi) = self.roi else { return Ok([reference, distorted]) };
        let refused = |reason: String| RequestError::Input(format!("roi: {reason}"));
        Ok([
            Box::new(Cropped::new(reference, roi).map_err(refused)?),
            Box::new(Cropped::new(distorted, roi).map_err(refused)?),
        ])
    }
}

fn from_frame(source: &dyn Source, side: Side, start: u64) -> Result<Box<dyn Source>, ScoreError> {
    let once = || {
        let text = format!(
            "a sample cannot be drawn: {} can be read only once; score all frames instead",
            source.name()
        );
        RequestError::Input(text)
    };
    let mut source = source.fork().ok_or_else(once)?;
    source.skip(start).map_err(|source| ScoreError::Open { side, source })?;
    Ok(source)
}

fn open_plain(plain: Plain, mut skip: [u64; 2], force: bool) -> Result<OpenVideos, ScoreError> {
    let Plain { files, reference: given, inputs } = plain;
    let files = &files;
    // With named pipes, opening one waits for a writer that may wait for the other.
    let (reference, distorted) = std::thread::scope(|scope| {
        let other = scope.spawn(|| files.open(Side::Distorted));
        let reference = given.map_or_else(|| files.open(Side::Reference), Ok);
        (reference, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (reference, distorted) = (reference?, distorted?);
    let (reference, first) = inputs.plain(reference, Side::Reference)?;
    let (distorted, second) = inputs.plain(distorted, Side::Distorted)?;
    if let Some(offset) = inputs.offset {
        let declared = offset.skip(reference.frame_rate())?;
        skip = [0, 1].map(|side| skip[side] + declared[side]);
    }
    if reference.format() != distorted.format() {
        return Err(NotComparable::formats(reference.format(), distorted.format()).into());
    }
    let comparability = visus_media::judge(&*reference, &*distorted);
    let pair = PairInfo::plain(comparability, [first, second].concat(), force);
    Ok(OpenVideos { reference, distorted, pair, skip, again: None, without_device: None })
}

impl PlainFiles {
    fn open(&self, side: Side) -> Result<Box<dyn Source>, ScoreError> {
        let place = usize::from(side == Side::Distorted);
        let source =
            self.videos[place].source(self.raw[place]).map_err(|source| ScoreError::Open { side, source })?;
        match self.expected {
            Some(expected) if self.raw[place].is_none() && *source.format() != expected => {
                Err(contradicted(&*source, &expected).into())
            }
            _ => Ok(source),
        }
    }
}

/// A format that was given for a Y4M file must be the one in its header.
fn contradicted(source: &dyn Source, expected: &Format) -> RequestError {
    RequestError::Format(format!(
        "{} is a Y4M file whose header says {}, not {expected} as was given",
        source.name(),
        source.format()
    ))
}

/// What a video is read as, with what is to be done to it.
fn treated_kind(
    video: &Video,
    raw: Option<Format>,
    pairing: &Pairing,
    side: usize,
) -> Result<Kind, RequestError> {
    let kind = video.kind(raw);
    let refuse = |what: &str| Err(RequestError::Input(format!("{}: {what}", video.name())));
    if pairing.inputs.stream[side].is_some() && kind != Kind::Encoded {
        return refuse("only a container has streams; it is raw video, Y4M or pictures");
    }
    match kind {
        Kind::Raw(_) if pairing.inputs.needs_decoder(side) => {
            refuse("raw video cannot be deinterlaced here; make a Y4M file or a container of it")
        }
        Kind::Y4m if pairing.inputs.needs_decoder(side) => {
            if video.is_rereadable() {
                Ok(Kind::Encoded)
            } else {
                refuse("a pipe cannot be deinterlaced; give a file")
            }
        }
        kind => Ok(kind),
    }
}

/// Encoded video on standard input is put into a file first. While a named pipe waits for its reader, standard input is not
/// looked at: both may have one writer.
fn spooled(videos: [Video; 2], raw: Option<Format>) -> Result<[Video; 2], ScoreError> {
    if raw.is_some() || videos.iter().any(Video::is_named_pipe) {
        return Ok(videos);
    }
    let spool = |video: Video| -> Result<Video, ScoreError> {
        if !video.is_standard_input() {
            return Ok(video);
        }
        video.spooled().map_err(|error| ScoreError::System(format!("standard input: {error}")))
    };
    let [reference, distorted] = videos;
    Ok([spool(reference)?, spool(distorted)?])
}

/// The same request once more, where a device decodes and both videos can be read twice: what it gives up on is read again.
fn without_device(videos: &Videos, models: &[RequestedModel]) -> Option<WithoutDevice> {
    let twice = [&videos.reference, &videos.distorted].iter().all(|video| video.is_rereadable());
    if !twice || !matches!(videos.pairing.decoding, DeviceDecoding::On(_)) {
        return None;
    }
    let videos = Videos {
        reference: videos.reference.try_clone().ok()?,
        distorted: videos.distorted.try_clone().ok()?,
        raw: videos.raw,
        pairing: videos.pairing.clone(),
        skip: videos.skip,
    };
    Some(WithoutDevice { videos, models: models.iter().map(RequestedModel::without_file).collect() })
}

/// The same request once more, with both brought to SDR.
fn tone_mapped(videos: &Videos) -> Result<Box<Videos>, ScoreError> {
    if ![&videos.reference, &videos.distorted].iter().all(|video| video.is_rereadable()) {
        let text =
            "tone_map: both videos are read twice, which standard input and pipes cannot be".to_owned();
        return Err(RequestError::Input(text).into());
    }
    let clone = |video: &Video| video.try_clone().map_err(|error| ScoreError::System(error.to_string()));
    let mut pairing = videos.pairing.clone();
    pairing.inputs.tone_map = false;
    pairing.tone_mapped = true;
    Ok(Box::new(Videos {
        reference: clone(&videos.reference)?,
        distorted: clone(&videos.distorted)?,
        raw: videos.raw,
        pairing,
        skip: videos.skip,
    }))
}

fn folder_is_named(name: &std::path::Path) -> bool {
    !name.file_name().is_some_and(|name| name.to_string_lossy().contains('%'))
}

/// What `media` reads: a path, or the way to a file that is open already.
fn input(video: &Video, kind: Kind, names: &mut FileNames) -> Result<Input, ScoreError> {
    let path = match video {
        Video::Path(path) => path.clone(),
        Video::File { name, file } => {
            let opened =
                OpenedFile::new(file, name).map_err(|error| ScoreError::System(error.to_string()))?;
            let path = opened.path().to_path_buf();
            names.push(opened, video.name());
            path
        }
        Video::Folder { name, folder } => {
            let opened =
                OpenedFile::new(folder, name).map_err(|error| ScoreError::System(error.to_string()))?;
            let sequence = Sequence::in_opened(opened.path(), name).map_err(ScoreError::Media)?;
            let shown = if folder_is_named(name) { name.as_path() } else { name.parent().unwrap_or(name) };
            names.push(opened, shown.to_string_lossy().into_owned());
            return Ok(Input::Sequence(name.clone(), Box::new(sequence)));
        }
        Video::Memory { name, .. } => {
            let text = format!("{name} is a clip in memory, which can be neither decoded nor converted");
            return Err(RequestError::Format(text).into());
        }
        Video::Elsewhere { name, .. } => {
            let text = format!("{name} is not a file, and can be neither decoded nor converted");
            return Err(RequestError::Format(text).into());
        }
    };
    Ok(match kind {
        Kind::Y4m => Input::Y4m(path),
        Kind::Raw(format) => Input::Raw(path, format),
        Kind::Encoded => Input::Encoded(path),
        Kind::Pictures => {
            let sequence = Sequence::of(&path).map_err(ScoreError::Media)?;
            Input::Sequence(path, Box::new(sequence))
        }
    })
}

/// Videos of different size cannot be compared where scaling is switched off.
fn check_scale(probed: &Probed, options: &PairOptions) -> Result<(), ScoreError> {
    let [reference, distorted] = probed.facts.each_ref().map(|facts| facts.format);
    let same = (reference.width(), reference.height()) == (distorted.width(), distorted.height());
    if options.scale == Scale::Off && !same {
        let text = format!(
            "the reference is {reference}, the distorted video {distorted}, and scaling is switched off"
        );
        return Err(NotComparable { reasons: vec![text], can_be_forced: false }.into());
    }
    Ok(())
}

/// One video by itself, as it is in its file.
pub fn open_one(
    video: &Video,
    raw: Option<Format>,
    decoders: &Decoders,
    cancel: &Cancel,
) -> Result<Box<dyn Source>, ScoreError> {
    let side = Side::Distorted;
    let kind = video.kind(raw);
    let raw = match kind {
        Kind::Raw(format) => Some(format),
        Kind::Y4m => None,
        Kind::Encoded => return open_encoded(video, decoders, cancel),
        Kind::Pictures => {
            let text =
                format!("{}: numbered pictures can be compared, but not read by themselves", video.name());
            return Err(RequestError::Input(text).into());
        }
    };
    video.source(raw).map_err(|source| ScoreError::Open { side, source })
}

fn open_encoded(video: &Video, decoders: &Decoders, cancel: &Cancel) -> Result<Box<dyn Source>, ScoreError> {
    use visus_media::{DecodeOptions, Decoder, Probe, Tools};
    let mut names = FileNames::default();
    let input = input(video, Kind::Encoded, &mut names)?;
    let opened = || {
        let tools = Tools::find(decoders.launch(), &decoders.purpose)?;
        let probe = Probe::of(&tools, input.path(), cancel)?;
        let options = DecodeOptions { cancel: cancel.clone(), ..DecodeOptions::default() };
        Decoder::open(&tools, &probe, &options)
    };
    match opened() {
        Ok(source) => Ok(Box::new(Held { source, _names: names })),
        Err(error) => Err(names.reworded(error.into())),
    }
}

/// A decoder whose file stays open by the handle that it reads from.
struct Held {
    source: visus_media::Decoder,
    _names: FileNames,
}

impl Source for Held {
    fn format(&self) -> &Format {
        self.source.format()
    }

    fn name(&self) -> &str {
        self.source.name()
    }

    fn info(&self) -> &visus_video::Info {
        self.source.info()
    }

    fn frames_read(&self) -> u64 {
        self.source.frames_read()
    }

    fn read(&mut self, frame: &mut visus_video::Frame) -> Result<bool, ReadError> {
        self.source.read(frame)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        self.source.skip(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.source.total_frames()
    }
}
