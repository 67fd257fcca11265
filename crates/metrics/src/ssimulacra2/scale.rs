//! One scale of the pyramid, fed row by row.
//!
//! A scale keeps just the rows that the blur needs: it takes a row of linear RGB from both pictures, adds up the errors
//! of the row that has become complete, and hands every pair of rows, halved, to the next scale. No picture is stored.

use super::blur::{self, Columns, LAG, SPAN};
use super::fused::Fused;
use super::maps::{self, Moments, Sums};
use super::score::{COMPONENTS, NORMS, Norms, weights};
use super::xyb;

/// Both pictures.
pub const SIDES: usize = 2;
/// A row of each colour (or component).
pub type Rows<'a> = [&'a [f32]; COMPONENTS];
/// The same with their memory.
pub type OwnedRows = [Vec<f32>; COMPONENTS];

pub fn owned_rows(width: usize) -> OwnedRows {
    [(); COMPONENTS].map(|()| vec![0.0; width])
}

pub fn borrowed(rows: &[OwnedRows; SIDES]) -> [Rows<'_>; SIDES] {
    rows.each_ref().map(|rows| rows.each_ref().map(Vec::as_slice))
}

/// The last rows of a plane.
#[derive(Debug)]
struct Ring {
    data: Vec<f32>,
    width: usize,
    len: usize,
}

impl Ring {
    fn new(width: usize, len: usize) -> Self {
        Self { data: vec![0.0; width * len], width, len }
    }

    fn row(&self, y: usize) -> &[f32] {
        &self.data[y % self.len * self.width..][..self.width]
    }

    fn row_mut(&mut self, y: usize) -> &mut [f32] {
        &mut self.data[y % self.len * self.width..][..self.width]
    }
}

/// A plane on its way through the blur.
#[derive(Debug)]
struct BlurredPlane {
    /// Blurred along rows.
    along: Ring,
    columns: Columns,
    /// Blurred in both directions: the row that has become complete.
    out: Vec<f32>,
}

impl BlurredPlane {
    fn new(width: usize) -> Self {
        Self { along: Ring::new(width, SPAN), columns: Columns::new(width), out: vec![0.0; width] }
    }

    fn reset(&mut self) {
        self.along.data.fill(0.0);
        self.columns.reset();
    }

    /// Takes row `y`; `None` is a row below the picture. Row `y - LAG` is then in `out`.
    #[inline(always)]
    fn take<F: Fused>(&mut self, y: usize, row: Option<&[f32]>, input: &mut [f32]) {
        let newest = self.along.row_mut(y);
        match row {
            Some(row) => blur::blur_along::<F>(row, newest),
            None => newest.fill(0.0),
        }
        self.advance::<F>(y, input);
    }

    /// Takes row `y`, which is blurred along already.
    #[inline(always)]
    fn advance<F: Fused>(&mut self, y: usize, input: &mut [f32]) {
        // The oldest row is in the slot that follows.
        input.copy_from_slice(self.along.row(y + 1));
        input.iter_mut().zip(self.along.row(y)).for_each(|(sum, newest)| *sum += *newest);
        self.columns.step::<F>(input, &mut self.out);
    }
}

/// One component of both pictures.
#[derive(Debug)]
struct Component {
    samples: [Ring; SIDES],
    means: [BlurredPlane; SIDES],
    /// The squares of both, and their product; absent where no norm of structure has a weight.
    products: Option<[BlurredPlane; 3]>,
    structure: Sums,
    new_edges: Sums,
    lost_edges: Sums,
}

impl Component {
    fn new(width: usize, weights: &[f64]) -> Self {
        Self {
            samples: [(); SIDES].map(|()| Ring::new(width, LAG + 1)),
            means: [(); SIDES].map(|()| BlurredPlane::new(width)),
            products: has_structure(weights).then(|| [(); 3].map(|()| BlurredPlane::new(width))),
            structure: Sums::default(),
            new_edges: Sums::default(),
            lost_edges: Sums::default(),
        }
    }

    fn reset(&mut self) {
        self.means.iter_mut().chain(self.products.iter_mut().flatten()).for_each(BlurredPlane::reset);
        [self.structure, self.new_edges, self.lost_edges] = [Sums::default(); 3];
    }

