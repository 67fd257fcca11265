//! The scores inside a page.

use serde_json::json;

use crate::record::{Curve, Record};

/// So many scores are kept one by one, over all curves; a film with more is shown by the lowest and the highest of groups.
const MOST_SCORES: usize = 400_000;
/// Curves that a page can show.
const MOST_CURVES: usize = 40;

/// The columns that the page shows.
pub fn shown(record: &Record) -> Vec<&Curve> {
    let mut shown = record.shown();
    shown.retain(|curve| curve.values.iter().any(Option::is_some));
    shown.truncate(MOST_CURVES);
    shown
}

/// What the script reads, safe inside a script element.
pub fn json(record: &Record, shown: &[&Curve]) -> String {
    let group = group(record.frames.len(), shown.len());
    let curve = |curve: &&Curve| {
        let scale = scale(curve);
        json!({ "name": curve.name, "scale": scale, "data": encode(grouped(&curve.values, group).into_iter(), scale) })
    };
    let (first, step) = regular(&record.frames);
    let numbers = step.is_none().then(|| encode(record.frames.iter().map(|frame| Some(*frame as f64)), 1.0));
    let data = json!({
        "first": first,
        "step": step.unwrap_or(1),
        "numbers": numbers,
        "group": group,
        "fps": record.frames_per_second(),
        "curves": shown.iter().map(curve).collect::<Vec<_>>(),
        "shots": record.shots.iter().map(|shot| [shot.start, shot.end]).collect::<Vec<_>>(),
    });
    // The only way out of a script element begins with this sign.
    data.to_string().replace('<', "\\u003c")
}

/// The first frame, and the distance of the frames if it is always the same.
fn regular(frames: &[u64]) -> (u64, Option<u64>) {
    let first = frames.first().copied().unwrap_or(0);
    let step = frames.get(1).map_or(1, |second| second - first);
    let regular = frames.windows(2).all(|pair| pair[1] - pair[0] == step);
    (first, regular.then_some(step))
}

/// How many frames two points stand for; 1 where every frame has its own.
fn group(frames: usize, curves: usize) -> usize {
    let scores = frames * curves;
    if scores <= MOST_SCORES { 1 } else { (2 * scores).div_ceil(MOST_SCORES) }
}

/// The lowest and the highest of each group, in the order in which they come.
fn grouped(values: &[Option<f64>], group: usize) -> Vec<Option<f64>> {
    if group == 1 {
        return values.to_vec();
    }
    let ends = |group: &[Option<f64>]| {
        let known = || group.iter().copied().enumerate().filter_map(|(place, value)| Some((place, value?)));
        let low = known().min_by(|a, b| a.1.total_cmp(&b.1));
        let high = known().max_by(|a, b| a.1.total_cmp(&b.1));
        match (low, high) {
            (Some(low), Some(high)) if low.0 <= high.0 => [Some(low.1), Some(high.1)],
            (Some(low), Some(high)) => [Some(high.1), Some(low.1)],
            _ => [None, None],
        }
    };
    values.chunks(group).flat_map(ends).collect()
}

/// Scores have two decimals; features with a small range more.
fn scale(curve: &Curve) -> f64 {
    let largest = curve
        .values
        .iter()
        .flatten()
        .filter(|value| value.is_finite())
        .fold(0.0f64, |most, value| most.max(value.abs()));
    if largest > 10.0 { 100.0 } else { 10_000.0 }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Differences to the score before in units of 1/scale: sign in the lowest bit, five bits per letter, lowest first, the
/// sixth says that more follow. `!` stands where there is no score.
fn encode(values: impl Iterator<Item = Option<f64>>, scale: f64) -> String {
    let mut text = String::new();
    let mut last = 0i64;
    for value in values {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            text.push('!');
            continue;
        };
        // 2^48 units are more than any score, and what the script's numbers hold exactly.
        let units = (value * scale).round().clamp(-2f64.powi(48), 2f64.powi(48)) as i64;
        let change = units - last;
        last = units;
        let mut bits = if change < 0 { ((-change as u64) << 1) - 1 } else { (change as u64) << 1 };
        loop {
            let more = bits > 31;
            text.push(char::from(DIGITS[(bits & 31) as usize | usize::from(more) << 5]));
            bits >>= 5;
            if !more {
                break;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_letters_per_score() {
        assert_eq!(encode([Some(0.0), Some(0.01), Some(0.0), None, Some(0.15)].into_iter(), 100.0), "ACB!e");
        assert_eq!(encode([Some(0.16)].into_iter(), 100.0), "gB");
        assert_eq!(encode([Some(f64::INFINITY)].into_iter(), 100.0), "!");
    }

    #[test]
    fn groups_keep_dips() {
        let mut values = vec![Some(90.0); 10];
        values[3] = Some(10.0);
        values[7] = None;
        assert_eq!(grouped(&values, 5), [Some(90.0), Some(10.0), Some(90.0), Some(90.0)]);
        assert_eq!((group(10, 1), group(800_000, 1)), (1, 4));
    }

    #[test]
    fn frames_need_not_be_regular() {
        assert_eq!(regular(&[5, 10, 15]), (5, Some(5)));
        assert_eq!(regular(&[5, 6, 8]), (5, None));
        assert_eq!(regular(&[]), (0, Some(1)));
    }
}
