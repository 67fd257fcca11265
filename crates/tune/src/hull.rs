//! Which encodes a ladder is made of: the convex hull over rate and quality, and tiers along it.

use std::str::FromStr;

/// The upper convex hull of points (rate, quality), as indices, by rising rate. Only points that are better than every
/// cheaper one belong to it, and each step buys less quality per bit than the one before.
pub fn upper_hull(points: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).filter(|index| is_usable(points[*index])).collect();
    order.sort_by(|a, b| points[*a].0.total_cmp(&points[*b].0).then(points[*b].1.total_cmp(&points[*a].1)));
    let mut hull: Vec<usize> = Vec::new();
    for index in order {
        if hull.last().is_some_and(|last| points[index].1 <= points[*last].1) {
            continue;
        }
        while let [.., before, last] = hull[..] {
            if bends_down(points[before], points[last], points[index]) {
                break;
            }
            hull.pop();
        }
        hull.push(index);
    }
    hull
}

fn is_usable(point: (f64, f64)) -> bool {
    point.0.is_finite() && point.1.is_finite() && point.0 > 0.0
}

/// Whether the way from `a` over `b` to `c` gets flatter at `b`.
fn bends_down(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> bool {
    (b.1 - a.1) * (c.0 - b.0) > (c.1 - b.1) * (b.0 - a.0)
}

/// What is the same from one tier to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// The ratio of bit rates.
    #[default]
    LogBitrate,
    /// The step in quality.
    Vmaf,
    /// The number of points of the hull.
    Uniform,
}

impl Spacing {
    pub const NAMES: [&str; 3] = ["log_bitrate", "vmaf", "uniform"];

    pub fn name(self) -> &'static str {
        match self {
            Self::LogBitrate => "log_bitrate",
            Self::Vmaf => "vmaf",
            Self::Uniform => "uniform",
        }
    }
}

impl FromStr for Spacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::LogBitrate, Self::Vmaf, Self::Uniform];
        let found = known.into_iter().find(|spacing| spacing.name() == text);
        found.ok_or_else(|| format!("must be one of {}", Self::NAMES.join("|")))
    }
}

/// Picks up to `count` points of a hull (rate, quality; rising), evenly spaced, the cheapest and the best among them.
/// Returns indices into the hull, rising, none twice.
pub fn tiers(hull: &[(f64, f64)], count: usize, spacing: Spacing) -> Vec<usize> {
    if hull.len() <= count {
        return (0..hull.len()).collect();
    }
    let place = |index: usize| match spacing {
        Spacing::LogBitrate => hull[index].0.ln(),
        Spacing::Vmaf => hull[index].1,
        Spacing::Uniform => index as f64,
    };
    if count < 2 {
        return if count == 0 { Vec::new() } else { vec![hull.len() - 1] };
    }
    let (first, last) = (place(0), place(hull.len() - 1));
    let mut chosen: Vec<usize> = Vec::new();
    for tier in 0..count {
        let wanted = first + (last - first) * tier as f64 / (count - 1) as f64;
        // Places must be left for the tiers above, and none is taken twice.
        let from = chosen.last().map_or(0, |index| index + 1);
        let free = from..=hull.len() - (count - tier);
        let distance = |index: &usize| (place(*index) - wanted).abs();
        chosen.extend(free.min_by(|a, b| distance(a).total_cmp(&distance(b))));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_pays_is_on_the_hull() {
        let points = [
            (100.0, 40.0),
            (200.0, 70.0),
            (210.0, 60.0), // worse than a cheaper one
            (400.0, 75.0), // under the line from 200 to 800
            (800.0, 95.0),
            (1600.0, 97.0),
            (100.0, 30.0),    // the same rate, worse
            (f64::NAN, 99.0), // no rate
            (3200.0, 97.0),   // pays nothing
        ];
        assert_eq!(upper_hull(&points), [0, 1, 4, 5]);
        assert_eq!(upper_hull(&[]), Vec::<usize>::new());
    }

    #[test]
    fn every_point_lies_on_or_under_the_hull() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / (1u64 << 31) as f64
        };
        for _ in 0..200 {
            let points: Vec<(f64, f64)> =
                (0..30).map(|_| (100.0 + 900.0 * random(), 100.0 * random())).collect();
            let hull = upper_hull(&points);
            for point in &points {
                let above = hull.windows(2).map(|ends| (points[ends[0]], points[ends[1]])).find(|(a, b)| {
                    let inside = (a.0..=b.0).contains(&point.0);
                    inside && a.1 + (b.1 - a.1) * (point.0 - a.0) / (b.0 - a.0) < point.1 - 1e-9
                });
                assert_eq!(above, None);
            }
            let slopes = hull.windows(2).map(|ends| {
                let (a, b) = (points[ends[0]], points[ends[1]]);
                (b.1 - a.1) / (b.0 - a.0)
            });
            let slopes: Vec<f64> = slopes.collect();
            assert!(
                slopes.windows(2).all(|pair| pair[0] > pair[1]) && slopes.iter().all(|slope| *slope > 0.0)
            );
        }
    }

    #[test]
    fn tiers_are_spread_as_asked() {
        let hull: Vec<(f64, f64)> =
            (0..9).map(|i| (100.0 * 2f64.powi(i), 60.0 + 40.0 * (1.0 - 0.6f64.powi(i)))).collect();
        assert_eq!(tiers(&hull, 3, Spacing::LogBitrate), [0, 4, 8]);
        assert_eq!(tiers(&hull, 5, Spacing::Uniform), [0, 2, 4, 6, 8]);
        let by_quality = tiers(&hull, 3, Spacing::Vmaf);
        assert!(by_quality[1] < 4, "quality rises early: {by_quality:?}");
        assert_eq!(tiers(&hull, 20, Spacing::Vmaf).len(), 9);
        assert_eq!(tiers(&hull, 1, Spacing::Vmaf), [8]);
        for count in 2..9 {
            let chosen = tiers(&hull, count, Spacing::LogBitrate);
            assert_eq!((chosen.len(), chosen[0], chosen[count - 1]), (count, 0, 8));
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
