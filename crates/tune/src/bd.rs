//! Bjøntegaard's deltas: how much rate, or how much quality, lies between two curves.
//!
//! Rates enter as logarithms, curves are compared where they overlap, and the result is their average distance. Two ways
//! to draw a curve through its points: the cubic polynomial of ITU-T VCEG-M33, and the piecewise cubic (PCHIP, slopes of
//! Fritsch and Butland) of JCTVC-L1100, which does not swing between points and takes any number of them.

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePoint {
    pub kbps: f64,
    pub quality: f64,
}

/// How the curve is drawn through its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Cubic,
    Pchip,
}

/// Why two curves cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BdError {
    #[error("a curve has {got} usable points; {method:?} needs at least {needed}")]
    TooFewPoints { got: usize, needed: usize, method: Method },
    #[error("the curves do not overlap: {a_low:.2} to {a_high:.2} against {b_low:.2} to {b_high:.2}")]
    NoOverlap { a_low: f64, a_high: f64, b_low: f64, b_high: f64 },
    #[error("a point is not finite, or its rate is not positive: {kbps} kbps, quality {quality}")]
    BadPoint { kbps: f64, quality: f64 },
}

/// How much more rate, in percent, `test` needs than `anchor` for the same quality. Negative is a saving.
pub fn bd_rate(anchor: &[RatePoint], test: &[RatePoint], method: Method) -> Result<f64, BdError> {
    let axes = |points: &[RatePoint]| curve(points, method, |point| (point.quality, point.kbps.log10()));
    let difference = mean_distance(&axes(anchor)?, &axes(test)?, method)?;
    Ok((10f64.powf(difference) - 1.0) * 100.0)
}

/// How much better `test` is than `anchor` at the same rate.
pub fn bd_quality(anchor: &[RatePoint], test: &[RatePoint], method: Method) -> Result<f64, BdError> {
    let axes = |points: &[RatePoint]| curve(points, method, |point| (point.kbps.log10(), point.quality));
    mean_distance(&axes(anchor)?, &axes(test)?, method)
}

/// Points sorted along x, without those that would make the curve step back: of equal x the first counts.
fn curve(
    points: &[RatePoint],
    method: Method,
    axes: impl Fn(&RatePoint) -> (f64, f64),
) -> Result<Vec<(f64, f64)>, BdError> {
    for RatePoint { kbps, quality } in points {
        if !kbps.is_finite() || !quality.is_finite() || *kbps <= 0.0 {
            return Err(BdError::BadPoint { kbps: *kbps, quality: *quality });
        }
    }
    let mut curve: Vec<(f64, f64)> = points.iter().map(axes).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve.dedup_by(|later, first| later.0 == first.0);
    let needed = if method == Method::Cubic { 4 } else { 2 };
    match curve.len() {
        got if got < needed => Err(BdError::TooFewPoints { got, needed, method }),
        _ => Ok(curve),
    }
}

fn mean_distance(anchor: &[(f64, f64)], test: &[(f64, f64)], method: Method) -> Result<f64, BdError> {
    let ends = |curve: &[(f64, f64)]| (curve[0].0, curve[curve.len() - 1].0);
    let ((a_low, a_high), (b_low, b_high)) = (ends(anchor), ends(test));
    let (low, high) = (a_low.max(b_low), a_high.min(b_high));
    if low >= high {
        return Err(BdError::NoOverlap { a_low, a_high, b_low, b_high });
    }
    let area = |curve: &[(f64, f64)]| match method {
        Method::Cubic => cubic_area(curve, low, high),
        Method::Pchip => pchip_area(curve, low, high),
    };
    Ok((area(test) - area(anchor)) / (high - low))
}

/// The integral of the cubic that fits the points best. x is centred and scaled, so that the equations are tame.
fn cubic_area(curve: &[(f64, f64)], low: f64, high: f64) -> f64 {
    let (first, last) = (curve[0].0, curve[curve.len() - 1].0);
    let (middle, half) = ((first + last) / 2.0, (last - first) / 2.0);
    let scaled: Vec<(f64, f64)> = curve.iter().map(|(x, y)| ((x - middle) / half, *y)).collect();
    let factors = fit_cubic(&scaled);
    let integral = |x: f64| {
        let x = (x - middle) / half;
        let terms = factors.iter().zip(1..).map(|(factor, power)| factor * x.powi(power) / f64::from(power));
        half * terms.sum::<f64>()
    };
    integral(high) - integral(low)
}

