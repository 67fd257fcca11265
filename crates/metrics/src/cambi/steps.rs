//! Which steps between luma values count as banding, and how much.
//!
//! A *level* is a luma value that takes part: the values between the darkest and the brightest one that any
//! visible step touches are numbered from 0. All other values can be left out of the histograms, because no step
//! that counts ever looks at them.

use std::ops::Range;

use super::luminance::Eotf;

/// The most steps there can be: two to the power of the largest `max_log_contrast`.
pub const MAX_STEPS: usize = 32;

/// How strongly a step of one more than the index is felt (suprathreshold contrast response).
const WEIGHTS: [u16; MAX_STEPS] =
    [1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9];

/// Marks a pixel that has no level: masked out, or of a luma value that no step looks at.
pub const NO_LEVEL: u16 = u16::MAX;

/// The steps of 1 to [`Steps::count`] luma values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    count: usize,
    /// The luma value of level 0.
    base: u16,
    /// For every level, bit `d` says whether a step of `d + 1` counts there.
    active: Vec<u32>,
    /// For every level the smallest step that counts, or one more than the largest.
    least: Vec<u8>,
}

impl Steps {
    /// `threshold` is the visible fraction of luminance, `floor` the luminance below which nothing is visible.
    pub fn new(log_count: u32, threshold: f64, floor: f64, eotf: Eotf) -> Self {
        let count = 1 << log_count;
        let steps = count as i32;
        let last: Vec<i32> = (1..=steps).map(|step| eotf.last_visible(step, threshold)).collect();
        let dark = eotf.first_with(floor);
        let base = (dark - 3 * steps + 1).max(0);
        // Empty where everything that would be visible lies below the floor.
        let end = last[count - 1] + steps + 1;
        let active: Vec<u32> = (base..end).map(|luma| active_steps(luma, &last, dark)).collect();
        let least = active.iter().map(|steps| steps.trailing_zeros().min(1 << log_count) as u8 + 1).collect();
        Self { count, base: base as u16, active, least }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn base(&self) -> u16 {
        self.base
    }

    /// For every level, bit `d` says whether a step of `d + 1` counts there.
    pub fn active(&self) -> &[u32] {
        &self.active
    }

    /// For every level the smallest step that counts, or one more than [`Steps::count`] if none does.
    pub fn least(&self) -> &[u8] {
        &self.least
    }

    /// The levels between the first and the last one at which any step counts.
    pub fn visible(&self) -> Range<u16> {
        let counts = |steps: &u32| *steps != 0;
        let first = self.active.iter().position(counts).unwrap_or(0);
        let end = self.active.iter().rposition(counts).map_or(0, |last| last + 1);
        first as u16..end as u16
    }

    pub fn levels(&self) -> usize {
        self.active.len()
    }
}

/// Pairs of size and weight for bits that each stand for a step.
#[inline(always)]
pub fn sizes_and_weights(mut steps: u32) -> impl Iterator<Item = (usize, u16)> {
    std::iter::from_fn(move || {
        let index = (steps != 0).then_some(steps.trailing_zeros() as usize)?;
        steps &= steps - 1;
        Some((index + 1, WEIGHTS[index]))
    })
}

/// The floor is compared with the sample raised by the number of steps and by the step itself, as libvmaf does.
fn active_steps(luma: i32, last: &[i32], dark: i32) -> u32 {
    let steps = last.len() as i32;
    let counts = |index: i32, last: i32| luma <= last && luma + steps + index + 1 > dark;
    last.iter().enumerate().map(|(d, last)| u32::from(counts(d as i32, *last)) << d).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(steps: &Steps, level: u16) -> Vec<usize> {
        sizes_and_weights(steps.active()[usize::from(level)]).map(|(size, _)| size).collect()
    }

    #[test]
    fn brighter_samples_need_larger_steps() {
        let steps = Steps::new(2, 0.019, 0.0, Eotf::Bt1886);
        assert_eq!((steps.count(), steps.base(), steps.levels()), (4, 0, 564));
        assert_eq!(sizes(&steps, 178), [1, 2, 3, 4]);
        assert_eq!(sizes(&steps, 179), [2, 3, 4]);
        assert_eq!(sizes(&steps, 559), [4]);
        assert_eq!(sizes(&steps, 560), []);
        assert_eq!([178, 179, 559, 560].map(|level: usize| steps.least()[level]), [1, 2, 4, 5]);
        assert_eq!(steps.visible(), 0..560);
        assert_eq!(
            sizes_and_weights(steps.active()[0]).map(|(_, weight)| weight).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
    }

    #[test]
    fn nothing_counts_in_the_dark() {
        let steps = Steps::new(2, 0.019, 0.06, Eotf::Bt1886);
        let dark = Eotf::Bt1886.first_with(0.06) as u16;
        assert_eq!(steps.base(), dark - 11);
        let level_of = |luma: u16| luma - steps.base();
        assert_eq!(sizes(&steps, level_of(dark - 8)), []);
        assert_eq!(sizes(&steps, level_of(dark - 7)), [4]);
        assert_eq!(sizes(&steps, level_of(dark - 4)), [1, 2, 3, 4]);
        assert_eq!(steps.visible(), level_of(dark - 7)..level_of(560));
    }

    #[test]
    fn a_floor_above_every_visible_step_leaves_nothing() {
        let steps = Steps::new(2, 0.019, 300.0, Eotf::Bt1886);
        assert_eq!((steps.levels(), steps.visible()), (0, 0..0));
    }
}
