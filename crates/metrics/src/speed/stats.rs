//! What SpEED measures of a field: how much each block varies, and how much information that carries.
//!
//! The blocks of a field are taken for a Gaussian scale mixture: a vector of one covariance, times a factor of its own
//! for each block. The factor's square (the block's variance) is estimated by maximum likelihood, and with it the
//! entropy of the block in the presence of neural noise (Bampis, Gupta, Soundararajan and Bovik, *SpEED-QA: Spatial
//! Efficient Entropic Differencing for Image and Video Quality*, 2017).

use super::covariance::Covariance;
use super::eigen::{self, EPSILON};
use super::geometry::{BLOCK, CELLS, Geometry};
use super::solve::{Decomposition, Square, WIDE};
use crate::math;
use crate::picture::FloatPlane;

/// log2(2 pi e): the entropy of a unit Gaussian, doubled.
pub const UNIT_ENTROPY: f64 = 4.0941911703612819;

/// Per block, row after row.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    pub entropies: Vec<f32>,
    pub variances: Vec<f32>,
}

impl Stats {
    pub fn new(blocks: usize) -> Self {
        Self { entropies: vec![0.0; blocks], variances: vec![0.0; blocks] }
    }
}

/// The covariance matrix is singular, so that blocks have no variances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular;

/// Measures fields of one size.
#[derive(Clone, Debug)]
pub struct Analyser {
    blocks: (usize, usize),
    noise: f32,
    covariance: Covariance,
}

impl Analyser {
    pub fn new(geometry: &Geometry, noise: f32) -> Self {
        Self { blocks: geometry.blocks, noise, covariance: Covariance::default() }
    }

    /// `wide` says whether vectors hold four `f64` or more.
    #[inline(always)]
    pub fn run(&mut self, field: &FloatPlane, wide: bool, out: &mut Stats) -> Result<(), Singular> {
        let mut covariance = [[0.0; CELLS]; CELLS];
        self.covariance.matrix(field, wide, &mut covariance);
        self.measure(field, &covariance, out)
    }

    /// The same for a field whose covariance is known.
    #[inline(always)]
    pub fn measure(
        &self,
        field: &FloatPlane,
        covariance: &[[f32; CELLS]; CELLS],
        out: &mut Stats,
    ) -> Result<(), Singular> {
        let eigenvalues = eigen::eigenvalues(&mut covariance.clone());
        if eigenvalues.iter().any(|value| f64::from(*value) < EPSILON) {
            return Err(Singular);
        }
        let decomposition = Decomposition::new(covariance).ok_or(Singular)?;
        self.variances(field, &decomposition, &mut out.variances);
        entropies(&eigenvalues, &out.variances, self.noise, &mut out.entropies);
        Ok(())
    }

    /// The variance of a block `y` is `y' x / n`, where `x` solves `covariance * x = y`.
    #[inline(always)]
    fn variances(&self, field: &FloatPlane, decomposition: &Decomposition, out: &mut [f32]) {
        for (chunk, out) in out.chunks_mut(WIDE).enumerate() {
            let y = self.gather(field, chunk * WIDE, out.len());
            let x = decomposition.solve(&y);
            let mut sums = [0.0f32; WIDE];
            for (x, y) in x.iter().zip(&y) {
                for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                    *sum += x * y / CELLS as f32;
                }
            }
            out.copy_from_slice(&sums[..out.len()]);
        }
    }

    /// `count` blocks from `first` on, a column each. Columns beyond `count` are zero.
    #[inline(always)]
    fn gather(&self, field: &FloatPlane, first: usize, count: usize) -> Square {
        let mut columns = [[0.0; WIDE]; CELLS];
        for at in 0..count {
            let (across, down) = ((first + at) % self.blocks.0, (first + at) / self.blocks.0);
            for cell in 0..CELLS {
                let row = field.row(down * BLOCK + cell / BLOCK);
                columns[cell][at] = row[across * BLOCK + cell % BLOCK];
            }
        }
        columns
    }
}

/// Adds up, for each block, the entropies along the principal axes.
#[inline(always)]
fn entropies(eigenvalues: &[f32; CELLS], variances: &[f32], noise: f32, out: &mut [f32]) {
    out.fill(0.0);
    for eigenvalue in eigenvalues {
        for (entropy, variance) in out.iter_mut().zip(variances) {
            let power = f64::from(eigenvalue * variance + noise);
            *entropy = (f64::from(*entropy) + (math::log2(power) + UNIT_ENTROPY)) as f32;
        }
    }
}
