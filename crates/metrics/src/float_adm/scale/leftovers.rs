//! Pictures so small that the bands of the last scale have a single row or column.
//!
//! libvmaf treats the ends of rows and columns separately. A single position is both ends, so it counts twice, and as
//! its neighbours are taken whatever stands around it in memory: what finer scales of the same frame have left there.
//! [`Leftovers`] keeps these values where libvmaf has them: planes as large as the bands of the first scale, one
//! right after another, which every scale fills from the upper left.
//!
//! Of a single column the neighbours are the second column (of scale 2) and the last one of the row before (of scale
//! 0, and only if its bands fill their rows); of a single row, the second row (of scale 2) and the last one of the
//! plane before (of scale 0). That is why only the sizes of [`Leftovers::refusal`] have defined scores.

use std::slice::from_mut;

use super::{Scale, Strengths, Sums, Totals, Workspace};
use crate::float_adm::scalar;
use crate::float_adm::settings::Settings;
use crate::float_adm::wavelet::{Axis, Bands, bands};
use crate::picture::FloatPlane;

/// From this size of both sides on, bands of all scales have neighbours and nothing of this module is needed.
const AMPLE_SIDE: usize = 17;

/// The transform itself reads beyond smaller pictures.
const SMALLEST_SIDE: usize = 9;

/// Narrower pictures leave padding at the ends of rows, which is never written.
const SMALLEST_WIDTH: usize = 15;

/// The margin of larger pictures is not written at the first scale.
const LARGEST_SIDE: usize = 48;

/// Rows of planes begin at multiples of this many values.
const ROW_ALIGN: usize = 8;

/// Planes in memory: the additive diagonal coefficients, then two sets of three bands. Both parts of the distorted
/// picture in turn have their levels in one set and the shares of masking in the other.
const PLANES: usize = 7;
const ADDITIVE_DIAGONAL: usize = 0;
const LOWER: usize = 1;
const UPPER: usize = 4;

/// The last one of a scale's bands.
const DIAGONAL: usize = 2;

/// The memory around the bands of small pictures.
#[derive(Debug)]
pub struct Leftovers {
    memory: Planes,
    /// Weighted coefficients of the current scale, in rows as in `memory`.
    restored: Bands,
    additive: Bands,
}

#[derive(Debug)]
struct Planes {
    values: Vec<f32>,
    stride: usize,
    /// The distance between planes.
    size: usize,
}

impl Planes {
    /// Rows and columns next to a plane's are those of its neighbours in memory.
    fn index(&self, plane: usize, y: isize, x: isize) -> usize {
        (plane * self.size).wrapping_add_signed(y * self.stride as isize + x)
    }

    fn row(&mut self, plane: usize, y: usize, width: usize) -> &mut [f32] {
        &mut self.values[plane * self.size + y * self.stride..][..width]
    }
}

impl Leftovers {
    /// Whether pictures of this size need leftovers.
    pub fn needed(width: usize, height: usize) -> bool {
        width.min(height) < AMPLE_SIDE
    }

    /// Why pictures of a size that needs leftovers have no defined scores, if so.
    pub fn refusal(width: usize, height: usize, settings: &Settings) -> Option<String> {
        let written = (SMALLEST_WIDTH..=LARGEST_SIDE).contains(&width)
            && (SMALLEST_SIDE..=LARGEST_SIDE).contains(&height);
        match (settings.masking, settings.skip_scale0) {
            // Neighbours are not read.
            (false, _) => (width.min(height) < SMALLEST_SIDE)
                .then(|| format!("each side must be at least {SMALLEST_SIDE}")),
            (true, true) => Some(format!("each side must be at least {AMPLE_SIDE}")),
            (true, false) => (!written).then(|| {
                format!(
                    "each side must be at least {AMPLE_SIDE}, or the width from {SMALLEST_WIDTH} to \
                     {LARGEST_SIDE} and the height from {SMALLEST_SIDE} to {LARGEST_SIDE}"
                )
            }),
        }
    }

    /// Memory for pictures of this size.
    pub fn new(width: usize, height: usize) -> Self {
        let stride = width.div_ceil(2).next_multiple_of(ROW_ALIGN);
        let size = stride * height.div_ceil(2);
        let memory = Planes { values: vec![0.0; PLANES * size], stride, size };
        Self { memory, restored: bands(size), additive: bands(size) }
    }

