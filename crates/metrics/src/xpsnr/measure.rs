//! The weighted errors of one pair of pictures.

use std::ops::Range;

use visus_video::{Format, Plane};

use super::groups::{self, Block, Pictures, Tiles};
use super::layout::{Layout, part};
use super::scalar::{BlockRow, HighPass};
use super::vectors::{Luma, Samples, Sums, Vectors};
use super::weights::{TINY_BLOCK, smooth, weight};
use crate::Level;

/// Blocks above HD whose active part ends before this column of theirs have no spatial activity. That is what FFmpeg's
/// filter does, by accident; without it pictures of 4096 columns would differ from its figures.
const NARROW: usize = 12;

/// How strongly temporal activity counts against spatial activity.
const TEMPORAL_GAIN: u64 = 2;

/// Luma of the pictures before the source. The second one is there if second differences are asked for.
#[derive(Clone, Copy, Debug)]
pub struct History<'a, T> {
    pub before: Plane<'a, T>,
    pub earlier: Option<Plane<'a, T>>,
}

/// Sums for the blocks of one row.
#[derive(Debug)]
pub struct Measured {
    pub spatial: Vec<u64>,
    pub temporal: Vec<u64>,
    pub errors: Option<Vec<u64>>,
}

/// Measures pairs of one format.
#[derive(Clone, Debug)]
pub struct Measure {
    layout: Layout,
    /// Columns of the blocks, in luma and in chroma.
    across: [Vec<Range<usize>>; 2],
    chroma_shifts: (u32, u32),
    weights: Vec<f64>,
    /// Sums for the blocks of one row.
    spatial: Vec<u64>,
    temporal: Vec<u64>,
    /// Of all blocks.
    errors: Vec<u64>,
    /// Spatial activity of the columns in one row of blocks.
    activity: HighPass,
    /// Groups of the blocks, where activity is measured on groups.
    groups: Vec<Block>,
    tiles: Tiles,
    vectors: Vectors,
    /// What vectors give for the blocks of one row.
    sums: Vec<Sums>,
}

impl Measure {
    pub fn new(format: &Format, level: Level) -> Self {
        let layout = Layout::new(format);
        let sums = || vec![0; layout.columns];
        let chroma_shifts = format.chroma().shifts();
        let across = [(0, 0), (format.planes() - 1, chroma_shifts.0)].map(|(plane, shift)| {
            let width = format.plane_size(plane).0;
            (0..layout.columns).map(|column| part(column, layout.block >> shift, width)).collect()
        });
        let widths = [format.width(), format.plane_size(format.planes() - 1).0];
        Self {
            layout,
            vectors: Vectors::new(level, &layout, &across, widths),
            sums: vec![Sums::default(); layout.columns],
            across,
            chroma_shifts,
            weights: vec![0.0; layout.columns * layout.rows],
            spatial: sums(),
            temporal: sums(),
            errors: vec![0; layout.columns * layout.rows],
            activity: HighPass::new(layout.width),
            groups: if layout.grouped { groups_of_blocks(&layout) } else { Vec::new() },
            tiles: Tiles::default(),
        }
    }

