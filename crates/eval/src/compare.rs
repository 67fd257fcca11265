//! Several models on the same rows: which is ahead, and is it more than chance?

use visus_video::chain;

use crate::evaluate::Intervals;
use crate::stats::{Friedman, Interval, Wilcoxon, friedman, holm, pearson, spearman, steiger, wilcoxon};
use crate::table::Table;
use crate::{EvalError, Evaluation, Question, Scorer};

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Comparison {
    /// By descending PLCC.
    pub ranked: Vec<Evaluation>,
    /// Models that gave no result, with the reason.
    pub errors: Vec<(String, String)>,
    /// Tests of two models each, in the order of the ranking.
    pub pairs: Vec<Pair>,
    /// Friedman's test of the absolute errors of all models, from three on.
    pub friedman: Option<Friedman>,
}

/// Two models on the rows that both have.
#[derive(Clone, Debug)]
pub struct Pair {
    pub models: [String; 2],
    pub n: usize,
    /// The first one's PLCC less the second one's.
    pub plcc_difference: f64,
    /// Its interval and chance by resampling.
    pub plcc_bootstrap: Option<(Interval, f64)>,
    /// The chance of such a difference by Steiger's test, for PLCC and for SROCC.
    pub plcc_steiger: Option<f64>,
    pub srocc_steiger: Option<f64>,
    /// Wilcoxon's signed-rank test of the absolute errors.
    pub wilcoxon: Option<Wilcoxon>,
    /// Its chance, corrected for the number of pairs (Holm).
    pub wilcoxon_holm: Option<f64>,
}

/// Up to so many models, each is tested against each; of more, the best against each.
const MOST_SQUARED: usize = 8;

impl Question {
    /// Evaluates every model and ranks them. One bad model does not lose the others.
    pub fn compare(
        &self,
        scorers: &[Result<Scorer, (String, Box<EvalError>)>],
        table: &Table,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Comparison, EvalError> {
        if scorers.is_empty() {
            return Err(EvalError::NoModels);
        }
        let mut comparison = Comparison::default();
        for scorer in scorers {
            if cancelled() {
                return Err(EvalError::Cancelled);
            }
            match scorer {
                Ok(scorer) => match self.evaluate_plainly(scorer, table, cancelled) {
                    Ok(evaluation) => comparison.ranked.push(evaluation),
                    Err(error) => comparison.errors.push((scorer.name().to_owned(), chain(&error))),
                },
                Err((name, error)) => comparison.errors.push((name.clone(), chain(&**error))),
            }
        }
        comparison.ranked.sort_by(|a, b| b.figures.plcc.total_cmp(&a.figures.plcc));
        self.judge(&mut comparison, cancelled)?;
        Ok(comparison)
    }

    fn judge(
        &self,
        comparison: &mut Comparison,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), EvalError> {
        if self.bootstrap.resamples > 0 {
            for evaluation in &mut comparison.ranked {
                let resampled = self.bootstrap.run(&[&evaluation.predicted], &evaluation.opinions, cancelled);
                let resampled = resampled.ok_or(EvalError::Cancelled)?;
                evaluation.intervals = Some(Intervals::of(&resampled, 0, &evaluation.figures));
            }
        }
        let ranked = &comparison.ranked;
        let firsts = if ranked.len() > MOST_SQUARED { 1 } else { ranked.len() };
        let pairs = (0..firsts).flat_map(|i| (i + 1..ranked.len()).map(move |j| (i, j)));
        comparison.pairs = pairs.filter_map(|(i, j)| self.pair(&ranked[i], &ranked[j], cancelled)).collect();
        if cancelled() {
            return Err(EvalError::Cancelled);
        }
        correct(&mut comparison.pairs);
        comparison.friedman = friedman_of(ranked);
        Ok(())
    }

    fn pair(
        &self,
        first: &Evaluation,
        second: &Evaluation,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Pair> {
        let common = Common::of(&[first, second]);
        let [a, b] = [common.predicted[0].as_slice(), common.predicted[1].as_slice()];
        let opinions = common.opinions.as_slice();
        let (plcc_a, plcc_b) = (pearson(a, opinions)?, pearson(b, opinions)?);
        let n = opinions.len();
        let between = pearson(a, b)?;
        let difference = plcc_a - plcc_b;
        let plcc_bootstrap = (self.bootstrap.resamples > 0)
            .then(|| self.bootstrap.run(&[a, b], opinions, cancelled))
            .flatten()
            .and_then(|resampled| resampled.difference([0, 1], difference, |f| f.plcc));
        let ranks = [spearman(a, opinions)?, spearman(b, opinions)?, spearman(a, b)?];
        let errors = [errors(a, opinions), errors(b, opinions)];
        Some(Pair {
            models: [first.model.clone(), second.model.clone()],
            n,
            plcc_difference: difference,
            plcc_bootstrap,
            plcc_steiger: steiger(plcc_a, plcc_b, between, n),
            srocc_steiger: steiger(ranks[0], ranks[1], ranks[2], n),
            wilcoxon: wilcoxon(&errors[0], &errors[1]),
            wilcoxon_holm: None,
        })
    }
}

fn errors(predicted: &[f64], opinions: &[f64]) -> Vec<f64> {
    predicted.iter().zip(opinions).map(|(p, o)| (p - o).abs()).collect()
}

fn correct(pairs: &mut [Pair]) {
    let chances: Vec<f64> = pairs.iter().filter_map(|pair| Some(pair.wilcoxon?.p)).collect();
    let tested = pairs.iter_mut().filter(|pair| pair.wilcoxon.is_some());
    tested.zip(holm(&chances)).for_each(|(pair, chance)| pair.wilcoxon_holm = Some(chance));
}

fn friedman_of(ranked: &[Evaluation]) -> Option<Friedman> {
    if ranked.len() < 3 {
        return None;
    }
    let common = Common::of(&ranked.iter().collect::<Vec<_>>());
    let errors: Vec<Vec<f64>> = common.predicted.iter().map(|list| errors(list, &common.opinions)).collect();
    friedman(&errors.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The rows that all evaluations have.
struct Common {
    predicted: Vec<Vec<f64>>,
    opinions: Vec<f64>,
}

impl Common {
    fn of(evaluations: &[&Evaluation]) -> Self {
        let mut counts = std::collections::HashMap::new();
        let same = evaluations.windows(2).all(|two| two[0].rows == two[1].rows);
        if !same {
            let rows = evaluations.iter().flat_map(|evaluation| &evaluation.rows);
            rows.for_each(|row| *counts.entry(*row).or_insert(0) += 1);
        }
        let shared = |row: &usize| same || counts.get(row) == Some(&evaluations.len());
        let pick = |evaluation: &Evaluation, list: &[f64]| -> Vec<f64> {
            evaluation.rows.iter().zip(list).filter(|(row, _)| shared(row)).map(|(_, value)| *value).collect()
        };
        let predicted =
            evaluations.iter().map(|evaluation| pick(evaluation, &evaluation.predicted)).collect();
        let opinions = evaluations.first().map(|evaluation| pick(evaluation, &evaluation.opinions));
        Self { predicted, opinions: opinions.unwrap_or_default() }
    }
}
