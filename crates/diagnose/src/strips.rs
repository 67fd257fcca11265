//! Which frame of the reference each field of a picture shows, by its samples.
//!
//! Means of cells hardly change where a fine texture moves by a sample or two, and cannot tell rows apart. So a few strips of
//! each picture are kept as they are, even and odd rows by themselves, and compared with the reference's frame before (`p`), its own
//! (`o`) and the next one (`n`). What is wrong with a field is written as a move along time and a loss of detail,
//!
//! ```text
//! d - o  =  lag · (p - n) / 2  +  loss · ((p + n) / 2 - o)  +  rest
//! ```
//!
//! A field that shows the frame before has a lag of 1, one that mixes both in equal parts one of a half, and the next frame is -1.
//! Both directions are orthogonal where motion is steady, and detail that an encoder gives up falls into the second, so that
//! coarse encodes have a lag near 0 although they are far from the reference.

use serde::{Deserialize, Serialize};

use crate::grid::{Grid, LINES, Lines};

/// Cells of which strips are kept.
const MOST_CELLS: usize = 1024;
/// Samples of a strip.
const WIDTH: usize = 8;

/// How one field of a picture lies in time. Figures are squared levels per sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FieldTime {
    /// 0 for its own frame, 1 for the one before, -1 for the next.
    pub lag: f32,
    /// Error against its own frame of the reference.
    pub error: f32,
    /// How much of the error the lag explains beyond any loss of detail, and both together.
    pub by_lag: f32,
    pub explained: f32,
}

/// Strips of both pictures: for each of them the even and the odd rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strips {
    samples: [[Vec<f32>; 2]; 2],
}

impl Strips {
    /// Keeps strips of one row of cells.
    pub fn add(&mut self, lines: &Lines, grid: &Grid, row: usize) {
        let stride = grid.len().div_ceil(MOST_CELLS);
        // Rows begin at different cells, so that no column is favoured.
        for column in (row % stride..grid.columns).step_by(stride) {
            let at = column * grid.cell;
            for (side, rows) in lines.rows.iter().enumerate() {
                for line in 0..LINES {
                    let strip = rows[line][at..at + WIDTH].iter();
                    self.samples[side][line % 2].extend(strip.map(|sample| f32::from(*sample) * lines.unit));
                }
            }
        }
    }

    /// How both fields of this picture lie in time, between the reference's frames before and behind.
    pub fn times(&self, before: &Self, after: &Self) -> [FieldTime; 2] {
        [0, 1].map(|field| {
            let [own, shown] = [0, 1].map(|side| &self.samples[side][field]);
            field_time(own, shown, &before.samples[0][field], &after.samples[0][field])
        })
    }
}

/// Sums of products that decide on a lag.
#[derive(Clone, Copy, Default)]
struct Products {
    error: f32,
    motion: f32,
    bend: f32,
    along: f32,
    lost: f32,
    both: f32,
}

fn field_time(own: &[f32], shown: &[f32], before: &[f32], after: &[f32]) -> FieldTime {
    let mut lanes = [Products::default(); WIDTH];
    let chunks = own.chunks_exact(WIDTH).zip(shown.chunks_exact(WIDTH));
    let around = before.chunks_exact(WIDTH).zip(after.chunks_exact(WIDTH));
    for ((own, shown), (before, after)) in chunks.zip(around) {
        for (lane, sums) in lanes.iter_mut().enumerate() {
            let error = shown[lane] - own[lane];
            let motion = 0.5 * (before[lane] - after[lane]);
            let bend = 0.5 * (before[lane] + after[lane]) - own[lane];
            sums.error += error * error;
            sums.motion += motion * motion;
            sums.bend += bend * bend;
            sums.along += error * motion;
            sums.lost += error * bend;
            sums.both += motion * bend;
        }
    }
    let sum = |figure: fn(&Products) -> f32| lanes.iter().map(figure).map(f64::from).sum::<f64>();
    let (error, motion, bend) = (sum(|p| p.error), sum(|p| p.motion), sum(|p| p.bend));
    let (along, lost, both) = (sum(|p| p.along), sum(|p| p.lost), sum(|p| p.both));
    let count = own.len().max(1) as f64;
    // Nearly still pictures have no direction of time: a little is added to what is divided by.
    let (m, b) = (motion + 1e-3 * count, bend + 1e-3 * count);
    let determinant = m * b - both * both;
    if determinant <= 1e-6 * m * b {
        return FieldTime::default();
    }
    let lag = (along * b - lost * both) / determinant;
    let loss = (lost * m - along * both) / determinant;
    let left = (error - lag * along - loss * lost).max(0.0);
    let without = (error - lost * lost / b).max(0.0);
    FieldTime {
        lag: lag as f32,
        error: (error / count) as f32,
        by_lag: ((without - left).max(0.0) / count) as f32,
        explained: ((error - left) / count) as f32,
    }
}
