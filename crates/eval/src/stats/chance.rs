//! Tails of distributions.

/// The chance that a standard normal number is above `z`.
pub fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// The chance that a chi-squared number with so many degrees of freedom is above `x`. With whole degrees it is a finite
/// sum of positive terms (Abramowitz and Stegun 26.4.4 and 26.4.5), so that nothing is lost in the tail.
pub fn chi_squared_tail(x: f64, degrees: u32) -> f64 {
    let half = x / 2.0;
    if half <= 0.0 {
        return 1.0;
    }
    let odd = degrees % 2 == 1;
    let (mut tail, mut term, first) = if odd {
        (libm::erfc(half.sqrt()), (half / std::f64::consts::PI).sqrt() * 2.0 * (-half).exp(), 1.5)
    } else {
        (0.0, (-half).exp(), 1.0)
    };
    for step in 0..degrees / 2 {
        tail += term;
        term *= half / (first + f64::from(step));
    }
    tail.min(1.0)
}

/// The chance of a signed-rank sum of at most `statistic` among `count` ranks 1, 2, … with signs by coin.
pub(super) fn signed_rank_lower(statistic: u64, count: usize) -> f64 {
    let most = count * (count + 1) / 2;
    let mut ways = vec![0.0f64; most + 1];
    ways[0] = 1.0;
    for rank in 1..=count {
        for total in (rank..=most).rev() {
            ways[total] += ways[total - rank];
        }
    }
    let below: f64 = ways.iter().take(usize::try_from(statistic).unwrap_or(most) + 1).sum();
    below / 2f64.powi(count as i32)
}
