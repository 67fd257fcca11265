//! Whether a difference is that of a picture which was moved or scaled: a cheap question to ask before tiles are looked for.
//!
//! A small shift changes each cell by the slope of the picture there, and a zoom by the slope times the distance from the middle.
//! The share of the difference that such changes explain is near 1 for a moved picture and small for what encoders leave.

use crate::fit::LumaFit;
use crate::grid::{Cells, Grid};

/// Share of the squared difference of the cells that a shift and a zoom explain, 0 to 1.
pub(crate) fn explained(grid: &Grid, cells: &Cells, mean: f32, fit: &LumaFit) -> f32 {
    let [reference, distorted] = &cells.mean;
    let mut normal = [[0.0f64; 4]; 3];
    let mut all = 0.0f64;
    for row in 1..grid.rows - 1 {
        for column in 1..grid.columns - 1 {
            let at = row * grid.columns + column;
            let across = (reference[at + 1] - reference[at - 1]) / 2.0;
            let down = (reference[at + grid.columns] - reference[at - grid.columns]) / 2.0;
            let place = [column as f32 - grid.columns as f32 / 2.0, row as f32 - grid.rows as f32 / 2.0];
            let outwards = (place[0] * across + place[1] * down) / grid.columns as f32;
            let apart = distorted[at] - fit.predict(mean, reference[at]);
            let terms = [across, down, outwards, apart].map(f64::from);
            for (line, term) in normal.iter_mut().zip(terms) {
                line.iter_mut().zip(terms).for_each(|(sum, other)| *sum += term * other);
            }
            all += terms[3] * terms[3];
        }
    }
    let found = solved(&mut normal.clone());
    let gained: f64 = (0..3).map(|at| found[at] * normal[at][3]).sum();
    if all > 0.0 { (gained / all).clamp(0.0, 1.0) as f32 } else { 0.0 }
}

/// The solution of three equations, by elimination; what has no slope counts for nothing.
fn solved(lines: &mut [[f64; 4]; 3]) -> [f64; 3] {
    for pivot in 0..3 {
        lines[pivot][pivot] += 1e-3;
        for other in 0..3 {
            if other != pivot {
                let factor = lines[other][pivot] / lines[pivot][pivot];
                for at in 0..4 {
                    lines[other][at] -= factor * lines[pivot][at];
                }
            }
        }
    }
    std::array::from_fn(|at| lines[at][3] / lines[at][at])
}
