//! The two filters of ANSNR and the sums over a row, in plain Rust that is compiled for each level.
//!
//! The reference is filtered with a binomial 3x3 window, the distorted picture with a 5x5 window. In the 5x5 window
//! every product is rounded to `f32`, a row of products is summed from the left, and the rows' sums from the top. Only
//! three of its rows differ, so a picture row is summed three times and not five.

/// The 5x5 window over 571: its outer, second and middle rows.
const WINDOW: [[f32; 5]; 3] = [
    [2.0 / 571.0, 7.0 / 571.0, 12.0 / 571.0, 7.0 / 571.0, 2.0 / 571.0],
    [7.0 / 571.0, 31.0 / 571.0, 52.0 / 571.0, 31.0 / 571.0, 7.0 / 571.0],
    [12.0 / 571.0, 52.0 / 571.0, 127.0 / 571.0, 52.0 / 571.0, 12.0 / 571.0],
];

/// Samples that a padded row has before the picture, and after it.
pub const MARGIN: usize = 2;

/// The 3-tap sums of a padded row. Samples have 16 bits, so they are exact, whatever the order.
#[inline(always)]
pub fn binomial_row(padded: &[f32], out: &mut [f32]) {
    let padded = &padded[..out.len() + 2 * MARGIN];
    for x in 0..out.len() {
        out[x] = padded[x + 1] + 2.0 * padded[x + 2] + padded[x + 3];
    }
}

/// The 3x3 window from three rows of [`binomial_row`], exact as well.
#[inline(always)]
pub fn binomial_column(rows: [&[f32]; 3], out: &mut [f32]) {
    let rows = rows.map(|row| &row[..out.len()]);
    for x in 0..out.len() {
        out[x] = (rows[0][x] + 2.0 * rows[1][x] + rows[2][x]) * (1.0 / 16.0);
    }
}

/// What a padded row adds to the 5x5 window as its outer, second and middle row.
#[inline(always)]
pub fn window_rows(padded: &[f32], out: [&mut [f32]; 3]) {
    for (weights, out) in WINDOW.iter().zip(out) {
        let padded = &padded[..out.len() + 2 * MARGIN];
        for x in 0..out.len() {
            let mut sum = 0.0;
            for tap in 0..5 {
                sum += weights[tap] * padded[x + tap];
            }
            out[x] = sum;
        }
    }
}

/// The 5x5 window from five rows of [`window_rows`].
#[inline(always)]
pub fn window_column(rows: [&[f32]; 5], out: &mut [f32]) {
    let rows = rows.map(|row| &row[..out.len()]);
    for x in 0..out.len() {
        out[x] = rows[0][x] + rows[1][x] + rows[2][x] + rows[3][x] + rows[4][x];
    }
}

/// Energy of the signal and of the noise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    pub signal: f32,
    pub noise: f32,
}

impl Energy {
    #[inline(always)]
    pub fn add(&mut self, more: Self) {
        self.signal += more.signal;
        self.noise += more.noise;
    }
}

/// The energies of `ROWS` rows, each summed from its left in `f32`. Several rows at a time hide how long each addition
/// takes. Rows are `stride` apart.
#[inline(always)]
pub fn row_energies<const ROWS: usize>(
    reference: &[f32],
    distorted: &[f32],
    stride: usize,
    width: usize,
) -> [Energy; ROWS] {
    let rows: [(&[f32], &[f32]); ROWS] =
        std::array::from_fn(|row| (&reference[row * stride..][..width], &distorted[row * stride..][..width]));
    let mut sums = [Energy::default(); ROWS];
    for x in 0..width {
        for (sum, (reference, distorted)) in sums.iter_mut().zip(rows) {
            let noise = reference[x] - distorted[x];
            sum.signal += reference[x] * reference[x];
            sum.noise += noise * noise;
        }
    }
    sums
}
