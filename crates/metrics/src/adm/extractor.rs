//! From a pair of pictures to numerators and denominators of every scale.

use visus_video::{Format, Plane, PlaneView};

use super::NAME;
use super::geometry::SCALES;
use super::masking::Masking;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::plan::Plan;
use super::scalar::Scalar;
use super::scale::Sums;
use super::settings::Settings;
use super::vector::{self, Source, Vectors};
#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512};
use crate::{Extractor, Level, MetricError, Window, math};

/// What one scale adds to the score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    pub kept: f32,
    pub added: f32,
    pub reference: f32,
}

/// The denominator of a scale that is left out.
const SKIPPED: Part = Part { kept: 0.0, added: 0.0, reference: 1e-10 };

/// The kernels of a CPU level, with their scratch.
#[derive(Debug)]
enum Kernels {
    Scalar(Scalar),
    #[cfg(target_arch = "aarch64")]
    Neon(Vectors<Neon>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Vectors<Avx2>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Vectors<Avx512>),
}

impl Kernels {
    /// Those of the level, if they suit the plan.
    fn new(plan: &Plan, level: Level) -> Self {
        if !vector::suits(plan) {
            return Self::Scalar(Scalar::new(plan));
        }
        let kernels = match level {
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Neon::detect().map(|lanes| Self::Neon(Vectors::new(lanes, plan))),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Avx2::detect().map(|lanes| Self::Avx2(Vectors::new(lanes, plan))),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Avx512::detect().map(|lanes| Self::Avx512(Vectors::new(lanes, plan))),
            _ => None,
        };
        kernels.unwrap_or_else(|| Self::Scalar(Scalar::new(plan)))
    }

    fn sums<S: Source>(&mut self, plan: &Plan, pictures: [Plane<'_, S>; 2]) -> [Sums; SCALES] {
        match self {
            Self::Scalar(kernels) => kernels.sums(plan, pictures),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(kernels) => kernels.sums(plan, pictures),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(kernels) => kernels.sums(plan, pictures),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(kernels) => kernels.sums(plan, pictures),
        }
    }
}

/// Tables and scratch for one worker.
#[derive(Debug)]
pub struct Adm {
    settings: Settings,
    plan: Plan,
    /// The noise floor of each scale.
    noise: [f32; SCALES],
    kernels: Kernels,
}

impl Adm {
    /// The format must be at least 17x33.
    pub fn new(settings: Settings, format: &Format, level: Level) -> Self {
        let plan = Plan::new(&settings, format);
        let noise = std::array::from_fn(|scale| {
            let area = plan.columns[scale].scored.len() * plan.rows[scale].scored.len();
            cube_root((area as f64 * settings.noise_weight) as f32)
        });
        let kernels = Kernels::new(&plan, level);
        Self { settings, plan, noise, kernels }
    }

    fn score<S: Source>(&mut self, pictures: [Plane<'_, S>; 2]) -> [Part; SCALES] {
        let sums = self.sums(pictures);
        let long = |scale: usize| self.part(scale, &self.plan.long[scale - 1], &sums[scale]);
        let first =
            if self.settings.first_scale { self.part(0, &self.plan.short, &sums[0]) } else { SKIPPED };
        [first, long(1), long(2), long(3)]
    }

    /// The sums of every scale of a reference and a distorted picture.
    pub fn sums<S: Source>(&mut self, pictures: [Plane<'_, S>; 2]) -> [Sums; SCALES] {
        self.kernels.sums(&self.plan, pictures)
    }

    fn part(&self, scale: usize, masking: &impl Masking, sums: &Sums) -> Part {
        let noise = self.noise[scale];
        Part {
            kept: roots(masking.masked_total(sums.kept), noise),
            added: roots(masking.masked_total(sums.added), 0.0),
            reference: roots(masking.energy_total(sums.reference), noise),
        }
    }
}

/// A sum that has wrapped to below zero (weights of mode 1 are too large for the arithmetic) has no root. libvmaf reports
/// the NaN of its processor there, which has a minus sign that shows in reports.
fn cube_root(value: f32) -> f32 {
    if value < 0.0 { f32::NAN.copysign(-1.0) } else { math::powf(value, 1.0 / 3.0) }
}

fn roots([horizontal, vertical, diagonal]: [f32; 3], noise: f32) -> f32 {
    let root = |sum: f32| cube_root(sum) + noise;
    root(horizontal) + root(vertical) + root(diagonal)
}

impl Extractor for Adm {
    fn extract(&mut self, window: &Window<'_>, raw: &mut [f64]) -> Result<(), MetricError> {
        let (reference, distorted) = (window.current.reference, window.current.distorted);
        let parts = match (reference.plane(0), distorted.plane(0)) {
            (PlaneView::U8(reference), PlaneView::U8(distorted)) => self.score([reference, distorted]),
            (PlaneView::U16(reference), PlaneView::U16(distorted)) => self.score([reference, distorted]),
            _ => {
                let reason = "the two pictures have different sample sizes".to_owned();
                return Err(MetricError::Frame { metric: NAME, index: window.index, reason });
            }
        };
        let area = self.plan.columns[0].input * self.plan.rows[0].input;
        super::score::write(&self.settings, area, &parts, raw);
        Ok(())
    }
}
