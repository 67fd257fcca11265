//! Figures that can be known without another program; the comparison with scipy is a test of its own.

use super::*;

/// Kendall's tau-b by its definition.
fn naive_tau(x: &[f64], y: &[f64]) -> f64 {
    let (mut score, mut untied_x, mut untied_y) = (0.0, 0.0, 0.0);
    for i in 0..x.len() {
        for j in 0..i {
            let sign = |d: f64| if d == 0.0 { 0.0 } else { d.signum() };
            let (a, b) = (sign(x[i] - x[j]), sign(y[i] - y[j]));
            score += a * b;
            untied_x += a.abs();
            untied_y += b.abs();
        }
    }
    score / f64::sqrt(untied_x * untied_y)
}

fn wave(count: usize, step: f64, levels: f64) -> Vec<f64> {
    (0..count).map(|i| ((i as f64 * step).sin() * levels).round()).collect()
}

#[test]
fn kendall_is_its_definition_with_ties() {
    for count in [2, 3, 7, 64, 129, 300] {
        let (x, y) = (wave(count, 1.3, 9.0), wave(count, 0.7, 5.0));
        let tau = kendall(&x, &y).unwrap();
        assert!((tau - naive_tau(&x, &y)).abs() < 1e-14, "{count}");
    }
}

#[test]
fn known_correlations() {
    let x = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(pearson(&x, &[2.0, 4.0, 6.0, 8.0]), Some(1.0));
    assert_eq!(spearman(&x, &[1.0, 10.0, 100.0, 1000.0]), Some(1.0));
    assert_eq!(kendall(&x, &[4.0, 3.0, 2.0, 1.0]), Some(-1.0));
    assert_eq!(rmse(&x, &[1.0, 2.0, 3.0, 6.0]), 1.0);
    assert_eq!(average_ranks(&[3.0, 1.0, 3.0, 0.0, -0.0]), [4.5, 3.0, 4.5, 1.5, 1.5]);
}

#[test]
fn no_variance_has_no_correlation() {
    assert!(matches!(Figures::of(&[1.0, 1.0], &[1.0, 2.0]), Err(EvalError::ZeroVariance)));
    assert!(matches!(Figures::of(&[1.0, 2.0], &[3.0, 3.0]), Err(EvalError::ZeroVariance)));
    assert_eq!(kendall(&[1.0, 1.0], &[1.0, 2.0]), None);
}

#[test]
fn intervals_hold_the_value_and_do_not_depend_on_threads() {
    let opinions = wave(500, 0.37, 50.0);
    let noise = wave(500, 2.9, 20.0);
    let good: Vec<f64> = opinions.iter().zip(&noise).map(|(a, b)| a + b / 4.0).collect();
    let bad: Vec<f64> = opinions.iter().zip(&noise).map(|(a, b)| a + 3.0 * b).collect();
    let bootstrap = Bootstrap { resamples: 200, seed: 3 };
    let resampled = bootstrap.run(&[&good, &bad], &opinions, &|| false).unwrap();
    let value = Figures::of(&good, &opinions).unwrap();
    let other = Figures::of(&bad, &opinions).unwrap();
    let interval = resampled.interval(0, value.plcc, |f| f.plcc).unwrap();
    assert!(interval.low < value.plcc && value.plcc < interval.high);
    let (difference, chance) = resampled.difference([0, 1], value.plcc - other.plcc, |f| f.plcc).unwrap();
    assert!(difference.low > 0.0 && chance < 0.02);
    let again = bootstrap.run(&[&good], &opinions, &|| false).unwrap();
    assert_eq!(again.interval(0, value.plcc, |f| f.plcc), Some(interval));
    assert!(bootstrap.run(&[&good], &opinions, &|| true).is_none());
}

#[test]
fn the_interval_of_many_rows_is_as_narrow_as_theory_says() {
    let mut state = 7u64;
    let mut normal = || {
        let mut total = -6.0;
        for _ in 0..12 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            total += (state >> 11) as f64 / (1u64 << 53) as f64;
        }
        total
    };
    let count = 40_000;
    let opinions: Vec<f64> = (0..count).map(|_| normal()).collect();
    let predicted: Vec<f64> = opinions.iter().map(|o| o + normal()).collect();
    let plcc = pearson(&predicted, &opinions).unwrap();
    let interval = Bootstrap { resamples: 1000, seed: 1 }.run(&[&predicted], &opinions, &|| false).unwrap();
    let interval = interval.interval(0, plcc, |f| f.plcc).unwrap();
    let expected = 2.0 * 1.96 * (1.0 - plcc * plcc) / (count as f64).sqrt();
    let ratio = (interval.high - interval.low) / expected;
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn chances_of_tables() {
    assert!((normal_tail(1.959963984540054) - 0.025).abs() < 1e-15);
    assert!((chi_squared_tail(5.991464547107979, 2) - 0.05).abs() < 1e-14);
    assert!((chi_squared_tail(7.814727903251179, 3) - 0.05).abs() < 1e-14);
    assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
    assert_eq!(steiger(0.9, 0.9, 0.8, 100), Some(1.0));
    assert_eq!(wilcoxon(&[1.0, 2.0], &[1.0, 2.0]), None);
    assert_eq!(friedman(&[&[1.0], &[1.0], &[1.0]]), None);
}
