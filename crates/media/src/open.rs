//! From two names to two sources that can be scored: probe, judge, decode, convert, pair.

use std::sync::{Arc, Mutex};

use visus_child::StderrTail;
use visus_engine::{Cancel, Device, Side};
use visus_video::{ColourRange, Source};

use crate::compare::{self, Comparability, Verdict};
use crate::control::{Control, OpenPair};
use crate::convert::{Converter, Shape};
use crate::error::shown;
use crate::geometry::{self, HD, Scale, range, range_name, rgb_target};
use crate::on_device::DeviceDecoder;
use crate::rescan::{Again, joined, scan};
use crate::rgb::RgbTarget;
use crate::scale::Scaler;
use crate::software;
use crate::sync::findings::Sync;
use crate::sync::found::FoundPairs;
use crate::sync::{self, Lengths, Request, Started, Stream};
use crate::tone::{HdrTransfer, ToneMapped};
use crate::treatment::{self, Treatment};
use crate::{
    DecodeOptions, Decoder, Facts, Input, Launch, MediaError, Opening, PreviewSink, Previews, Probe, Tools,
};

/// How a pair is opened.
#[derive(Clone, Debug)]
pub struct PairOptions {
    pub sync: Sync,
    pub scale: Scale,
    /// The kernel with which pictures are resized.
    pub scaler: Scaler,
    /// Width and height of the display that the model stands for.
    pub display: (usize, usize),
    /// Go on over damage.
    pub forgive: bool,
    /// One of ffmpeg's hardware decoders, or `auto` for the first that works, else software.
    pub hwaccel: Option<String>,
    /// A device that decodes what it can and keeps the pictures; the rest is ffmpeg's.
    pub device: Option<Arc<dyn Device>>,
    /// Decode in this process what can be, in builds that can: without the sandbox around ffmpeg, for files that are trusted.
    pub in_process: bool,
    /// Why it does not, where that is known already.
    pub not_on_device: Option<String>,
    /// Frames to leave out at the start of reference and distorted video, before pairing.
    pub skip: [u64; 2],
    /// What is done to each before anything else.
    pub treatments: [Treatment; 2],
    /// The pairs to read, where they are known: by their numbers behind what is left out, both of which grow from pair to pair.
    pub pairs: Option<Vec<(u64, u64)>>,
    /// What pairing found when it looked at both videos before. Where frames cannot be reached by their numbers, or are decoded in
    /// another way than they were then, pairing looks at them once more.
    pub found: Option<Arc<FoundPairs>>,
    /// Keep what [`OpenPair::find`] needs.
    pub finding: bool,
    pub launch: Launch,
    /// What the pair is opened for: it stands in the sentence about a missing ffmpeg.
    pub purpose: String,
    pub cancel: Cancel,
    /// Where small pictures of what is decoded go.
    pub previews: Option<Arc<dyn PreviewSink>>,
}

impl Default for PairOptions {
    fn default() -> Self {
        Self {
            sync: Sync::default(),
            scale: Scale::default(),
            scaler: Scaler::default(),
            display: HD,
            forgive: false,
            hwaccel: None,
            device: None,
            in_process: false,
            not_on_device: None,
            skip: [0, 0],
            treatments: Default::default(),
            pairs: None,
            found: None,
            finding: false,
            launch: Launch::default(),
            purpose: "encoded video".to_owned(),
            cancel: Cancel::new(),
            previews: None,
        }
    }
}

/// Facts about both inputs, and ffmpeg if one of them needs it.
pub struct Probed {
    pub(crate) inputs: [Input; 2],
    pub(crate) tools: Option<Tools>,
    pub facts: [Facts; 2],
    /// Raw and Y4M video is open already: a pipe can be opened only once.
    pub(crate) opened: [Option<Box<dyn Source>>; 2],
    pub(crate) upright: bool,
    pub(crate) rgb: RgbTarget,
    /// What treatments do to the samples of each side, in words.
    treated: [Vec<String>; 2],
    /// HDR that is brought to SDR.
    pub(crate) tone_map: [Option<HdrTransfer>; 2],
}

