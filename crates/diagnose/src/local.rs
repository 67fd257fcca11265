//! Where a picture is wrong: cells whose error no encoder would leave, gathered into regions.
//!
//! An encoder that saves bits gives detail up, which costs at most the variance of the cell, and takes over pieces of other
//! frames only where they fit. A cell whose error is far above its own and its neighbours' variance, or whose colour is another
//! one, shows something that is not in the reference.

use serde::{Deserialize, Serialize};

use crate::fit::{ChromaFit, LumaFit};
use crate::grid::{Cells, Grid};

/// Cells that are wrong, the largest connected group of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// All cells of the picture that are wrong, and those of the group.
    pub wrong: u32,
    pub cells: u32,
    /// Share of the picture's squared error that lies in wrong cells.
    pub share: f32,
    /// Column and row of the first cell, and of the one behind the last.
    pub from: [u16; 2],
    pub to: [u16; 2],
    /// Root mean square error within the group, of luma and of chroma.
    pub error: [f32; 2],
    /// Mean luma, Cb and Cr of the distorted picture there.
    pub colour: [f32; 3],
    /// Standard deviation of luma within cells there, of both pictures.
    pub texture: [f32; 2],
    /// Correlation of both pictures within cells there.
    pub likeness: f32,
}

/// Error beyond what the variance of the surroundings can explain, in squared levels.
const LUMA: f32 = 90.0;
/// Difference of chroma, in levels.
const CHROMA: f32 = 12.0;

/// The cells that are wrong, and the largest group of them, after the whole picture's change of levels and colour has been taken out.
pub(crate) fn patch(
    grid: &Grid,
    cells: &Cells,
    mean: f32,
    luma: &LumaFit,
    chroma: &ChromaFit,
) -> (Patch, Vec<usize>) {
    let errors = errors(cells, mean, luma);
    let colours = colours(cells, chroma);
    let around = widest(grid, &cells.variance[0]);
    let usual = usual(&errors);
    let colour_usual = usual_colour(&colours);
    let limit = LUMA.max(10.0 * usual);
    let colour_limit = CHROMA.max(8.0 * colour_usual);
    let edges = widest(grid, &edges(grid, cells));
    let wrong: Vec<bool> = (0..grid.len())
        .map(|at| {
            let colour = colours.get(at).is_some_and(|apart| *apart > colour_limit + 0.6 * edges[at]);
            errors[at] - 1.5 * around[at] > limit || colour
        })
        .collect();
    let count = wrong.iter().filter(|wrong| **wrong).count() as u32;
    if count == 0 {
        return (Patch::default(), Vec::new());
    }
    let group = largest(grid, &wrong);
    let mut found = describe(grid, cells, &group, &errors, &colours);
    found.wrong = count;
    let weight = |at: usize| errors[at] + colours.get(at).map_or(0.0, |apart| apart * apart);
    let all: f32 = (0..grid.len()).map(weight).sum();
    let those: f32 = (0..grid.len()).filter(|at| wrong[*at]).map(weight).sum();
    found.share = those / all.max(1.0);
    (found, group)
}

/// Mean squared error of each cell.
fn errors(cells: &Cells, mean: f32, fit: &LumaFit) -> Vec<f32> {
    let gain = fit.gain;
    (0..cells.covariance.len())
        .map(|at| {
            let apart = cells.mean[1][at] - fit.predict(mean, cells.mean[0][at]);
            let within = cells.variance[1][at] - 2.0 * gain * cells.covariance[at]
                + gain * gain * cells.variance[0][at];
            apart * apart + within.max(0.0)
        })
        .collect()
}

fn colours(cells: &Cells, fit: &ChromaFit) -> Vec<f32> {
    let [cb, cr] = &cells.chroma;
    (0..cb[0].len())
        .map(|at| {
            let (expected_cb, expected_cr) = fit.predict(cb[0][at], cr[0][at]);
            ((cb[1][at] - expected_cb).powi(2) + (cr[1][at] - expected_cr).powi(2)).sqrt()
        })
        .collect()
}

