//! A `vmaf` executable as engine: Netflix's, a fork's, or ours.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use visus_child::{ChildCommand, Finished, RunError, Sandbox};
use visus_report::full::InputFacts;
use visus_video::{Chroma, Format};

use super::encoded::{self, Decoders, Encoded, Opened, Videos};
use super::place::Place;
use super::probe::{Help, Probes};
use super::{Bytes, DEVICES, Input, ModelWish, ScoreTask, Tuning, WantedModel, model_mismatch, unavailable};
use super::{feed, foreign, render};
use crate::ToolError;
use crate::config::EngineKind;
use crate::error::cleaned;
use crate::jobs::Context;
use crate::report::{EngineFacts, ModelFacts, ScoreReport};

/// The executable and how it is run.
#[derive(Clone, Copy, Debug)]
pub struct External<'a> {
    pub binary: &'a Path,
    pub probes: &'a Probes,
    pub launcher: Option<&'a Path>,
    pub limit: Duration,
}

/// Where the executable is: the one that was asked for, the usual place, or the search path.
pub fn locate(asked: Option<&Path>) -> PathBuf {
    let usual = Path::new("/usr/local/bin/vmaf");
    match asked {
        Some(path) => path.to_path_buf(),
        None if visus_child::is_program(usual) => usual.to_path_buf(),
        None => visus_child::on_path("vmaf").unwrap_or_else(|| usual.to_path_buf()),
    }
}

pub fn missing(binary: &Path) -> String {
    format!(
        "vmaf binary not found at {}. Set VMAF_BIN, or use the native engine.",
        cleaned(&binary.to_string_lossy())
    )
}

/// The longest part of a child's words that a message repeats.
const SHOWN: usize = 2000;
/// The largest report that is read.
const MAX_REPORT: u64 = 1 << 30;
/// Memory of the child.
const MAX_MEMORY: u64 = 16 << 30;

