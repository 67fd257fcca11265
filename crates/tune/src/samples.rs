//! Which parts of a source stand for the whole.

use crate::source::{Source, Window};

/// How samples are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplePlan {
    /// How many; `None` lets the length decide.
    pub count: Option<u32>,
    /// Seconds of each.
    pub seconds: f64,
}

impl Default for SamplePlan {
    fn default() -> Self {
        Self { count: None, seconds: 4.0 }
    }
}

/// A source for which samples would be more than this part is taken as a whole.
const WORTH_IT: f64 = 0.5;

/// Windows that are spread evenly over the source, each in the middle of its part. A short source is one window: all of
/// it.
pub fn windows(source: &Source, plan: &SamplePlan) -> Vec<Window> {
    let length = ((plan.seconds * source.fps()).round() as u64).max(1);
    let usual = (source.duration() / 60.0).ceil().clamp(4.0, 12.0) as u64;
    spread(source.frames, length, plan.count.map_or(usual, u64::from))
}

fn spread(frames: u64, length: u64, count: u64) -> Vec<Window> {
    if count == 0 || (length * count) as f64 > frames as f64 * WORTH_IT {
        return vec![Window::WHOLE];
    }
    let middle = |index: u64| (2 * index + 1) * frames / (2 * count);
    (0..count).map(|index| Window::new(middle(index) - length / 2, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_apart_and_inside() {
        for (frames, length, count) in [(10_000, 100, 4), (801, 100, 4), (170_000, 96, 12), (1000, 1, 7)] {
            let windows = spread(frames, length, count);
            assert_eq!(windows.len() as u64, count);
            let ends: Vec<(u64, u64)> =
                windows.iter().map(|window| (window.start, window.start + window.count.unwrap())).collect();
            assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ends:?}");
            assert!(ends.iter().all(|(_, end)| *end <= frames), "{ends:?}");
        }
    }

    #[test]
    fn short_sources_are_taken_as_a_whole() {
        assert_eq!(spread(250, 100, 4), [Window::WHOLE]);
        assert_eq!(spread(0, 100, 4), [Window::WHOLE]);
        assert_eq!(spread(1000, 10, 0), [Window::WHOLE]);
    }
}