impl std::fmt::Debug for Probed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probed").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// What was learned about one input.
enum Looked {
    Probe(Box<Probe>),
    Source(Box<dyn Source>),
}

impl Looked {
    fn rate(&self) -> Option<(u32, u32)> {
        match self {
            Self::Probe(probe) => probe.frame_rate,
            Self::Source(source) => source.frame_rate(),
        }
    }
}

fn look(
    input: &Input,
    treatment: &Treatment,
    tools: Option<&Tools>,
    cancel: &Cancel,
) -> Result<Looked, MediaError> {
    Ok(match (input, tools) {
        (Input::Encoded(path) | Input::Sequence(path, _), Some(tools)) => {
            let opening = Opening::of(input, treatment.frame_rate);
            let named = (&*shown(path), treatment.stream);
            Looked::Probe(Box::new(Probe::with(tools, opening, named, cancel)?))
        }
        (Input::Sequence(path, _), None) => return Err(MediaError::open(path, "ffmpeg was not looked for")),
        (Input::Raw(path, format), _) => Looked::Source(visus_video::open(path, Some(*format))?),
        (Input::Y4m(path) | Input::Encoded(path), _) => Looked::Source(visus_video::open(path, None)?),
    })
}

impl Probed {
    /// Looks at both inputs at once. If both fail, the error names both.
    pub fn new(inputs: [Input; 2], options: &PairOptions) -> Result<Self, MediaError> {
        let encoded = inputs.iter().any(Input::is_encoded);
        let located = || Tools::located(options.launch.clone(), &options.purpose);
        let tools = encoded.then(located).transpose()?;
        // Three programs are asked at once: starting one takes about as long as decoding ten frames.
        let (version, looked) = std::thread::scope(|scope| {
            // Who decodes in this process may do without ffmpeg.
            let needed = tools.clone().filter(|_| !software::is_in_process(options));
            let version = scope.spawn(|| needed.map(Tools::with_version).transpose());
            let other =
                scope.spawn(|| look(&inputs[1], &options.treatments[1], tools.as_ref(), &options.cancel));
            let first = look(&inputs[0], &options.treatments[0], tools.as_ref(), &options.cancel);
            (joined(version), (first, joined(other)))
        });
        version?;
        let (reference, distorted) = match looked {
            (Ok(reference), Ok(distorted)) => (reference, distorted),
            (Err(a), Err(b)) => return Err(MediaError::both(a, b)),
            (Err(error), _) => return Err(error.on(Side::Reference)),
            (_, Err(error)) => return Err(error.on(Side::Distorted)),
        };
        Self::from_looked(inputs, tools, [reference, distorted], options)
    }

