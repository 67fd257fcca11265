//! What happens to a score after the regression: polynomial, piecewise line, rectification, clip.

/// Lowest and highest score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    pub min: f64,
    pub max: f64,
}

impl Clip {
    pub fn apply(&self, score: f64) -> f64 {
        let score = if score < self.min { self.min } else { score };
        if score > self.max { self.max } else { score }
    }
}

/// A mapping of the score; nothing at all unless enabled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transform {
    pub enabled: bool,
    /// Coefficients of 1, x and x².
    pub polynomial: [Option<f64>; 3],
    /// Points of a rising piecewise line; its ends are extended.
    pub knots: Option<Vec<[f64; 2]>>,
    /// The result is at most the input.
    pub out_lte_in: bool,
    /// The result is at least the input.
    pub out_gte_in: bool,
}

impl Transform {
    pub fn apply(&self, score: f64) -> f64 {
        if !self.enabled {
            return score;
        }
        let mut out = self.curve(score);
        if let Some(knots) = &self.knots {
            out = piecewise(out, knots);
        }
        if self.out_lte_in && out > score {
            out = score;
        }
        if self.out_gte_in && out < score {
            out = score;
        }
        out
    }

    fn curve(&self, score: f64) -> f64 {
        let [p0, p1, p2] = self.polynomial;
        if p0.is_none() && p1.is_none() && p2.is_none() {
            return score;
        }
        let mut out = 0.0;
        out += p0.unwrap_or(0.0);
        if let Some(p1) = p1 {
            out += p1 * score;
        }
        if let Some(p2) = p2 {
            out += p2 * score * score;
        }
        out
    }
}

/// A broken line is refused when the model is read: see [`check_knots`].
fn piecewise(x: f64, knots: &[[f64; 2]]) -> f64 {
    let last = knots.len() - 2;
    let mut y = 0.0;
    for (index, pair) in knots.windows(2).enumerate() {
        let ([x0, y0], [x1, y1]) = (pair[0], pair[1]);
        let inside = x0 <= x && x <= x1;
        let before = index == 0 && x < x0;
        let behind = index == last && x > x1;
        if inside || before || behind {
            // Where two segments meet, the later one counts.
            y = if y0 == y1 { y0 } else { line(x, (x0, y0), (x1, y1)) };
        }
    }
    y
}

fn line(x: f64, (x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> f64 {
    if x0 == 0.0 {
        return (y1 - y0) / x1 * x + y0;
    }
    let slope = (y1 - y0) / (x1 - x0);
    slope * x + (y0 - x0 * slope)
}

/// Why these points are no rising line, if they are none.
pub fn check_knots(knots: &[[f64; 2]]) -> Result<(), String> {
    if knots.len() < 2 {
        return Err(format!("'knots' needs at least two points, it has {}", knots.len()));
    }
    let rising = |pair: &[[f64; 2]]| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1];
    match knots.windows(2).position(|pair| !rising(pair)) {
        Some(index) => Err(format!("'knots' does not rise between point {index} and point {}", index + 1)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_happens_unless_enabled() {
        let transform = Transform { polynomial: [Some(5.0), None, None], ..Transform::default() };
        assert_eq!(transform.apply(3.0), 3.0);
        assert_eq!(Transform { enabled: true, ..transform }.apply(3.0), 5.0);
    }

    #[test]
    fn rectification_compares_with_the_input() {
        let polynomial = [Some(0.0), Some(0.5), None];
        let lower = Transform { enabled: true, polynomial, out_gte_in: true, ..Transform::default() };
        assert_eq!(lower.apply(10.0), 10.0);
        assert_eq!(lower.apply(-10.0), -5.0);
        let upper = Transform { enabled: true, polynomial, out_lte_in: true, ..Transform::default() };
        assert_eq!(upper.apply(-10.0), -10.0);
    }

    #[test]
    fn piecewise_line_is_extended_at_its_ends() {
        let knots = vec![[0.0, 1.0], [2.0, 5.0], [4.0, 5.0], [5.0, 6.0]];
        let transform = Transform { enabled: true, knots: Some(knots), ..Transform::default() };
        for (x, y) in [(-1.0, -1.0), (0.0, 1.0), (1.0, 3.0), (3.0, 5.0), (4.5, 5.5), (7.0, 8.0)] {
            assert_eq!(transform.apply(x), y, "{x}");
        }
        assert!(check_knots(&[[0.0, 1.0]]).is_err());
        assert!(check_knots(&[[0.0, 1.0], [0.0, 2.0]]).is_err());
        assert!(check_knots(&[[0.0, 1.0], [1.0, 0.5]]).is_err());
    }
}
