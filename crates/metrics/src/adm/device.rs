//! What a device needs to know to sum up detail, and scores from its sums.

use std::any::Any;

use visus_video::{Format, PlaneView};

use super::geometry::SCALES;
pub use super::geometry::{Axis, Span};
pub use super::masking::Rounding;
use super::plan::Plan;
pub use super::scale::Sums;
use super::{Adm, MIN_HEIGHT, MIN_WIDTH, extractor};
use crate::{Level, Metric, Pair};

/// A scale of the work: geometry, weights and shifts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub columns: Axis,
    pub rows: Axis,
    /// Of the three bands, in units of 2^-21 (diagonal 2^-23) for the first scale, 2^-32 for the others.
    pub weights: [i64; 3],
    /// Of what is above the threshold, for each band.
    pub cubes: [Rounding; 3],
    /// Of the reference's energy; without meaning for the first scale, whose energy is exact.
    pub energies: Rounding,
    /// How many bits the sums of a row are shifted by: those of masked detail, those of energy.
    pub row_shifts: [u32; 2],
}

/// Everything that does not depend on the pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub scales: [Scale; SCALES],
    pub gain_limit: f64,
    /// Two directions are the same if the square of their angle's cosine is at least this.
    pub bound: f64,
    /// Whether [`Sums::added`] is wanted.
    pub added_detail: bool,
    /// Whether the first scale is scored.
    pub first_scale: bool,
}

/// The work for pictures of a format, if the metric is an ADM and its pictures are large enough to be scored.
pub fn work(metric: &dyn Metric, format: &Format) -> Option<Work> {
    let adm = adm(metric)?;
    if format.width() < MIN_WIDTH || format.height() < MIN_HEIGHT {
        return None;
    }
    let plan = Plan::new(&adm.settings, format);
    Some(Work {
        scales: std::array::from_fn(|scale| scale_of(&plan, scale)),
        gain_limit: adm.settings.gain_limit,
        bound: f64::from(plan.decoupling.bound()),
        added_detail: adm.settings.added_detail,
        first_scale: adm.settings.first_scale,
    })
}

fn scale_of(plan: &Plan, scale: usize) -> Scale {
    let (columns, rows) = (plan.columns[scale], plan.rows[scale]);
    if scale == 0 {
        let short = &plan.short;
        let (cubes, row_shifts) = (short.cubes(), short.row_shifts());
        let weights = short.weights().map(i64::from);
        return Scale { columns, rows, weights, cubes, energies: cubes[0], row_shifts };
    }
    let long = &plan.long[scale - 1];
    let (cubes, row_shifts) = ([long.cubes(); 3], long.row_shifts());
    Scale { columns, rows, weights: long.wide_weights(), cubes, energies: long.energies(), row_shifts }
}

fn adm(metric: &dyn Metric) -> Option<&Adm> {
    (metric as &dyn Any).downcast_ref()
}

/// The row of raw numbers that a frame's sums give; `None` if the metric is no ADM.
pub fn finish(
    metric: &dyn Metric,
    format: &Format,
    sums: &[Sums; SCALES],
    raw: &mut [f64],
) -> Option<()> {
    extractor::Finish::new(adm(metric)?.settings, format).write(sums, raw);
    Some(())
}

/// The same sums by the kernels of a CPU level.
pub fn sums(metric: &dyn Metric, format: &Format, level: Level, pair: Pair<'_>) -> Option<[Sums; SCALES]> {
    let mut kernels = extractor::Adm::new(adm(metric)?.settings, format, level);
    match (pair.reference.plane(0), pair.distorted.plane(0)) {
        (PlaneView::U8(reference), PlaneView::U8(distorted)) => Some(kernels.sums([reference, distorted])),
        (PlaneView::U16(reference), PlaneView::U16(distorted)) => Some(kernels.sums([reference, distorted])),
        _ => None,
    }
}
