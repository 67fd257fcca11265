//! What the thresholds of one model are in another: encodes scored by both in one pass, and the report that follows.
//!
//! A front end opens and scores each encode with the models of [`Migration::models`], hands the results over, and asks for the
//! report. `auto` must mean the same for all encodes: after the first one the new model is known by its name.

use visus_engine::Pooling;
use visus_report::migrate::{
    FEWEST, MigratedEncode, MigrationFailure, MigrationReport, disagreements, fit, outliers,
};

use crate::{RequestError, ScoreResult};

/// Thresholds that are translated where none is named.
const USUAL: [f64; 7] = [70.0, 80.0, 85.0, 90.0, 93.0, 95.0, 97.0];

/// Encodes that both models have scored so far.
#[derive(Debug)]
pub struct Migration {
    asked: [String; 2],
    /// The models that scored the first encode.
    known: Option<[String; 2]>,
    encodes: Vec<MigratedEncode>,
    failures: Vec<MigrationFailure>,
}

impl Migration {
    pub fn new(from: &str, to: &str) -> Self {
        Self {
            asked: [from.to_owned(), to.to_owned()],
            known: None,
            encodes: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// The names of the models that score the next encode.
    pub fn models(&self) -> [&str; 2] {
        let to = self.known.as_ref().map_or(&self.asked[1], |known| &known[1]);
        [&self.asked[0], to]
    }

    /// Takes the scores of an encode.
    pub fn add(
        &mut self,
        reference: String,
        distorted: String,
        result: &ScoreResult,
    ) -> Result<(), RequestError> {
        let wrong = |reason: String| RequestError::Model { name: self.asked[1].clone(), reason };
        let labels: Vec<String> = result.plan.models().map(|model| model.label.clone()).collect();
        let [from, to] = <[String; 2]>::try_from(labels).map_err(|labels| {
            wrong(format!("two different models are needed, and there is {}", labels.join(", ")))
        })?;
        if from == to {
            return Err(wrong(format!("both models are {from}: there is nothing to migrate to")));
        }
        self.known.get_or_insert([from, to]);
        self.encodes.push(MigratedEncode {
            reference,
            distorted,
            from: pooled(result, 0, Pooling::Mean),
            to: pooled(result, 1, Pooling::Mean),
            from_p5: pooled(result, 0, Pooling::P5),
            to_p5: pooled(result, 1, Pooling::P5),
        });
        Ok(())
    }

    /// Remembers an encode that could not be scored.
    pub fn fail(&mut self, distorted: String, error: String) {
        self.failures.push(MigrationFailure { distorted, error });
    }

    /// How the two models correspond. Without thresholds, those that are usual.
    pub fn report(self, thresholds: &[f64], version: &str) -> Result<MigrationReport, String> {
        let Self { asked, known, encodes, failures } = self;
        let Some(mapping) = fit(&encodes) else {
            let (count, failed) = (encodes.len(), failures.first());
            let why =
                failed.map_or(String::new(), |failure| format!("; {}: {}", failure.distorted, failure.error));
            return Err(format!(
                "{count} encodes were scored; a mapping needs at least {FEWEST}, with different scores of {}{why}",
                asked[0]
            ));
        };
        let [from_model, to_model] = known.unwrap_or(asked);
        let thresholds = if thresholds.is_empty() { &USUAL[..] } else { thresholds };
        Ok(MigrationReport {
            version: version.to_owned(),
            from_model,
            to_model,
            thresholds: thresholds.iter().map(|score| mapping.threshold(*score)).collect(),
            outliers: outliers(&encodes, &mapping),
            disagreements: disagreements(&encodes),
            mapping,
            encodes,
            failures,
        })
    }
}

fn pooled(result: &ScoreResult, place: usize, pooling: Pooling) -> f64 {
    let column = result.plan.models().nth(place).and_then(|model| result.outcome.scores.column(&model.name));
    let scores: Vec<f64> =
        column.into_iter().flat_map(|column| column.iter().map(|(_, score)| score)).collect();
    pooling.pool(&scores)
}
