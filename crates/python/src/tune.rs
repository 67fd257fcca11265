//! Encoder settings by score: search and comparison.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::{Value, json};
use visus_engine::Cancel as EngineCancel;
use visus_tune::cache::Cache;
use visus_tune::encoders::{self, Choices};
use visus_tune::samples::SamplePlan;
use visus_tune::{
    CompareSettings, Event, FindSettings, Goal, Judge, Lab, Pooling, RawShape, Source, Tools, looks_raw,
};

use crate::failure::Failure;
use crate::options::FormatOptions;
use crate::wait::{self, Cancel, Progress};

/// How long ffmpeg may be silent before it counts as stuck.
const SILENCE: Duration = Duration::from_secs(600);

/// What both questions have in common.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct TuneOptions {
    source: PathBuf,
    format: Option<FormatOptions>,
    model: String,
    pool: String,
    preset: Option<String>,
    pix_fmt: Option<String>,
    options: Vec<(String, String)>,
    samples: Option<u32>,
    sample_duration: f64,
    cache_dir: Option<PathBuf>,
    cache: bool,
}

/// What a search asks.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct SearchOptions {
    /// As the command line writes them; all must be met.
    targets: Vec<String>,
    /// Settings that are tried for each whole number, where the encoder takes fractions.
    steps: u32,
    encoder: String,
    tolerance: f64,
    min_savings: Option<f64>,
    max_size: Option<u64>,
    output: Option<PathBuf>,
}

/// What a comparison asks.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct CompareOptions {
    encoders: Vec<String>,
    targets: Vec<f64>,
    parallel: bool,
}

/// The setting that reaches a score, as JSON.
#[pyfunction]
pub fn search(
    py: Python<'_>,
    tune: TuneOptions,
    search: SearchOptions,
    progress: Option<Bound<'_, PyAny>>,
    cancel: &Bound<'_, Cancel>,
) -> PyResult<String> {
    let cancel = cancel.get().0.clone();
    wait::run(py, &cancel, progress, |progress| {
        let goals = goals(&search.targets, tune.pooling()?)?;
        let settings = FindSettings {
            adapter: encoders::by_name(&search.encoder)?,
            choices: tune.choices(),
            goals: goals.clone(),
            steps: search.steps,
            tolerance: search.tolerance.abs(),
            samples: tune.sample_plan()?,
            min_savings: search.min_savings,
            max_size: search.max_size,
            output: search.output.clone(),
        };
        let opened = tune.open(search.output.as_deref(), &goals, &cancel)?;
        let tell = |event| tell(progress, event);
        let answer = visus_tune::find(&opened.lab, &opened.source, &opened.judge, &settings, &tell)?;
        Ok(visus_report::score::json(&answer).to_string())
    })
}

/// Encoders side by side, as JSON.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    tune: TuneOptions,
    compare: CompareOptions,
    progress: Option<Bound<'_, PyAny>>,
    cancel: &Bound<'_, Cancel>,
) -> PyResult<String> {
    let cancel = cancel.get().0.clone();
    wait::run(py, &cancel, progress, |progress| {
        compare.targets.iter().try_for_each(|target| check_target(*target))?;
        let settings = CompareSettings {
            encoders: compare.encoders.clone(),
            targets: compare.targets.clone(),
            choices: tune.choices(),
            pooling: tune.pooling()?,
            samples: tune.sample_plan()?,
            parallel: compare.parallel,
        };
        let opened = tune.open(None, &[], &cancel)?;
        let tell = |event| tell(progress, event);
        let report = visus_tune::compare(&opened.lab, &opened.source, &opened.judge, &settings, &tell)?;
        Ok(visus_report::score::json(&report).to_string())
    })
}

/// All targets; a score of the model lies between 0 and 110.
fn goals(texts: &[String], pooling: Pooling) -> Result<Vec<Goal>, Failure> {
    let goals = texts.iter().map(|text| Goal::parse(text, pooling).map_err(Failure::request));
    let goals: Vec<Goal> = goals.collect::<Result<_, _>>()?;
    let of_model = goals.iter().filter(|goal| goal.metric.is_none());
    of_model.map(|goal| goal.value).try_for_each(check_target)?;
    Ok(goals)
}

