//! SpEED: entropic differencing of coarse structure, in chroma and over time.
//!
//! `speed_chroma` compares the chroma planes of a picture pair, `speed_temporal` the changes of luma from the previous
//! to the current picture. Both take planes down by 16, subtract the local mean, and compare how much information the
//! blocks of 5 x 5 carry.
//!
//! Sums are `f32` and `f64` as in libvmaf's scalar path, and no multiply-add is fused.

mod chroma;
mod comparer;
mod covariance;
mod device;
mod eigen;
mod front;
mod geometry;
#[cfg(test)]
mod kernel_tests;
mod scalar;
mod score;
mod solve;
mod stats;
mod taps;
mod temporal;
#[cfg(test)]
mod tests;

use visus_video::Format;

use crate::resize::Method;
use crate::simd::Target;
use crate::{Level, MetricError, OptionSpec, Options, gaussian};
use comparer::{Comparer, Side};
use front::Front;
use geometry::{Geometry, smallest_side};
use score::{Comparison, Weighting};
use stats::{Analyser, Stats};

pub use chroma::INFO as CHROMA;
pub use device::{SpeedPlane, SpeedTask};
pub use temporal::INFO as TEMPORAL;

const KERNEL_SCALE: OptionSpec = OptionSpec::double(
    "speed_kernelscale",
    1.0,
    0.1,
    4.0,
    "scaling factor for the Gaussian kernels: 2.0 doubles their standard deviation and their length",
)
.named("ks");
const PRESCALE: OptionSpec = OptionSpec::double(
    "speed_prescale",
    1.0,
    0.1,
    4.0,
    "scaling factor for the picture: 2.0 doubles its width and height",
)
.named("ps");
const PRESCALE_METHOD: OptionSpec = OptionSpec::text(
    "speed_prescale_method",
    "nearest",
    "scaling method for the picture: nearest, bilinear, bicubic or lanczos4",
)
.named("psm");
const SIGMA_NN: OptionSpec =
    OptionSpec::double("speed_sigma_nn", 0.29, 0.1, 2.0, "standard deviation of neural noise").named("snn");
const NN_FLOOR: OptionSpec = OptionSpec::double(
    "speed_nn_floor",
    0.0,
    0.0,
    1.0,
    "neural noise floor, as a part of speed_sigma_nn: blocks below it count as equal",
)
.named("nnf");

/// The options that both metrics have.
#[derive(Clone, Copy, Debug)]
struct Settings {
    kernel_scale: f32,
    prescale: f64,
    method: Method,
    noise: f32,
    noise_floor: f32,
}

impl Settings {
    fn new(metric: &'static str, options: &Options) -> Result<Self, MetricError> {
        let refuse = |reason: String| MetricError::Setting { metric, reason };
        let kernel_scale = options.double("speed_kernelscale") as f32;
        if !gaussian::is_kernel_scale(kernel_scale) {
            let known = gaussian::known_kernel_scales();
            return Err(refuse(format!(
                "speed_kernelscale={kernel_scale} is refused: it must be one of {known}"
            )));
        }
        let method = options.text("speed_prescale_method");
        let names = || Method::ALL.map(Method::name).join(", ");
        let method = Method::by_name(method).ok_or_else(|| {
            refuse(format!("speed_prescale_method={method} is refused: it must be one of {}", names()))
        })?;
        Ok(Self {
            kernel_scale,
            prescale: options.double("speed_prescale"),
            method,
            noise: options.double("speed_sigma_nn") as f32,
            noise_floor: options.double("speed_nn_floor") as f32,
        })
    }

    /// libvmaf takes a prescale close to 1 for none.
    fn scales(&self) -> bool {
        (self.prescale - 1.0).abs() >= 1e-3
    }

    /// Everything that is needed to compare planes such as plane `plane` of the format.
    fn comparer(
        &self,
        metric: &'static str,
        format: &Format,
        plane: usize,
        weighting: Weighting,
        level: Level,
    ) -> Result<Comparer, MetricError> {
        let geometry = Geometry::new(format.plane_size(plane), self.prescale)
            .ok_or_else(|| self.too_small(metric, format, plane))?;
        let method = self.scales().then_some(self.method);
        let front = Front::new(geometry, format.depth(), self.kernel_scale, method);
        let side = Side {
            target: Target::new(level),
            field: front.field(),
            front,
            analyser: Analyser::new(&geometry, self.noise),
            stats: Stats::new(geometry.block_count()),
        };
        Ok(Comparer::new(side, Comparison::new(weighting, self.noise, self.noise_floor)))
    }

    fn too_small(&self, metric: &'static str, format: &Format, plane: usize) -> MetricError {
        let (shift_x, shift_y) = if plane == 0 { (0, 0) } else { format.chroma().shifts() };
        let [width, height] = [shift_x, shift_y].map(|shift| smallest_side(self.prescale, shift));
        let reason = format!("the picture must be at least {width}x{height} to hold a block after scaling");
        MetricError::Format { metric, format: *format, reason }
    }
}
