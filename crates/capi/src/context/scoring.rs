//! Scores of a context: of features and models, at a frame and pooled.

use std::ffi::c_int;

use super::Context;
use crate::abi::{BOOTSTRAP, CollectionScore, Errno, Result};
use crate::model::Model;

/// `VMAF_POOL_METHOD_*`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    Min,
    Max,
    Mean,
    Harmonic,
}

impl Pooling {
    pub fn from_c(method: c_int) -> Result<Self> {
        match method {
            1 => Ok(Self::Min),
            2 => Ok(Self::Max),
            3 => Ok(Self::Mean),
            4 => Ok(Self::Harmonic),
            _ => Err(Errno::Invalid),
        }
    }
}

/// The frames from the first to the last of these numbers.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    low: u32,
    high: u32,
}

impl Frames {
    pub fn new(low: u32, high: u32) -> Result<Self> {
        if low > high { Err(Errno::Invalid) } else { Ok(Self { low, high }) }
    }

    /// Those that are listed.
    fn listed(self, step: u64) -> impl Iterator<Item = u32> {
        (self.low..=self.high).filter(move |index| u64::from(*index).is_multiple_of(step.max(1)))
    }
}

impl Context {
    /// The score of a feature at a frame. Waits for the pairs that were read, if it is not known yet.
    pub fn score(&mut self, name: &str, index: u32) -> Result<f64> {
        if let Some(known) = self.known(name, index) {
            return Ok(known);
        }
        self.settle();
        self.known(name, index).ok_or(Errno::Invalid)
    }

    fn known(&self, name: &str, index: u32) -> Option<f64> {
        self.extras.get(name, index).or_else(|| {
            let key = self.registered.iter().find_map(|registered| registered.key(name))?;
            self.scores()?.column(&key.name)?.get(*self.places.get(&index)?)
        })
    }

    /// A score from outside, or a prediction. What an extractor gives cannot be imported as well.
    pub fn append(&mut self, name: &str, index: u32, value: f64) -> Result<()> {
        if self.registered.iter().any(|registered| registered.key(name).is_some()) {
            return Err(Errno::Invalid);
        }
        let now = self.now();
        self.extras.append(name, index, value, now)
    }

    fn inputs(&mut self, model: &Model, index: u32) -> Result<Vec<f64>> {
        model.inputs()?.iter().map(|name| self.score(name, index)).collect()
    }

    /// A model's score at a frame; it is computed once.
    pub fn model_score(&mut self, model: &Model, index: u32) -> Result<f64> {
        let name = model.name();
        if let Some(known) = self.known(&name, index) {
            return Ok(known);
        }
        let score = model.predict(&self.inputs(model, index)?);
        self.append(&name, index, score)?;
        Ok(score)
    }

    /// A collection's statistics at a frame. As in libvmaf, they can be asked for once.
    pub fn collection_score(&mut self, collection: &Model, index: u32) -> Result<CollectionScore> {
        let scores = collection.predict_collection(&self.inputs(collection, index)?);
        for (name, score) in &scores {
            self.append(name, index, *score)?;
        }
        match scores[..] {
            [.., (_, bagging), (_, stddev), (_, low), (_, high)] => {
                Ok(CollectionScore { kind: BOOTSTRAP, bagging, stddev, low, high })
            }
            _ => Err(Errno::Invalid),
        }
    }

    /// One number for several frames. Like libvmaf's: without a listed frame the mean is not a number, and the least and
    /// the greatest score begin at 0 where the first frame is not listed.
    pub fn pooled(&mut self, name: &str, pooling: Pooling, frames: Frames) -> Result<f64> {
        let (mut count, mut sum, mut inverse, mut min, mut max) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for index in frames.listed(self.settings.subsample) {
            let score = self.score(name, index)?;
            count += 1.0;
            sum += score;
            inverse += 1.0 / (score + 1.0);
            if index == frames.low || score < min {
                min = score;
            }
            if index == frames.low || score > max {
                max = score;
            }
        }
        Ok(match pooling {
            Pooling::Min => min,
            Pooling::Max => max,
            Pooling::Mean => sum / count,
            Pooling::Harmonic => count / inverse - 1.0,
        })
    }

    pub fn model_pooled(&mut self, model: &Model, pooling: Pooling, frames: Frames) -> Result<f64> {
        for index in frames.listed(self.settings.subsample) {
            self.model_score(model, index)?;
        }
        self.pooled(&model.name(), pooling, frames)
    }

    pub fn collection_pooled(
        &mut self,
        collection: &Model,
        pooling: Pooling,
        frames: Frames,
    ) -> Result<CollectionScore> {
        for index in frames.listed(self.settings.subsample) {
            self.collection_score(collection, index)?;
        }
        let name = collection.name();
        let mut pooled = |suffix: &str| self.pooled(&format!("{name}{suffix}"), pooling, frames);
        Ok(CollectionScore {
            kind: BOOTSTRAP,
            bagging: pooled("_bagging")?,
            stddev: pooled("_stddev")?,
            low: pooled("_ci_p95_lo")?,
            high: pooled("_ci_p95_hi")?,
        })
    }
}