    fn from_looked(
        inputs: [Input; 2],
        tools: Option<Tools>,
        mut looked: [Looked; 2],
        options: &PairOptions,
    ) -> Result<Self, MediaError> {
        let turn = |looked: &Looked| match looked {
            Looked::Probe(probe) => probe.rotation,
            Looked::Source(_) => 0,
        };
        let upright = turn(&looked[0]) != turn(&looked[1]);
        let decode = DecodeOptions { cancel: options.cancel.clone(), ..DecodeOptions::default() };
        let rates = [0, 1].map(|side| options.treatments[side].frame_rate.or(looked[side].rate()));
        let mut treated = [Vec::new(), Vec::new()];
        for (side, named) in [Side::Reference, Side::Distorted].into_iter().enumerate() {
            let other = rates[1 - side].map(|(num, den)| f64::from(num) / f64::from(den));
            if let (Looked::Probe(probe), Some(tools)) = (&mut looked[side], &tools) {
                let treatment = &options.treatments[side];
                let done = treatment.apply(probe, upright, other, (tools, &decode));
                treated[side] = done.map_err(|error| error.on(named))?;
            }
        }
        let facts = |looked: &Looked| -> Result<Facts, MediaError> {
            Ok(match looked {
                Looked::Probe(probe) => Facts::of_probe(probe, probe.format(upright)?),
                Looked::Source(source) => Facts::of_source(&**source),
            })
        };
        let mut facts = [facts(&looked[0])?, facts(&looked[1])?];
        let rgb = rgb_target(&facts);
        for facts in &mut facts {
            if facts.probe.as_ref().is_some_and(|probe| probe.delivery.rgb) {
                facts.range = Some(rgb.range);
            }
        }
        let mut opened = looked.map(|looked| match looked {
            Looked::Source(source) => Some(source),
            Looked::Probe(_) => None,
        });
        for (side, named) in [Side::Reference, Side::Distorted].into_iter().enumerate() {
            if let Some(source) = opened[side].take() {
                let done = options.treatments[side].apply_to_source(source, &mut facts[side]);
                let (source, words) = done.map_err(|error| error.on(named))?;
                (opened[side], treated[side]) = (Some(source), words);
            }
        }
        let tone_map = [0, 1].map(|side| {
            let wanted = options.treatments[side].tone_map;
            facts[side].probe.as_mut().filter(|_| wanted).and_then(Probe::become_sdr)
        });
        Ok(Self { inputs, tools, facts, opened, upright, rgb, treated, tone_map })
    }

    /// Whether a side's frame rate is not the one in its file.
    pub(crate) fn is_rate_declared(&self, place: usize) -> bool {
        self.treated[place].iter().any(|words| words.starts_with("declared"))
    }