    /// Does what [`Workspace::score`] does.
    pub fn score(
        &mut self,
        workspace: &mut Workspace,
        scale: &Scale,
        settings: &Settings,
        reference: &mut FloatPlane,
        distorted: &mut FloatPlane,
    ) -> Strengths {
        let mut totals = Totals::default();
        for y in 0..scale.rows.size {
            workspace.lines.row(&scale.columns, &scale.rows, reference, y, &mut workspace.reference);
            workspace.lines.row(&scale.columns, &scale.rows, distorted, y, &mut workspace.distorted);
            workspace.separate(scale, settings, y);
            self.keep_row(workspace, scale, y);
            if scale.rows.scored.contains(&y) {
                totals.original.add(workspace.original_powers(scale, settings));
            }
        }
        let Self { memory, restored, additive } = self;
        let to_additive = Masker { coefficients: additive, levels: LOWER, shares: UPPER };
        totals.restored = to_additive.pool(memory, restored, workspace, scale, settings);
        let to_restored = Masker { coefficients: restored, levels: UPPER, shares: LOWER };
        totals.additive = to_restored.pool(memory, additive, workspace, scale, settings);
        totals.strengths(settings, scale.noise_floor)
    }

    /// Takes the coefficients of both parts of row `y` from the workspace.
    fn keep_row(&mut self, workspace: &Workspace, scale: &Scale, y: usize) {
        let columns = scale.columns.with_neighbours();
        let begin = y * self.memory.stride;
        for band in 0..3 {
            let weight = scale.weights[band];
            let seen = &workspace.distorted[band][columns.clone()];
            for ((x, seen), restored) in columns.clone().zip(seen).zip(&workspace.restored[band]) {
                let added = seen - restored;
                self.restored[band][begin + x] = weight * restored;
                self.additive[band][begin + x] = weight * added;
                if band == DIAGONAL {
                    self.memory.values[ADDITIVE_DIAGONAL * self.memory.size + begin + x] = added;
                }
            }
        }
    }
}

/// A part of the distorted picture that masks the other, and the sets of planes it is written to.
struct Masker<'a> {
    coefficients: &'a Bands,
    levels: usize,
    shares: usize,
}

impl Masker<'_> {
    /// The sums of powers of what stands out of this part in the `signal`.
    fn pool(
        &self,
        memory: &mut Planes,
        signal: &Bands,
        workspace: &mut Workspace,
        scale: &Scale,
        settings: &Settings,
    ) -> Sums {
        self.write(memory, scale);
        let mut sums = Sums::default();
        for rows in visits(&scale.rows) {
            let mut count = 0;
            for columns in visits(&scale.columns) {
                let threshold = if settings.masking { self.threshold(memory, rows, columns) } else { 0.0 };
                let centre = memory.index(0, rows[1], columns[1]);
                for (powers, signal) in workspace.powers.iter_mut().zip(signal) {
                    let level = signal[centre].abs();
                    scalar::excess(&[level], &[threshold], &mut powers[count..=count]);
                }
                count += 1;
            }
            sums.add(workspace.sum_powers(count, settings));
        }
        sums
    }

    /// Overwrites what finer scales have left, as far as the band reaches.
    fn write(&self, memory: &mut Planes, scale: &Scale) {
        let width = scale.columns.size;
        for (band, coefficients) in self.coefficients.iter().enumerate() {
            for y in 0..scale.rows.size {
                let row = &coefficients[y * memory.stride..][..width];
                memory.row(self.levels + band, y, width).copy_from_slice(row);
                let shares = memory.row(self.shares + band, y, width).iter_mut();
                for (share, coefficient) in shares.zip(row) {
                    scalar::spread(&[coefficient.abs()], from_mut(share));
                }
            }
        }
    }

    fn threshold(&self, memory: &Planes, rows: [isize; 3], columns: [isize; 3]) -> f32 {
        let mut threshold = [0.0];
        let centre = memory.index(0, rows[1], columns[1]);
        for (band, coefficients) in self.coefficients.iter().enumerate() {
            let share = |y, x| memory.values[memory.index(self.shares + band, y, x)];
            let [above, beside, below] = rows.map(|y| columns.map(|x| share(y, x)));
            let level = coefficients[centre].abs();
            scalar::add_masking(&above, &beside, &below, &[level], &mut threshold);
        }
        threshold[0]
    }
}

/// The scored positions of an axis between their neighbours, in order: first, inner, last. A single position comes as
/// both first and last, with neighbours outside of the band.
fn visits(axis: &Axis) -> impl Iterator<Item = [isize; 3]> + use<> {
    let last = axis.size as isize - 1;
    let (begin, end) = (axis.scored.start as isize, axis.scored.end as isize);
    let first = (begin == 0).then_some([1, 0, 1]);
    let inner = (begin.max(1)..end.min(last)).map(|i| [i - 1, i, i + 1]);
    let final_one = (end > last).then_some([last - 1, last, last]);
    first.into_iter().chain(inner).chain(final_one)
}
