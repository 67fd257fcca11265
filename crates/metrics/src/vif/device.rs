//! What a device needs to know to sum up information, and scores from its sums.

use std::any::Any;

use visus_video::{Format, PlaneView};

pub use super::scalar::Residuals;
use super::scalar::{Limits, Sums};
use super::{SCALES, SMALLEST_SIDE, Vif, dispatch, write_scores};
use crate::{Alone, Level, Metric, Pair};

/// What differs between metrics of this kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub gain_limit: f64,
    pub skip_scale0: bool,
}

/// The work, if the metric is a VIF and pictures of the format are large enough to be scored.
pub fn work(metric: &dyn Metric, format: &Format) -> Option<Work> {
    let settings = vif(metric)?.settings;
    let enough = format.width().min(format.height()) >= SMALLEST_SIDE;
    enough.then_some(Work { gain_limit: settings.gain_limit, skip_scale0: settings.skip_scale0 })
}

fn vif(metric: &dyn Metric) -> Option<&Vif> {
    (metric as &dyn Any).downcast_ref()
}

/// The row of raw numbers that a frame's sums give; `None` if the metric is no VIF.
pub fn finish(metric: &dyn Metric, sums: &[Residuals; SCALES], raw: &mut [f64]) -> Option<()> {
    write_scores(sums, vif(metric)?.settings, raw);
    Some(())
}

/// The same sums by the kernels of a CPU level.
pub fn sums(
    metric: &dyn Metric,
    format: &Format,
    level: Level,
    pair: Pair<'_>,
) -> Option<[Residuals; SCALES]> {
    let Work { gain_limit, skip_scale0 } = work(metric, format)?;
    let limits = Limits { gains: &[gain_limit], skip_scale0 };
    let depth = u32::from(format.depth());
    let mut kernels = dispatch::kernels(level, format.width(), format.height(), depth);
    let mut sums = Sums::new();
    match (pair.reference.plane(0), pair.distorted.plane(0)) {
        (PlaneView::U8(a), PlaneView::U8(b)) => kernels.bytes(a, b, limits, &Alone, &mut sums),
        (PlaneView::U16(a), PlaneView::U16(b)) => kernels.words(a, b, limits, &Alone, &mut sums),
        _ => return None,
    }
    sums.first().copied()
}
