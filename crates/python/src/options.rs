//! Python's arguments as the request that `scoring` understands. Words are read there, not here.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use visus_engine::ClipInfo;
use visus_scoring::range::Moment;
use visus_scoring::{
    BackendRequest, Columns, Decoders, InputOptions, Pairing, RequestError, RunOptions, ScoreRequest,
    Selection, Video, Videos, names,
};
use visus_video::Format;

use crate::failure::Failure;

/// Width, height, pixel format and frame rate as Python has them.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct FormatOptions {
    pub width: usize,
    pub height: usize,
    pub pix_fmt: String,
    pub frame_rate: Option<String>,
}

impl FormatOptions {
    pub fn clip(&self) -> Result<ClipInfo, RequestError> {
        let (chroma, depth) = names::pixel_format(&self.pix_fmt)?;
        let format = Format::new(self.width, self.height, chroma, depth)
            .map_err(|error| RequestError::Format(error.to_string()))?;
        let frame_rate = self.frame_rate.as_deref().map(names::frame_rate).transpose()?;
        Ok(ClipInfo { format, frame_rate })
    }
}

/// What is computed, and how.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct ScoreOptions {
    models: Vec<String>,
    metrics: Vec<String>,
    threads: Option<usize>,
    subsample: u64,
    backend: String,
}

impl ScoreOptions {
    pub fn model_words(&self) -> &[String] {
        &self.models
    }

    pub fn metric_words(&self) -> &[String] {
        &self.metrics
    }

    pub fn selection(&self) -> Result<Selection, RequestError> {
        let (models, metrics) = (self.models.iter(), self.metrics.iter());
        Selection::parse(models.map(String::as_str), metrics.map(String::as_str), Columns::ByModel)
    }

    pub fn run(&self) -> Result<RunOptions, RequestError> {
        let usual = RunOptions::from_environment()?;
        let backend: BackendRequest = self.backend.parse()?;
        Ok(RunOptions { threads: self.threads, subsample: self.subsample.max(1), backend, ..usual })
    }
}

/// How two files are brought together, and which frames of them are scored.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct FileOptions {
    format: Option<FormatOptions>,
    frames: Option<u64>,
    start: Option<String>,
    stop: Option<String>,
    skip_reference: u64,
    skip_distorted: u64,
    sync: Option<String>,
    scale: Option<String>,
    scaler: Option<String>,
    force: bool,
    hwaccel: Option<String>,
    timeout: Option<f64>,
    /// What is done to the videos beforehand, as `NAME=VALUE`.
    input: Vec<String>,
    detectors: Option<bool>,
}

impl FileOptions {
    /// The two files of a request.
    pub fn videos(&self, reference: PathBuf, distorted: PathBuf) -> Result<Videos, Failure> {
        Ok(Videos {
            reference: Video::Path(reference),
            distorted: Video::Path(distorted),
            raw: self.format.as_ref().map(|format| format.clip()).transpose()?.map(|clip| clip.format),
            pairing: self.pairing()?,
            skip: [self.skip_reference, self.skip_distorted],
        })
    }

    fn pairing(&self) -> Result<Pairing, Failure> {
        Ok(Pairing {
            sync: word(self.sync.as_deref(), "sync")?,
            scale: word(self.scale.as_deref(), "scale")?,
            scaler: word(self.scaler.as_deref(), "scaler")?.unwrap_or_default(),
            force: self.force,
            hwaccel: self.hwaccel.clone(),
            decoders: self.decoders()?,
            inputs: self.inputs()?,
            ..Pairing::default()
        })
    }

    fn inputs(&self) -> Result<InputOptions, Failure> {
        let mut options = InputOptions::default();
        self.input.iter().try_for_each(|text| options.set_pair(text))?;
        Ok(options)
    }

    fn decoders(&self) -> Result<Decoders, Failure> {
        let usual = Decoders::default();
        let Some(seconds) = self.timeout else { return Ok(usual) };
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        let limit =
            limit.ok_or_else(|| Failure::request(format!("timeout {seconds} must be a positive number")))?;
        Ok(Decoders { limit, ..usual })
    }

    /// The same run with the part of the clip that is asked for.
    pub fn limited(&self, run: RunOptions) -> Result<RunOptions, Failure> {
        let moment = |text: &Option<String>, name: &str| word::<Moment>(text.as_deref(), name);
        let (from, to) = (moment(&self.start, "start")?, moment(&self.stop, "stop")?);
        if self.frames.is_some() && (from.is_some() || to.is_some()) {
            return Err(Failure::request("frames cannot be combined with start and stop"));
        }
        if self.frames == Some(0) {
            return Err(Failure::request("frames must be at least 1"));
        }
        Ok(RunOptions { frames: self.frames, from, to, detectors: self.detectors.or(run.detectors), ..run })
    }

    pub fn request(
        &self,
        reference: PathBuf,
        distorted: PathBuf,
        score: &ScoreOptions,
    ) -> Result<ScoreRequest, Failure> {
        let videos = self.videos(reference, distorted)?;
        Ok(ScoreRequest { videos, selection: score.selection()?, options: self.limited(score.run()?)? })
    }
}

/// A word of the command line, refused in its words.
fn word<T: std::str::FromStr>(text: Option<&str>, name: &str) -> Result<Option<T>, Failure>
where
    T::Err: std::fmt::Display,
{
    let read = |text: &str| text.parse().map_err(|error| Failure::request(format!("{name}: {error}")));
    text.map(read).transpose()
}

/// The planes of a format: width and height of each, and bits per sample.
#[pyfunction]
pub fn check_format(format: FormatOptions) -> PyResult<(Vec<(usize, usize)>, u8)> {
    let clip = format.clip().map_err(Failure::from)?;
    let planes = (0..clip.format.planes()).map(|plane| clip.format.plane_size(plane)).collect();
    Ok((planes, clip.format.depth()))
}

/// The instructions that scores are computed with here.
#[pyfunction]
pub fn cpu_level() -> PyResult<&'static str> {
    Ok(visus_scoring::cpu::from_environment().map_err(Failure::from)?.name())
}
