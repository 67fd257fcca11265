//! Eigenvalues of a symmetric matrix: Householder reduction to tridiagonal form, then implicit QR steps with
//! Wilkinson's shift (Golub and Van Loan, *Matrix Computations*, 8.3).
//!
//! All in `f32`, as libvmaf does it, so the order of operations is part of the definition. Where a step passes through
//! `f64`, it is because libvmaf's does.

use super::geometry::CELLS;

/// Relative size below which an element beside the diagonal counts as zero; also the smallest eigenvalue that a
/// regular matrix may have.
pub const EPSILON: f64 = 1e-6;

/// QR steps after which the elements beside the diagonal are taken as they are.
const MAX_STEPS: usize = 500;

/// The eigenvalues, in no particular order. `matrix` must be symmetric to the last bit; it is used up.
#[inline(always)]
pub fn eigenvalues(matrix: &mut [[f32; CELLS]; CELLS]) -> [f32; CELLS] {
    let (mut diagonal, mut beside) = tridiagonal(matrix);
    diagonalise(&mut diagonal, &mut beside);
    diagonal
}

/// The diagonal and the elements beside it of a tridiagonal matrix with the same eigenvalues.
///
/// Each step reflects one column so that only its first two elements remain. What is left of the matrix stays symmetric
/// to the last bit, so that rows can be read for columns.
#[inline(always)]
fn tridiagonal(matrix: &mut [[f32; CELLS]; CELLS]) -> ([f32; CELLS], [f32; CELLS - 1]) {
    let (mut diagonal, mut beside) = ([0.0; CELLS], [0.0; CELLS - 1]);
    for at in 0..CELLS - 2 {
        let mut column = matrix[at];
        diagonal[at] = column[at];
        let strength = reflection(&mut column[at + 1..]);
        beside[at] = column[at + 1];
        if strength != 0.0 {
            column[at + 1] = 1.0;
            reflect(matrix, &column, strength, at + 1);
        }
    }
    let [before_last, last] = [CELLS - 2, CELLS - 1];
    diagonal[before_last] = matrix[before_last][before_last];
    diagonal[last] = matrix[last][last];
    beside[before_last] = matrix[last][before_last];
    (diagonal, beside)
}

/// Turns `x` into the vector `v` of the reflection `1 - strength * v * v'` that leaves of `x` only its first element.
/// `v[0]` is 1 by definition; what remains of `x` stands in its place.
#[inline(always)]
fn reflection(x: &mut [f32]) -> f32 {
    let tail = norm(&x[1..]);
    if tail == 0.0 {
        return 0.0;
    }
    let head = x[0];
    let remains = -sign(head) * hypotenuse(head, tail);
    let divisor = head - remains;
    if divisor != 0.0 {
        for x in x.iter_mut() {
            *x /= divisor;
        }
        x[0] = remains;
    }
    (remains - head) / remains
}

/// Applies the reflection to rows and columns from `start` on. Elements of `v` before `start` are ignored.
#[inline(always)]
fn reflect(matrix: &mut [[f32; CELLS]; CELLS], v: &[f32; CELLS], strength: f32, start: usize) {
    let mut x = [0.0f32; CELLS];
    for row in start..CELLS {
        for column in 0..CELLS {
            x[column] += strength * matrix[row][column] * v[row];
        }
    }
    let mut dot = 0.0f32;
    for at in start..CELLS {
        dot += x[at] * v[at];
    }
    let factor = (-0.5 * f64::from(strength) * f64::from(dot)) as f32;
    for (x, v) in x.iter_mut().zip(v) {
        *x += factor * v;
    }
    for row in start..CELLS {
        for column in 0..CELLS {
            matrix[row][column] -= x[row] * v[column] + v[row] * x[column];
        }
    }
}

