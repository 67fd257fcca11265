//! What a device needs to know to sum up motion, and scores from its sums.

use std::any::Any;

use visus_video::{Format, PlaneView};

use super::{Motion, SMALLEST_SIDE, dispatch};
use crate::{Level, Metric, Pair};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Frames between the two pictures, 1 or 2; `None` where every score is zero.
    pub distance: Option<usize>,
}

/// The work, if the metric is motion and pictures of the format are large enough to be scored.
pub fn work(metric: &dyn Metric, format: &Format) -> Option<Work> {
    let settings = motion(metric)?.settings;
    let enough = format.width().min(format.height()) >= SMALLEST_SIDE;
    let distance = if settings.force_zero { None } else { Some(settings.distance as usize) };
    enough.then_some(Work { distance })
}

fn motion(metric: &dyn Metric) -> Option<&Motion> {
    (metric as &dyn Any).downcast_ref()
}

/// The raw number that a frame's sum of absolute differences gives; there is none for the first frames of a clip. `None`
/// if the metric is no motion.
pub fn finish(metric: &dyn Metric, format: &Format, sum: Option<u64>, raw: &mut [f64]) -> Option<()> {
    let settings = motion(metric)?.settings;
    let sum = sum.filter(|_| !settings.force_zero);
    raw[0] =
        sum.map_or(0.0, |sum| settings.score(super::mean_difference(sum, format.width(), format.height())));
    Some(())
}

/// The same sum by the kernels of a CPU level, of the reference pictures of two pairs.
pub fn sum(format: &Format, level: Level, earlier: Pair<'_>, current: Pair<'_>) -> Option<u64> {
    let depth = u32::from(format.depth());
    let mut kernel = dispatch::Kernel::new(level, format.width(), format.height(), depth);
    match (earlier.reference.plane(0), current.reference.plane(0)) {
        (PlaneView::U8(a), PlaneView::U8(b)) => Some(kernel.blurred_difference(a, b)),
        (PlaneView::U16(a), PlaneView::U16(b)) => Some(kernel.blurred_difference(a, b)),
        _ => None,
    }
}
