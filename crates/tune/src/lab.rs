//! The lab: encodes a window at a quality and scores it, unless that was done before.

#![expect(
    clippy::disallowed_methods,
    reason = "works in folders of its own, or on files that the command line named"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use visus_engine::Cancel;

use crate::TuneError;
use crate::cache::{Cache, Key};
use crate::encode::{self, Recipe};
use crate::encoders::{Adapter, Available, Choices, Detector, Quality};
use crate::estimate;
use crate::event::{Event, Sink};
use crate::mp4;
use crate::score::Judge;
use crate::source::{Source, Window};
use crate::tools::Tools;
use crate::workspace::Workspace;

/// Version of what is measured and how; another one makes old entries unknown.
const METHOD: &str = concat!("visus-", env!("CARGO_PKG_VERSION"), "/1");

/// What all measurements share.
#[derive(Debug)]
pub struct Lab {
    pub tools: Tools,
    pub cache: Cache,
    pub detector: Detector,
    pub cancel: Cancel,
    /// Threads of the engine, for one measurement.
    pub threads: usize,
    workspace: Workspace,
    count: AtomicU64,
}

/// A measured encode of one window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// The score of every frame.
    pub scores: Vec<f64>,
    /// The same of further metrics, in the judge's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Vec<f64>>,
    pub codecs: String,
    pub width: u32,
    pub height: u32,
    pub video_bytes: u64,
    pub duration: f64,
    pub peak_bps: f64,
    pub encode_ms: u64,
    #[serde(skip)]
    pub cached: bool,
}

/// An encode that stands as a file in the lab's folder.
#[derive(Debug)]
pub struct Made {
    pub path: PathBuf,
    pub facts: mp4::Mp4Facts,
    pub elapsed_ms: u64,
    pub cached: bool,
}

impl Lab {
    /// Opens a lab. Encodes are made in an owned folder inside `folder`, or in the cache's.
    pub fn new(tools: Tools, cache: Cache, cancel: Cancel, folder: Option<&Path>) -> Result<Self, TuneError> {
        let parent = folder.map_or_else(|| cache.workspaces(), Path::to_owned);
        let workspace = Workspace::new(&parent, tools.launcher())?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let detector = Detector::new(tools.clone(), cache.clone());
        Ok(Self { tools, cache, detector, cancel, threads, workspace, count: AtomicU64::new(0) })
    }

    /// A fresh name in the lab's folder.
    pub(crate) fn fresh(&self, ending: &str) -> PathBuf {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        self.workspace.file(&format!("{number}.{ending}"))
    }

    /// The recipe for an encoder that works here, and what is known of it. The sample format is decided here.
    pub fn recipe(
        &self,
        adapter: &'static Adapter,
        source: &Source,
        choices: &Choices,
        size: Option<(u32, u32)>,
    ) -> Result<(Recipe, Available), TuneError> {
        let available = self.detector.check(adapter)?;
        let mut choices = choices.clone();
        if choices.pix_fmt.is_none() {
            choices.pix_fmt = Some(adapter.pix_fmt(&source.pix_fmt, &available.pix_fmts).to_owned());
        }
        let size = size.filter(|size| *size != source.size());
        Ok((Recipe { adapter, choices, size }, available))
    }

    fn encode_facts(&self, bench: &Bench<'_>, window: Window, quality: Quality) -> Value {
        json!({
            "kind": "encode",
            "method": METHOD,
            "source": bench.source.facts(),
            "window": [window.start, window.count],
            "ffmpeg": self.tools.version(),
            "encoder": bench.available.version,
            "arguments": bench.recipe.adapter.arguments(quality, &bench.recipe.choices),
            "size": bench.recipe.size.map(|(width, height)| [width, height]),
        })
    }

    /// Encodes, or fetches the encode from the cache.
    pub fn encode(
        &self,
        bench: &Bench<'_>,
        window: Window,
        quality: impl Into<Quality>,
        sink: Sink<'_>,
    ) -> Result<Made, TuneError> {
        let quality = quality.into();
        let key = Key::new(self.encode_facts(bench, window, quality));
        let _guard = self.cache.lock(&key, &self.cancel)?;
        self.encode_locked(&key, bench, window, quality, sink)
    }

    fn encode_locked(
        &self,
        key: &Key,
        bench: &Bench<'_>,
        window: Window,
        quality: Quality,
        sink: Sink<'_>,
    ) -> Result<Made, TuneError> {
        let path = self.fresh(bench.recipe.container());
        if let Some(elapsed_ms) = self.cache.get::<u64>(key).filter(|_| self.cache.fetch(key, &path)) {
            if let Ok(facts) = mp4::facts(&path) {
                return Ok(Made { path, facts, elapsed_ms, cached: true });
            }
            let _ = std::fs::remove_file(&path);
        }
        let total = window.count.unwrap_or(bench.source.frames);
        let job = bench.job(quality);
        let frames = |done| sink(Event::Encoding { job: job.clone(), done, total });
        let encoded = encode::encode(
            &bench.recipe,
            bench.source,
            window,
            quality,
            &path,
            &self.tools,
            &self.cancel,
            frames,
        );
        let encoded = encoded.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        let elapsed_ms = encoded.elapsed.as_millis() as u64;
        let size = (encoded.facts.width, encoded.facts.height);
        let megapixels = estimate::megapixels(size) * encoded.facts.frames as f64;
        estimate::remember(&self.cache, &bench.recipe, megapixels, encoded.elapsed.as_secs_f64());
        let kept = self.cache.store(key, &path).and_then(|()| self.cache.put(key, &elapsed_ms));
        if let Err(error) = kept {
            sink(Event::Warning(format!("the encode is not cached: {}", error.chain())));
        }
        Ok(Made { path, facts: encoded.facts, elapsed_ms, cached: false })
    }