    /// What treatments do to each side, in words.
    pub fn treated(&self) -> impl Iterator<Item = String> + '_ {
        let named = [Side::Reference, Side::Distorted].into_iter().zip(&self.treated);
        named.flat_map(|(side, words)| words.iter().map(move |words| format!("{side}: {words}")))
    }

    /// What the files say about whether they can be compared.
    pub fn comparability(&self) -> Comparability {
        compare::facts(&self.facts[0], &self.facts[1], Sync::Off)
    }

    /// Whether both are single pictures, or as many numbered ones: there is no start to look for.
    pub fn are_numbered_alike(&self) -> bool {
        let opening = |side: usize| self.facts[side].probe.as_ref().map(|probe| &probe.opening);
        treatment::are_numbered_alike([opening(0), opening(1)])
    }

    /// Whether the frames of the reference are the same as in other pairs with it; not so if they are turned or converted
    /// from RGB to suit the other side.
    pub fn shares_reference(&self) -> bool {
        // Deinterlacing looks at the other side's rate.
        let own = |probe: &Probe| {
            probe.delivery.rgb || (self.upright && probe.rotation != 0) || probe.filters.contains("bwdif")
        };
        !self.facts[0].probe.as_ref().is_some_and(own)
    }

    /// The frames of the reference, to be read once for several pairs and handed to each with [`Probed::give_reference`].
    pub fn common_reference(&mut self, options: &PairOptions) -> Result<Box<dyn Source>, MediaError> {
        let decode = DecodeOptions {
            hwaccel: options.hwaccel.clone(),
            forgive: options.forgive,
            cancel: options.cancel.clone(),
            in_process: options.in_process,
            ..DecodeOptions::default()
        };
        self.source(0, &decode, &mut None)
    }

    /// Reads the reference from here and not from its file.
    pub fn give_reference(&mut self, source: Box<dyn Source>) {
        self.opened[0] = Some(source);
    }

    /// Starts decoding and pairs the first frames.
    pub fn open(mut self, options: &PairOptions) -> Result<OpenPair, MediaError> {
        if options.found.is_some() {
            return match self.known(options) {
                Some(known) => self.open_known(known, options),
                None => self.open(&PairOptions { found: None, ..options.clone() }),
            };
        }
        let target = self.target(options)?;
        let halt = Cancel::new();
        let decode = self.decode_options(options, &halt);
        let previewed = |side: usize| {
            let previews = options.previews.clone().map(|sink| Previews { sink, side });
            DecodeOptions { previews, ..decode.clone() }
        };
        for facts in &mut self.facts {
            facts.not_on_device.clone_from(&options.not_on_device);
        }
        let mut words: [Option<StderrTail>; 2] = [None, None];
        let reference = self.stream(0, target, options, &previewed(0), &mut words[0])?;
        let distorted = self.stream(1, target, options, &previewed(1), &mut words[1])?;
        let comparability = compare::facts(&self.facts[0], &self.facts[1], options.sync);
        let conversions = self.conversions(target, options.scaler);
        let request = Request {
            sync: options.sync,
            lengths: self.lengths(options.skip),
            pairs: options.pairs.clone(),
            scan: self.scan(options, &decode),
            prints: options.finding,
            halt,
            cancel: options.cancel.clone(),
        };
        let started = sync::start([reference, distorted], request)?;
        Ok(self.started(started, options, comparability, conversions, words))
    }

    /// A pair that is being read.
    pub(crate) fn started(
        self,
        started: Started,
        options: &PairOptions,
        known: Comparability,
        conversions: Vec<(Side, String)>,
        words: [Option<StderrTail>; 2],
    ) -> OpenPair {
        let [reference, distorted] = started.sources;
        let control = Control {
            again: self.again(options),
            facts: Arc::new(self.facts),
            conversions: Arc::new(conversions),
            known,
            log: started.log,
            scored: Mutex::new(None),
            threads: started.threads,
            words,
            forgive: options.forgive,
            ffmpeg: self.tools.as_ref().map(software::version),
        };
        OpenPair { reference, distorted, control }
    }

    /// What the frames of both become.
    pub(crate) fn target(&self, options: &PairOptions) -> Result<Shape, MediaError> {
        let target = geometry::target(&self.facts, options.scale, options.display)?;
        let mapped = self.tone_map[0].map(|_| ColourRange::Limited);
        Ok(Shape { range: mapped.unwrap_or(target.range), ..target })
    }

    pub(crate) fn decode_options(&self, options: &PairOptions, halt: &Cancel) -> DecodeOptions {
        DecodeOptions {
            hwaccel: options.hwaccel.clone(),
            forgive: options.forgive,
            upright: self.upright,
            rgb: self.rgb,
            cancel: halt.clone(),
            start: 0,
            device: options.device.clone(),
            previews: None,
            in_process: options.in_process,
        }
    }

    /// The range of the frames that a side's decoder gives.
    pub(crate) fn decoded_range(&self, side: usize) -> ColourRange {
        self.tone_map[side].map_or_else(|| range(&self.facts[side]), |_| ColourRange::Limited)
    }

    /// How the same pair can be opened once more.
    fn again(&self, options: &PairOptions) -> Reopen {
        let Self { inputs, tools, upright, rgb, tone_map, .. } = self;
        let options = PairOptions { sync: Sync::Off, device: None, finding: false, ..options.clone() };
        let (inputs, tools) = (inputs.clone(), tools.clone());
        Reopen { inputs, tools, upright: *upright, rgb: *rgb, tone_map: *tone_map, options }
    }

    /// Whether both have the same length and rate, which they would not have if one had been edited.
    fn lengths(&self, skip: [u64; 2]) -> Lengths {
        let frames = |side: usize| self.facts[side].frames.map(|frames| frames.saturating_sub(skip[side]));
        let variable = |facts: &Facts| facts.probe.as_ref().is_some_and(|probe| probe.variable_rate);
        let rates = self.facts.each_ref().map(Facts::rate);
        let same_rate = match rates {
            [Some(reference), Some(distorted)] => (reference / distorted - 1.0).abs() < 0.001,
            _ => true,
        };
        let counted = |facts: &Facts| facts.probe.as_ref().is_none_or(|probe| probe.counted);
        match (frames(0), frames(1)) {
            (Some(a), Some(b)) if a == b && (same_rate || self.facts.iter().any(variable)) => Lengths::Agree,
            (Some(a), Some(b)) if a != b && self.facts.iter().all(counted) => Lengths::Differ,
            _ => Lengths::Unknown,
        }
    }

    /// How both are read once more, if pairing asks for it.
    fn scan(&self, options: &PairOptions, decode: &DecodeOptions) -> sync::Scan {
        let again = [0, 1].map(|side| Again {
            input: self.inputs[side].clone(),
            probe: self.facts[side].probe.clone(),
            range: range(&self.facts[side]),
            rate: self.facts[side].rate(),
            skip: options.skip[side],
            crop: options.treatments[side].crop,
        });
        let tools = self.tools.clone();
        // A quick look; what it costs to set hardware up would be lost.
        let decode = DecodeOptions { forgive: true, hwaccel: None, device: None, ..decode.clone() };
        Box::new(move |views, cancel| {
            let decode = DecodeOptions { cancel: cancel.clone(), ..decode.clone() };
            scan(&again, tools.as_ref(), &decode, views)
        })
    }

    fn stream(
        &mut self,
        side: usize,
        target: Shape,
        options: &PairOptions,
        decode: &DecodeOptions,
        words: &mut Option<StderrTail>,
    ) -> Result<Stream, MediaError> {
        let own = Shape { format: self.facts[side].format, range: range(&self.facts[side]) };
        let converted =
            self.tone_map[side].is_some() || Converter::new(own, target, options.scaler).is_some();
        let source = match self.on_device(side, decode, converted) {
            Some(source) => source,
            None => self.source(side, decode, words)?,
        };
        let facts = &self.facts[side];
        Ok(Stream {
            source,
            range: self.decoded_range(side),
            rate: facts.rate(),
            target,
            scaler: options.scaler,
            skip: options.skip[side],
        })
    }

    /// The pictures of a side on a device, where one is offered and can decode it.
    fn on_device(&mut self, side: usize, decode: &DecodeOptions, converted: bool) -> Option<Box<dyn Source>> {
        let (device, tools) = (decode.device.as_deref()?, self.tools.as_ref()?);
        let probe = self.facts[side].probe.as_ref().filter(|_| self.opened[side].is_none())?;
        let opened = if converted {
            Err("its pictures are converted on the CPU".to_owned())
        } else {
            DeviceDecoder::open(tools, probe, decode, device)
        };
        let facts = &mut self.facts[side];
        match opened {
            Ok(decoder) => {
                facts.hardware = Some(format!("nvdec ({}:{})", device.id().api, device.id().index));
                Some(Box::new(decoder))
            }
            Err(reason) => {
                facts.not_on_device = Some(reason);
                None
            }
        }
    }

    fn source(
        &mut self,
        side: usize,
        decode: &DecodeOptions,
        words: &mut Option<StderrTail>,
    ) -> Result<Box<dyn Source>, MediaError> {
        Ok(match (self.opened[side].take(), &self.tools, &self.facts[side].probe) {
            (Some(source), ..) => source,
            (None, Some(tools), Some(probe)) => {
                let mut decode = decode.clone();
                if decode.hwaccel.as_deref() == Some("auto") {
                    decode.hwaccel = Decoder::find_hardware(tools, probe, &decode);
                }
                let decoder;
                (decoder, *words) = software::open(tools, probe, &decode)?;
                let range = range(&self.facts[side]);
                self.facts[side].hardware = decode.hwaccel;
                tone_mapped(decoder, self.tone_map[side], range)
            }
            (None, tools, probe) => {
                return Err(self.inputs[side].inconsistent(tools.is_some(), probe.is_some()));
            }
        })
    }

    /// What is done to the samples of each side, in words.
    pub(crate) fn conversions(&self, target: Shape, scaler: Scaler) -> Vec<(Side, String)> {
        let mut all = Vec::new();
        for (side, facts) in [Side::Reference, Side::Distorted].into_iter().zip(&self.facts) {
            let place = usize::from(side == Side::Distorted);
            all.extend(self.treated[place].iter().map(|words| (side, words.clone())));
            if let Some(delivery) = facts.probe.as_ref().map(|probe| &probe.delivery) {
                all.extend(delivery.note.clone().map(|note| (side, note)));
                if delivery.rgb {
                    let (matrix, range) = (self.rgb.matrix.name(), range_name(self.rgb.range));
                    all.push((side, format!("RGB to YUV 4:4:4 ({matrix}, {range} range)")));
                }
            }
            let own = Shape { format: facts.format, range: self.decoded_range(place) };
            let words = Converter::new(own, target, scaler).map_or(Vec::new(), |converter| converter.words());
            all.extend(words.into_iter().map(|words| (side, words)));
        }
        all
    }
}

