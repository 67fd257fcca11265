//! Robust fits: how levels and colours of a whole picture were changed.
//!
//! All of them see means of cells, at most about a thousand of them, and are repeated with small weights for cells that do not
//! follow: an overlay or a damaged block must not look like a change of the whole picture.

use serde::{Deserialize, Serialize};

use crate::grid::{Cells, Grid};

/// Points that a fit looks at.
const MOST_POINTS: usize = 1024;
const ROUNDS: usize = 4;
/// Cells along the side of a square whose colour is looked at.
const SQUARE: usize = 4;

/// Every how many cells a fit looks at.
pub(crate) fn stride(cells: usize) -> usize {
    // Odd, so that no column of the grid is favoured.
    match cells.div_ceil(MOST_POINTS) {
        0 | 1 => 1,
        stride => stride | 1,
    }
}

/// `distorted = gain · reference + offset`, and how well that holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LumaFit {
    /// 1 for an unchanged picture, also where the picture is too even to tell.
    pub gain: f32,
    /// Change of the mean level.
    pub shift: f32,
    /// How far mid-tones lie above a straight line between dark and bright ones.
    pub bend: f32,
    /// Spread of the reference's levels.
    pub spread: f32,
    /// Root mean square of what is left.
    pub left: f32,
    /// Root mean square of the difference before the fit.
    pub before: f32,
}

impl LumaFit {
    pub fn predict(&self, mean: f32, level: f32) -> f32 {
        mean + self.shift + self.gain * (level - mean)
    }
}

fn median(values: &mut [f32]) -> f32 {
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f32::total_cmp).1 }
}

/// Weights that fall where the residual is many times the usual one.
fn weights(residuals: &[f32], weights: &mut [f32]) {
    let mut sizes: Vec<f32> = residuals.iter().map(|residual| residual.abs()).collect();
    let scale = 3.0 * median(&mut sizes) + 0.5;
    for (weight, residual) in weights.iter_mut().zip(residuals) {
        let ratio = residual / scale;
        *weight = 1.0 / (1.0 + ratio * ratio).powi(2);
    }
}

/// Levels within which samples are not clipped.
const UNCLIPPED: std::ops::Range<f32> = 20.0..230.0;

/// Fits levels of cells; `mean` is the reference's mean level.
pub(crate) fn luma(reference: &[f32], distorted: &[f32], mean: f32) -> LumaFit {
    let step = stride(reference.len());
    let points: Vec<(f32, f32)> =
        reference.iter().zip(distorted).step_by(step).map(|(r, d)| (r - mean, d - mean)).collect();
    let inside = |d: f32| UNCLIPPED.contains(&(d + mean));
    let count = points.len().max(1) as f32;
    let before = (points.iter().map(|(r, d)| (d - r) * (d - r)).sum::<f32>() / count).sqrt();
    let spread = (points.iter().map(|(r, _)| r * r).sum::<f32>() / count).sqrt();
    let mut weight = vec![1.0f32; points.len()];
    let enough = points.iter().filter(|(_, d)| inside(*d)).count() * 4 > points.len();
    let clip: Vec<f32> = points.iter().map(|(_, d)| if !enough || inside(*d) { 1.0 } else { 0.0 }).collect();
    let (mut gain, mut shift) = (1.0f32, 0.0f32);
    let mut residuals = vec![0.0f32; points.len()];
    for _ in 0..ROUNDS {
        let mut sums = [0.0f32; 5];
        for ((r, d), weight) in points.iter().zip(weight.iter().zip(&clip).map(|(a, b)| a * b)) {
            for (sum, term) in sums.iter_mut().zip([1.0, *r, *d, r * r, r * d]) {
                *sum += weight * term;
            }
        }
        let [w, r, d, rr, rd] = sums;
        let w = w.max(1e-3);
        let variance = rr / w - (r / w).powi(2);
        gain = if variance > 25.0 { (rd / w - r * d / (w * w)) / variance } else { 1.0 };
        shift = (d - gain * r) / w;
        for (residual, (r, d)) in residuals.iter_mut().zip(&points) {
            *residual = d - gain * r - shift;
        }
        weights(&residuals, &mut weight);
    }
    let total: f32 = weight.iter().zip(&clip).map(|(a, b)| a * b).sum::<f32>().max(1e-3);
    let left =
        residuals.iter().zip(weight.iter().zip(&clip)).map(|(r, (w, c))| r * r * w * c).sum::<f32>() / total;
    let bend = bend(&points, &residuals, &weight);
    LumaFit { gain, shift, bend, spread, left: left.sqrt(), before }
}

