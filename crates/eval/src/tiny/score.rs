//! Scoring with a small model: features of a finished run, or pictures as they are read.

use visus_engine::{Column, Outcome, Scores};
use visus_video::{Frame, Source};

use super::picture::{luma, resized};
use super::{Kind, Resize, TinyError, TinyModel, provider};
use crate::onnx::{Batch, OnnxError, Output, Runner, python_shape};

/// Scores by column, with an entry for each frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    pub columns: Vec<(String, Vec<Option<f64>>)>,
    /// Frames that were read.
    pub frames: u64,
}

impl Scored {
    /// The scores with those of a run before them.
    pub fn beside(self, scores: &Scores, frames: u64) -> Scores {
        let values = |column: &Column| (0..frames).map(|frame| column.get(frame)).collect();
        let mut columns: Vec<_> =
            scores.columns().iter().map(|column| (column.name().to_owned(), values(column))).collect();
        columns.extend(self.columns);
        Scores::from_columns(columns, scores.aggregates().to_vec())
    }
}

/// Numbers that go into one run of a model on pictures: 64 MB.
const MOST_NUMBERS: usize = 16 << 20;
/// Pictures that go into one run at most, so that progress is reported.
const MOST_PICTURES: usize = 64;

impl TinyModel {
    /// Scores every listed frame of a run that computed the features.
    pub fn score_features(
        &self,
        outcome: &Outcome,
        runner: &Runner,
        cancelled: impl Fn() -> bool,
    ) -> Result<Scored, TinyError> {
        let Kind::Features(names) = &self.kind else { return Err(self.wrong_kind()) };
        let columns: Vec<Option<&Column>> =
            names.iter().map(|name| outcome.scores.column(&provider(name)?.1)).collect();
        let frames: Vec<u64> = (0..outcome.frames).step_by(outcome.subsample.max(1) as usize).collect();
        let mut data = Vec::with_capacity(frames.len() * names.len());
        for frame in &frames {
            for (place, column) in columns.iter().enumerate() {
                let value = column.and_then(|column| column.get(*frame));
                let value = value.ok_or_else(|| self.missing(&names[place], *frame))?;
                data.push(self.scaled(place, value));
            }
        }
        let outputs = self.run(runner, vec![names.len()], frames.len(), data, &cancelled)?;
        let mut scored = Scored { columns: Vec::new(), frames: outcome.frames };
        for output in self.columns(outputs, frames.len())? {
            let mut values = vec![None; outcome.frames as usize];
            frames
                .iter()
                .zip(output.1)
                .for_each(|(frame, value)| values[*frame as usize] = Some(value.into()));
            scored.columns.push((output.0, values));
        }
        Ok(scored)
    }

    /// Scores the pictures of a video, every `step`-th of the first `most`. `progress` hears of frames that are done.
    pub fn score_pictures(
        &self,
        source: &mut dyn Source,
        step: u64,
        most: Option<u64>,
        runner: &Runner,
        cancelled: impl Fn() -> bool,
        mut progress: impl FnMut(u64),
    ) -> Result<Scored, TinyError> {
        let Kind::Picture { width, height } = self.kind else { return Err(self.wrong_kind()) };
        self.check_size(source, (width, height))?;
        let mut scored = Scored { columns: Vec::new(), frames: 0 };
        let mut frame = Frame::new(*source.format());
        let mut waiting = Vec::new();
        loop {
            if cancelled() {
                return Err(TinyError::Cancelled);
            }
            let more = most.is_none_or(|most| scored.frames < most) && source.read(&mut frame)?;
            if more {
                if scored.frames.is_multiple_of(step.max(1)) {
                    waiting.push((scored.frames, self.tensor(&frame, (width, height))));
                }
                scored.frames += 1;
            }
            let full = waiting.len() >= MOST_PICTURES || (waiting.len() + 1) * width * height > MOST_NUMBERS;
            if !waiting.is_empty() && (full || !more) {
                self.score_waiting(&mut waiting, (width, height), &mut scored, runner, &cancelled)?;
                progress(scored.frames);
            }
            if !more {
                break;
            }
        }
        if scored.frames == 0 {
            return Err(TinyError::NoFrames);
        }
        scored.columns.iter_mut().for_each(|(_, values)| values.resize(scored.frames as usize, None));
        Ok(scored)
    }

