//! ADM as a device computes it: constants in, integer sums out.

use std::ops::Range;

use visus_video::Format;

use super::geometry::{Axis, SCALES, Span};
use super::masking::Rounding;
use super::plan::Plan;
use super::score::AdmFinish;
use super::settings::Settings;

/// One set of options for one format.
#[derive(Clone, Debug)]
pub struct AdmTask {
    /// Bits of a sample, from 8 to 16. The first scale subtracts half of the range, drops so many bits in the pass down the
    /// columns and 16 in the pass along the row; the later scales drop (0, 15), (16, 16) and (16, 15).
    pub depth: u32,
    /// The largest gain of an enhancement, from 1.
    pub gain_limit: f64,
    /// Two coefficient vectors have the same direction if the square of their angle's cosine is at least this.
    pub cos_1deg_sq: f32,
    /// The finest scale makes its approximation only; its sums are not looked at.
    pub skip_scale0: bool,
    /// [`AdmSums::additive`](super::AdmSums::additive) is not looked at.
    pub skip_aim: bool,
    /// From the finest to the coarsest.
    pub scales: [AdmScale; SCALES],
    finish: AdmFinish,
}

/// The constants of one scale.
#[derive(Clone, Debug)]
pub struct AdmScale {
    /// Width and height of what is transformed.
    pub input: [usize; 2],
    /// Width and height of each band: half of that, rounded up.
    pub band: [usize; 2],
    /// The columns and rows of a band that are scored; a border of a tenth is not.
    pub scored: [Range<usize>; 2],
    /// The weight of the contrast sensitivity function for each band: in units of 2^-21, diagonal 2^-23, at the finest
    /// scale, and of 2^-32 at the others.
    pub csf: [u32; 3],
    /// How the part of a coefficient above the masking threshold becomes a cube, for each band.
    pub cm: [AdmShifts; 3],
    /// A row's sum of these cubes is rounded and shifted by this before it is added to the scale's.
    pub cm_row: u32,
    /// How a coefficient of the reference becomes a cube. Nothing is shifted at the finest scale; at the others the
    /// square's rounding term is a whole unit, not a half.
    pub csf_den: AdmShifts,
    /// The same as `cm_row` for the reference.
    pub csf_den_row: u32,
}

/// Bits that are dropped, rounded, from a square and from the product of that with the number itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmShifts {
    pub square: u32,
    pub cube: u32,
}

impl From<Rounding> for AdmShifts {
    fn from(Rounding { square, cube }: Rounding) -> Self {
        Self { square, cube }
    }
}

impl AdmTask {
    /// The format must be at least 17x33.
    pub(super) fn new(settings: &Settings, format: &Format) -> Self {
        let plan = Plan::new(settings, format);
        Self {
            depth: u32::from(plan.bits),
            gain_limit: plan.decoupling.gain_limit(),
            cos_1deg_sq: plan.decoupling.bound(),
            skip_scale0: !settings.first_scale,
            skip_aim: !plan.aim,
            scales: std::array::from_fn(|scale| AdmScale::new(settings, &plan, scale)),
            finish: AdmFinish::new(settings, &plan),
        }
    }

    /// The code that turns the sums into raw numbers.
    pub fn finish(&self) -> &AdmFinish {
        &self.finish
    }
}

impl AdmScale {
    fn new(settings: &Settings, plan: &Plan, scale: usize) -> Self {
        let axes = [&plan.columns[scale], &plan.rows[scale]];
        let geometry = |pick: fn(&Axis) -> usize| axes.map(pick);
        let [straight, diagonal] =
            if scale == 0 { settings.first_fixed.map(u32::from) } else { settings.fixed(scale) };
        let csf = [straight, straight, diagonal];
        let (input, band) = (geometry(|axis| axis.input), geometry(|axis| axis.output));
        let scored = axes.map(|axis| range(axis.scored));
        match scale.checked_sub(1).map(|later| &plan.long[later]) {
            None => Self {
                input,
                band,
                scored,
                csf,
                cm: plan.short.cubes().map(AdmShifts::from),
                cm_row: plan.short.row_shift(),
                csf_den: AdmShifts { square: 0, cube: 0 },
                csf_den_row: plan.short.csf_den_shift(),
            },
            Some(long) => Self {
                input,
                band,
                scored,
                csf,
                cm: [long.cubes().into(); 3],
                cm_row: long.row_shift(),
                csf_den: long.csf_den_rounding().into(),
                csf_den_row: long.csf_den_row_shift(),
            },
        }
    }
}

fn range(span: Span) -> Range<usize> {
    span.start..span.end
}
