//! Sums over the rows that are read of a pair: of every cell, and of the whole picture.
//!
//! All are sums of integers, and loops are plain ones over rows of 16 bits, which every CPU's vectors do well.

use crate::grid::{Cells, Detail, Grid, LINES, Lines};

/// Columns that are summed at once.
const LANES: usize = 8;

/// Sums over one cell's rows, as integers.
#[derive(Clone, Copy, Default)]
pub(crate) struct CellSums {
    pub sum: [i32; 2],
    pub square: [i64; 2],
    pub product: i64,
}

/// Sums over the whole picture.
#[derive(Default)]
pub(crate) struct Totals {
    across: [i64; 3],
    down: [i64; 3],
    middle: [i64; 3],
    middle_count: i64,
    detail_count: i64,
    field_error: [i64; 2],
    field_count: i64,
    histogram: [Vec<u32>; 2],
    steps: [[i64; LANES]; 2],
    step_count: i64,
    /// Rows for the sums at work: second differences of both pictures, and sums of four samples.
    second: [Vec<i16>; 2],
    fours: Vec<i16>,
}

impl Totals {
    pub fn new(width: usize) -> Self {
        let row = || vec![0; width];
        Self {
            histogram: [vec![0; 256], vec![0; 256]],
            second: [row(), row()],
            fours: row(),
            ..Self::default()
        }
    }

    pub fn add_band(&mut self, lines: &Lines, grid: &Grid, sums: &mut [CellSums]) {
        self.add_cells(lines, grid, sums);
        let end = grid.columns * grid.cell;
        for line in [1, 2] {
            self.add_detail(&lines.rows, line, end);
        }
        self.add_middle(&lines.rows, end);
        for side in 0..2 {
            self.add_steps(side, &lines.rows[side][1], end);
            self.add_levels(side, &lines.rows[side][1], lines.unit);
        }
        self.step_count += (end / LANES - 1) as i64;
    }

    fn add_cells(&mut self, lines: &Lines, grid: &Grid, sums: &mut [CellSums]) {
        let [reference, distorted] = &lines.rows;
        for (column, cell) in sums.iter_mut().enumerate() {
            let mut fields = [FieldSums::default(); 2];
            for at in (column * grid.cell..(column + 1) * grid.cell).step_by(LANES) {
                for line in 0..LINES {
                    fields[line % 2].add(chunk(&reference[line], at), chunk(&distorted[line], at));
                }
            }
            for (field, error) in fields.iter().zip(&mut self.field_error) {
                *error += cell.add(field);
            }
        }
        self.field_count += (LINES / 2 * grid.columns * grid.cell) as i64;
    }

    /// Second differences of one picture row, its first and last samples left out.
    fn add_detail(&mut self, rows: &[[Vec<i16>; LINES]; 2], line: usize, end: usize) {
        let inner = LANES..end - LANES;
        let second = &mut self.second.each_mut().map(|second| &mut second[inner.clone()]);
        for (second, rows) in second.iter_mut().zip(rows) {
            let row = &rows[line];
            second_differences(second, [&row[LANES - 1..], &row[LANES..], &row[LANES + 1..]]);
        }
        add_products(&mut self.across, second[0], second[1]);
        for (second, rows) in second.iter_mut().zip(rows) {
            second_differences(second, [line - 1, line, line + 1].map(|line| &rows[line][LANES..]));
        }
        add_products(&mut self.down, second[0], second[1]);
        self.detail_count += inner.len() as i64;
    }

    /// Second differences of pairs of samples, summed over two rows so that grain counts less.
    fn add_middle(&mut self, rows: &[[Vec<i16>; LINES]; 2], end: usize) {
        let inner = LANES..end - LANES;
        let second = &mut self.second.each_mut().map(|second| &mut second[inner.clone()]);
        let fours = &mut self.fours[..inner.len() + 4];
        for (second, rows) in second.iter_mut().zip(rows) {
            let [upper, lower] = [1, 2].map(|line| &rows[line][LANES - 2..]);
            for ((four, upper), lower) in fours.iter_mut().zip(upper.windows(2)).zip(lower.windows(2)) {
                *four = upper[0] + upper[1] + lower[0] + lower[1];
            }
            second_differences(second, [&*fours, &fours[2..], &fours[4..]]);
            second.iter_mut().for_each(|second| *second /= 2);
        }
        add_products(&mut self.middle, second[0], second[1]);
        self.middle_count += inner.len() as i64;
    }

