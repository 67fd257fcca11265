//! What a pair of decoders will take, estimated before they start.

use std::time::Duration;

use visus_engine::Cancel;
use visus_video::Format;
use visus_video::budget::{Budget, OverBudget, Reservation};

use crate::MediaError;

/// A job that has nothing yet waits for as long as it takes; others end.
const PATIENCE: Duration = Duration::MAX;
/// What an ffmpeg process takes before its first picture.
const PROCESS_BYTES: u64 = 48 << 20;
/// Pictures that a decoder keeps: references of a codec, and one for each of its threads.
const REFERENCES: u64 = 17;
const MOST_THREADS: usize = 16;

/// Room for `held` decoded frames of each side, for the decoders behind them, and for the rows of a scaler.
pub(crate) fn reserve(
    formats: [&Format; 2],
    target: &Format,
    held: usize,
    cancel: &Cancel,
) -> Result<Reservation, MediaError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let frames = (held + threads) as u64 + REFERENCES;
    let side = |format: &Format| {
        let rows = (target.width() as u64).saturating_mul(format.height() as u64).saturating_mul(4);
        frame_bytes(format).saturating_mul(frames).saturating_add(rows).saturating_add(PROCESS_BYTES)
    };
    let bytes = formats.into_iter().map(side).fold(0, u64::saturating_add);
    let what = format!("decoding pictures of {} and {}", formats[0], formats[1]);
    Budget::process().wait(bytes, &what, PATIENCE, &|| cancel.is_fired()).map_err(|error| match error {
        OverBudget::Cancelled => MediaError::Cancelled,
        other => MediaError::Memory(other),
    })
}

/// Bytes of a frame's samples.
pub(crate) fn frame_bytes(format: &Format) -> u64 {
    let samples = |plane: usize| {
        let (width, height) = format.plane_size(plane);
        (width as u64).saturating_mul(height as u64)
    };
    let samples = (0..format.planes()).map(samples).fold(0, u64::saturating_add);
    samples.saturating_mul(format.sample_bytes() as u64)
}
