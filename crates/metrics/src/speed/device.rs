//! `speed_chroma` as a device computes it: the planes' fields and covariances come from there, the rest is done here.

use visus_video::Format;

use super::chroma::write_scores;
use super::front::Front;
use super::geometry::{CELLS, Geometry};
use super::score::{Comparison, Weighting};
use super::stats::{Analyser, Singular, Stats};
use super::{Settings, taps};
use crate::picture::FloatPlane;

/// The longest filters that a device takes.
const MOST_TAPS: [usize; 2] = [35, 9];

/// One set of options for one format.
#[derive(Clone, Debug)]
pub struct SpeedTask {
    /// Width and height of a chroma plane, of the plane that decimation leaves, and of the field.
    pub plane: [usize; 2],
    pub decimated: [usize; 2],
    pub field: [usize; 2],
    /// What samples are multiplied by, before 128 is subtracted.
    pub factor: f32,
    /// The low pass before decimation by 16, and the filter of the local mean.
    pub antialias: Vec<f32>,
    pub local_mean: Vec<f32>,
    geometry: Geometry,
    noise: f32,
    comparison: Comparison,
    max: f64,
}

/// What a device delivers for a plane.
#[derive(Clone, Copy, Debug)]
pub struct SpeedPlane<'a> {
    /// Of the cells of a block of 5x5: 25 rows of 25.
    pub covariance: &'a [f32],
    /// Row after row.
    pub field: &'a [f32],
}

impl SpeedTask {
    /// `None` where the CPU has to do it.
    pub(super) fn new(settings: &Settings, format: &Format, weighting: Weighting, max: f64) -> Option<Self> {
        let geometry = Geometry::new(format.plane_size(1), settings.prescale)?;
        let (antialias, local_mean) =
            (taps::antialias(settings.kernel_scale), taps::local_mean(settings.kernel_scale));
        let short = antialias.len() <= MOST_TAPS[0] && local_mean.len() <= MOST_TAPS[1];
        let sides = |(width, height): (usize, usize)| [width, height];
        (short && geometry.scaled == geometry.source && !settings.scales()).then(|| Self {
            plane: sides(geometry.source),
            decimated: sides(geometry.operating),
            field: sides(geometry.covered()),
            factor: Front::factor(format.depth()),
            antialias,
            local_mean,
            geometry,
            noise: settings.noise,
            comparison: Comparison::new(weighting, settings.noise, settings.noise_floor),
            max,
        })
    }

    /// Whether two tasks differ in what is made of the planes only.
    pub fn has_planes_of(&self, other: &Self) -> bool {
        (&self.antialias, &self.local_mean) == (&other.antialias, &other.local_mean)
    }

    /// The row of raw numbers. The planes are U and V of the reference, U and V of the distorted picture.
    pub fn finish(&self, planes: [SpeedPlane<'_>; 4], raw: &mut [f64]) {
        let [u, v] = [0, 1].map(|plane| {
            let (reference, distorted) = (self.measured(planes[plane])?, self.measured(planes[plane + 2])?);
            Ok(self.comparison.score(&reference, &distorted))
        });
        write_scores(u, v, self.max, raw);
    }

    fn measured(&self, plane: SpeedPlane<'_>) -> Result<Stats, Singular> {
        let [width, height] = self.field;
        let mut field = FloatPlane::new(width, height);
        for (y, row) in plane.field.chunks_exact(width).enumerate().take(height) {
            field.row_mut(y).copy_from_slice(row);
        }
        let mut covariance = [[0.0; CELLS]; CELLS];
        for (row, values) in covariance.iter_mut().zip(plane.covariance.chunks_exact(CELLS)) {
            row.copy_from_slice(values);
        }
        let mut stats = Stats::new(self.geometry.block_count());
        Analyser::new(&self.geometry, self.noise).measure(&field, &covariance, &mut stats)?;
        Ok(stats)
    }
}