    /// Steps from sample to sample in one picture row, by their place in a block of eight.
    fn add_steps(&mut self, side: usize, row: &[i16], end: usize) {
        let mut steps = [0i32; LANES];
        for at in (0..end - LANES).step_by(LANES) {
            let (here, next) = (chunk(row, at), chunk(row, at + 1));
            for i in 0..LANES {
                steps[i] += i32::from((next[i] - here[i]).abs().min(128));
            }
        }
        self.steps[side].iter_mut().zip(steps).for_each(|(all, new)| *all += i64::from(new));
    }

    /// Levels of every second sample.
    fn add_levels(&mut self, side: usize, row: &[i16], unit: f32) {
        let down = if unit < 1.0 { 2 } else { 0 };
        for sample in row.iter().step_by(2) {
            self.histogram[side][usize::from((*sample >> down) as u8)] += 1;
        }
    }

    pub fn write(&self, cells: &mut Cells, unit: f32) {
        let square = f64::from(unit * unit);
        let detail = |sums: [i64; 3]| Detail {
            reference: sums[0] as f64 * square,
            distorted: sums[1] as f64 * square,
            product: sums[2] as f64 * square,
            count: self.detail_count as f64,
        };
        cells.middle = Detail { count: self.middle_count as f64, ..detail(self.middle) };
        cells.across = detail(self.across);
        cells.down = detail(self.down);
        cells.field_error = self.field_error.map(|error| error as f64 * square);
        cells.field_count = self.field_count as f64;
        let samples = (self.step_count.max(1) * LANES as i64) as f64;
        cells.roughness = [0, 1].map(|side| roughness(&self.histogram[side]));
        cells.block_steps = self.steps.map(|steps| {
            let border = steps[LANES - 1] as f64;
            let inside = steps[..LANES - 1].iter().sum::<i64>() as f64 / (LANES - 1) as f64;
            (border + samples * 0.02) / (inside + samples * 0.02)
        });
    }
}

/// Departure of a histogram, a little smoothed, from the same much smoothed: a picture that was reduced to few levels has peaks.
fn roughness(histogram: &[u32]) -> f64 {
    let mean = |at: usize, far: usize| {
        let around = &histogram[at.saturating_sub(far)..(at + far + 1).min(histogram.len())];
        f64::from(around.iter().sum::<u32>()) / around.len() as f64
    };
    let total = f64::from(histogram.iter().sum::<u32>().max(1));
    (0..histogram.len()).map(|at| (mean(at, 1) - mean(at, 9)).abs()).sum::<f64>() / total
}

#[inline(always)]
fn chunk(row: &[i16], at: usize) -> &[i16; LANES] {
    row[at..at + LANES].try_into().unwrap_or(&[0; LANES])
}

/// How much the middle of three neighbours stands out: their second difference.
fn second_differences(into: &mut [i16], [before, here, after]: [&[i16]; 3]) {
    for (((to, before), here), after) in into.iter_mut().zip(before).zip(here).zip(after) {
        *to = 2 * here - before - after;
    }
}

/// Squares of two rows and their product, summed up. Second differences of 10 bits, of sums of four samples too, are below
/// 4,093: sums of a piece fit 32 bits.
fn add_products(sums: &mut [i64; 3], a: &[i16], b: &[i16]) {
    const PIECE: usize = 64;
    for (a, b) in a.chunks(PIECE).zip(b.chunks(PIECE)) {
        sums[0] += i64::from(dot(a, a));
        sums[1] += i64::from(dot(b, b));
        sums[2] += i64::from(dot(a, b));
    }
}

