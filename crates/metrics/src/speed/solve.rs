//! Linear equations by QR decomposition with Householder reflections.
//!
//! All in `f32`. Reflections are applied as products of whole matrices, as libvmaf does it, because that fixes how each
//! element is rounded; only terms that are zero by construction are left out.

use super::eigen::{EPSILON, norm, sign};
use super::geometry::CELLS;

/// Columns rounded up to whole vectors; what is beyond [`CELLS`] stays zero.
pub const WIDE: usize = 32;
/// Columns whose sums are kept in registers.
const LANES: usize = 16;
/// A square matrix.
pub type Square = [[f32; WIDE]; CELLS];

/// `A = Q R` with an orthogonal `Q` and an upper triangular `R`.
#[derive(Debug)]
pub struct Decomposition {
    /// The inverse of `Q`.
    inverse_q: Square,
    r: Square,
}

impl Decomposition {
    /// `None` if the matrix is singular.
    #[inline(always)]
    pub fn new(matrix: &[[f32; CELLS]; CELLS]) -> Option<Self> {
        let matrix = widened(matrix);
        let inverse_q = triangulating(&matrix);
        let mut r = [[0.0; WIDE]; CELLS];
        for (out, row) in r.iter_mut().zip(&inverse_q) {
            *out = combined(row, &matrix);
        }
        let singular = (0..CELLS).any(|at| f64::from(r[at][at].abs()) < EPSILON);
        (!singular).then_some(Self { inverse_q, r })
    }

    /// Solves for [`WIDE`] right-hand sides at once, which stand side by side.
    #[inline(always)]
    pub fn solve(&self, right: &Square) -> Square {
        let mut x = [[0.0; WIDE]; CELLS];
        for at in (0..CELLS).rev() {
            let mut rest = combined(&self.inverse_q[at], right);
            for (part, rest) in rest.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let mut left = *rest;
                for known in at + 1..CELLS {
                    let x = &x[known].as_chunks::<LANES>().0[part];
                    for lane in 0..LANES {
                        left[lane] -= x[lane] * self.r[at][known];
                    }
                }
                *rest = left;
            }
            for lane in 0..WIDE {
                x[at][lane] = rest[lane] / self.r[at][at];
            }
        }
        x
    }
}

#[inline(always)]
fn widened(matrix: &[[f32; CELLS]; CELLS]) -> Square {
    let mut wide = [[0.0; WIDE]; CELLS];
    for (wide, row) in wide.iter_mut().zip(matrix) {
        wide[..CELLS].copy_from_slice(row);
    }
    wide
}

/// The product of the reflections that make `matrix` triangular.
#[inline(always)]
fn triangulating(matrix: &Square) -> Square {
    let mut product = [[0.0; WIDE]; CELLS];
    for at in 0..CELLS {
        product[at][at] = 1.0;
    }
    let mut rest = *matrix;
    for at in 0..CELLS - 1 {
        // Where cancellation has left nothing of the vector, libvmaf divides by zero, and all that follows is NaN.
        let Some(v) = reflector(&rest, at, sign(matrix[at][at])) else {
            return [[f32::NAN; WIDE]; CELLS];
        };
        let reflection = reflection(&v, at);
        let [old_rest, old_product] = [rest, product];
        for row in at..CELLS {
            rest[row] = combined_from(at, &reflection[row], &old_rest);
            product[row] = combined_from(at, &reflection[row], &old_product);
        }
    }
    product
}

/// The unit vector across which column `at` is reflected; zero before `at`. The sign is that of the original matrix,
/// not of the element at hand, so that the vector can vanish.
#[inline(always)]
fn reflector(rest: &Square, at: usize, sign: f32) -> Option<[f32; CELLS]> {
    let mut v = [0.0; CELLS];
    for row in at..CELLS {
        v[row] = rest[row][at];
    }
    v[at] += sign * norm(&v[at..]);
    let length = norm(&v[at..]);
    for v in &mut v[at..] {
        *v /= length;
    }
    (length != 0.0).then_some(v)
}

/// `1 - 2 v v'`, in rows and columns from `start` on.
#[inline(always)]
fn reflection(v: &[f32; CELLS], start: usize) -> Square {
    let mut out = [[0.0; WIDE]; CELLS];
    for row in start..CELLS {
        for (out, v_column) in out[row].iter_mut().zip(v) {
            *out = -2.0 * v[row] * v_column;
        }
        out[row][row] += 1.0;
    }
    out
}

/// The sum of a matrix' rows, each times its factor.
#[inline(always)]
fn combined(factors: &[f32; WIDE], rows: &Square) -> [f32; WIDE] {
    combined_from(0, factors, rows)
}

/// The same, where all factors before `start` are zero.
#[inline(always)]
fn combined_from(start: usize, factors: &[f32; WIDE], rows: &Square) -> [f32; WIDE] {
    let mut out = [0.0; WIDE];
    for (part, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut sums = [0.0; LANES];
        for at in start..CELLS {
            let row = &rows[at].as_chunks::<LANES>().0[part];
            for lane in 0..LANES {
                sums[lane] += factors[at] * row[lane];
            }
        }
        *out = sums;
    }
    out
}
