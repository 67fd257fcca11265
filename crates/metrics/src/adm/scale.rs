//! One scale of both pictures, row by row: a row of bands is made, decoupled, weighted by the CSF and contrast-masked while
//! it is still in the cache. Only the approximation for the next scale is kept as a picture.
//!
//! Here stands which row is due when; how a row is worked on is the matter of [`Steps`].
//!
//! A scale can be cut into parts of rows that are worked on at the same time. A part begins a row early and ends a row
//! late, since contrast masking looks at the rows above and below; those two are made twice. What a row adds to the sums is
//! an integer of its own, so that the sums of parts add up to the sums of the whole.

use visus_video::{Plain, Plane, Zeros};

use super::geometry::{Axis, Span};
use super::masking::Masking;
use super::score::AdmSums;

/// The approximation that the next scale transforms.
#[derive(Debug)]
pub struct LowPlane<T> {
    data: Zeros<T>,
    width: usize,
    height: usize,
    stride: usize,
}

impl<T: Plain> LowPlane<T> {
    /// A plane of zeros; behind each row there is room for `padding` samples that nobody reads.
    pub fn new(width: usize, height: usize, padding: usize) -> Self {
        let stride = width + padding;
        Self { data: Zeros::new(stride * height), width, height, stride }
    }

    pub fn view(&self) -> Plane<'_, T> {
        Plane::new(&self.data, self.width, self.height, self.stride)
    }

    pub fn padded_row(&self, y: usize) -> &[T] {
        &self.data[y * self.stride..][..self.stride]
    }

    pub fn padded_row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.data[y * self.stride..][..self.stride]
    }

    /// All rows, to be written.
    pub fn rows_mut(&mut self) -> LowRows<'_, T> {
        LowRows { data: &mut self.data, first: 0, stride: self.stride }
    }
}

/// Rows of a plane that are written, from row `first` on.
#[derive(Debug)]
pub struct LowRows<'a, T> {
    data: &'a mut [T],
    first: usize,
    stride: usize,
}

impl<'a, T> LowRows<'a, T> {
    pub fn padded_row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.data[(y - self.first) * self.stride..][..self.stride]
    }

    /// Takes the rows before `end` out.
    pub fn take(&mut self, end: usize) -> Self {
        let (taken, rest) = std::mem::take(&mut self.data).split_at_mut((end - self.first) * self.stride);
        self.data = rest;
        let first = std::mem::replace(&mut self.first, end);
        Self { data: taken, first, stride: self.stride }
    }
}

/// The sums of a row; see [`AdmSums`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Masked {
    pub restored: [i64; 3],
    pub additive: [i64; 3],
}

/// What is done with a row of a scale. Rows come from the top to the bottom.
pub trait Steps {
    /// Makes row `y` of both pictures: of the approximation, of the detail bands, or of both.
    fn transform(&mut self, y: usize, low: bool, detail: bool);

    /// Decouples row `y`, the one transformed last, and applies the CSF to both images. If it is scored, the reference's
    /// sum of cubes (libvmaf's `adm_csf_den_scale`) is wanted.
    fn decouple(&mut self, y: usize, scored: bool) -> [u64; 3];

    /// What contrast masking (libvmaf's `adm_cm`) leaves of the row in the middle of three that have been decoupled.
    fn contrast_mask(&mut self, rows: [usize; 3]) -> Masked;
}

/// Transforms the reference and the distorted picture and sums up the detail.
pub fn run(rows: &Axis, masking: &impl Masking, steps: &mut impl Steps) -> AdmSums {
    run_part(rows, rows.written(), masking, steps)
}

/// The same for a part of the rows that are written.
pub fn run_part(rows: &Axis, part: Span, masking: &impl Masking, steps: &mut impl Steps) -> AdmSums {
    let mut sums = AdmSums::default();
    for y in part.start.saturating_sub(1)..part.end + 1 {
        let (within, detail) = (part.contains(y), rows.detail.contains(y));
        if within || detail {
            steps.transform(y, within && rows.low.contains(y), detail);
        }
        if detail {
            let scored = within && rows.scored.contains(y);
            let csf_den = steps.decouple(y, scored);
            if scored {
                sums.add_csf_den(masking, csf_den);
            }
            if y > part.start && rows.scored.contains(y - 1) {
                // The row above now has all its neighbours.
                sums.add_masked(masking, steps.contrast_mask(neighbours(rows, y - 1)));
            }
        }
    }
    if rows.touches_edges() && !rows.detail.is_empty() && part.contains(rows.output - 1) {
        sums.add_masked(masking, steps.contrast_mask(neighbours(rows, rows.output - 1)));
    }
    sums
}

/// Rows that a part has at least: two more are made for each.
const PART_ROWS: usize = 32;

/// What a row with detail takes, in units of one that only the next scale reads.
const DETAIL_WORK: usize = 4;

/// Cuts the rows that are written into at most `count` parts of about the same work.
pub fn parts(rows: &Axis, count: usize) -> Vec<Span> {
    let written = rows.written();
    let count = count.clamp(1, (written.len() / PART_ROWS).max(1));
    let work = |y: usize| if rows.detail.contains(y) { DETAIL_WORK } else { 1 };
    let all: usize = (written.start..written.end).map(work).sum();
    let (mut parts, mut start, mut done) = (Vec::with_capacity(count), written.start, 0);
    for y in written.start..written.end {
        done += work(y);
        if done * count >= all * (parts.len() + 1) {
            parts.push(Span { start, end: y + 1 });
            start = y + 1;
        }
    }
    parts
}

/// The rows above, at and below a row, mirrored.
fn neighbours(rows: &Axis, y: usize) -> [usize; 3] {
    [if y == 0 { 1 } else { y - 1 }, y, if y + 1 == rows.output { y } else { y + 1 }]
}

impl AdmSums {
    /// Adds the sums of another part.
    pub fn add(&mut self, other: &Self) {
        for band in 0..3 {
            self.restored[band] = self.restored[band].wrapping_add(other.restored[band]);
            self.additive[band] = self.additive[band].wrapping_add(other.additive[band]);
            self.reference[band] = self.reference[band].wrapping_add(other.reference[band]);
        }
    }

    fn add_csf_den(&mut self, masking: &impl Masking, row: [u64; 3]) {
        for (sum, row) in self.reference.iter_mut().zip(row) {
            *sum = sum.wrapping_add(masking.csf_den_share(row));
        }
    }

    fn add_masked(&mut self, masking: &impl Masking, row: Masked) {
        let sums = self.restored.iter_mut().chain(&mut self.additive);
        for (sum, row) in sums.zip(row.restored.into_iter().chain(row.additive)) {
            *sum = sum.wrapping_add(masking.share(row));
        }
    }
}
