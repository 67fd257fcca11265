//! One scale of the pyramid: transform, separation of lost detail from additive impairment, masking, pooling.
//!
//! Rows of the transform are made one after another and used at once: only three rows of levels are kept, for the
//! masking by neighbours, and the low frequencies replace the picture in place as the next scale's input. (Row `y`
//! comes from rows `2y - 1` to `2y + 2` and is stored as row `y`, which no later row needs.)

mod leftovers;
mod shared;

pub use leftovers::Leftovers;
pub use shared::SharedScales;

use super::scalar;
use super::settings::{Norm, Settings};
use super::wavelet::{Axis, Bands, Lines, bands};
use crate::picture::FloatPlane;

/// What a scale is, for pictures of one size.
#[derive(Clone, Debug)]
pub struct Scale {
    pub columns: Axis,
    pub rows: Axis,
    weights: [f32; 3],
    noise_floor: f32,
}

impl Scale {
    pub fn new(columns: Axis, rows: Axis, weights: [f32; 3], settings: &Settings) -> Self {
        let noise_floor =
            settings.norm.noise_floor(columns.scored.len() * rows.scored.len(), settings.noise_weight);
        Self { columns, rows, weights, noise_floor }
    }
}

/// The pooled strength of a scale's coefficients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strengths {
    /// Of the reference.
    pub original: f32,
    /// Of the restored image.
    pub restored: f32,
    /// Of the additive image.
    pub additive: f32,
}

/// A row of levels and the masking they spread, with a further column on either side.
#[derive(Clone, Debug)]
struct Levels {
    level: Bands,
    share: Bands,
}

impl Levels {
    fn new(width: usize) -> Self {
        Self { level: bands(width + 2), share: bands(width + 2) }
    }
}

/// The two parts of the distorted picture.
#[derive(Clone, Debug)]
struct Parts {
    restored: Levels,
    additive: Levels,
}

/// Sums of powers over the rows so far, by band.
#[derive(Clone, Copy, Debug, Default)]
struct Sums([f32; 3]);

impl Sums {
    fn add(&mut self, row: [f32; 3]) {
        for (sum, row) in self.0.iter_mut().zip(row) {
            *sum += row;
        }
    }

    fn strength(&self, norm: &Norm, noise_floor: f32) -> f32 {
        let [h, v, d] = self.0.map(|sum| norm.root(sum) + noise_floor);
        h + v + d
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    original: Sums,
    restored: Sums,
    additive: Sums,
}

/// The rows that a scale is computed in; large enough for the first scale, and so for all.
#[derive(Clone, Debug)]
pub struct Workspace {
    lines: Lines,
    reference: Bands,
    distorted: Bands,
    restored: Bands,
    aligned: Vec<u32>,
    ring: [Parts; 3],
    threshold: Vec<f32>,
    powers: Bands,
}

impl Workspace {
    /// Rows for pictures of this width.
    pub fn new(width: usize) -> Self {
        let half = width.div_ceil(2);
        let parts = Parts { restored: Levels::new(half), additive: Levels::new(half) };
        Self {
            lines: Lines::new(width),
            reference: bands(half),
            distorted: bands(half),
            restored: bands(half),
            aligned: vec![0; half],
            ring: [parts.clone(), parts.clone(), parts],
            threshold: vec![0.0; half],
            powers: bands(half),
        }
    }

    /// Replaces a picture by its low frequencies.
    pub fn shrink(&mut self, scale: &Scale, picture: &mut FloatPlane) {
        for y in 0..scale.rows.size {
            self.lines.low_row(&scale.columns, &scale.rows, picture, y);
        }
    }

    /// Scores a scale, and replaces the pictures by their low frequencies.
    pub fn score(
        &mut self,
        scale: &Scale,
        settings: &Settings,
        reference: &mut FloatPlane,
        distorted: &mut FloatPlane,
    ) -> Strengths {
        let mut totals = Totals::default();
        let needed = scale.rows.with_neighbours();
        for y in 0..scale.rows.size {
            if !needed.contains(&y) {
                self.lines.low_row(&scale.columns, &scale.rows, reference, y);
                self.lines.low_row(&scale.columns, &scale.rows, distorted, y);
                continue;
            }
            self.lines.row(&scale.columns, &scale.rows, reference, y, &mut self.reference);
            self.lines.row(&scale.columns, &scale.rows, distorted, y, &mut self.distorted);
            self.separate(scale, settings, y);
            if scale.rows.scored.contains(&y) {
                totals.original.add(self.original_powers(scale, settings));
            }
            if y > 0 && scale.rows.scored.contains(&(y - 1)) {
                totals.add_masked(self.mask(scale, settings, y - 1));
            }
        }
        if scale.rows.is_scored_fully() {
            totals.add_masked(self.mask(scale, settings, scale.rows.size - 1));
        }
        totals.strengths(settings, scale.noise_floor)
    }

