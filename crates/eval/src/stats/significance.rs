//! Significance tests: is one model really better than another, or is it chance?

use super::chance::{chi_squared_tail, normal_tail, signed_rank_lower};
use super::{Ranking, sum};

/// Wilcoxon's signed-rank test of paired numbers, two-sided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wilcoxon {
    /// The smaller of the two rank sums.
    pub statistic: f64,
    pub p: f64,
    /// The distribution was counted out, not approximated.
    pub exact: bool,
}

/// Up to so many pairs without ties, the distribution is counted out.
const MOST_EXACT: usize = 50;

/// Pairs without a difference are left out (Wilcoxon's own way); `None` if nothing is left.
pub fn wilcoxon(x: &[f64], y: &[f64]) -> Option<Wilcoxon> {
    let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).filter(|d| *d != 0.0).collect();
    let zeros = x.len() - differences.len();
    if differences.is_empty() || differences.iter().any(|d| d.is_nan()) {
        return None;
    }
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let ranking = Ranking::of(&sizes);
    let positive = sum(sizes.len(), &|i| if differences[i] > 0.0 { ranking.average[i] } else { 0.0 });
    let count = differences.len() as f64;
    let total = count * (count + 1.0) / 2.0;
    let statistic = positive.min(total - positive);
    let ties = tie_correction(&ranking);
    if zeros == 0 && ties == 0.0 && differences.len() <= MOST_EXACT {
        let p = (2.0 * signed_rank_lower(statistic as u64, differences.len())).min(1.0);
        return Some(Wilcoxon { statistic, p, exact: true });
    }
    let variance = (count * (count + 1.0) * (2.0 * count + 1.0) - ties / 2.0) / 24.0;
    let z = (statistic - total / 2.0) / variance.sqrt();
    Some(Wilcoxon { statistic, p: (2.0 * normal_tail(z.abs())).min(1.0), exact: false })
}

/// The sum of t³ − t over groups of ties.
fn tie_correction(ranking: &Ranking) -> f64 {
    let groups = ranking.dense.iter().max().map_or(0, |most| *most as usize + 1);
    let mut sizes = vec![0u64; groups];
    ranking.dense.iter().for_each(|dense| sizes[*dense as usize] += 1);
    let cubic = |size: &u64| (*size as f64).powi(3) - *size as f64;
    sizes.iter().map(cubic).sum()
}

/// Friedman's test of several related lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Friedman {
    pub statistic: f64,
    pub p: f64,
}

/// Ranks the lists within each row. Needs three lists of the same length; `None` if all rows are tied throughout.
pub fn friedman(lists: &[&[f64]]) -> Option<Friedman> {
    let (treatments, rows) = (lists.len(), lists.first()?.len());
    if treatments < 3 || rows == 0 {
        return None;
    }
    let (mut sums, mut ties) = (vec![0.0; treatments], 0.0);
    for row in 0..rows {
        let values: Vec<f64> = lists.iter().map(|list| list[row]).collect();
        let ranking = Ranking::of(&values);
        ties += tie_correction(&ranking);
        sums.iter_mut().zip(&ranking.average).for_each(|(sum, rank)| *sum += rank);
    }
    let (k, n) = (treatments as f64, rows as f64);
    let correction = 1.0 - ties / (k * (k * k - 1.0) * n);
    if correction <= 0.0 {
        return None;
    }
    let squares: f64 = sums.iter().map(|sum| sum * sum).sum();
    let statistic = (12.0 / (k * n * (k + 1.0)) * squares - 3.0 * n * (k + 1.0)) / correction;
    Some(Friedman { statistic, p: chi_squared_tail(statistic, treatments as u32 - 1) })
}

/// Steiger's test (1980) of two correlations with the same third variable: the two-sided chance of such a difference.
/// `first` and `second` are the correlations with opinion scores, `between` that of the two predictions. `None` where
/// it is not defined: fewer than four rows, or a perfect correlation.
pub fn steiger(first: f64, second: f64, between: f64, count: usize) -> Option<f64> {
    if count < 4 || [first, second].iter().any(|r| r.abs() >= 1.0) {
        return None;
    }
    let mean = (first + second) / 2.0;
    let square = mean * mean;
    let covariance = (between * (1.0 - 2.0 * square)
        - 0.5 * square * (1.0 - 2.0 * square - between * between))
        / ((1.0 - square) * (1.0 - square));
    let spread = 2.0 - 2.0 * covariance;
    let z = (first.atanh() - second.atanh()) * (count as f64 - 3.0).sqrt() / spread.sqrt();
    if first == second {
        return Some(1.0);
    }
    z.is_finite().then(|| (2.0 * normal_tail(z.abs())).min(1.0))
}
