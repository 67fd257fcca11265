//! A curve in one line of text.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws values as at most `width` bars between `low` and `high`. Where several values share a bar, the lowest is
/// drawn: a short dip must stay visible.
pub fn line(values: &[f64], width: usize, low: f64, high: f64) -> String {
    let bars = width.min(values.len());
    let span = if high > low { high - low } else { 1.0 };
    (0..bars)
        .map(|bar| {
            let group = &values[bar * values.len() / bars..(bar + 1) * values.len() / bars];
            let lowest = group.iter().copied().fold(f64::INFINITY, f64::min);
            let height = ((lowest - low) / span * BARS.len() as f64) as usize;
            BARS[height.min(BARS.len() - 1)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn dips_stay_visible() {
        assert_eq!(line(&[0.0, 50.0, 100.0], 10, 0.0, 100.0), "▁▅█");
        let mut values = vec![100.0; 1000];
        values[500] = 0.0;
        assert_eq!(line(&values, 4, 0.0, 100.0), "██▁█");
        assert_eq!(line(&[], 4, 0.0, 1.0), "");
        assert_eq!(line(&[5.0], 4, 5.0, 5.0), "▁");
    }
}