/// Makes the elements beside the diagonal vanish, one after the other from the end.
#[inline(always)]
fn diagonalise(diagonal: &mut [f32], beside: &mut [f32]) {
    chop(diagonal, beside);
    let mut last = diagonal.len() - 1;
    let mut steps = 0;
    while last > 0 && steps < MAX_STEPS {
        if beside[last - 1] == 0.0 {
            last -= 1;
            continue;
        }
        let first = beside[..last].iter().rposition(|value| *value == 0.0).map_or(0, |zero| zero + 1);
        let (diagonal, beside) = (&mut diagonal[first..=last], &mut beside[first..last]);
        qr_step(diagonal, beside);
        chop(diagonal, beside);
        steps += 1;
    }
}

/// Clears elements beside the diagonal that are small against their neighbours on it.
#[inline(always)]
fn chop(diagonal: &[f32], beside: &mut [f32]) {
    for (value, pair) in beside.iter_mut().zip(diagonal.windows(2)) {
        if f64::from(value.abs()) < EPSILON * f64::from(pair[0].abs() + pair[1].abs()) {
            *value = 0.0;
        }
    }
}

/// One implicit QR step: a rotation makes an element outside of the three diagonals, and further rotations chase it out
/// at the end. At rotation `k`, `(a, b)` are the diagonal's and the side's elements at `k`, `(next_a, next_b)` those
/// that follow, and `bulge` is the element to be chased.
#[inline(always)]
fn qr_step(diagonal: &mut [f32], beside: &mut [f32]) {
    let len = diagonal.len();
    let shift = shift(diagonal, beside);
    let (mut a, mut b) = (diagonal[0], beside[0]);
    let (mut next_a, mut next_b) = (diagonal[1], beside.get(1).copied().unwrap_or(0.0));
    let (mut x, mut bulge) = (a - shift, b);
    for k in 0..len - 1 {
        let (c, s) = rotation(x, bulge);
        if k > 0 {
            beside[k - 1] = c * x - s * bulge;
        }
        diagonal[k] = c * (c * a - s * b) + s * (s * next_a - c * b);
        x = c * (s * a + c * b) - s * (s * b + c * next_a);
        a = s * (s * a + c * b) + c * (s * b + c * next_a);
        bulge = -s * next_b;
        b = c * next_b;
        if k + 2 < len {
            next_a = diagonal[k + 2];
            beside[k + 1] = b;
        }
        if k + 3 < len {
            next_b = beside[k + 2];
        }
    }
    diagonal[len - 1] = a;
    beside[len - 2] = x;
}

/// The eigenvalue of the last two by two elements that is nearer to the last; zero if it would drown the first.
#[inline(always)]
fn shift(diagonal: &[f32], beside: &[f32]) -> f32 {
    let [.., upper, lower] = *diagonal else { unreachable!("a block has at least two elements") };
    let side = beside[beside.len() - 1];
    let half = (upper - lower) / 2.0;
    let shift = if half > 0.0 {
        lower - side * (side / (half + hypotenuse(half, side)))
    } else if half == 0.0 {
        lower - side.abs()
    } else {
        lower + side * (side / (-half + hypotenuse(half, side)))
    };
    let drowns = EPSILON * f64::from(shift.abs()) > f64::from(diagonal[0].abs() + beside[0].abs());
    if drowns { 0.0 } else { shift }
}

/// Cosine and sine of the rotation that takes `(a, b)` to `(r, 0)`.
#[inline(always)]
fn rotation(a: f32, b: f32) -> (f32, f32) {
    if b == 0.0 {
        return (1.0, 0.0);
    }
    let steep = b.abs() > a.abs();
    let t = if steep { -a / b } else { -b / a };
    let longer = (1.0 / f64::from(1.0 + t * t).sqrt()) as f32;
    if steep { (longer * t, longer) } else { (longer, longer * t) }
}

#[inline(always)]
pub fn norm(x: &[f32]) -> f32 {
    let mut sum = 0.0f32;
    for x in x {
        sum += x * x;
    }
    sum.sqrt()
}

/// 1 or -1; 1 for zero.
#[inline(always)]
pub fn sign(x: f32) -> f32 {
    if x >= 0.0 { 1.0 } else { -1.0 }
}

#[inline(always)]
fn hypotenuse(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}
