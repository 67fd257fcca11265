//! A `vmaf` executable as engine: Netflix's, a fork's, or ours.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use visus_child::{ChildCommand, Finished, RunError, Sandbox};
use visus_engine::ModelSource;
use visus_media::Steps;
use visus_report::score::{InputFacts, ModelFacts, ScoreFacts};
use visus_scoring::names::RequestedModel;
use visus_scoring::{
    OpenVideos, OpenedFile, Prepared, Resolved, RunOptions, ScoreError, ScoreRequest, Video, Videos,
};
use visus_video::Format;

use super::probe::{Help, Probes};
use super::{ScoreTask, feed, foreign, model_mismatch, render, tool_error, unavailable};
use crate::ToolError;
use crate::error::cleaned;
use crate::jobs::Context;
use crate::report::ScoreReport;

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
/// Memory of the child, at most.
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
        let fail = |error: ScoreError| tool_error(error, self.limit);
        let ScoreRequest { videos, selection, options } = &task.request;
        let again = |video: &Video| video.try_clone().map_err(|error| ToolError::failed(&error));
        let handles = [again(&videos.reference)?, again(&videos.distorted)?];
        let (raw, skip) = (videos.raw, videos.skip);
        let own = Videos {
            reference: again(&videos.reference)?,
            distorted: again(&videos.distorted)?,
            raw,
            pairing: videos.pairing.clone(),
            skip,
        };
        let opened = Prepared::new(own, &selection.models, &context.cancel).and_then(Prepared::open);
        let opened = opened.map_err(fail)?;
        let resolved = selection.resolve(&*opened.reference).map_err(fail)?;
        let mut facts = [InputFacts::of(&*opened.reference), InputFacts::of(&*opened.distorted)];
        facts.iter_mut().for_each(|facts| facts.file = cleaned(&opened.pair.name(&facts.file)));
        let run = Run {
            task: &task,
            options,
            models: chosen(&task, &resolved)?,
            notes: resolved.notes,
            help: &help,
        };
        if opened.pair.is_synchronised() {
            return self.score_streams(run, opened, facts, context);
        }
        drop(opened);
        let places = Places::of(&handles)?;
        let y4m = handles.each_ref().map(Video::is_y4m);
        if y4m[0] != y4m[1] {
            let text = "one of the videos is Y4M and the other is not, which an executable cannot read";
            return Err(ToolError::Refused(text.to_owned()));
        }
        let raw = raw.filter(|_| !y4m[0]);
        self.score_places(run, facts, &places, raw, skip, context)
    }

    /// Decodes into pipes that the child reads.
    fn score_streams(
        &self,
        run: Run<'_>,
        opened: OpenVideos,
        facts: [InputFacts; 2],
        context: &Context,
    ) -> Result<ScoreReport, ToolError> {
        let OpenVideos { reference, distorted, pair, .. } = opened;
        let fail = |error: io::Error| ToolError::Failed(format!("no pipe for a child: {error}"));
        let (first, reference) = feed::start(reference).map_err(fail)?;
        let (second, distorted) = feed::start(distorted).map_err(fail)?;
        let names = [facts[0].file.clone(), facts[1].file.clone()];
        let places = Places([(first, names[0].clone()), (second, names[1].clone())]);
        // Pairing has left out the first frames already.
        let report = self.score_places(run, facts, &places, None, [0, 0], context);
        // Once the reading ends are gone, whoever still writes comes to an end.
        drop(places);
        let renamed = |error: ToolError| match error {
            ToolError::Failed(text) => ToolError::Failed(pair.name(&text)),
            other => other,
        };
        let fed = reference.finish().and(distorted.finish()).map_err(renamed);
        if matches!(report, Err(ToolError::Cancelled)) {
            return report;
        }
        fed?;
        let mut report = report?;
        pair.finish();
        pair.check().map_err(|refusal| tool_error(refusal.into(), self.limit))?;
        report.facts.sections = pair.sections().into_iter().collect();
        report.facts.sections.name_encoded(names);
        report.shots = pair.shots();
        Ok(report)
    }

    /// Scores two videos that a child can reach by path.
    fn score_places(
        &self,
        run: Run<'_>,
        inputs: [InputFacts; 2],
        places: &Places,
        raw: Option<Format>,
        skip: [u64; 2],
        context: &Context,
    ) -> Result<ScoreReport, ToolError> {
        let task = run.task;
        let output = OpenedFile::temporary().map_err(no_file)?;
        let args = run.arguments(places, &output, raw, skip)?;
        context.progress(0, None, "scoring in a child process");
        let finished = self.run(args, run.sandbox(places, &output), context)?;
        if finished.code != 0 {
            let text = format!("vmaf exited {}: {}", finished.code, places.words(&finished));
            return Err(ToolError::Failed(text));
        }
        let text = content(&output, MAX_REPORT).map_err(|error| foreign::unreadable(&error))?;
        let used = backend_used(&task.backend, run.help);
        let (outcome, parsed, written) = match task.format {
            Some((name, _)) => (foreign::no_scores(&inputs[0]), None, Some((name, text))),
            None => {
                let parsed = foreign::parse(&text, &inputs[0], run.options.subsample)?;
                (parsed.outcome.clone(), Some(parsed), None)
            }
        };
        context.count_frames(outcome.frames);
        let version = parsed.as_ref().and_then(|parsed| parsed.version.clone());
        let version = version.unwrap_or_else(|| "unknown".to_owned());
        let format = inputs[0].format;
        let mut facts =
            ScoreFacts::external(&version, &cleaned(&self.binary.to_string_lossy()), &outcome, inputs);
        facts.notes = [task.notes.clone(), run.notes].concat();
        facts.notes.extend(precision_note(task, run.help));
        facts.backend_requested = task.backend.clone();
        facts.backend_used = parsed.as_ref().and_then(|parsed| parsed.backend.clone()).unwrap_or(used);
        let mut labels = run.models.iter().map(|model| &model.facts.label);
        facts.mismatched_model_warning = labels.find_map(|label| model_mismatch(label, &format));
        facts.provenance.models = run.models.into_iter().map(|model| model.facts).collect();
        facts.external_pooled = parsed.map(|parsed| parsed.pooled);
        let (precision, detail) = (task.precision, task.detail);
        Ok(ScoreReport {
            facts,
            outcome,
            text: written,
            precision,
            detail,
            shots: None,
            steps: Steps::default(),
            findings: Vec::new(),
        })
    }

    /// Runs the child, which may read the videos and models, write its report, and touch nothing else.
    fn run(&self, args: Vec<OsString>, sandbox: Sandbox, context: &Context) -> Result<Finished, ToolError> {
        let command = ChildCommand {
            program: self.binary.to_path_buf(),
            args,
            limit: self.limit,
            launcher: self.launcher.map(Path::to_path_buf),
            sandbox,
            ..ChildCommand::default()
        };
        let mut reported = 0;
        let tick = || {
            let seconds = context.elapsed().as_secs();
            if seconds > reported {
                reported = seconds;
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

/// A model, and how the child is asked for it.
struct Chosen {
    /// The words for `-m`; presets bring their models by themselves.
    words: Option<String>,
    /// The file that the words point to.
    file: Option<OpenedFile>,
    facts: ModelFacts,
}

/// The models as they were resolved. Those of presets come last.
fn chosen(task: &ScoreTask, resolved: &Resolved) -> Result<Vec<Chosen>, ToolError> {
    let own = resolved.asked.models.len().saturating_sub(task.presets.models);
    let files = model_files(task)?;
    let mut chosen = Vec::new();
    for (place, (spec, model)) in resolved.asked.models.iter().zip(resolved.plan.models()).enumerate() {
        let file = match &spec.source {
            ModelSource::Path(path) => files.iter().find(|(known, _)| known == path).map(|(_, file)| file),
            ModelSource::Version(_) => None,
        };
        let file =
            file.map(|file| OpenedFile::new(file, Path::new(&model.label))).transpose().map_err(no_file)?;
        let words = render::model(spec, file.as_ref().map(OpenedFile::path))?;
        // What a foreign binary has built in cannot be seen from outside; a file can.
        let sha256 = file.is_some().then(|| model.sha256.clone());
        let label = cleaned(&model.label);
        let facts = ModelFacts { name: spec.name.clone(), label, sha256, ..ModelFacts::default() };
        chosen.push(Chosen { words: (place < own).then_some(words), file, facts });
    }
    Ok(chosen)
}

/// The model files that the request opened, by the path it gave.
fn model_files(task: &ScoreTask) -> Result<Vec<(PathBuf, File)>, ToolError> {
    let mut files = Vec::new();
    for model in &task.request.selection.models {
        if let RequestedModel::One(model) = model
            && let (Some(path), Some(opened)) = (model.path(), &model.file)
        {
            files.push((path.clone(), opened.file.try_clone().map_err(no_file)?));
        }
    }
    Ok(files)
}

/// Where a child finds the two videos, and what people call them.
struct Places([(OpenedFile, String); 2]);

impl Places {
    fn of(videos: &[Video; 2]) -> Result<Self, ToolError> {
        let place = |video: &Video| {
            let place = place(video).map_err(no_file)?;
            Ok::<_, ToolError>((place, cleaned(&video.name())))
        };
        Ok(Self([place(&videos[0])?, place(&videos[1])?]))
    }

    /// The child's last words, with the names that people know.
    fn words(&self, finished: &Finished) -> String {
        let mut words = finished.stderr.clone();
        for (place, name) in &self.0 {
            words = words.replace(&*place.path().to_string_lossy(), name);
        }
        let words = words.trim();
        let start = words.char_indices().rev().nth(SHOWN).map_or(0, |(at, _)| at);
        words[start..].chars().filter(|c| !c.is_control() || *c == '\n').collect()
    }
}

fn no_file(error: io::Error) -> ToolError {
    ToolError::Failed(format!("no temporary file: {error}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "only this program itself names videos by path; what clients name is open"
)]
fn place(video: &Video) -> io::Result<OpenedFile> {
    match video {
        Video::File { name, file } => OpenedFile::new(file, name),
        Video::Path(path) => OpenedFile::new(&File::open(path)?, path),
        Video::Folder { .. } => Err(io::Error::other("numbered pictures need the native engine")),
        Video::Elsewhere { .. } => Err(io::Error::other("only files are scored by another program")),
        Video::Memory { bytes, .. } => {
            let mut place = OpenedFile::temporary()?;
            place.file_mut().write_all(bytes)?;
            place.file_mut().rewind()?;
            Ok(place)
        }
    }
}

/// What a child is run for.
struct Run<'a> {
    task: &'a ScoreTask,
    options: &'a RunOptions,
    models: Vec<Chosen>,
    notes: Vec<String>,
    help: &'a Help,
}

impl Run<'_> {
    fn sandbox(&self, places: &Places, output: &OpenedFile) -> Sandbox {
        let models = self.models.iter().filter_map(|model| model.file.as_ref());
        let videos = places.0.iter().map(|(place, _)| place);
        Sandbox {
            read: models.chain(videos).map(|place| place.path().to_path_buf()).collect(),
            write: vec![output.path().to_path_buf()],
            memory: Some(MAX_MEMORY),
            file_bytes: Some(MAX_REPORT),
            devices: self.task.backend != "cpu" && self.help.available() != ["cpu"],
        }
    }

    fn arguments(
        &self,
        places: &Places,
        output: &OpenedFile,
        raw: Option<Format>,
        skip: [u64; 2],
    ) -> Result<Vec<OsString>, ToolError> {
        let Self { task, options, help, .. } = self;
        let [(reference, _), (distorted, _)] = &places.0;
        let mut args = render::Args::default();
        args.pair("-r", reference.path()).pair("-d", distorted.path());
        raw.iter().for_each(|format| args.raw(format));
        for words in self.models.iter().filter_map(|model| model.words.as_ref()) {
            args.pair("-m", words);
        }
        args.word("-q").pair("-o", output.path());
        args.word(&format!("--{}", task.format.map_or("json", |(name, _)| name)));
        if let Some(precision) = task.precision_text.as_ref().filter(|_| help.shows("--precision")) {
            args.pair("--precision", precision);
        }
        args.backend(&task.backend, help);
        let metrics = &task.request.selection.metrics;
        for spec in &metrics[..metrics.len().saturating_sub(task.presets.metrics)] {
            args.pair("--feature", render::metric(spec)?);
        }
        for (name, version) in &task.presets.options {
            args.pair(&format!("--{name}"), version);
        }
        args.number("--threads", options.threads.map(|threads| threads as u64))
            .number("--frame_cnt", options.frames)
            .number("--frame_skip_ref", Some(skip[0]).filter(|skip| *skip > 0))
            .number("--frame_skip_dist", Some(skip[1]).filter(|skip| *skip > 0))
            .number("--subsample", Some(options.subsample).filter(|step| *step > 1))
            .number("--cpumask", task.masks[0])
            .number("--gpumask", task.masks[1]);
        if !task.request.selection.predict {
            args.word("--no_prediction");
        }
        Ok(args.0)
    }
}

/// All that was written, up to a limit.
fn content(output: &OpenedFile, limit: u64) -> io::Result<String> {
    let mut file: &File = output.file();
    file.rewind()?;
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text)?;
    Ok(text)
}