    /// Finds the weights of all blocks; gives luma's [`error`](Self::error).
    #[inline(always)]
    pub fn weigh<'a, T: Samples>(
        &mut self,
        source: Plane<'a, T>,
        distorted: Plane<'a, T>,
        history: &History<'a, T>,
    ) -> f64 {
        let columns = self.layout.columns;
        let mut errors = std::mem::take(&mut self.errors);
        errors.fill(0);
        let mut has_errors = false;
        for row in 0..self.layout.rows {
            let errors = &mut errors[row * columns..][..columns];
            has_errors = self.measure_rows([source, distorted], history, row, self.layout.down(row), errors);
            for column in 0..columns {
                let sums = (self.spatial[column], self.temporal[column]);
                self.weights[row * columns + column] = self.block_weight(column, row, sums);
            }
        }
        self.smooth_weights();
        self.errors = errors;
        if has_errors { self.weighted_root(&self.errors) } else { self.error(0, source, distorted) }
    }

    /// The spatial and the temporal activity of some rows of a row of blocks, and their squared errors if these come with
    /// them. The rows begin a group of 2x2 pixels.
    #[inline(always)]
    pub fn measured<'a, T: Samples>(
        &mut self,
        pair: [Plane<'a, T>; 2],
        history: &History<'a, T>,
        row: usize,
        down: Range<usize>,
    ) -> Measured {
        let mut errors = vec![0; self.layout.columns];
        let has_errors = self.measure_rows(pair, history, row, down, &mut errors);
        let (spatial, temporal) = (self.spatial.clone(), self.temporal.clone());
        Measured { spatial, temporal, errors: has_errors.then_some(errors) }
    }

    /// Sets the activities of some rows of a row of blocks. Whether it added their squared errors too: for small pictures plain code
    /// is faster with one thing at a time.
    #[inline(always)]
    fn measure_rows<'a, T: Samples>(
        &mut self,
        [source, distorted]: [Plane<'a, T>; 2],
        history: &History<'a, T>,
        row: usize,
        down: Range<usize>,
        errors: &mut [u64],
    ) -> bool {
        let active = self.layout.active_down(row);
        let start = down.start.max(active.start);
        let active = start..down.end.min(active.end).max(start);
        if let (Some(source), Some(distorted), Some(before)) =
            (T::bytes(source), T::bytes(distorted), T::bytes(history.before))
        {
            let pictures = Luma { source, distorted, before, earlier: history.earlier.and_then(T::bytes) };
            if self.measure_bytes(&pictures, down.clone(), active.clone(), errors) {
                return true;
            }
        }
        if self.layout.grouped {
            self.add_grouped_activity(source, history, down.clone(), active);
            // While the source is still near. Plain code goes along rows, which at this size is faster than the kernels.
            BlockRow { down, across: &self.across[0] }.add_squared_errors([source, distorted], errors);
            return true;
        }
        self.add_spatial_activity(source, active);
        self.add_temporal_activity(source, history, down);
        false
    }

    /// The same with vectors, if there are any.
    fn measure_bytes(
        &mut self,
        pictures: &Luma<'_>,
        down: Range<usize>,
        active: Range<usize>,
        errors: &mut [u64],
    ) -> bool {
        self.sums.fill(Sums::default());
        if !self.vectors.add_luma(pictures, (down, active), &mut self.sums) {
            return false;
        }
        for (column, sums) in self.sums.iter().enumerate() {
            self.spatial[column] = sums.spatial;
            self.temporal[column] = sums.temporal * TEMPORAL_GAIN;
            errors[column] += sums.error;
        }
        true
    }

    /// Finds the weights of all blocks from the sums of their activity.
    pub fn set_weights(&mut self, sums: impl Fn(usize, usize) -> (u64, u64)) {
        for row in 0..self.layout.rows {
            for column in 0..self.layout.columns {
                let weight = self.block_weight(column, row, sums(column, row));
                self.weights[row * self.layout.columns + column] = weight;
            }
        }
        self.smooth_weights();
    }

    fn smooth_weights(&mut self) {
        if self.layout.smoothed {
            smooth(&mut self.weights, self.layout.columns);
        }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn block_weight(&self, column: usize, row: usize, (spatial, temporal): (u64, u64)) -> f64 {
        let layout = &self.layout;
        let active = layout.active_across(column).len() * layout.active_down(row).len();
        if active == 0 {
            return TINY_BLOCK;
        }
        let pixels = layout.across(column).len() * layout.down(row).len();
        let spatial = spatial as f64 / active as f64;
        weight(spatial + temporal as f64 / pixels as f64, layout)
    }

    /// Sets both activities where they are measured on groups of 2x2 pixels.
    #[inline(always)]
    fn add_grouped_activity<'a, T: Samples>(
        &mut self,
        source: Plane<'a, T>,
        history: &History<'a, T>,
        down: Range<usize>,
        active: Range<usize>,
    ) {
        self.spatial.fill(0);
        self.temporal.fill(0);
        let pictures = Pictures { source, before: history.before, earlier: history.earlier };
        let sums = [&mut self.spatial[..], &mut self.temporal[..]];
        groups::add_activity(&pictures, (down, active), &self.groups, &mut self.tiles, sums);
        for sum in &mut self.temporal {
            *sum *= TEMPORAL_GAIN;
        }
    }

    #[inline(always)]
    fn add_spatial_activity<T: Samples>(&mut self, source: Plane<'_, T>, down: Range<usize>) {
        self.spatial.fill(0);
        self.activity.clear();
        for y in down {
            let [above, row, below] = [y - 1, y, y + 1].map(|y| source.row(y));
            self.activity.add(above, row, below);
        }
        let activity = self.activity.sums();
        for (column, sum) in self.spatial.iter_mut().enumerate() {
            for activity in &activity[self.layout.active_across(column)] {
                *sum += u64::from(*activity);
            }
        }
    }

    #[inline(always)]
    fn add_temporal_activity<'a, T: Samples>(
        &mut self,
        source: Plane<'a, T>,
        history: &History<'a, T>,
        down: Range<usize>,
    ) {
        self.temporal.fill(0);
        let blocks = BlockRow { down, across: &self.across[0] };
        match history.earlier {
            None => blocks.add_first_differences([source, history.before], &mut self.temporal),
            Some(earlier) => {
                blocks.add_second_differences([source, history.before, earlier], &mut self.temporal);
            }
        }
        for sum in &mut self.temporal {
            *sum *= TEMPORAL_GAIN;
        }
    }

    /// The weighted sum of squared errors of a plane, its root taken. Pictures that are too small for blocks are not
    /// weighted.
    #[inline(always)]
    pub fn error<T: Samples>(&mut self, plane: usize, source: Plane<'_, T>, distorted: Plane<'_, T>) -> f64 {
        if self.layout.block == 0 {
            return (squared_error(source, distorted, 0..source.height()) as f64).sqrt();
        }
        let (block, columns) = (self.block_height(plane), self.layout.columns);
        let mut errors = std::mem::take(&mut self.errors);
        errors.fill(0);
        for (row, errors) in errors.chunks_exact_mut(columns).enumerate() {
            self.add_errors(source, distorted, part(row, block, source.height()), plane.min(1), errors);
        }
        self.errors = errors;
        self.weighted_root(&self.errors)
    }

    /// Rows of a block in a plane.
    pub fn block_height(&self, plane: usize) -> usize {
        self.layout.block >> if plane == 0 { 0 } else { self.chroma_shifts.1 }
    }

    /// The root of the weighted sum of the errors of all blocks.
    pub fn weighted_root(&self, errors: &[u64]) -> f64 {
        let mut sum = 0.0;
        for (error, weight) in errors.iter().zip(&self.weights) {
            sum += *error as f64 * weight;
        }
        // Rounded to a whole number, as the sum of squared errors is one.
        ((sum * self.layout.average_activity + 0.5) as u64 as f64).sqrt()
    }

    /// Adds the squared errors of some rows of a row of blocks; `kind` is 0 for luma, 1 for chroma.
    #[inline(always)]
    pub fn add_errors<T: Samples>(
        &self,
        source: Plane<'_, T>,
        distorted: Plane<'_, T>,
        down: Range<usize>,
        kind: usize,
        errors: &mut [u64],
    ) {
        if let (Some(source), Some(distorted)) = (T::bytes(source), T::bytes(distorted))
            && self.vectors.add_errors([source, distorted], down.clone(), kind, errors)
        {
            return;
        }
        BlockRow { down, across: &self.across[kind] }.add_squared_errors([source, distorted], errors);
    }
}

/// The sum of squared errors of whole rows, as one block.
#[inline(always)]
pub fn squared_error<T: Samples>(source: Plane<'_, T>, distorted: Plane<'_, T>, down: Range<usize>) -> u64 {
    let mut sum = [0];
    let across = [Range { start: 0, end: source.width() }];
    BlockRow { down, across: &across }.add_squared_errors([source, distorted], &mut sum);
    sum[0]
}

/// Which groups of 2x2 pixels the blocks of a row have.
fn groups_of_blocks(layout: &Layout) -> Vec<Block> {
    let groups = |columns: Range<usize>| columns.start / 2..columns.end.div_ceil(2);
    let block = |column: usize| {
        let (across, active) = (layout.across(column), layout.active_across(column));
        let is_narrow = active.end - across.start <= NARROW;
        Block { active: if is_narrow { 0..0 } else { groups(active) }, all: groups(across) }
    };
    (0..layout.columns).map(block).collect()
}