    /// Encodes a window and scores it, or finds the result of an earlier time.
    pub fn measure(
        &self,
        bench: &Bench<'_>,
        window: Window,
        quality: impl Into<Quality>,
        sink: Sink<'_>,
    ) -> Result<Measure, TuneError> {
        let quality = quality.into();
        let encode = Key::new(self.encode_facts(bench, window, quality));
        let key = Key::new(json!({
            "kind": "score",
            "method": METHOD,
            "encode": encode.digest(),
            "encoder": bench.recipe.adapter.name,
            "quality": quality,
            "model": bench.judge.facts(),
            "display": bench.source.format.to_string(),
        }))
        .noted(bench.source.path.file_name().unwrap_or_default().to_string_lossy());
        let known =
            |lab: &Self| lab.cache.get::<Measure>(&key).map(|measure| Measure { cached: true, ..measure });
        let measure = match known(self) {
            Some(measure) => measure,
            None => {
                let _guard = self.cache.lock(&encode, &self.cancel)?;
                match known(self) {
                    Some(measure) => measure,
                    None => self.measure_now(&encode, &key, bench, window, quality, sink)?,
                }
            }
        };
        sink(Event::Measured {
            job: bench.label.clone(),
            quality,
            score: crate::Pooling::Mean.pool(&measure.scores),
            kbps: measure.kbps(),
            cached: measure.cached,
        });
        Ok(measure)
    }

    fn measure_now(
        &self,
        encode: &Key,
        key: &Key,
        bench: &Bench<'_>,
        window: Window,
        quality: Quality,
        sink: Sink<'_>,
    ) -> Result<Measure, TuneError> {
        let made = self.encode_locked(encode, bench, window, quality, sink)?;
        let scores = self.score(bench, window, &made, &bench.job(quality), sink);
        let _ = std::fs::remove_file(&made.path);
        let measure = Measure::new(scores?, &made);
        if let Err(error) = self.cache.put(key, &measure) {
            sink(Event::Warning(format!("the result is not cached: {}", error.chain())));
        }
        Ok(measure)
    }

    /// Scores an encode that stands as a file.
    pub(crate) fn score(
        &self,
        bench: &Bench<'_>,
        window: Window,
        made: &Made,
        job: &str,
        sink: Sink<'_>,
    ) -> Result<Vec<Vec<f64>>, TuneError> {
        let total = made.facts.frames;
        let frames = |done| sink(Event::Scoring { job: job.to_owned(), done, total });
        bench.judge.score(
            bench.source,
            window,
            &made.path,
            bench.recipe.size.is_some(),
            self.threads,
            &self.tools,
            &self.cancel,
            frames,
        )
    }
}

/// What is measured: a source, an encoder and its settings, and who judges.
#[derive(Debug)]
pub struct Bench<'a> {
    pub source: &'a Source,
    pub recipe: Recipe,
    pub available: Available,
    pub judge: &'a Judge,
    /// How events call it.
    pub label: String,
}

impl Bench<'_> {
    fn job(&self, quality: Quality) -> String {
        format!("{} {} {quality}", self.label, self.recipe.adapter.knob.name)
    }
}

impl Measure {
    /// Of the judge's columns, each with a score for every frame.
    pub(crate) fn new(mut columns: Vec<Vec<f64>>, made: &Made) -> Self {
        let facts = &made.facts;
        let further = columns.split_off(columns.len().min(1));
        Self {
            scores: columns.pop().unwrap_or_default(),
            further,
            codecs: facts.codecs.clone(),
            width: facts.width,
            height: facts.height,
            video_bytes: facts.video_bytes,
            duration: facts.duration,
            peak_bps: facts.peak_bps,
            encode_ms: made.elapsed_ms,
            cached: false,
        }
    }

    /// The scores of every frame in one of the judge's columns.
    pub(crate) fn column(&self, place: usize) -> &[f64] {
        match place.checked_sub(1) {
            None => &self.scores,
            Some(place) => self.further.get(place).map_or(&[], Vec::as_slice),
        }
    }

    pub fn kbps(&self) -> f64 {
        if self.duration > 0.0 { self.video_bytes as f64 * 8.0 / self.duration / 1000.0 } else { 0.0 }
    }
}
