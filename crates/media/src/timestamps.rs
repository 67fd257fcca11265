//! Timestamps of frames: which frames of two streams are shown at the same time.
//!
//! They are evidence, not proof: containers round them, and editing software writes them anew. They are used where there is one for
//! every frame, each later than the one before, and where they say more than the frame rates do: at least one side is
//! unevenly spaced. A slot that is left out is a dropped frame then.

use std::sync::Arc;

use visus_engine::Cancel;

use crate::packets::packet_lines;
use crate::{Probe, Tools};

/// Frames are unevenly spaced if an interval differs from the usual one by more than this share of it.
const UNEVEN: f64 = 0.4;
/// Timestamps of one moment differ by less than this share of the usual interval.
const ROUNDING: f64 = 0.25;

/// Presentation times of all frames of a stream in seconds, in their order; `None` where they cannot be relied on.
pub(crate) fn read(tools: &Tools, probe: &Probe, cancel: &Cancel) -> Option<Vec<f64>> {
    parse(packet_lines(tools, probe, "pts_time", cancel)?)
}

/// One time per line, in the order of decoding.
fn parse(lines: impl Iterator<Item = String>) -> Option<Vec<f64>> {
    let time = |line: String| line.split(',').next().unwrap_or_default().trim().parse::<f64>().ok();
    let mut times = lines.filter(|line| !line.trim().is_empty()).map(time).collect::<Option<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    let rising = times.windows(2).all(|pair| pair[0] < pair[1] && pair[1].is_finite());
    (rising && times.len() > 1).then_some(times)
}

/// Times of frames that are evenly spaced.
pub(crate) fn even(frames: usize, rate: f64) -> Vec<f64> {
    (0..frames).map(|frame| frame as f64 / rate).collect()
}

fn usual_interval(times: &[f64]) -> f64 {
    let mut intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    intervals.sort_by(f64::total_cmp);
    intervals.get(intervals.len() / 2).copied().unwrap_or(0.0)
}

fn is_even(times: &[f64]) -> bool {
    let usual = usual_interval(times);
    times.windows(2).all(|pair| (pair[1] - pair[0] - usual).abs() <= UNEVEN * usual)
}

/// The frame of the reference that is shown at every frame of the distorted video, counted from the first of both; `None` where
/// both are evenly spaced, so that frame rates say all.
pub(crate) fn due(reference: &[f64], distorted: &[f64]) -> Option<Arc<[u32]>> {
    let (first, start) = (*reference.first()?, *distorted.first()?);
    if is_even(reference) && is_even(distorted) {
        return None;
    }
    let rounding = ROUNDING * usual_interval(reference);
    let mut at = 0;
    let place = |time: &f64| {
        while reference.get(at + 1).is_some_and(|next| next - first <= time - start + rounding) {
            at += 1;
        }
        at as u32
    };
    Some(distorted.iter().map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_is_left_out_is_a_dropped_frame() {
        let reference = even(8, 25.0);
        let mut distorted: Vec<f64> = reference.iter().map(|time| time + 0.08).collect();
        distorted.remove(3);
        assert_eq!(due(&reference, &distorted).as_deref(), Some(&[0, 1, 2, 4, 5, 6, 7][..]));
        assert_eq!(due(&reference, &reference), None);
        assert_eq!(due(&[], &distorted), None);
    }

    #[test]
    fn only_whole_lists_are_believed() {
        let lines = |text: &str| parse(text.lines().map(str::to_owned));
        assert_eq!(lines("0.0\n0.08\n0.04,\n"), Some(vec![0.0, 0.04, 0.08]));
        assert_eq!(lines("0.0\nN/A\n0.08\n"), None);
        assert_eq!(lines("0.0\n0.04\n0.04\n"), None);
        assert_eq!(lines(""), None);
    }
}