/// HDR is brought to SDR where that is wanted.
pub(crate) fn tone_mapped(
    decoder: Box<dyn Source>,
    mapped: Option<HdrTransfer>,
    range: ColourRange,
) -> Box<dyn Source> {
    match mapped {
        Some(transfer) => Box::new(ToneMapped::new(decoder, transfer, range)),
        None => decoder,
    }
}

/// What it takes to open a pair once more.
#[derive(Debug)]
pub(crate) struct Reopen {
    inputs: [Input; 2],
    tools: Option<Tools>,
    upright: bool,
    rgb: RgbTarget,
    tone_map: [Option<HdrTransfer>; 2],
    options: PairOptions,
}

impl Reopen {
    /// These pairs of the same videos; `None` for what can be read only once.
    pub fn open(
        &self,
        facts: &[Facts; 2],
        pairs: Vec<(u64, u64)>,
        cancel: &Cancel,
    ) -> Result<Option<OpenPair>, MediaError> {
        if !self.inputs.iter().all(|input| input.path().is_file()) {
            return Ok(None);
        }
        let open = |side: usize| -> Result<Option<Box<dyn Source>>, MediaError> {
            let (input, treatment) = (&self.inputs[side], &self.options.treatments[side]);
            if input.is_encoded() {
                return Ok(None);
            }
            Ok(match look(input, treatment, None, cancel)? {
                Looked::Source(source) => {
                    Some(treatment.apply_to_source(source, &mut facts[side].clone())?.0)
                }
                Looked::Probe(_) => None,
            })
        };
        let probed = Probed {
            inputs: self.inputs.clone(),
            tools: self.tools.clone(),
            facts: facts.clone(),
            opened: [open(0)?, open(1)?],
            upright: self.upright,
            rgb: self.rgb,
            treated: Default::default(),
            tone_map: self.tone_map,
        };
        let options = PairOptions { pairs: Some(pairs), cancel: cancel.clone(), ..self.options.clone() };
        probed.open(&options).map(Some)
    }
}

