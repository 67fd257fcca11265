//! Encoded videos: two opened files, decoded through pipes, brought to one format and paired by content.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use visus_engine::Cancel;
use visus_media::{
    Control, DecodeOptions, Decoder, HD, Launch, MediaError, OpenPair, PairOptions, Probe, Probed, Scale,
    Sync, Tools, UHD, Verdict, display_of,
};
use visus_video::{Format, Frame, Info, ReadError, Source};

use super::place::Place;
use super::{Bytes, Input, ScoreTask};
use crate::ToolError;
use crate::error::cleaned;

/// How encoded videos are brought together.
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    pub sync: Sync,
    pub scale: Scale,
    /// Score also what cannot be compared.
    pub force: bool,
}

/// How decoders are started.
#[derive(Clone, Debug)]
pub struct Decoders {
    pub launcher: Option<PathBuf>,
    pub limit: Duration,
}

impl Decoders {
    /// A decoder may run for as long as a job may.
    fn launch(&self) -> Launch {
        Launch { launcher: self.launcher.clone(), limit: self.limit, ..Launch::default() }
    }
}

/// Parts of a report, by name.
type Sections = Vec<(String, Value)>;

/// What is known of a pair while it is scored, and afterwards.
#[derive(Debug)]
pub struct Pairing {
    control: Control,
    names: Names,
    force: bool,
}

/// The two videos, ready to be scored.
pub(crate) struct Opened {
    pub reference: Box<dyn Source>,
    pub distorted: Box<dyn Source>,
    pub pairing: Pairing,
}

/// Probes and opens both videos at once.
pub(crate) fn open(
    wish: Encoded,
    videos: &Videos<'_>,
    decoders: &Decoders,
    cancel: &Cancel,
) -> Result<Opened, ToolError> {
    let names = Names::new(videos.inputs)?;
    let told = |error: MediaError| names.told(error, decoders.limit);
    let mut options = PairOptions {
        sync: wish.sync,
        scale: wish.scale,
        skip: videos.skip,
        launch: decoders.launch(),
        purpose: "vmaf_score_encoded".to_owned(),
        cancel: cancel.clone(),
        ..PairOptions::default()
    };
    let probed = Probed::new(names.inputs(), &options).map_err(told)?;
    options.display = videos.display(&probed.facts[0].format);
    let OpenPair { reference, distorted, control } = probed.open(&options).map_err(told)?;
    Ok(Opened { reference, distorted, pairing: Pairing { control, names, force: wish.force } })
}

/// One video by itself, as it is in its file.
pub(crate) fn one(input: &Input, decoders: &Decoders, cancel: &Cancel) -> Result<Box<dyn Source>, ToolError> {
    let names = Names::new([input, input])?;
    let told = |error: MediaError| names.told(error, decoders.limit);
    let tools = Tools::find(decoders.launch(), "vmaf_score_encoded").map_err(told)?;
    let path = names.0[0].0.path();
    let probe = Probe::of(&tools, path, cancel).map_err(told)?;
    let options = DecodeOptions { cancel: cancel.clone(), ..DecodeOptions::default() };
    let decoder = Decoder::open(&tools, path, &probe, &options).map_err(told)?;
    Ok(Box::new(Held { source: decoder, _names: names }))
}

/// A source whose file stays open by the handle that its decoder was told.
struct Held {
    source: Decoder,
    _names: Names,
}

impl Source for Held {
    fn format(&self) -> &Format {
        self.source.format()
    }

    fn name(&self) -> &str {
        self.source.name()
    }

    fn info(&self) -> &Info {
        self.source.info()
    }

    fn frames_read(&self) -> u64 {
        self.source.frames_read()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.source.read(frame)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        self.source.skip(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.source.total_frames()
    }
}

/// Two files and what they are opened for.
#[derive(Clone, Debug)]
pub(crate) struct Videos<'a> {
    pub inputs: [&'a Input; 2],
    /// Frames to leave out at the start of each.
    pub skip: [u64; 2],
    /// The first model; `None` while that is open.
    pub model: Option<String>,
}

impl<'a> Videos<'a> {
    pub fn of(task: &'a ScoreTask) -> Self {
        Self {
            inputs: [&task.reference, &task.distorted],
            skip: [task.tuning.skip_ref, task.tuning.skip_dist],
            model: task.models.first(),
        }
    }