fn dot(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// Sums over a cell's rows of one field, lane by lane: reference, distorted, their squares and their product.
#[derive(Clone, Copy, Default)]
struct FieldSums {
    sum: [[i16; LANES]; 2],
    square: [[i32; LANES / 2]; 2],
    product: [i32; LANES / 2],
}

impl FieldSums {
    /// At most sixteen times 10 bits for a lane of a cell.
    #[inline(always)]
    fn add(&mut self, a: &[i16; LANES], b: &[i16; LANES]) {
        let dot = |sums: &mut [i32; LANES / 2], a: &[i16; LANES], b: &[i16; LANES]| {
            for (i, sum) in sums.iter_mut().enumerate() {
                let at = 2 * i;
                *sum += i32::from(a[at]) * i32::from(b[at]) + i32::from(a[at + 1]) * i32::from(b[at + 1]);
            }
        };
        for i in 0..LANES {
            self.sum[0][i] += a[i];
            self.sum[1][i] += b[i];
        }
        dot(&mut self.square[0], a, a);
        dot(&mut self.square[1], b, b);
        dot(&mut self.product, a, b);
    }
}

impl CellSums {
    /// Adds one field's sums and gives the sum of squared differences.
    #[inline(always)]
    fn add(&mut self, field: &FieldSums) -> i64 {
        for side in 0..2 {
            self.sum[side] += field.sum[side].iter().map(|sum| i32::from(*sum)).sum::<i32>();
        }
        let total = |lanes: &[i32; LANES / 2]| i64::from(lanes.iter().sum::<i32>());
        let (squares, product) = (field.square.each_ref().map(total), total(&field.product));
        self.square[0] += squares[0];
        self.square[1] += squares[1];
        self.product += product;
        squares[0] + squares[1] - 2 * product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise of 10 bits with full swings.
    fn lines(width: usize) -> Lines {
        let mut state = 7u32;
        let mut sample = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let level = (state >> 20) as i16 & 1023;
            if state.is_multiple_of(5) { 1023 * (level & 1) } else { level }
        };
        let mut rows = || std::array::from_fn(|_| (0..width).map(|_| sample()).collect::<Vec<_>>());
        Lines { rows: [rows(), rows()], unit: 0.25 }
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        for width in [64, 4096, 8200] {
            let (lines, grid) = (lines(width), Grid::of(width, 64));
            let end = grid.columns * grid.cell;
            let mut sums = vec![CellSums::default(); grid.columns];
            let mut totals = Totals::new(width);
            totals.add_band(&lines, &grid, &mut sums);
            let at = |side: usize, line: usize, x: usize| i64::from(lines.rows[side][line][x]);
            let pair = |side, x| at(side, 1, x) + at(side, 1, x + 1) + at(side, 2, x) + at(side, 2, x + 1);
            let mut expected = Totals::default();
            let add = |sums: &mut [i64; 3], [r, d]: [i64; 2]| {
                [r * r, d * d, r * d].iter().zip(sums).for_each(|(new, sum)| *sum += new);
            };
            for x in LANES..end - LANES {
                for line in [1, 2] {
                    let across = |side| 2 * at(side, line, x) - at(side, line, x - 1) - at(side, line, x + 1);
                    let down = |side| 2 * at(side, line, x) - at(side, line - 1, x) - at(side, line + 1, x);
                    add(&mut expected.across, [0, 1].map(across));
                    add(&mut expected.down, [0, 1].map(down));
                }
                let middle = |side| (2 * pair(side, x) - pair(side, x - 2) - pair(side, x + 2)) / 2;
                add(&mut expected.middle, [0, 1].map(middle));
            }
            let sums_of = |totals: &Totals| (totals.across, totals.down, totals.middle);
            assert_eq!(sums_of(&totals), sums_of(&expected), "{width}");
            for x in 0..end {
                for line in 0..LINES {
                    let error = at(0, line, x) - at(1, line, x);
                    expected.field_error[line % 2] += error * error;
                }
            }
            assert_eq!(totals.field_error, expected.field_error, "{width}");
            let (cell, x) = (sums[grid.columns - 1], end - grid.cell..end);
            let whole = |f: &dyn Fn(usize, usize) -> i64| -> i64 {
                (0..LINES).map(|line| x.clone().map(|x| f(line, x)).sum::<i64>()).sum()
            };
            for side in 0..2 {
                assert_eq!(i64::from(cell.sum[side]), whole(&|line, x| at(side, line, x)), "{width}");
                assert_eq!(cell.square[side], whole(&|line, x| at(side, line, x).pow(2)), "{width}");
            }
            assert_eq!(cell.product, whole(&|line, x| at(0, line, x) * at(1, line, x)), "{width}");
        }
    }
}