impl External<'_> {
    fn help(&self) -> Help {
        self.probes.help(self.binary, false).unwrap_or_default()
    }

    /// Scores in a child process.
    pub fn score(&self, task: ScoreTask, context: &Context) -> Result<ScoreReport, ToolError> {
        if !visus_child::is_program(self.binary) {
            return Err(ToolError::Failed(missing(self.binary)));
        }
        if task.tiny.is_some() {
            let text =
                "tiny_model: ONNX models need the native engine; start the server with --engine native";
            return Err(ToolError::Refused(text.to_owned()));
        }
        let help = self.help();
        check_backend(&task.backend, &help)?;
        let Some(wish) = task.encoded else {
            let facts = [
                InputFacts::of(&*task.reference.source(task.raw)?),
                InputFacts::of(&*task.distorted.source(task.raw)?),
            ];
            let places = Places::of([&task.reference, &task.distorted])?;
            return self.score_places(task, facts, places, &help, context);
        };
        self.score_encoded(task, wish, &help, context)
    }

    /// Decodes into pipes that the child reads.
    fn score_encoded(
        &self,
        mut task: ScoreTask,
        wish: Encoded,
        help: &Help,
        context: &Context,
    ) -> Result<ScoreReport, ToolError> {
        let decoders = Decoders { launcher: self.launcher.map(Path::to_path_buf), limit: self.limit };
        let Opened { reference, distorted, pairing } =
            encoded::open(wish, &Videos::of(&task), &decoders, &context.cancel)?;
        (task.tuning.skip_ref, task.tuning.skip_dist) = (0, 0);
        let mut facts = [InputFacts::of(&*reference), InputFacts::of(&*distorted)];
        facts.iter_mut().for_each(|facts| facts.file = pairing.name(&facts.file));
        let fail = |error: io::Error| ToolError::Failed(format!("no pipe for a child: {error}"));
        let (first, reference) = feed::start(reference).map_err(fail)?;
        let (second, distorted) = feed::start(distorted).map_err(fail)?;
        let [a, b] = [&facts[0].file, &facts[1].file].map(Clone::clone);
        let report = self.score_places(task, facts, Places([(first, a), (second, b)]), help, context);
        // The reading ends are gone: whoever still writes comes to an end.
        let fed = reference.finish().and(distorted.finish()).map_err(|error| pairing.renamed(error));
        if matches!(report, Err(ToolError::Cancelled)) {
            return report;
        }
        fed?;
        let mut report = report?;
        report.note_pairing(pairing.finish()?);
        Ok(report)
    }

    /// Scores two videos that a child can reach by path.
    fn score_places(
        &self,
        task: ScoreTask,
        [reference, distorted]: [InputFacts; 2],
        places: Places,
        help: &Help,
        context: &Context,
    ) -> Result<ScoreReport, ToolError> {
        let mut notes = task.notes.clone();
        let models = chosen(&task, &reference, &mut notes)?;
        let run = Run::new(&task, &models, places, help)?;
        context.progress(0, None, "scoring in a child process");
        let finished = self.run(&run, context)?;
        if finished.code != 0 {
            return Err(ToolError::Failed(format!(
                "vmaf exited {}: {}",
                finished.code,
                run.words(&finished)
            )));
        }
        let text = content(&run.output, MAX_REPORT).map_err(|error| foreign::unreadable(&error))?;
        if let Some(note) = precision_note(&task, help) {
            notes.push(note);
        }
        let used = backend_used(&task.backend, help);
        let (outcome, parsed, written) = match task.format {
            Some((name, _)) => (foreign::no_scores(&reference), None, Some((name, text))),
            None => {
                let parsed = foreign::parse(&text, &reference, task.tuning.subsample)?;
                (parsed.outcome.clone(), Some(parsed), None)
            }
        };
        context.count_frames(outcome.frames);
        let version = parsed.as_ref().and_then(|parsed| parsed.version.clone());
        Ok(ScoreReport {
            engine: EngineFacts {
                kind: EngineKind::External,
                version: version.unwrap_or_else(|| "unknown".to_owned()),
                cpu_level: None,
                binary: Some(cleaned(&self.binary.to_string_lossy())),
            },
            backend_requested: task.backend,
            backend_used: parsed.as_ref().and_then(|parsed| parsed.backend.clone()).unwrap_or(used),
            mismatched_model: models.iter().find_map(|model| model_mismatch(&model.label, &reference.format)),
            models: models.into_iter().map(|model| model.facts).collect(),
            extra_columns: Vec::new(),
            reference,
            distorted,
            outcome,
            foreign_pooled: parsed.map(|parsed| parsed.pooled),
            text: written,
            precision: task.precision,
            detail: task.detail,
            notes,
            sections: Vec::new(),
            paired_shots: None,
        })
    }

    fn run(&self, run: &Run, context: &Context) -> Result<Finished, ToolError> {
        let command = ChildCommand {
            program: self.binary.to_path_buf(),
            args: run.args.clone(),
            limit: self.limit,
            launcher: self.launcher.map(Path::to_path_buf),
            sandbox: Sandbox {
                read: run.read.clone(),
                write: vec![run.output.path().to_path_buf()],
                memory: Some(MAX_MEMORY),
                file_bytes: Some(MAX_REPORT),
                devices: run.devices,
            },
            ..ChildCommand::default()
        };
        let mut told = 0;
        let tick = || {
            let seconds = context.elapsed().as_secs();
            if seconds > told {
                told = seconds;
                context.progress(seconds, None, format!("the child process works, {seconds} s"));
            }
        };
        visus_child::run(&command, || context.cancel.is_fired(), tick).map_err(|error| match error {
            RunError::Start(error) => ToolError::Failed(format!("vmaf cannot be started: {error}")),
            RunError::TimedOut => ToolError::TimedOut { limit: self.limit },
            RunError::Cancelled => ToolError::Cancelled,
        })
    }
}

fn check_backend(backend: &str, help: &Help) -> Result<(), ToolError> {
    if backend == "auto" || help.has(backend) {
        return Ok(());
    }
    Err(unavailable(backend, &help.available()))
}