    /// The display that the model stands for; where the model is still open, the one that fits the reference.
    fn display(&self, reference: &Format) -> (usize, usize) {
        match &self.model {
            Some(model) => display_of(model),
            None if reference.width().max(reference.height()) >= UHD.0 => UHD,
            None => HD,
        }
    }
}

impl Pairing {
    /// Ends the decoders. A pair that cannot be compared is refused, unless that was asked for; else what a report says
    /// about the pair, and where shots begin.
    pub fn finish(self) -> Result<(Sections, Vec<u64>), ToolError> {
        let (findings, comparability) = self.control.finish();
        if comparability.verdict() == Verdict::No && !self.force {
            let reasons = comparability.reasons.iter().filter(|reason| reason.weight == Verdict::No);
            let reasons: Vec<&str> = reasons.map(|reason| reason.text.as_str()).collect();
            return Err(ToolError::Refused(self.names.words(&format!(
                "these videos cannot be compared: {}. Pass force=true to score them all the same",
                reasons.join("; ")
            ))));
        }
        let [reference, distorted] = &self.names.0;
        let mut sections = vec![
            ("reference_encoded".to_owned(), json!(reference.1)),
            ("distorted_encoded".to_owned(), json!(distorted.1)),
        ];
        sections.extend(self.control.report());
        sections.iter_mut().for_each(|(_, value)| self.names.mend(value));
        Ok((sections, findings.shots()))
    }

    /// The same failure, with the names that people know.
    pub fn renamed(&self, error: ToolError) -> ToolError {
        match error {
            ToolError::Failed(text) => ToolError::Failed(self.names.words(&text)),
            ToolError::Refused(text) => ToolError::Refused(self.names.words(&text)),
            other => other,
        }
    }

    /// The name behind what a source calls itself.
    pub fn name(&self, text: &str) -> String {
        self.names.words(text)
    }
}

/// Decoders reach the files that were checked through our table of open files; people know them by name.
#[derive(Debug)]
struct Names([(Place, String); 2]);

impl Names {
    fn new(inputs: [&Input; 2]) -> Result<Self, ToolError> {
        let [reference, distorted] = inputs.map(|input| match &input.bytes {
            Bytes::File(file) => Place::of_file(file, &input.name)
                .map(|place| (place, cleaned(&input.name.to_string_lossy())))
                .map_err(|error| ToolError::Failed(format!("no handle for a decoder: {error}"))),
            Bytes::Memory(_) => Err(ToolError::Failed("a clip in memory is not encoded".to_owned())),
        });
        Ok(Self([reference?, distorted?]))
    }

    fn inputs(&self) -> [visus_media::Input; 2] {
        self.0.each_ref().map(|(place, _)| visus_media::Input::detect(place.path(), None))
    }

    fn words(&self, text: &str) -> String {
        // The longer number first: `…/fd/1` is the beginning of `…/fd/12`.
        let mut pairs: Vec<(String, &str)> = self
            .0
            .iter()
            .map(|(place, name)| (place.path().to_string_lossy().into_owned(), name.as_str()))
            .collect();
        pairs.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        pairs.iter().fold(text.to_owned(), |text, (path, name)| text.replace(path.as_str(), name))
    }

    fn mend(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.words(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.mend(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.mend(value)),
            _ => {}
        }
    }

    fn told(&self, error: MediaError, limit: Duration) -> ToolError {
        match error {
            MediaError::Cancelled => ToolError::Cancelled,
            MediaError::TimedOut { .. } => ToolError::TimedOut { limit },
            MediaError::NoTool { .. } | MediaError::ToolBroken { .. } => ToolError::Failed(error.to_string()),
            other => ToolError::Refused(self.words(&other.to_string())),
        }
    }
}