/// Least squares: the normal equations, solved by elimination with pivots.
fn fit_cubic(points: &[(f64, f64)]) -> [f64; 4] {
    let mut rows = [[0.0; 5]; 4];
    for (x, y) in points {
        let powers = [1.0, *x, x * x, x * x * x];
        for (row, power) in rows.iter_mut().zip(powers) {
            for (cell, other) in row.iter_mut().zip(powers) {
                *cell += power * other;
            }
            row[4] += power * y;
        }
    }
    eliminate(&mut rows);
    std::array::from_fn(|index| rows[index][4] / rows[index][index])
}

fn eliminate(rows: &mut [[f64; 5]; 4]) {
    for column in 0..4 {
        let largest = (column..4).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()));
        rows.swap(column, largest.unwrap_or(column));
        let pivot = rows[column];
        for (index, row) in rows.iter_mut().enumerate() {
            if index != column {
                let factor = row[column] / pivot[column];
                row.iter_mut().zip(pivot).for_each(|(cell, pivot)| *cell -= factor * pivot);
            }
        }
    }
}

/// The integral of the piecewise cubic.
fn pchip_area(curve: &[(f64, f64)], low: f64, high: f64) -> f64 {
    let slopes = pchip_slopes(curve);
    let pieces = curve.windows(2).zip(slopes.windows(2));
    pieces
        .map(|(ends, slopes)| {
            let (from, to) = (ends[0].0.max(low), ends[1].0.min(high));
            if from < to { piece_area(ends, slopes, from, to) } else { 0.0 }
        })
        .sum()
}

/// Hermite's cubic between two points, integrated from `from` to `to`.
fn piece_area(ends: &[(f64, f64)], slopes: &[f64], from: f64, to: f64) -> f64 {
    let width = ends[1].0 - ends[0].0;
    let secant = (ends[1].1 - ends[0].1) / width;
    let square = (3.0 * secant - 2.0 * slopes[0] - slopes[1]) / width;
    let cube = (slopes[0] + slopes[1] - 2.0 * secant) / (width * width);
    let integral = |x: f64| {
        let t = x - ends[0].0;
        t * (ends[0].1 + t * (slopes[0] / 2.0 + t * (square / 3.0 + t * cube / 4.0)))
    };
    integral(to) - integral(from)
}

/// Slopes that keep the curve between its points (Fritsch and Butland 1984); three points decide at the ends.
fn pchip_slopes(curve: &[(f64, f64)]) -> Vec<f64> {
    let widths: Vec<f64> = curve.windows(2).map(|ends| ends[1].0 - ends[0].0).collect();
    let secants: Vec<f64> =
        curve.windows(2).zip(&widths).map(|(ends, width)| (ends[1].1 - ends[0].1) / width).collect();
    let count = secants.len();
    if count == 1 {
        return vec![secants[0]; 2];
    }
    let inner = |i: usize| {
        if secants[i] * secants[i + 1] <= 0.0 {
            return 0.0;
        }
        let (before, after) = (widths[i + 1] * 2.0 + widths[i], widths[i + 1] + 2.0 * widths[i]);
        (before + after) / (before / secants[i] + after / secants[i + 1])
    };
    let first = end_slope((widths[0], widths[1]), (secants[0], secants[1]));
    let last = end_slope((widths[count - 1], widths[count - 2]), (secants[count - 1], secants[count - 2]));
    std::iter::once(first).chain((0..count - 1).map(inner)).chain([last]).collect()
}

