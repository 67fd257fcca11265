//! Everything about a run that does not depend on the pictures: which rows and columns are worked on, and the tables and
//! constants of the kernels.

use visus_video::Format;

use super::decouple::Decoupling;
use super::geometry::{Axis, SCALES, axes};
use super::masking::{Long, Short};
use super::settings::Settings;

/// What all kernels share.
#[derive(Debug)]
pub struct Plan {
    pub bits: u8,
    /// For each scale.
    pub columns: [Axis; SCALES],
    pub rows: [Axis; SCALES],
    pub decoupling: Decoupling,
    pub short: Short,
    pub long: [Long; SCALES - 1],
    /// Whether [`AdmSums::additive`](super::score::AdmSums::additive) is wanted.
    pub aim: bool,
}

impl Plan {
    /// The format must be at least 17x33.
    pub fn new(settings: &Settings, format: &Format) -> Self {
        let columns = axes(format.width(), settings.first_scale);
        let rows = axes(format.height(), settings.first_scale);
        let long = |scale: usize| {
            let (weights, fixed) = (settings.weights[scale], settings.fixed(scale));
            Long::new(scale, weights, fixed, &columns[scale], &rows[scale])
        };
        Self {
            bits: format.depth(),
            columns,
            rows,
            decoupling: Decoupling::new(settings.gain_limit),
            short: Short::new(settings.weights[0], settings.first_fixed, &columns[0], &rows[0]),
            long: [long(1), long(2), long(3)],
            aim: settings.aim,
        }
    }
}