    /// Takes row `y` of `samples`, if it is inside of the picture.
    #[inline(always)]
    fn take<F: Fused>(&mut self, y: usize, inside: bool, scratch: &mut Scratch) {
        let [input, products @ ..] = scratch;
        let rows = self.samples.each_ref().map(|ring| ring.row(y));
        let pairs = [(rows[0], rows[0]), (rows[1], rows[1]), (rows[0], rows[1])];
        if F::BY_DOUBLE
            && inside
            && let Some([square_a, square_b, product]) = &mut self.products
        {
            for (out, (a, b)) in products.iter_mut().zip(pairs) {
                multiply(a, b, out);
            }
            let [mean_a, mean_b] = &mut self.means;
            blur::blur_along_rows::<F>(
                [rows[0], rows[1], &products[0], &products[1]],
                [&mut *mean_a, &mut *mean_b, &mut *square_a, &mut *square_b]
                    .map(|plane| plane.along.row_mut(y)),
            );
            for plane in [mean_a, mean_b, square_a, square_b] {
                plane.advance::<F>(y, input);
            }
            product.take::<F>(y, Some(&products[2]), input);
            return;
        }
        for (plane, row) in self.means.iter_mut().zip(rows) {
            plane.take::<F>(y, inside.then_some(row), input);
        }
        for (plane, (a, b)) in self.products.iter_mut().flatten().zip(pairs) {
            multiply(a, b, &mut products[0]);
            plane.take::<F>(y, inside.then_some(&products[0]), input);
        }
    }

    /// Adds the errors of row `y`, which has become complete.
    #[inline(always)]
    fn add_errors(&mut self, y: usize) {
        let mean = self.means.each_ref().map(|plane| plane.out.as_slice());
        if let Some([square_a, square_b, product]) = &self.products {
            let moments = Moments { mean, square: [&square_a.out, &square_b.out], product: &product.out };
            maps::add_structure(moments, &mut self.structure);
        }
        let samples = self.samples.each_ref().map(|ring| ring.row(y));
        maps::add_edges(samples, mean, &mut self.new_edges, &mut self.lost_edges);
    }

    fn norms(&self, count: usize) -> Norms {
        norms([&self.structure, &self.new_edges, &self.lost_edges], count)
    }
}

#[inline(always)]
fn multiply(a: &[f32], b: &[f32], out: &mut [f32]) {
    out.iter_mut().zip(a).zip(b).for_each(|((product, a), b)| *product = a * b);
}

/// Whether a norm of structure has a weight.
pub fn has_structure(weights: &[f64]) -> bool {
    weights[0] != 0.0 || weights[NORMS / 2] != 0.0
}

/// The norms of errors of structure, new and lost edges over `count` pixels.
pub fn norms(maps: [&Sums; 3], count: usize) -> Norms {
    let maps = maps.map(|sums| sums.norms(count));
    std::array::from_fn(|at| maps[at % 3][at / 3])
}

/// Rows: what goes into a blur down the columns, and products.
type Scratch = [Vec<f32>; 4];

#[derive(Debug)]
pub struct Scale {
    width: usize,
    height: usize,
    /// Rows taken, those below the picture included.
    taken: usize,
    components: [Component; COMPONENTS],
    /// The upper row of a pair that waits for the lower one.
    waiting: [OwnedRows; SIDES],
    halved: [OwnedRows; SIDES],
    scratch: Scratch,
}

impl Scale {
    /// Scale `index` of `count`, where pictures have this size.
    pub fn new(width: usize, height: usize, index: usize, count: usize) -> Self {
        Self {
            width,
            height,
            taken: 0,
            components: [0, 1, 2].map(|component| Component::new(width, weights(component, index, count))),
            waiting: [(); SIDES].map(|()| owned_rows(width)),
            halved: [(); SIDES].map(|()| owned_rows(width.div_ceil(2))),
            scratch: [(); 4].map(|()| vec![0.0; width]),
        }
    }

    /// Forgets all rows.
    pub fn reset(&mut self) {
        self.taken = 0;
        self.components.iter_mut().for_each(Component::reset);
    }

    /// The norms of a picture pair that has been taken as a whole.
    pub fn norms(&self) -> [Norms; COMPONENTS] {
        self.components.each_ref().map(|component| component.norms(self.width * self.height))
    }

