//! From two videos of a request to two sources that can be scored.
//!
//! Opening has two steps, because `visus batch` reads a reference once for several encodes: [`Prepared::new`] looks at both
//! videos, and [`Prepared::open`] starts to decode them. In between the reference's frames may be taken from elsewhere.

use visus_engine::{Cancel, Side};
use visus_media::{Input, OpenPair, PairOptions, Probed, Scale};
use visus_video::{Format, ReadError, Source};

use crate::handle::OpenedFile;
use crate::names::RequestedModel;
use crate::pair::{FileNames, PairInfo};
use crate::request::{Decoders, Videos, display};
use crate::video::Kind;
use crate::{NotComparable, RequestError, ScoreError, Video};

/// Two videos, ready to be scored.
pub struct OpenVideos {
    pub reference: Box<dyn Source>,
    pub distorted: Box<dyn Source>,
    pub pair: PairInfo,
    /// Frames that the engine still has to leave out at the start of each.
    pub(crate) skip: [u64; 2],
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
}

/// Two videos that were looked at, not yet decoded.
#[derive(Debug)]
pub struct Prepared {
    state: State,
    skip: [u64; 2],
    force: bool,
}

enum State {
    Plain(Plain),
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
        let Videos { reference, distorted, raw, pairing, skip } = videos;
        let is_standard_input = |video: &Video| matches!(video, Video::Path(path) if path.as_os_str() == "-");
        if is_standard_input(&reference) && is_standard_input(&distorted) {
            let text = "only one of the two videos can come from standard input";
            return Err(RequestError::Format(text.to_owned()).into());
        }
        let kinds = [reference.kind(raw), distorted.kind(raw)];
        let force = pairing.force;
        if !kinds.contains(&Kind::Encoded) && !pairing.is_asked_for() {
            let raw_format = |kind: Kind| if let Kind::Raw(format) = kind { Some(format) } else { None };
            let (videos, formats) = ([reference, distorted], kinds.map(raw_format));
            let files = PlainFiles { videos, raw: formats, expected: raw };
            return Ok(Self { state: State::Plain(Plain { files, reference: None }), skip, force });
        }
        let mut options = pairing.options(kinds.contains(&Kind::Encoded), skip);
        options.cancel = cancel.clone();
        let mut names = FileNames::default();
        let inputs = [input(&reference, kinds[0], &mut names)?, input(&distorted, kinds[1], &mut names)?];
        let probed = match Probed::new(inputs, &options) {
            Ok(probed) => probed,
            Err(error) => return Err(names.reworded(error.into())),
        };
        options.display = display(models, &probed.facts[0]);
        check_scale(&probed, &options)?;
        Ok(Self { state: State::Media(Box::new(Media { probed, options, names })), skip, force })
    }

    /// Whether the frames of the reference are those of other pairs with the same reference.
    pub fn shares_reference(&self) -> bool {
        match &self.state {
            State::Plain(_) => true,
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

    /// Opens both videos, and refuses what can be refused before a frame is scored.
    pub fn open(self) -> Result<OpenVideos, ScoreError> {
        let Self { state, skip, force } = self;
        match state {
            State::Plain(plain) => open_plain(plain, skip, force),
            State::Media(media) => {
                let Media { probed, options, names } = *media;
                match probed.open(&options) {
                    Ok(OpenPair { reference, distorted, control }) => {
                        let pair = PairInfo::synchronised(control, names, force);
                        pair.check()?;
                        // Pairing has left out the first frames already.
                        Ok(OpenVideos { reference, distorted, pair, skip: [0, 0] })
                    }
                    Err(error) => Err(names.reworded(error.into())),
                }
            }
        }
    }
}

fn open_plain(plain: Plain, skip: [u64; 2], force: bool) -> Result<OpenVideos, ScoreError> {
    let Plain { files, reference: given } = plain;
    let files = &files;
    // With named pipes, opening one waits for a writer that may wait for the other.
    let (reference, distorted) = std::thread::scope(|scope| {
        let other = scope.spawn(|| files.open(Side::Distorted));
        let reference = given.map_or_else(|| files.open(Side::Reference), Ok);
        (reference, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (reference, distorted) = (reference?, distorted?);
    if reference.format() != distorted.format() {
        return Err(NotComparable::formats(reference.format(), distorted.format()).into());
    }
    let pair = PairInfo::plain(visus_media::judge(&*reference, &*distorted), force);
    Ok(OpenVideos { reference, distorted, pair, skip })
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
        Video::Memory { name, .. } => {
            let text = format!("{name} is a clip in memory, which can be neither decoded nor converted");
            return Err(RequestError::Format(text).into());
        }
    };
    Ok(match kind {
        Kind::Y4m => Input::Y4m(path),
        Kind::Raw(format) => Input::Raw(path, format),
        Kind::Encoded => Input::Encoded(path),
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
        Decoder::open(&tools, input.path(), &probe, &options)
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
