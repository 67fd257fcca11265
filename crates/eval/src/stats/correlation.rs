//! Correlations and the error. A list that does not vary has no correlation: `None`.

use super::{Ranking, sum};

/// Pearson's product-moment correlation.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    debug_assert_eq!(x.len(), y.len());
    if !varies(x) || !varies(y) {
        return None;
    }
    let count = x.len() as f64;
    let (mean_x, mean_y) = (sum(x.len(), &|i| x[i]) / count, sum(y.len(), &|i| y[i]) / count);
    let norm = |list: &[f64], mean: f64| sum(list.len(), &|i| (list[i] - mean) * (list[i] - mean)).sqrt();
    let (norm_x, norm_y) = (norm(x, mean_x), norm(y, mean_y));
    let product = sum(x.len(), &|i| ((x[i] - mean_x) / norm_x) * ((y[i] - mean_y) / norm_y));
    product.is_finite().then(|| product.clamp(-1.0, 1.0))
}

fn varies(list: &[f64]) -> bool {
    list.iter().any(|value| *value != list[0])
}

/// Spearman's rank correlation.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    pearson(&Ranking::of(x).average, &Ranking::of(y).average)
}

/// Kendall's tau-b.
pub fn kendall(x: &[f64], y: &[f64]) -> Option<f64> {
    kendall_of_ranks(&Ranking::of(x).dense, &Ranking::of(y).dense)
}

/// Kendall's tau-b by Knight's method (1966), in n log n: discordant pairs are what a merge sort swaps.
pub(super) fn kendall_of_ranks(x: &[u32], y: &[u32]) -> Option<f64> {
    let mut pairs: Vec<u64> = x.iter().zip(y).map(|(x, y)| u64::from(*x) << 32 | u64::from(*y)).collect();
    pairs.sort_unstable();
    let total = pairs_of(pairs.len());
    let tied_x = tied(pairs.chunk_by(|a, b| a >> 32 == b >> 32));
    let tied_both = tied(pairs.chunk_by(|a, b| a == b));
    let mut second: Vec<u32> = pairs.iter().map(|pair| *pair as u32).collect();
    let discordant = sort_counting_swaps(&mut second);
    let tied_y = tied(second.chunk_by(|a, b| a == b));
    if total == tied_x || total == tied_y {
        return None;
    }
    let concordant_minus_discordant =
        (total + tied_both) as f64 - (tied_x + tied_y) as f64 - 2.0 * discordant as f64;
    let tau =
        concordant_minus_discordant / ((total - tied_x) as f64).sqrt() / ((total - tied_y) as f64).sqrt();
    Some(tau.clamp(-1.0, 1.0))
}

fn tied<'a, T: 'a>(groups: impl Iterator<Item = &'a [T]>) -> u64 {
    groups.map(|group| pairs_of(group.len())).sum()
}

fn pairs_of(count: usize) -> u64 {
    let count = count as u64;
    count * count.saturating_sub(1) / 2
}

/// Sorts, and counts the pairs that stood in the wrong order.
fn sort_counting_swaps(list: &mut Vec<u32>) -> u64 {
    let mut swaps = 0;
    let mut merged = vec![0; list.len()];
    let mut width = 1;
    while width < list.len() {
        for (from, to) in list.chunks(2 * width).zip(merged.chunks_mut(2 * width)) {
            let (left, right) = from.split_at(width.min(from.len()));
            swaps += merge(left, right, to);
        }
        std::mem::swap(list, &mut merged);
        width *= 2;
    }
    swaps
}

fn merge(left: &[u32], right: &[u32], into: &mut [u32]) -> u64 {
    let (mut l, mut r, mut swaps) = (0, 0, 0);
    for place in into {
        if r == right.len() || (l < left.len() && left[l] <= right[r]) {
            *place = left[l];
            l += 1;
        } else {
            *place = right[r];
            r += 1;
            swaps += (left.len() - l) as u64;
        }
    }
    swaps
}

/// The root of the mean squared difference.
pub fn rmse(x: &[f64], y: &[f64]) -> f64 {
    (sum(x.len(), &|i| (x[i] - y[i]) * (x[i] - y[i])) / x.len() as f64).sqrt()
}