fn check_target(target: f64) -> Result<(), Failure> {
    if (0.0..=110.0).contains(&target) {
        return Ok(());
    }
    Err(Failure::request(format!("target {target} must be 0 to 110")))
}

/// What is opened before anything is encoded.
struct Opened {
    lab: Lab,
    source: Source,
    judge: Judge,
}

impl TuneOptions {
    fn choices(&self) -> Choices {
        let (preset, pix_fmt) = (self.preset.clone(), self.pix_fmt.clone());
        Choices { preset, pix_fmt, gop: None, extra: self.options.clone() }
    }

    fn pooling(&self) -> Result<Pooling, Failure> {
        self.pool.parse().map_err(|error| Failure::request(format!("pool: {error}")))
    }

    fn sample_plan(&self) -> Result<SamplePlan, Failure> {
        let seconds = self.sample_duration;
        if !(0.1..=600.0).contains(&seconds) {
            return Err(Failure::request(format!("sample_duration {seconds} must be 0.1 to 600 seconds")));
        }
        Ok(SamplePlan { count: self.samples, seconds })
    }

    fn open(&self, output: Option<&Path>, goals: &[Goal], cancel: &EngineCancel) -> Result<Opened, Failure> {
        let tools = Tools::find(None, SILENCE)?;
        let beside = output.map(|output| match output.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => ".".into(),
        });
        if let Some(folder) = beside.as_deref().filter(|folder| !folder.is_dir()) {
            let text = format!("cannot write into {}: there is no such folder", folder.display());
            return Err(Failure::request(text));
        }
        let lab = Lab::new(tools, self.open_cache()?, cancel.clone(), beside.as_deref())?;
        let source = Source::open(&self.source, self.shape()?, &lab.tools, &lab.cache, cancel)?;
        let judge = Judge::for_goals(&self.model, goals, &source.format, source.rate)?;
        Ok(Opened { lab, source, judge })
    }

    fn open_cache(&self) -> Result<Cache, Failure> {
        if !self.cache {
            return Ok(Cache::temporary()?);
        }
        let folder = self.cache_dir.clone().or_else(Cache::usual_folder);
        let folder = folder
            .ok_or_else(|| Failure::request("there is no folder for the cache; name one as cache_dir"))?;
        Ok(Cache::open(&folder, Cache::usual_limit().map_err(Failure::request)?)?)
    }

    fn shape(&self) -> Result<Option<RawShape>, Failure> {
        let Some(format) = &self.format else {
            if looks_raw(&self.source) {
                return Err(Failure::request("raw video needs a format with a frame rate"));
            }
            return Ok(None);
        };
        let clip = format.clip()?;
        let rate = clip.frame_rate.ok_or_else(|| Failure::request("raw video needs a frame rate"))?;
        let (width, height) = (clip.format.width(), clip.format.height());
        Ok(Some(RawShape { width, height, pix_fmt: format.pix_fmt.clone(), rate }))
    }
}

/// An event as Python hears of it.
fn tell(progress: &Progress, event: Event) {
    progress.event(match event {
        Event::Estimate(estimate) => with_kind("estimate", visus_report::score::json(&estimate)),
        Event::Part { name, index, of } => json!({"event": "part", "name": name, "index": index, "of": of}),
        Event::Encoding { job, done, total } => {
            json!({"event": "encoding", "job": job, "done": done, "total": total})
        }
        Event::Scoring { job, done, total } => {
            json!({"event": "scoring", "job": job, "done": done, "total": total})
        }
        Event::Measured { job, quality, score, kbps, cached } => json!({
            "event": "measured", "job": job, "quality": quality, "score": score, "kbps": kbps, "cached": cached
        }),
        Event::Looking { done, total } => json!({"event": "looking", "done": done, "total": total}),
        Event::Warning(text) => json!({"event": "warning", "text": text}),
        _ => return,
    });
}

fn with_kind(kind: &str, mut value: Value) -> Value {
    if let Some(entries) = value.as_object_mut() {
        entries.insert("event".to_owned(), kind.into());
    }
    value
}