/// Opens one video by itself, encoded or not.
pub fn open_one(input: &Input, launch: Launch, purpose: &str) -> Result<Box<dyn Source>, MediaError> {
    let tools = if input.is_encoded() { Some(Tools::find(launch, purpose)?) } else { None };
    let options = DecodeOptions::default();
    match (look(input, &Treatment::default(), tools.as_ref(), &options.cancel)?, tools) {
        (Looked::Probe(probe), Some(tools)) => Ok(Box::new(Decoder::open(&tools, &probe, &options)?)),
        (Looked::Source(source), _) => Ok(source),
        (Looked::Probe(_), None) => Err(input.inconsistent(false, true)),
    }
}

/// What the headers of two open sources say about their comparability.
pub fn judge(reference: &dyn Source, distorted: &dyn Source) -> Comparability {
    let mut found = compare::facts(&Facts::of_source(reference), &Facts::of_source(distorted), Sync::Off);
    // Such headers are often wrong, and whoever made such files has paired their frames.
    found.reasons.iter_mut().for_each(|reason| reason.weight = reason.weight.min(Verdict::Warn));
    found
}

/// Probes, judges and opens a pair.
pub fn open_pair(inputs: [Input; 2], options: &PairOptions) -> Result<OpenPair, MediaError> {
    Probed::new(inputs, options)?.open(options)
}
