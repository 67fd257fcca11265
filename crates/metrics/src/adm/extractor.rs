//! From a pair of pictures to a row of raw numbers, with the kernels of a CPU level.

use visus_video::{Format, Plane, PlaneView};

use super::NAME;
use super::geometry::SCALES;
use super::plan::Plan;
use super::scalar::Scalar;
use super::score::{AdmFinish, AdmSums};
use super::settings::Settings;
use super::vector::{self, Source, Vectors};
#[cfg(target_arch = "x86_64")]
use crate::simd::avx2::{Avx2, AvxVnni};
#[cfg(target_arch = "x86_64")]
use crate::simd::avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use crate::simd::neon::Neon;
use crate::{Extractor, Level, MetricError, Spread, Window};

/// The kernels of a CPU level, with their scratch.
#[derive(Debug)]
enum Kernels {
    Scalar(Box<Scalar>),
    #[cfg(target_arch = "aarch64")]
    Neon(Vectors<Neon>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Vectors<Avx2>),
    #[cfg(target_arch = "x86_64")]
    AvxVnni(Vectors<AvxVnni>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Vectors<Avx512>),
}

impl Kernels {
    /// Those of the level, if they suit the plan.
    fn new(plan: &Plan, level: Level) -> Self {
        if !vector::suits(plan) {
            return Self::Scalar(Box::new(Scalar::new(plan)));
        }
        let kernels = match level {
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Neon::new(level).map(|lanes| Self::Neon(Vectors::new(lanes, plan))),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                let plain = || Avx2::new(level).map(|lanes| Self::Avx2(Vectors::new(lanes, plan)));
                AvxVnni::new(level).map(|lanes| Self::AvxVnni(Vectors::new(lanes, plan))).or_else(plain)
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Avx512::new(level).map(|lanes| Self::Avx512(Vectors::new(lanes, plan))),
            _ => None,
        };
        kernels.unwrap_or_else(|| Self::Scalar(Box::new(Scalar::new(plan))))
    }

    /// The scalar kernels do not share a frame.
    fn sums<S: Source>(
        &mut self,
        plan: &Plan,
        pictures: [Plane<'_, S>; 2],
        spread: &dyn Spread,
    ) -> [AdmSums; SCALES] {
        match self {
            Self::Scalar(kernels) => kernels.sums(plan, pictures),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(kernels) => kernels.sums(plan, pictures, spread),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(kernels) => kernels.sums(plan, pictures, spread),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni(kernels) => kernels.sums(plan, pictures, spread),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(kernels) => kernels.sums(plan, pictures, spread),
        }
    }
}

/// Tables and scratch for one worker.
#[derive(Debug)]
pub struct Adm {
    plan: Plan,
    finish: AdmFinish,
    kernels: Kernels,
}

impl Adm {
    /// The format must be at least 17x33.
    pub fn new(settings: Settings, format: &Format, level: Level) -> Self {
        let plan = Plan::new(&settings, format);
        let finish = AdmFinish::new(&settings, &plan);
        let kernels = Kernels::new(&plan, level);
        Self { plan, finish, kernels }
    }

    /// The sums of every scale of a reference and a distorted picture.
    pub fn sums<S: Source>(&mut self, pictures: [Plane<'_, S>; 2], spread: &dyn Spread) -> [AdmSums; SCALES] {
        self.kernels.sums(&self.plan, pictures, spread)
    }
}

impl Extractor for Adm {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let (reference, distorted) = (window.current.reference, window.current.distorted);
        let sums = match (reference.plane(0), distorted.plane(0)) {
            (PlaneView::U8(reference), PlaneView::U8(distorted)) => self.sums([reference, distorted], spread),
            (PlaneView::U16(reference), PlaneView::U16(distorted)) => {
                self.sums([reference, distorted], spread)
            }
            _ => {
                let reason = "the two pictures have different sample sizes".to_owned();
                return Err(MetricError::Frame { metric: NAME, index: window.index, reason });
            }
        };
        self.finish.finish(&sums, raw);
        Ok(())
    }
}