/// By how much the middle third of the levels lies above the line that the outer thirds follow.
fn bend(points: &[(f32, f32)], residuals: &[f32], weight: &[f32]) -> f32 {
    let mut levels: Vec<f32> = points.iter().map(|(r, _)| *r).collect();
    levels.sort_unstable_by(f32::total_cmp);
    let (low, high) = (levels[levels.len() / 4], levels[levels.len() * 3 / 4]);
    if high - low < 20.0 {
        return 0.0;
    }
    let mut sums = [(0.0f32, 0.0f32); 2];
    for (((r, _), residual), weight) in points.iter().zip(residuals).zip(weight) {
        let sum = &mut sums[usize::from(*r < low || *r > high)];
        *sum = (sum.0 + weight * residual, sum.1 + weight);
    }
    let mean = |(sum, weight): (f32, f32)| if weight > 1.0 { sum / weight } else { 0.0 };
    mean(sums[0]) - mean(sums[1])
}

/// How chroma was changed: each explanation with the root mean square of what it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChromaFit {
    /// Root mean square distance of the reference's and the distorted picture's chroma from grey.
    pub strength: [f32; 2],
    /// Root mean square difference, with nothing explained.
    pub before: f32,
    /// A constant added to Cb and Cr.
    pub cast: [f32; 2],
    pub cast_left: f32,
    /// A rotation and a factor about grey.
    pub turn: f32,
    pub factor: f32,
    pub turn_left: f32,
    /// Cb and Cr exchanged.
    pub swapped_left: f32,
    /// BT.601 samples taken for BT.709 (first) or the reverse, luma included.
    pub matrix_left: [f32; 2],
    /// The same with nothing explained.
    pub matrix_before: f32,
    /// Factors of Cb and Cr by themselves.
    pub factors: [f32; 2],
}

/// What becomes of Y, Cb and Cr if colours are converted from BT.601 to BT.709, and back.
const MATRICES: [[[f32; 3]; 3]; 2] = [
    [[1.0, -0.1156, -0.2079], [0.0, 1.0186, 0.1146], [0.0, 0.0750, 1.0253]],
    [[1.0, 0.0993, 0.1917], [0.0, 0.9899, -0.1107], [0.0, -0.0725, 0.9833]],
];

/// A cell's luma and chroma, of reference and distorted picture.
#[derive(Clone, Copy)]
struct Colour {
    reference: [f32; 3],
    distorted: [f32; 3],
}

/// Fits the chroma of cells; luma is there for matrices, which change it too.
/// Cells are taken together in squares, so that grain and what encoders leave of it average out.
pub(crate) fn chroma(grid: &Grid, cells: &Cells) -> ChromaFit {
    let mut points = Vec::new();
    for row in (0..grid.rows.saturating_sub(SQUARE - 1)).step_by(SQUARE) {
        for column in (0..grid.columns.saturating_sub(SQUARE - 1)).step_by(SQUARE) {
            let [reference, distorted] = [0, 1].map(|side| {
                [&cells.mean[side], &cells.chroma[0][side], &cells.chroma[1][side]]
                    .map(|plane| square_mean(grid, plane, row, column))
            });
            points.push(Colour { reference, distorted });
        }
    }
    let mut weight = vec![1.0f32; points.len()];
    let mut fit = weighted(&points, &weight);
    for _ in 1..ROUNDS {
        let residuals: Vec<f32> = points.iter().map(|point| fit.residual(point)).collect();
        weights(&residuals, &mut weight);
        fit = weighted(&points, &weight);
    }
    fit
}

