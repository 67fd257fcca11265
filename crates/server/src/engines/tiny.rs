//! A small ONNX model beside the embedded engine's own.

use std::time::Instant;

use visus_engine::{FeatureSpec, Outcome, Scores};
use visus_eval::onnx::{Folder, ModelFile, Runner};
use visus_eval::tiny::{Kind, Scored, Sidecar, TinyError, TinyModel, TinyOptions};
use visus_report::score::ModelFacts;
use visus_scoring::RunOptions;
use visus_video::Source;

use crate::ToolError;
use crate::error::chain;
use crate::jobs::Context;
use crate::roots::{Opened, shown};

/// A model that was asked for: its files are open, and are read when the job runs. A queue of jobs holds no models.
#[derive(Debug)]
pub struct TinyRequest {
    pub model: Opened,
    /// Where the model keeps further data.
    pub folder: Option<Folder>,
    /// The description beside the model.
    pub sidecar: Option<Opened>,
    pub options: TinyOptions,
    pub runner: Runner,
}

impl TinyRequest {
    /// Reads and checks the model. Whatever is wrong with it or its options is wrong with the request.
    pub fn read(self) -> Result<TinyTask, ToolError> {
        let Opened { path, file } = self.model;
        let sidecar = match self.sidecar {
            Some(sidecar) => Sidecar::read(&shown(&sidecar.path), sidecar.file).map_err(refusal)?,
            None => Sidecar::default(),
        };
        let file = ModelFile::read(shown(&path), file, self.folder.as_ref(), &self.runner.limits);
        let file = file.map_err(|error| refusal(error.into()))?;
        let model = TinyModel::new(file, sidecar, self.options).map_err(refusal)?;
        model.metrics().map_err(refusal)?;
        Ok(TinyTask { model, runner: self.runner })
    }
}

fn refusal(error: TinyError) -> ToolError {
    match error {
        TinyError::Cancelled => ToolError::Cancelled,
        other => ToolError::Refused(chain(&other)),
    }
}

/// A checked model and where it runs.
#[derive(Debug)]
pub struct TinyTask {
    pub model: TinyModel,
    pub runner: Runner,
}

impl TinyTask {
    /// Metrics that it needs and that are not asked for already.
    pub fn further_metrics(&self, features: &[FeatureSpec]) -> Vec<FeatureSpec> {
        let mut metrics = self.model.metrics().unwrap_or_default();
        metrics.retain(|spec| !features.contains(spec));
        metrics
    }

    pub fn facts(&self) -> ModelFacts {
        ModelFacts {
            name: self.model.score_name(),
            label: self.model.file.name.clone(),
            sha256: Some(self.model.file.sha256()),
            ..ModelFacts::default()
        }
    }

    /// Adds its scores to those of a run.
    pub fn add_to(
        &self,
        outcome: &mut Outcome,
        distorted: impl FnOnce() -> Result<Box<dyn Source>, ToolError>,
        options: &RunOptions,
        skip: u64,
        context: &Context,
    ) -> Result<Vec<String>, ToolError> {
        let cancelled = || context.cancel.is_fired();
        let scored = match self.model.kind {
            Kind::Features(_) => {
                self.model.score_features(outcome, &self.runner, cancelled).map_err(failure)?
            }
            Kind::Picture { .. } => {
                self.pictures(distorted()?, options, skip, Some(outcome.frames), context)?
            }
        };
        let names = scored.columns.iter().map(|(name, _)| name.clone()).collect();
        outcome.scores = scored.beside(&outcome.scores, outcome.frames);
        Ok(names)
    }

    /// Scores the distorted video by itself.
    pub fn alone(
        &self,
        distorted: Box<dyn Source>,
        options: &RunOptions,
        skip: u64,
        context: &Context,
    ) -> Result<Outcome, ToolError> {
        let (started, format) = (Instant::now(), *distorted.format());
        let scored = self.pictures(distorted, options, skip, options.frames, context)?;
        context.count_frames(scored.frames);
        Ok(Outcome {
            format,
            first_frame: 0,
            frames: scored.frames,
            subsample: options.subsample.max(1),
            shorter: None,
            identical: false,
            scores: Scores::from_columns(scored.columns, Vec::new()),
            elapsed: started.elapsed(),
            backend: options.level.into(),
        })
    }

    fn pictures(
        &self,
        mut distorted: Box<dyn Source>,
        options: &RunOptions,
        skip: u64,
        most: Option<u64>,
        context: &Context,
    ) -> Result<Scored, ToolError> {
        let total = distorted.total_frames();
        distorted.skip(skip).map_err(|error| ToolError::failed(&error))?;
        let scored = self.model.score_pictures(
            &mut *distorted,
            options.subsample.max(1),
            most,
            &self.runner,
            || context.cancel.is_fired(),
            |done| context.progress(done, total, "scoring with the ONNX model"),
        );
        scored.map_err(failure)
    }
}

fn failure(error: TinyError) -> ToolError {
    match error {
        TinyError::Cancelled => ToolError::Cancelled,
        other => ToolError::Failed(chain(&other)),
    }
}
