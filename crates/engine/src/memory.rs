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

    /// With so many more frames of each side.
    pub fn with_frames(self, frames: usize, format: &Format) -> Self {
        let bytes = frame_bytes(format).saturating_mul(2 * frames as u64);
        Self { fixed: self.fixed.saturating_add(bytes), ..self }
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

/// Bytes of scratch for each pixel of a picture, of one worker: the most that was allocated at once by extractors at
/// 1920x1080, doubled where another CPU level may take more.
fn scratch_per_pixel(metric: &str) -> u64 {
    match metric {
        "cambi" | "float_motion" => 16,
        "float_vif" | "ssimulacra2" => 12,
        "float_adm" => 13,
        "float_ms_ssim" => 6,
        "adm" | "vif" | "float_ssim" => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelSpec;
    use visus_video::Chroma;

    #[test]
    fn needs_grow_with_pictures_and_metrics() {
        let needs = |width, features: &[&str]| {
            let features: Vec<_> = features.iter().map(|text| text.parse().unwrap()).collect();
            let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &features, true).unwrap();
            Needs::of(&plan, &Format::new(width, 1080, Chroma::C420, 8).unwrap())
        };
        let (small, large) = (needs(1920, &[]), needs(3840, &[]));
        assert_eq!((large.fixed, large.worker), (2 * small.fixed, 2 * small.worker));
        assert!(needs(1920, &["cambi"]).worker > small.worker + 30_000_000);
        assert!((1 << 20..256 << 20).contains(&small.worker), "{small:?}");
    }

    #[test]
    fn the_largest_picture_is_refused_with_estimate_and_limit() {
        let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true).unwrap();
        let format = Format::new(32_768, 32_768, Chroma::C444, 16).unwrap();
        let needs = Needs::of(&plan, &format);
        let budget = Budget::new(1 << 30);
        assert_eq!(budget.pieces(needs.fixed, needs.worker, 8), 1);
        let text = budget.reserve(needs.fixed + needs.worker, "scoring").unwrap_err().to_string();
        assert!(text.contains("more than the limit of 1024 MiB"), "{text}");
    }
}
