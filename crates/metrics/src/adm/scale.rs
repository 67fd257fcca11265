//! One scale of both pictures, row by row: a row of bands is made, decoupled, weighted by the CSF and contrast-masked while
//! it is still in the cache. Only the approximation for the next scale is kept as a picture.
//!
//! Here stands which row is due when; how a row is worked on is the matter of [`Steps`].

use visus_video::Plane;

use super::geometry::Axis;
use super::masking::Masking;
use super::score::AdmSums;

/// The approximation that the next scale transforms.
#[derive(Clone, Debug)]
pub struct LowPlane<T> {
    data: Vec<T>,
    width: usize,
    height: usize,
    stride: usize,
}

impl<T: Copy + Default> LowPlane<T> {
    /// A plane of zeros; behind each row there is room for `padding` samples that nobody reads.
    pub fn new(width: usize, height: usize, padding: usize) -> Self {
        let stride = width + padding;
        Self { data: vec![T::default(); stride * height], width, height, stride }
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
    let mut sums = AdmSums::default();
    let written = rows.written();
    for y in written.start..written.end {
        let detail = rows.detail.contains(y);
        steps.transform(y, rows.low.contains(y), detail);
        if detail {
            let scored = rows.scored.contains(y);
            let csf_den = steps.decouple(y, scored);
            if scored {
                sums.add_csf_den(masking, csf_den);
            }
            if y > 0 && rows.scored.contains(y - 1) {
                // The row above now has all its neighbours.
                sums.add_masked(masking, steps.contrast_mask(neighbours(rows, y - 1)));
            }
        }
    }
    if rows.touches_edges() && !rows.detail.is_empty() {
        sums.add_masked(masking, steps.contrast_mask(neighbours(rows, rows.output - 1)));
    }
    sums
}

/// The rows above, at and below a row, mirrored.
fn neighbours(rows: &Axis, y: usize) -> [usize; 3] {
    [if y == 0 { 1 } else { y - 1 }, y, if y + 1 == rows.output { y } else { y + 1 }]
}

impl AdmSums {
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
