//! From a pair of pictures to numerators and denominators of every scale.

use visus_video::{Format, Plane, PlaneView, Sample};

use super::NAME;
use super::decouple::Decoupling;
use super::geometry::{Axis, SCALES, axes};
use super::masking::{Long, Masking, Short};
use super::scale::{Columns, LowPlane, Rows, Scale, Sums};
use super::settings::Settings;
use super::wavelet::{First, Fourth, Second, Third, Wavelet};
use crate::{Extractor, MetricError, Window, math};

/// What one scale adds to the score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    pub kept: f32,
    pub added: f32,
    pub reference: f32,
}

/// The denominator of a scale that is left out.
const SKIPPED: Part = Part { kept: 0.0, added: 0.0, reference: 1e-10 };

/// Tables and scratch for one worker.
#[derive(Debug)]
pub struct Adm {
    settings: Settings,
    bits: u8,
    columns: [Axis; SCALES],
    rows: [Axis; SCALES],
    decoupling: Decoupling,
    short: Short,
    long: [Long; SCALES - 1],
    /// The noise floor of each scale.
    noise: [f32; SCALES],
    first_low: [LowPlane<i16>; 2],
    second_low: [LowPlane<i32>; 2],
    third_low: [LowPlane<i32>; 2],
    /// The last scale has no successor; nothing is written here.
    no_low: [LowPlane<i32>; 2],
    short_columns: [Columns<i16>; 2],
    long_columns: [Columns<i32>; 2],
    scratch: Rows,
}

impl Adm {
    /// The format must be at least 17x33.
    pub fn new(settings: Settings, format: &Format) -> Self {
        let columns = axes(format.width(), settings.first_scale);
        let rows = axes(format.height(), settings.first_scale);
        let long = |scale: usize| {
            let (weights, fixed) = (settings.weights[scale], settings.fixed(scale));
            Long::new(scale, weights, fixed, &columns[scale], &rows[scale])
        };
        let low = |scale: usize| LowPlane::new(columns[scale].output, rows[scale].output);
        Self {
            settings,
            bits: format.depth(),
            columns,
            rows,
            decoupling: Decoupling::new(settings.gain_limit),
            short: Short::new(settings.weights[0], settings.first_fixed, &columns[0], &rows[0]),
            long: [long(1), long(2), long(3)],
            noise: std::array::from_fn(|scale| {
                let area = columns[scale].scored.len() * rows[scale].scored.len();
                cube_root((area as f64 * settings.noise_weight) as f32)
            }),
            first_low: std::array::from_fn(|_| LowPlane::new(columns[0].output, rows[0].output)),
            second_low: std::array::from_fn(|_| low(1)),
            third_low: std::array::from_fn(|_| low(2)),
            no_low: std::array::from_fn(|_| LowPlane::new(0, 0)),
            short_columns: std::array::from_fn(|_| Columns::new(columns[0].input)),
            long_columns: std::array::from_fn(|_| Columns::new(columns[1].input)),
            scratch: Rows::new(columns[0].output),
        }
    }

    fn score<S: Sample>(&mut self, pictures: [Plane<'_, S>; 2]) -> [Part; SCALES] {
        let sums = self.sums(pictures);
        let long = |scale: usize| self.part(scale, &self.long[scale - 1], &sums[scale]);
        let first = if self.settings.first_scale { self.part(0, &self.short, &sums[0]) } else { SKIPPED };
        [first, long(1), long(2), long(3)]
    }

    /// The sums of every scale of a reference and a distorted picture.
    pub fn sums<S: Sample>(&mut self, pictures: [Plane<'_, S>; 2]) -> [Sums; SCALES] {
        let setup = Setup {
            decoupling: &self.decoupling,
            columns: &self.columns,
            rows: &self.rows,
            added_detail: self.settings.added_detail,
        };
        let (first, second, third) = (&mut self.first_low, &mut self.second_low, &mut self.third_low);
        let (short, long) = (&mut self.short_columns, &mut self.long_columns);
        let scratch = &mut self.scratch;
        let step = First::<S>::new(self.bits);
        [
            setup.scale(0, step, &self.short).run(pictures, first, short, scratch),
            setup.scale(1, Second, &self.long[0]).run(views(first), second, long, scratch),
            setup.scale(2, Third {}, &self.long[1]).run(views(second), third, long, scratch),
            setup.scale(3, Fourth {}, &self.long[2]).run(views(third), &mut self.no_low, long, scratch),
        ]
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

/// What all scales share.
struct Setup<'a> {
    decoupling: &'a Decoupling,
    columns: &'a [Axis; SCALES],
    rows: &'a [Axis; SCALES],
    added_detail: bool,
}

impl<'a> Setup<'a> {
    fn scale<W: Wavelet, M: Masking>(&self, index: usize, wavelet: W, masking: &'a M) -> Scale<'a, W, M> {
        Scale {
            wavelet,
            masking,
            decoupling: self.decoupling,
            columns: &self.columns[index],
            rows: &self.rows[index],
            added_detail: self.added_detail,
        }
    }
}

fn views<T: Copy + Default>(lows: &[LowPlane<T>; 2]) -> [Plane<'_, T>; 2] {
    lows.each_ref().map(LowPlane::view)
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
        let area = self.columns[0].input * self.rows[0].input;
        super::score::write(&self.settings, area, &parts, raw);
        Ok(())
    }
}
