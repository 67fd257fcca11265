//! Round numbers along an axis.

/// The smallest step of 1, 2 or 5 times a power of ten that makes at most `most` steps of a span.
fn step(span: f64, most: usize) -> f64 {
    let rough = (span / most.max(1) as f64).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// Round numbers within a range, at most `most` and one.
pub fn ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let step = step(high - low, most);
    let first = (low / step - 1e-9).ceil();
    let count = ((high / step + 1e-9).floor() - first).max(0.0) as usize;
    (0..=count.min(2 * most + 2)).map(|number| (first + number as f64) * step).collect()
}

/// 1, 2 and 5 times every power of ten within a range of positive numbers.
pub fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

/// A number without needless zeros.
pub fn plain(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A range with round ends that holds all values. Scores out of a hundred end with 100 where they come near.
pub fn nice_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |range, value| (range.0.min(value), range.1.max(value)));
    if low > high {
        return None;
    }
    let span = (high - low).max(high.abs() * 0.02).max(1e-6);
    let step = step(span, 5);
    let (low, mut high) = ((low / step - 1e-9).floor() * step, (high / step + 1e-9).ceil() * step);
    if (85.0..100.0).contains(&high) && low >= 0.0 {
        high = 100.0;
    }
    Some((low, if high > low { high } else { low + step }))
}

/// A number on an axis: as many decimals as the step needs.
pub fn label(value: f64, span: f64) -> String {
    let decimals = if span >= 8.0 {
        0
    } else if span >= 0.8 {
        1
    } else {
        3
    };
    format!("{:.decimals$}", if value.abs() < 1e-9 { 0.0 } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers() {
        assert_eq!(ticks(0.0, 100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(0.0, 59.0, 6), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(nice_range([48.2, 98.1].into_iter()), Some((40.0, 100.0)));
        assert_eq!(nice_range([97.4, 97.4].into_iter()), Some((97.0, 100.0)));
        assert_eq!(nice_range([f64::NAN].into_iter()), None);
        let (low, high) = nice_range([0.0, 0.0].into_iter()).unwrap();
        assert!(low < high);
        assert_eq!(label(0.25, 1.0), "0.2");
        assert_eq!(log_ticks(90.0, 1100.0), [100.0, 200.0, 500.0, 1000.0]);
        assert_eq!([plain(0.5), plain(3.0), plain(-0.0)], ["0.5", "3", "0"]);
    }
}
