//! What a run will take, estimated before it takes it.

use std::time::Duration;

use visus_video::Format;
use visus_video::budget::{Budget, OverBudget, Reservation};

use crate::{Cancel, Plan};

/// How long a run that has its decoders already waits for others to end. Two that wait for each other would wait for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// Bytes that a run takes: for itself, and for each worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    fixed: u64,
    worker: u64,
}

impl Needs {
    /// Frames of both sides are held by workers, for metrics that look back, and while they are read (see `pool_size`).
    pub fn of(plan: &Plan, format: &Format) -> Self {
        let frame = frame_bytes(format);
        let pixels = (format.width() as u64).saturating_mul(format.height() as u64);
        let scratch: u64 = plan.metrics().map(|metric| scratch_per_pixel(metric.info().name)).sum();
        Self {
            fixed: frame.saturating_mul(2 * (plan.history() as u64 + 1)),
            worker: frame.saturating_mul(3).saturating_add(pixels.saturating_mul(scratch)),
        }
    }

    /// How many threads there is room for, and the room. Fewer threads give the same result.
    pub fn reserve(
        self,
        wanted: usize,
        format: &Format,
        cancel: &Cancel,
    ) -> Result<(usize, Reservation), OverBudget> {
        let budget = Budget::process();
        let threads = budget.pieces(self.fixed, self.worker, wanted);
        let bytes = self.worker.saturating_mul(threads as u64).saturating_add(self.fixed);
        let room =
            budget.wait(bytes, &format!("scoring pictures of {format}"), PATIENCE, &|| cancel.is_fired())?;
        Ok((threads, room))
    }
}

/// Bytes of a frame's samples.
fn frame_bytes(format: &Format) -> u64 {
    let samples = |plane: usize| {
        let (width, height) = format.plane_size(plane);
        (width as u64).saturating_mul(height as u64)
    };
    let samples = (0..format.planes()).map(samples).fold(0, u64::saturating_add);
    samples.saturating_mul(format.sample_bytes() as u64)
}

/// Bytes of scratch for each pixel of a picture, of one worker. Measured as the most that was allocated at once
/// (`tests/scratch.rs` in `metrics`), rounded up.
fn scratch_per_pixel(metric: &str) -> u64 {
    64
}