    /// Decouples a row of the distorted picture into the restored and the additive image.
    fn separate(&mut self, scale: &Scale, settings: &Settings, y: usize) {
        let columns = scale.columns.with_neighbours();
        let original = self.reference.each_ref().map(|band| &band[columns.clone()]);
        let seen = self.distorted.each_ref().map(|band| &band[columns.clone()]);
        let aligned = &mut self.aligned[..columns.len()];
        scalar::mark_aligned(original[0], original[1], seen[0], seen[1], aligned);
        let parts = &mut self.ring[y % 3];
        for band in 0..3 {
            let restored = &mut self.restored[band][..columns.len()];
            scalar::restore(original[band], seen[band], restored);
            scalar::enhance(aligned, seen[band], settings.gain_limit, restored);
            let weight = scale.weights[band];
            parts.restored.fill(&scale.columns, band, |level| scalar::csf(restored, weight, level));
            parts.additive.fill(&scale.columns, band, |level| {
                scalar::csf_difference(seen[band], restored, weight, level);
            });
        }
    }

    /// The sums of powers of the current row of the reference.
    fn original_powers(&mut self, scale: &Scale, settings: &Settings) -> [f32; 3] {
        let columns = &scale.columns.scored;
        for band in 0..3 {
            let powers = &mut self.powers[band][..columns.len()];
            scalar::csf(&self.reference[band][columns.clone()], scale.weights[band], powers);
        }
        self.sum_powers(columns.len(), settings)
    }

    /// The sums of powers of row `y`, whose neighbours are in the ring, after either part was masked by the other: of the
    /// restored and of the additive image.
    fn mask(&mut self, scale: &Scale, settings: &Settings, y: usize) -> [[f32; 3]; 2] {
        let last = scale.rows.size - 1;
        let above = if y == 0 { 1 } else { y - 1 };
        let rows = [above, y, last.min(y + 1)].map(|y| y % 3);
        let restored = self.masked_powers(scale, settings, rows, |p| &p.restored, |p| &p.additive);
        let additive = self.masked_powers(scale, settings, rows, |p| &p.additive, |p| &p.restored);
        [restored, additive]
    }

    /// The sums of powers of what stands out of the `masker` in the `signal` of the middle one of three rows.
    fn masked_powers(
        &mut self,
        scale: &Scale,
        settings: &Settings,
        rows: [usize; 3],
        signal: impl Fn(&Parts) -> &Levels,
        masker: impl Fn(&Parts) -> &Levels,
    ) -> [f32; 3] {
        let width = scale.columns.scored.len();
        let threshold = &mut self.threshold[..width];
        threshold.fill(0.0);
        if settings.masking {
            let [above, beside, below] = rows.map(|row| masker(&self.ring[row]));
            for band in 0..3 {
                let level = &beside.level[band][1..];
                let [above, beside, below] = [above, beside, below].map(|levels| &levels.share[band]);
                scalar::add_masking(above, beside, below, level, threshold);
            }
        }
        let signal = signal(&self.ring[rows[1]]);
        for band in 0..3 {
            scalar::excess(&signal.level[band][1..], threshold, &mut self.powers[band][..width]);
        }
        self.sum_powers(width, settings)
    }

    /// Raises the rows of `powers` and sums each.
    fn sum_powers(&mut self, width: usize, settings: &Settings) -> [f32; 3] {
        let rows = self.powers.each_mut().map(|row| &mut row[..width]);
        for row in rows {
            match settings.norm.exponent {
                None => scalar::cube(row),
                Some(exponent) => scalar::raise(row, exponent),
            }
        }
        let [h, v, d] = self.powers.each_ref().map(|row| &row[..width]);
        scalar::sum_in_order(h, v, d)
    }
}

impl Totals {
    fn add_masked(&mut self, [restored, additive]: [[f32; 3]; 2]) {
        self.restored.add(restored);
        self.additive.add(additive);
    }

    fn strengths(&self, settings: &Settings, noise_floor: f32) -> Strengths {
        Strengths {
            original: self.original.strength(&settings.norm, noise_floor),
            restored: self.restored.strength(&settings.norm, noise_floor),
            additive: self.additive.strength(&settings.norm, 0.0),
        }
    }
}

impl Levels {
    /// Computes a band's levels where they are needed, then the masking they spread. Beyond the picture's edges it
    /// continues with the second column on the left and the last on the right.
    fn fill(&mut self, columns: &Axis, band: usize, compute: impl FnOnce(&mut [f32])) {
        let needed = columns.with_neighbours();
        let begin = needed.start + 1 - columns.scored.start;
        let range = begin..begin + needed.len();
        let level = &mut self.level[band][range.clone()];
        compute(level);
        let share = &mut self.share[band];
        scalar::spread(level, &mut share[range]);
        if columns.is_scored_fully() {
            share[0] = share[2];
            share[columns.size + 1] = share[columns.size];
        }
    }
}