    #[inline(always)]
    fn take<F: Fused>(&mut self, rows: [Rows<'_>; SIDES]) {
        for (side, colours) in rows.into_iter().enumerate() {
            let samples =
                self.components.each_mut().map(|component| component.samples[side].row_mut(self.taken));
            xyb::convert_row::<F>(colours, samples);
        }
        self.advance::<F>(true);
    }

    #[inline(always)]
    fn advance<F: Fused>(&mut self, inside: bool) {
        for component in &mut self.components {
            component.take::<F>(self.taken, inside, &mut self.scratch);
            if let Some(complete) = self.taken.checked_sub(LAG) {
                component.add_errors(complete);
            }
        }
        self.taken += 1;
    }

    /// Takes a row; whether it was the lower one of a pair, which is then halved for the next scale.
    #[inline(always)]
    fn take_and_halve<F: Fused>(&mut self, rows: [Rows<'_>; SIDES]) -> bool {
        let is_upper = self.taken.is_multiple_of(2);
        self.take::<F>(rows);
        if is_upper {
            self.keep_waiting(rows);
        } else {
            self.halve(Some(rows));
        }
        !is_upper
    }

    #[inline(always)]
    fn keep_waiting(&mut self, rows: [Rows<'_>; SIDES]) {
        for (waiting, rows) in self.waiting.iter_mut().zip(rows) {
            waiting.iter_mut().zip(rows).for_each(|(waiting, row)| waiting.copy_from_slice(row));
        }
    }

    /// Halves the waiting rows with those below them; without these, with themselves.
    #[inline(always)]
    fn halve(&mut self, lower: Option<[Rows<'_>; SIDES]>) {
        for side in 0..SIDES {
            for colour in 0..COMPONENTS {
                let upper = self.waiting[side][colour].as_slice();
                let lower = lower.map_or(upper, |rows| rows[side][colour]);
                halve_row(upper, lower, &mut self.halved[side][colour]);
            }
        }
    }
}

/// The means of two by two values. A last column without a neighbour counts twice.
#[inline(always)]
pub fn halve_row(upper: &[f32], lower: &[f32], out: &mut [f32]) {
    let ((uppers, upper_rest), (lowers, lower_rest)) = (upper.as_chunks::<2>(), lower.as_chunks::<2>());
    for (out, (upper, lower)) in out.iter_mut().zip(uppers.iter().zip(lowers)) {
        *out = (upper[0] + upper[1] + lower[0] + lower[1]) * 0.25;
    }
    if let (Some(out), [upper], [lower]) = (out.last_mut(), upper_rest, lower_rest) {
        *out = (upper + upper + lower + lower) * 0.25;
    }
}

/// Hands a row to the first of the scales, and what comes out of it to those that follow.
#[inline(always)]
pub fn push<F: Fused>(scales: &mut [Scale], rows: [Rows<'_>; SIDES]) {
    let mut at = 0;
    let Some((first, _)) = scales.split_first_mut() else { return };
    let mut goes_on = first.take_and_halve::<F>(rows);
    while goes_on && at + 1 < scales.len() {
        let (above, below) = scales.split_at_mut(at + 1);
        goes_on = below[0].take_and_halve::<F>(borrowed(&above[at].halved));
        at += 1;
    }
}

/// Completes the rows that still wait for what is below them. A last row without a neighbour counts twice.
#[inline(always)]
pub fn finish<F: Fused>(scales: &mut [Scale]) {
    for at in 0..scales.len() {
        let (above, below) = scales.split_at_mut(at + 1);
        let scale = &mut above[at];
        if !scale.taken.is_multiple_of(2) && !below.is_empty() {
            scale.halve(None);
            push::<F>(below, borrowed(&scale.halved));
        }
        for _ in 0..LAG {
            scale.advance::<F>(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_widths_repeat_the_last_column() {
        let mut out = [0.0; 3];
        halve_row(&[1.0, 2.0, 3.0, 4.0, 5.0], &[5.0, 6.0, 7.0, 8.0, 9.0], &mut out);
        assert_eq!(out, [3.5, 5.5, 7.0]);
        halve_row(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &mut out[..2]);
        assert_eq!(out[..2], [3.5, 5.5]);
    }
}