/// What ran, as far as that can be known from outside.
fn backend_used(requested: &str, help: &Help) -> String {
    match requested {
        "auto" if help.available() == ["cpu"] => "cpu".to_owned(),
        other => other.to_owned(),
    }
}

fn precision_note(task: &ScoreTask, help: &Help) -> Option<String> {
    let asked = task.precision_text.as_deref().filter(|text| *text != "legacy")?;
    (!help.shows("--precision"))
        .then(|| format!("this vmaf binary has no --precision {asked}: scores have six decimals"))
}

/// A model, and how it is told to the child.
struct Chosen {
    label: String,
    /// The words for `-m`; presets bring theirs by themselves.
    words: Option<String>,
    /// Keeps the file open that the words point to.
    file: Option<Place>,
    facts: ModelFacts,
}

fn chosen(
    task: &ScoreTask,
    reference: &InputFacts,
    notes: &mut Vec<String>,
) -> Result<Vec<Chosen>, ToolError> {
    match &task.models {
        ModelWish::These(models) => models.iter().map(wanted).collect(),
        ModelWish::Auto => {
            let (version, reason) = visus_engine::model::automatic(&reference.format, reference.frame_rate);
            notes.push(reason);
            let spec = visus_engine::ModelSpec::version(version);
            let model = WantedModel { given: Some(format!("version={version}")), spec, file: None };
            Ok(vec![wanted(&model)?])
        }
    }
}

fn wanted(model: &WantedModel) -> Result<Chosen, ToolError> {
    let file = model.file.as_ref().map(|opened| Place::of_file(&opened.file, &opened.path));
    let file = file.transpose().map_err(no_file)?;
    let said = |_: &String| render::model(model, file.as_ref().map(Place::path));
    let words = model.given.as_ref().map(said).transpose()?;
    let label = match &model.file {
        Some(opened) => cleaned(&opened.path.to_string_lossy()),
        None => model.spec.label(),
    };
    // What a foreign binary has built in cannot be seen from outside; a file can.
    let sha256 = model.file.as_ref().and_then(|opened| hash(&opened.file).ok());
    let facts = ModelFacts { name: model.spec.name.clone(), label: label.clone(), sha256, highest: None };
    Ok(Chosen { label, words, file, facts })
}

fn hash(mut file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(super::MAX_MODEL_BYTES).read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(visus_engine::model::sha256_hex(&bytes))
}

/// Arguments of a child, and the files they point to.
struct Run {
    args: Vec<OsString>,
    output: Place,
    inputs: Places,
    /// All files that the arguments name but the output.
    read: Vec<PathBuf>,
    /// It computes on a graphics device, or may choose to.
    devices: bool,
}

/// Where a child finds the two videos, and what people call them.
struct Places([(Place, String); 2]);

impl Places {
    fn of(inputs: [&Input; 2]) -> Result<Self, ToolError> {
        let [reference, distorted] = inputs.map(|input| {
            let place = place(input).map_err(no_file)?;
            Ok::<_, ToolError>((place, cleaned(&input.name.to_string_lossy())))
        });
        Ok(Self([reference?, distorted?]))
    }
}

fn no_file(error: io::Error) -> ToolError {
    ToolError::Failed(format!("no temporary file: {error}"))
}

impl Run {
    fn new(task: &ScoreTask, models: &[Chosen], inputs: Places, help: &Help) -> Result<Self, ToolError> {
        let [(reference, _), (distorted, _)] = &inputs.0;
        let output = Place::temporary().map_err(no_file)?;
        let mut args = Args::default();
        args.pair("-r", reference.path()).pair("-d", distorted.path());
        if let Some(format) = task.raw {
            args.raw(&format);
        }
        for words in models.iter().filter_map(|model| model.words.as_ref()) {
            args.pair("-m", words);
        }
        args.word("-q").pair("-o", output.path());
        args.word(&format!("--{}", task.format.map_or("json", |(name, _)| name)));
        if let Some(precision) = task.precision_text.as_ref().filter(|_| help.shows("--precision")) {
            args.pair("--precision", render::word("precision", precision)?);
        }
        args.backend(&task.backend, help).features(task)?.tuning(&task.tuning);
        let models = models.iter().filter_map(|model| model.file.as_ref());
        let read = models.chain([reference, distorted]).map(|place| place.path().to_path_buf()).collect();
        let devices = task.backend != "cpu" && help.available() != ["cpu"];
        Ok(Self { args: args.0, output, inputs, read, devices })
    }