/// How much the reference's colour changes from each cell to the next, right and down.
fn edges(grid: &Grid, cells: &Cells) -> Vec<f32> {
    let [cb, cr] = [&cells.chroma[0][0], &cells.chroma[1][0]];
    (0..grid.len())
        .map(|at| {
            let step = |next: usize| match (cb.get(next), cr.get(next)) {
                (Some(next_cb), Some(next_cr)) => (next_cb - cb[at]).abs().max((next_cr - cr[at]).abs()),
                _ => 0.0,
            };
            step(at + 1).max(step(at + grid.columns))
        })
        .collect()
}

/// The error that three quarters of the cells stay below.
fn usual(errors: &[f32]) -> f32 {
    let mut some: Vec<f32> = errors.iter().step_by(crate::fit::stride(errors.len())).copied().collect();
    let at = some.len() * 3 / 4;
    if some.is_empty() { 0.0 } else { *some.select_nth_unstable_by(at, f32::total_cmp).1 }
}

fn usual_colour(colours: &[f32]) -> f32 {
    usual(colours)
}

/// The largest value among each cell and its eight neighbours.
fn widest(grid: &Grid, values: &[f32]) -> Vec<f32> {
    let (columns, rows) = (grid.columns, grid.rows);
    let mut across = values.to_vec();
    for row in 0..rows {
        let line = &values[row * columns..][..columns];
        for column in 0..columns {
            let (from, to) = (column.saturating_sub(1), (column + 2).min(columns));
            across[row * columns + column] = line[from..to].iter().copied().fold(0.0, f32::max);
        }
    }
    let mut all = across.clone();
    for row in 0..rows {
        for near in [row.saturating_sub(1), (row + 1).min(rows - 1)] {
            for column in 0..columns {
                let value = across[near * columns + column];
                let cell = &mut all[row * columns + column];
                *cell = cell.max(value);
            }
        }
    }
    all
}

/// The largest group of wrong cells that lie at most one cell apart.
fn largest(grid: &Grid, wrong: &[bool]) -> Vec<usize> {
    let mut seen = vec![false; wrong.len()];
    let mut best = Vec::new();
    for start in 0..wrong.len() {
        if !wrong[start] || seen[start] {
            continue;
        }
        seen[start] = true;
        let mut group = vec![start];
        let mut next = 0;
        while let Some(at) = group.get(next).copied() {
            next += 1;
            for near in near(grid, at) {
                if wrong[near] && !seen[near] {
                    seen[near] = true;
                    group.push(near);
                }
            }
        }
        if group.len() > best.len() {
            best = group;
        }
    }
    best
}

fn near(grid: &Grid, at: usize) -> impl Iterator<Item = usize> + use<> {
    const FAR: usize = 2;
    let (columns, rows) = (grid.columns, grid.rows);
    let (column, row) = (at % columns, at / columns);
    let across = column.saturating_sub(FAR)..(column + FAR + 1).min(columns);
    let down = row.saturating_sub(FAR)..(row + FAR + 1).min(rows);
    down.flat_map(move |row| across.clone().map(move |column| row * columns + column))
}

fn describe(grid: &Grid, cells: &Cells, group: &[usize], errors: &[f32], colours: &[f32]) -> Patch {
    let count = group.len().max(1) as f32;
    let mean = |values: &[f32]| group.iter().filter_map(|at| values.get(*at)).sum::<f32>() / count;
    let place = |at: &usize| [(at % grid.columns) as u16, (at / grid.columns) as u16];
    let (mut from, mut to) = ([u16::MAX; 2], [0u16; 2]);
    for at in group.iter().map(place) {
        for axis in 0..2 {
            from[axis] = from[axis].min(at[axis]);
            to[axis] = to[axis].max(at[axis] + 1);
        }
    }
    let [r, d] = [0, 1].map(|side| mean(&cells.variance[side]));
    let squares: Vec<f32> = colours.iter().map(|apart| apart * apart).collect();
    Patch {
        wrong: 0,
        share: 0.0,
        cells: group.len() as u32,
        from,
        to,
        error: [mean(errors).sqrt(), mean(&squares).sqrt()],
        colour: [mean(&cells.mean[1]), mean(&cells.chroma[0][1]), mean(&cells.chroma[1][1])],
        texture: [r.sqrt(), d.sqrt()],
        likeness: mean(&cells.covariance) / (r * d).sqrt().max(1.0),
    }
}
