//! One look at a pair: everything that detectors know of it by itself.

use serde::{Deserialize, Serialize};
use visus_video::Frame;

use crate::fit::{self, ChromaFit, LumaFit};
use crate::flow;
use crate::geometry::{self, Placement};
use crate::grid::{Cells, Detail, Grid};
use crate::local::{self, Patch};
use crate::motion::Motion;
use crate::strips::{FieldTime, Strips};

/// Fine detail along one direction, in squared levels per sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DetailFacts {
    /// Energy of second differences, of the reference and the distorted picture.
    pub energy: [f32; 2],
    /// By how much the reference's second differences were multiplied.
    pub gain: f32,
    /// Correlation of the two.
    pub likeness: f32,
}

impl DetailFacts {
    fn of(detail: Detail) -> Self {
        let count = detail.count.max(1.0);
        let (r, d) = (detail.reference / count, detail.distorted / count);
        let product = detail.product / count;
        Self {
            energy: [r as f32, d as f32],
            gain: if r > 0.05 { (product / r) as f32 } else { 1.0 },
            likeness: if r * d > 1e-4 { (product / (r * d).sqrt()) as f32 } else { 1.0 },
        }
    }

    /// Energy of the distorted picture over that of the reference; small energies count for nothing.
    pub fn ratio(&self) -> f32 {
        (self.energy[1] + 0.5) / (self.energy[0] + 0.5)
    }

    /// Energy that is not the reference's, however that was multiplied.
    pub fn added(&self) -> f32 {
        (self.energy[1] - self.gain * self.gain * self.energy[0]).max(0.0)
    }
}

/// What is known of a pair. Levels are those of 8 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameFacts {
    /// Mean luma of reference and distorted picture.
    pub mean: [f32; 2],
    /// Mean squared error of the rows that were read.
    pub error: f32,
    pub luma: LumaFit,
    /// `None` for luma alone.
    pub chroma: Option<ChromaFit>,
    /// Along rows and along columns.
    pub across: DetailFacts,
    pub down: DetailFacts,
    /// Detail of two to four samples along rows, and all of it within cells.
    pub middle: DetailFacts,
    pub within: DetailFacts,
    /// Mean squared error of even and odd rows.
    pub fields: [f32; 2],
    /// How far the histogram of levels departs from a smooth one, of both.
    pub roughness: [f32; 2],
    /// Steps at borders of 8x8 blocks over steps elsewhere, of both.
    pub blocks: [f32; 2],
    pub patch: Patch,
    pub placement: Placement,
    pub motion: Motion,
    /// Which frames of the reference even and odd rows show.
    pub times: [FieldTime; 2],
}

/// A look at a pair, with what the comparison with other frames needs.
pub(crate) struct Look {
    pub facts: FrameFacts,
    /// Mean luma of every cell, of both pictures.
    pub means: [Vec<f32>; 2],
    /// The cells of the patch.
    pub wrong: Vec<usize>,
    pub strips: Strips,
}

/// Detail in other places, where there is enough of it.
fn displaced(facts: &FrameFacts) -> bool {
    let enough = |detail: &DetailFacts| detail.energy[0] > 2.0;
    let other = |detail: &DetailFacts| detail.likeness < 0.75 && (0.2..3.0).contains(&detail.ratio());
    let (across, down) = (&facts.across, &facts.down);
    facts.error > 12.0 && [across, down].into_iter().any(|d| enough(d) && other(d))
}

/// Every how many frames tiles are looked for.
const PLACEMENT_STEP: u64 = 4;
/// Share of the difference that a shift or a zoom must explain.
const FLOW: f32 = 0.3;

impl Look {
    pub fn at(grid: &Grid, index: u64, reference: &Frame, distorted: &Frame) -> Option<Self> {
        let cells = Cells::of(grid, reference, distorted)?;
        let mean = [0, 1].map(|side| average(&cells.mean[side]));
        let luma = fit::luma(&cells.mean[0], &cells.mean[1], mean[0]);
        let chroma = cells.has_chroma().then(|| fit::chroma(grid, &cells));
        let (patch, wrong) = local::patch(grid, &cells, mean[0], &luma, &chroma.unwrap_or_default());
        let fields = cells.field_error.map(|error| (error / cells.field_count.max(1.0)) as f32);
        let mut facts = FrameFacts {
            mean,
            error: (fields[0] + fields[1]) / 2.0,
            luma,
            chroma,
            across: DetailFacts::of(cells.across),
            down: DetailFacts::of(cells.down),
            middle: DetailFacts::of(cells.middle),
            within: DetailFacts::of(cells.within(&wrong)),
            fields,
            roughness: cells.roughness.map(|figure| figure as f32),
            blocks: cells.block_steps.map(|steps| steps as f32),
            patch,
            placement: Placement::default(),
            motion: Motion::default(),
            times: Default::default(),
        };
        let moved = facts.error > 12.0 && flow::explained(grid, &cells, mean[0], &luma) > FLOW;
        if (moved || displaced(&facts)) && index.is_multiple_of(PLACEMENT_STEP) {
            facts.placement = geometry::placement(reference, distorted);
        }
        Some(Self { facts, means: cells.mean, wrong, strips: cells.strips })
    }
}

fn average(values: &[f32]) -> f32 {
    (values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len().max(1) as f64) as f32
}