    /// The child's last words, with the names that people know.
    fn words(&self, finished: &Finished) -> String {
        let mut words = finished.stderr.clone();
        for (place, name) in &self.inputs.0 {
            words = words.replace(&*place.path().to_string_lossy(), name);
        }
        let words = words.trim();
        let start = words.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
        words[start..].chars().filter(|c| !c.is_control() || *c == '\n').collect()
    }
}

fn place(input: &Input) -> io::Result<Place> {
    match &input.bytes {
        Bytes::File(file) => Place::of_file(file, &input.name),
        Bytes::Memory(bytes) => {
            let mut place = Place::temporary()?;
            place.file_mut().write_all(bytes)?;
            place.file_mut().rewind()?;
            Ok(place)
        }
    }
}

/// The child's arguments as a list; no shell ever sees them.
#[derive(Default)]
struct Args(Vec<OsString>);

impl Args {
    fn word(&mut self, word: &str) -> &mut Self {
        self.0.push(word.into());
        self
    }

    fn pair(&mut self, option: &str, value: impl Into<OsString>) -> &mut Self {
        self.0.push(option.into());
        self.0.push(value.into());
        self
    }

    fn raw(&mut self, format: &Format) {
        let chroma = match format.chroma() {
            Chroma::C422 => "422",
            Chroma::C444 => "444",
            _ => "420",
        };
        self.pair("--width", format.width().to_string()).pair("--height", format.height().to_string());
        self.pair("-p", chroma).pair("-b", format.depth().to_string());
    }

    /// Where the binary cannot be told which backend, the others are switched off.
    fn backend(&mut self, backend: &str, help: &Help) -> &mut Self {
        if backend == "auto" {
            return self;
        }
        if help.shows("--backend") {
            return self.pair("--backend", backend);
        }
        for other in
            DEVICES.into_iter().filter(|other| *other != "cpu" && *other != backend && help.has(other))
        {
            self.word(&format!("--no_{other}"));
        }
        self
    }

    /// Presets bring their features by themselves.
    fn features(&mut self, task: &ScoreTask) -> Result<&mut Self, ToolError> {
        for (_, spec) in task.features.iter().filter(|(given, _)| given.is_some()) {
            self.pair("--feature", render::feature(spec)?);
        }
        for (name, version) in &task.presets {
            self.pair(&format!("--{name}"), render::word(name, version)?);
        }
        Ok(self)
    }

    fn tuning(&mut self, tuning: &Tuning) -> &mut Self {
        let numbers = [
            ("--threads", tuning.threads),
            ("--frame_cnt", tuning.frame_cnt),
            ("--frame_skip_ref", Some(tuning.skip_ref).filter(|skip| *skip > 0)),
            ("--frame_skip_dist", Some(tuning.skip_dist).filter(|skip| *skip > 0)),
            ("--subsample", Some(tuning.subsample).filter(|step| *step > 1)),
            ("--cpumask", tuning.cpumask),
            ("--gpumask", tuning.gpumask),
        ];
        for (option, number) in numbers {
            if let Some(number) = number {
                self.pair(option, number.to_string());
            }
        }
        if tuning.no_prediction {
            self.word("--no_prediction");
        }
        self
    }
}

/// All that was written to a place, up to a limit.
fn content(place: &Place, limit: u64) -> io::Result<String> {
    let mut file: &File = place.file();
    file.rewind()?;
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text)?;
    Ok(text)
}
