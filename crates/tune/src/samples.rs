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

/// Windows from all parts of the source, each where its part is as hard to encode as on average, as the sizes of its packets
/// tell; where they tell nothing (every packet as large as the others, or sizes that are not known) in the middle of its
/// part. A short source is one window: all of it.
pub fn windows(source: &Source, plan: &SamplePlan, sizes: impl FnOnce() -> Option<Vec<u32>>) -> Vec<Window> {
    let length = ((plan.seconds * source.fps()).round() as u64).max(1);
    let usual = (source.duration() / 60.0).ceil().clamp(4.0, 12.0) as u64;
    let even = spread(source.frames, length, plan.count.map_or(usual, u64::from));
    if even == [Window::WHOLE] {
        return even;
    }
    match sizes() {
        Some(sizes) if sizes.len() as u64 == source.frames => by_content(&even, length, &sizes),
        _ => even,
    }
}

/// Moves each window within its part to where the bytes per frame are nearest to those of the part.
fn by_content(even: &[Window], length: u64, sizes: &[u32]) -> Vec<Window> {
    let mut sums = Vec::with_capacity(sizes.len() + 1);
    sums.push(0u64);
    for size in sizes {
        sums.push(sums.last().copied().unwrap_or(0) + u64::from(*size));
    }
    let (frames, count) = (sizes.len() as u64, even.len() as u64);
    let density =
        |from: u64, to: u64| (sums[to as usize] - sums[from as usize]) as f64 / (to - from).max(1) as f64;
    let choose = |(index, even): (u64, &Window)| {
        let (from, to) = (index * frames / count, (index + 1) * frames / count);
        let (mean, middle) = (density(from, to), even.start);
        let step = (length / 8).max(1) as usize;
        let places = (from..=to.saturating_sub(length).max(from)).step_by(step).chain([middle]);
        // The nearest to the mean; of equal ones the one nearest to the middle.
        let away = |start: u64| (density(start, (start + length).min(frames)) - mean).abs();
        let best = places
            .min_by(|a, b| away(*a).total_cmp(&away(*b)).then(a.abs_diff(middle).cmp(&b.abs_diff(middle))));
        Window::new(best.unwrap_or(middle), length)
    };
    (0..).zip(even).map(choose).collect()
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
    fn samples_are_as_hard_as_their_part() {
        // The middle of each part is easy; most of it is hard.
        let sizes: Vec<u32> =
            (0..4000u32).map(|frame| if (300..700).contains(&(frame % 1000)) { 10 } else { 100 }).collect();
        let even = spread(4000, 100, 4);
        let chosen = by_content(&even, 100, &sizes);
        let mean = |windows: &[Window]| {
            let frames = windows.iter().flat_map(|window| window.start..window.start + window.count.unwrap());
            let sizes: Vec<f64> = frames.map(|frame| f64::from(sizes[frame as usize])).collect();
            sizes.iter().sum::<f64>() / sizes.len() as f64
        };
        let truth = sizes.iter().map(|size| f64::from(*size)).sum::<f64>() / 4000.0;
        assert!((mean(&chosen) - truth).abs() < 5.0, "{} of {truth}", mean(&chosen));
        assert!((mean(&even) - truth).abs() > 40.0, "the middle alone would mislead");
        let ends: Vec<(u64, u64)> = chosen.iter().map(|w| (w.start, w.start + w.count.unwrap())).collect();
        assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0) && ends[3].1 <= 4000, "{ends:?}");
        assert_eq!(by_content(&even, 100, &[7; 4000]), even, "sizes that tell nothing");
    }

    #[test]
    fn short_sources_are_taken_as_a_whole() {
        assert_eq!(spread(250, 100, 4), [Window::WHOLE]);
        assert_eq!(spread(0, 100, 4), [Window::WHOLE]);
        assert_eq!(spread(1000, 10, 0), [Window::WHOLE]);
    }
}