    fn score_waiting(
        &self,
        waiting: &mut Vec<(u64, Vec<f32>)>,
        (width, height): (usize, usize),
        scored: &mut Scored,
        runner: &Runner,
        cancelled: &impl Fn() -> bool,
    ) -> Result<(), TinyError> {
        let data = waiting.iter().flat_map(|(_, picture)| picture.iter().copied()).collect();
        let outputs = self.run(runner, vec![1, height, width], waiting.len(), data, cancelled)?;
        for (place, (name, output)) in self.columns(outputs, waiting.len())?.into_iter().enumerate() {
            if scored.columns.len() <= place {
                scored.columns.push((name, Vec::new()));
            }
            let values = &mut scored.columns[place].1;
            for ((frame, _), value) in waiting.iter().zip(output) {
                values.resize(*frame as usize, None);
                values.push(Some(value.into()));
            }
        }
        waiting.clear();
        Ok(())
    }

    fn tensor(&self, frame: &Frame, size: (usize, usize)) -> Vec<f32> {
        let from = (frame.format().width(), frame.format().height());
        let mut picture = resized(&luma(frame), from, size, self.options.resize);
        if let Some((mean, deviation)) = self.sidecar.picture_scaling {
            let (mean, deviation) = (mean as f32, deviation as f32);
            picture.iter_mut().for_each(|value| *value = (*value - mean) / deviation);
        }
        picture
    }

    fn check_size(&self, source: &dyn Source, (width, height): (usize, usize)) -> Result<(), TinyError> {
        let format = source.format();
        if (format.width(), format.height()) == (width, height) || self.options.resize != Resize::Disabled {
            return Ok(());
        }
        Err(TinyError::Size {
            name: self.file.name.clone(),
            actual: format!("{}x{}", format.width(), format.height()),
            expected: format!("{width}x{height}"),
        })
    }

    fn scaled(&self, place: usize, value: f64) -> f32 {
        match self.sidecar.scaling.as_ref().and_then(|scaling| scaling.get(place)) {
            Some((mean, deviation)) => (value as f32 - *mean as f32) / *deviation as f32,
            None => value as f32,
        }
    }

    fn run(
        &self,
        runner: &Runner,
        row_shape: Vec<usize>,
        rows: usize,
        data: Vec<f32>,
        cancelled: &impl Fn() -> bool,
    ) -> Result<Vec<Output>, TinyError> {
        let input = Self::main_input(&self.file, &self.sidecar).map(|input| input.name).unwrap_or_default();
        let fixed = self.codec.clone().into_iter().collect();
        let batch = Batch { input, row_shape, rows, data, fixed };
        runner.run(&self.file, &batch, cancelled).map_err(|error| match error {
            OnnxError::Cancelled => TinyError::Cancelled,
            other => other.into(),
        })
    }

    /// A name and a number for each frame, for each output.
    fn columns(&self, outputs: Vec<Output>, rows: usize) -> Result<Vec<(String, Vec<f32>)>, TinyError> {
        let count = outputs.len();
        let base = self.score_name();
        let named = self.sidecar.outputs.len() == count;
        let column = |(place, output): (usize, Output)| {
            let own = if named { self.sidecar.outputs[place].clone() } else { output.name.clone() };
            let name = if count == 1 { base.clone() } else { format!("{base}_{own}") };
            let shape = output.shape.clone();
            let values = output.per_row(rows).map_err(|_| TinyError::OutputShape {
                name: self.file.name.clone(),
                output: own,
                shape: python_shape(&shape),
            })?;
            Ok((name, values))
        };
        outputs.into_iter().enumerate().map(column).collect()
    }

    fn missing(&self, feature: &str, frame: u64) -> TinyError {
        TinyError::MissingFeature { name: self.file.name.clone(), feature: feature.to_owned(), frame }
    }

    fn wrong_kind(&self) -> TinyError {
        TinyError::NeedsPictures { name: self.file.name.clone() }
    }
}