impl ChromaFit {
    /// The chroma that the best of cast, turn and nothing predicts.
    pub fn predict(&self, cb: f32, cr: f32) -> (f32, f32) {
        let least = self.cast_left.min(self.turn_left).min(self.swapped_left);
        if self.swapped_left == least {
            (cr, cb)
        } else if self.turn_left == least {
            let (sin, cos) = self.turn.to_radians().sin_cos();
            (self.factor * (cos * cb - sin * cr), self.factor * (sin * cb + cos * cr))
        } else {
            (cb + self.cast[0], cr + self.cast[1])
        }
    }

    fn residual(&self, point: &Colour) -> f32 {
        let (cb, cr) = self.predict(point.reference[1], point.reference[2]);
        ((point.distorted[1] - cb).powi(2) + (point.distorted[2] - cr).powi(2)).sqrt()
    }
}

fn square_mean(grid: &Grid, plane: &[f32], row: usize, column: usize) -> f32 {
    let rows = (row..row + SQUARE).map(|row| &plane[row * grid.columns + column..][..SQUARE]);
    rows.map(|row| row.iter().sum::<f32>()).sum::<f32>() / (SQUARE * SQUARE) as f32
}

fn weighted(points: &[Colour], weight: &[f32]) -> ChromaFit {
    let total = weight.iter().sum::<f32>().max(1e-3);
    let mean = |value: &dyn Fn(&Colour) -> f32| {
        points.iter().zip(weight).map(|(point, weight)| weight * value(point)).sum::<f32>() / total
    };
    let r = |plane: usize| mean(&|p| p.reference[plane]);
    let d = |plane: usize| mean(&|p| p.distorted[plane]);
    let square = |p: &[f32; 3]| p[1] * p[1] + p[2] * p[2];
    let power = [mean(&|p| square(&p.reference)), mean(&|p| square(&p.distorted))];
    let cast = [d(1) - r(1), d(2) - r(2)];
    let dot = mean(&|p| p.reference[1] * p.distorted[1] + p.reference[2] * p.distorted[2]);
    let cross = mean(&|p| p.reference[1] * p.distorted[2] - p.reference[2] * p.distorted[1]);
    let (turn, factor) = match power[0] > 0.05 {
        true => (cross.atan2(dot).to_degrees(), (dot * dot + cross * cross).sqrt() / power[0]),
        false => (0.0, 1.0),
    };
    let apart = |p: &Colour, cb: f32, cr: f32| (p.distorted[1] - cb).powi(2) + (p.distorted[2] - cr).powi(2);
    let before = mean(&|p| apart(p, p.reference[1], p.reference[2]));
    let cast_left = mean(&|p| apart(p, p.reference[1] + cast[0], p.reference[2] + cast[1]));
    let turn_left = (power[1] - (dot * dot + cross * cross) / power[0].max(0.05)).max(0.0);
    let swapped_left = mean(&|p| apart(p, p.reference[2], p.reference[1]));
    let by_matrix = |matrix: &[[f32; 3]; 3]| {
        mean(&|p| {
            let expect = |row: &[f32; 3]| (0..3).map(|at| row[at] * p.reference[at]).sum::<f32>();
            (0..3).map(|at| (p.distorted[at] - expect(&matrix[at])).powi(2)).sum()
        })
    };
    let all_before = mean(&|p| (0..3).map(|at| (p.distorted[at] - p.reference[at]).powi(2)).sum());
    let factor_of = |plane: usize| {
        let power = mean(&|p| p.reference[plane].powi(2));
        if power > 0.5 { mean(&|p| p.reference[plane] * p.distorted[plane]) / power } else { 1.0 }
    };
    ChromaFit {
        strength: power.map(f32::sqrt),
        before: before.sqrt(),
        cast,
        cast_left: cast_left.sqrt(),
        turn,
        factor,
        turn_left: turn_left.sqrt(),
        swapped_left: swapped_left.sqrt(),
        matrix_left: [by_matrix(&MATRICES[0]).sqrt(), by_matrix(&MATRICES[1]).sqrt()],
        matrix_before: all_before.sqrt(),
        factors: [factor_of(1), factor_of(2)],
    }
}
