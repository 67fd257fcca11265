//! Ranks with ties.

/// The ranks of a list of numbers, in the list's order.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// From 1; ties get the average of their places.
    pub average: Vec<f64>,
    /// From 0, without gaps; ties get the same number.
    pub dense: Vec<u32>,
}

impl Ranking {
    /// Ranks of numbers that are not NaN. At most 2^32 of them.
    pub fn of(values: &[f64]) -> Self {
        let mut order: Vec<(u64, u32)> = values.iter().map(|value| sortable(*value)).zip(0..).collect();
        order.sort_unstable();
        let mut ranking = Self { average: vec![0.0; values.len()], dense: vec![0; values.len()] };
        let mut start = 0;
        for (dense, ties) in order.chunk_by(|a, b| a.0 == b.0).enumerate() {
            // Places start + 1 to start + len.
            let average = start as f64 + (ties.len() as f64 + 1.0) / 2.0;
            for (_, index) in ties {
                ranking.average[*index as usize] = average;
                ranking.dense[*index as usize] = dense as u32;
            }
            start += ties.len();
        }
        ranking
    }
}

/// Average ranks alone.
pub fn average_ranks(values: &[f64]) -> Vec<f64> {
    Ranking::of(values).average
}

/// Bits that sort as the numbers do; both zeros are the same.
fn sortable(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 { bits ^ (1 << 63) } else { !bits }
}
