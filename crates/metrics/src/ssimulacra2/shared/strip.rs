//! The second step: strips of columns, blurred down the columns and compared.

use std::ops::Range;

use super::super::blur::{Columns, LAG, SPAN};
use super::super::fused::Fused;
use super::super::maps::{self, ErrorMap, Moments};
use super::super::scale::SIDES;
use super::super::score::COMPONENTS;
use super::{BLURRED, KEPT, PLANES, ROWS, blurred_plane, sample_plane};

/// Numbers that are kept of each pixel: of structure, and of edges, in every component.
const TERMS: usize = 2 * COMPONENTS;

/// Some columns of all planes.
#[derive(Debug)]
pub struct Strip {
    columns: Range<usize>,
    /// What is remembered of the rows above, for each blurred plane.
    above: Vec<Columns>,
    input: Vec<f32>,
    /// The row of a component that has become complete.
    out: [Vec<f32>; BLURRED],
    /// What errors are made of, for the rows of a block that have become complete.
    terms: Vec<f64>,
}

/// Rows that are gone through in one step, those below the picture included.
#[derive(Debug)]
pub struct Block<'a> {
    pub rows: Range<usize>,
    pub records: &'a [f32],
    pub width: usize,
    pub height: usize,
    pub structure: [bool; COMPONENTS],
}

impl<'a> Block<'a> {
    /// Some columns of row `y` of a plane.
    #[inline(always)]
    fn row(&self, y: usize, plane: usize, columns: &Range<usize>) -> &'a [f32] {
        let start = (y % KEPT * PLANES + plane) * self.width;
        &self.records[start..][columns.clone()]
    }
}

impl Strip {
    pub fn new(columns: Range<usize>) -> Self {
        let width = columns.len();
        Self {
            columns,
            above: (0..COMPONENTS * BLURRED).map(|_| Columns::new(width)).collect(),
            input: vec![0.0; width],
            out: [(); BLURRED].map(|()| vec![0.0; width]),
            terms: vec![0.0; (ROWS + LAG) * TERMS * width],
        }
    }

    pub fn reset(&mut self) {
        self.above.iter_mut().for_each(Columns::reset);
    }

    fn term_range(&self, row: usize, component: usize, edges: bool) -> Range<usize> {
        let start = (row * TERMS + 2 * component + usize::from(edges)) * self.columns.len();
        start..start + self.columns.len()
    }

    /// What the errors of a row are made of.
    #[inline(always)]
    pub fn terms(&self, row: usize, component: usize, map: ErrorMap) -> &[f64] {
        &self.terms[self.term_range(row, component, map != ErrorMap::Structure)]
    }

    #[inline(always)]
    pub fn advance<F: Fused>(&mut self, block: &Block<'_>) {
        let mut complete = 0;
        for y in block.rows.clone() {
            for component in 0..COMPONENTS {
                self.blur::<F>(block, y, component);
                if let Some(done) = y.checked_sub(LAG) {
                    self.compare(block, done, component, complete);
                }
            }
            complete += usize::from(y >= LAG);
        }
    }

    /// Takes row `y` of a component into the blur. Above and below the picture there is nothing.
    #[inline(always)]
    fn blur<F: Fused>(&mut self, block: &Block<'_>, y: usize, component: usize) {
        let planes = if block.structure[component] { BLURRED } else { SIDES };
        for plane in 0..planes {
            let at = blurred_plane(component, plane);
            match y.checked_sub(SPAN - 1) {
                Some(oldest) => self.input.copy_from_slice(block.row(oldest, at, &self.columns)),
                None => self.input.fill(0.0),
            }
            if y < block.height {
                let newest = block.row(y, at, &self.columns);
                self.input.iter_mut().zip(newest).for_each(|(sum, newest)| *sum += *newest);
            } else {
                self.input.iter_mut().for_each(|sum| *sum += 0.0);
            }
            self.above[component * BLURRED + plane].step::<F>(&self.input, &mut self.out[plane]);
        }
    }

    /// Compares the pictures in row `y`, which has become complete.
    #[inline(always)]
    fn compare(&mut self, block: &Block<'_>, y: usize, component: usize, row: usize) {
        let [structure, edges] = [false, true].map(|edges| self.term_range(row, component, edges));
        let [one, two, squares @ .., product] = self.out.each_ref().map(Vec::as_slice);
        let mean = [one, two];
        if block.structure[component] {
            maps::structure(Moments { mean, square: squares, product }, &mut self.terms[structure]);
        }
        let samples = [0, 1].map(|side| block.row(y, sample_plane(side, component), &self.columns));
        maps::edges(samples, mean, &mut self.terms[edges]);
    }
}