fn end_slope(widths: (f64, f64), secants: (f64, f64)) -> f64 {
    let slope = ((2.0 * widths.0 + widths.1) * secants.0 - widths.0 * secants.1) / (widths.0 + widths.1);
    if slope * secants.0 <= 0.0 {
        0.0
    } else if secants.0 * secants.1 <= 0.0 && slope.abs() > 3.0 * secants.0.abs() {
        3.0 * secants.0
    } else {
        slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: &[f64], qualities: &[f64]) -> Vec<RatePoint> {
        rates
            .iter()
            .zip(qualities)
            .map(|(kbps, quality)| RatePoint { kbps: *kbps, quality: *quality })
            .collect()
    }

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-9, "{got} should be {expected}");
    }

    /// The example of the public `bjontegaard` package (version 1.3.0) and what it prints.
    #[test]
    fn published_figures() {
        let anchor = points(&[9487.76, 4593.60, 2486.44, 1358.24], &[40.037, 38.615, 36.845, 34.851]);
        let test = points(&[9787.80, 4469.00, 2451.52, 1356.24], &[40.121, 38.651, 36.970, 34.987]);
        close(bd_rate(&anchor, &test, Method::Cubic).unwrap(), -4.420462706125383);
        close(bd_rate(&anchor, &test, Method::Pchip).unwrap(), -4.417485350589045);
        close(bd_quality(&anchor, &test, Method::Cubic).unwrap(), 0.12040941911451103);
        close(bd_quality(&anchor, &test, Method::Pchip).unwrap(), 0.11969278542479489);
    }

    /// The curves of Bjøntegaard's own report VCEG-M33, computed by the same package.
    #[test]
    fn the_first_example_there_was() {
        let anchor = points(&[686.76, 309.58, 157.11, 85.95], &[40.28, 37.18, 34.24, 31.42]);
        let test = points(&[893.34, 407.8, 204.93, 112.75], &[40.39, 37.21, 34.17, 31.24]);
        close(bd_rate(&anchor, &test, Method::Cubic).unwrap(), 31.3973740549095);
        close(bd_rate(&anchor, &test, Method::Pchip).unwrap(), 31.379878202397627);
        close(bd_quality(&anchor, &test, Method::Cubic).unwrap(), -1.1848979217703506);
        close(bd_quality(&anchor, &test, Method::Pchip).unwrap(), -1.1834724046224592);
    }

    #[test]
    fn more_points_than_a_cubic_can_meet() {
        let anchor =
            points(&[5100.5, 2600.0, 1303.3, 700.0, 350.7, 180.0], &[97.2, 95.1, 91.3, 85.2, 74.4, 60.1]);
        let test =
            points(&[4100.5, 2300.0, 1003.3, 560.0, 300.0, 120.5], &[97.9, 95.6, 90.3, 85.9, 76.4, 58.1]);
        close(bd_rate(&anchor, &test, Method::Cubic).unwrap(), -22.146160630195343);
        close(bd_rate(&anchor, &test, Method::Pchip).unwrap(), -22.85603559626317);
        close(bd_quality(&anchor, &test, Method::Cubic).unwrap(), 2.764292210684724);
        close(bd_quality(&anchor, &test, Method::Pchip).unwrap(), 2.7272848332256623);
    }

    #[test]
    fn twice_the_rate_is_a_hundred_percent() {
        let anchor = points(&[100.0, 200.0, 400.0], &[60.0, 75.0, 90.0]);
        let test = points(&[200.0, 400.0, 800.0], &[60.0, 75.0, 90.0]);
        close(bd_rate(&anchor, &test, Method::Pchip).unwrap(), 100.0);
        close(bd_rate(&test, &anchor, Method::Pchip).unwrap(), -50.0);
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let few = points(&[100.0, 200.0, 400.0], &[60.0, 75.0, 90.0]);
        assert_eq!(
            bd_rate(&few, &few, Method::Cubic),
            Err(BdError::TooFewPoints { got: 3, needed: 4, method: Method::Cubic })
        );
        let high = points(&[100.0, 200.0], &[95.0, 99.0]);
        assert!(matches!(bd_rate(&few, &high, Method::Pchip), Err(BdError::NoOverlap { .. })));
        let bad = points(&[0.0, 200.0], &[95.0, f64::NAN]);
        assert!(matches!(bd_rate(&bad, &high, Method::Pchip), Err(BdError::BadPoint { .. })));
    }
}
