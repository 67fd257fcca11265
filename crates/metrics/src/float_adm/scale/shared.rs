//! Scales whose rows several threads share.
//!
//! Low frequencies cannot take the place of the picture here, since others still read it: two planes for each picture take
//! turns. Sums run along a row, then over rows, and keep that order.

use std::ops::Range;
use std::sync::Mutex;

use super::{Scale, Settings, Strengths, Totals, Workspace};
use crate::Spread;
use crate::bands::{self, lock};
use crate::picture::FloatPlane;

/// Rows of a band: it makes one more on either side.
const LEAST_ROWS: usize = 16;

/// The low frequencies of both pictures, for scales by turns.
#[derive(Debug)]
pub struct SharedScales {
    odd: [FloatPlane; 2],
    even: [FloatPlane; 2],
}

/// What a row of the transform adds to the sums, as far as it is scored.
#[derive(Clone, Copy, Debug, Default)]
struct RowPowers {
    original: Option<[f32; 3]>,
    masked: Option<[[f32; 3]; 2]>,
}

/// A band of rows, and where its low frequencies go.
type Band<'a> = (Range<usize>, [&'a mut [f32]; 2]);

impl SharedScales {
    /// For pictures of this size.
    pub fn new(width: usize, height: usize) -> Self {
        let planes = |shrink: usize| {
            std::array::from_fn(|_| FloatPlane::new(width.div_ceil(shrink), height.div_ceil(shrink)))
        };
        Self { odd: planes(2), even: planes(4) }
    }

    /// The strengths of scale `index`; where they are skipped, the pictures just shrink.
    pub fn score(
        &mut self,
        index: usize,
        scale: &Scale,
        settings: &Settings,
        pictures: [&FloatPlane; 2],
        workspace: &Workspace,
        spread: &dyn Spread,
    ) -> Strengths {
        let skipped = index == 0 && settings.skip_scale0;
        let Self { odd, even } = self;
        let (source, out) = match index {
            0 => (pictures, odd),
            1 | 3 => (odd.each_ref(), even),
            _ => (even.each_ref(), odd),
        };
        let rows = bands::bands(scale.rows.size, 1, LEAST_ROWS, spread);
        let stride = out[0].stride();
        let [one, two] = out.each_mut().map(|plane| plane.bands_mut(&rows));
        let parts =
            one.into_iter().zip(two).map(|((rows, one), (_, two))| Mutex::new(Some((rows, [one, two]))));
        let parts: Vec<Mutex<Option<Band<'_>>>> = parts.collect();
        let powers = bands::map(parts.len(), spread, |part| {
            let Some(band) = lock(&parts[part]).take() else { return Vec::new() };
            let mut work = BandWork { scale, settings, source, workspace: workspace.clone(), stride };
            if skipped { work.shrink(band) } else { work.powers(band) }
        });
        if skipped {
            // Something to divide by.
            return Strengths { original: 1e-10, ..Strengths::default() };
        }
        let mut totals = Totals::default();
        for row in powers.into_iter().flatten() {
            row.original.into_iter().for_each(|powers| totals.original.add(powers));
            row.masked.into_iter().for_each(|powers| totals.add_masked(powers));
        }
        totals.strengths(settings, scale.noise_floor)
    }
}

/// The work on a band.
struct BandWork<'a> {
    scale: &'a Scale,
    settings: &'a Settings,
    source: [&'a FloatPlane; 2],
    workspace: Workspace,
    stride: usize,
}

impl BandWork<'_> {
    fn shrink(&mut self, (rows, lows): Band<'_>) -> Vec<RowPowers> {
        for (source, low) in self.source.into_iter().zip(lows) {
            for (y, low) in rows.clone().zip(low.chunks_mut(self.stride)) {
                self.low_row(source, y, low);
            }
        }
        Vec::new()
    }

    fn low_row(&mut self, source: &FloatPlane, y: usize, low: &mut [f32]) {
        let lines = &mut self.workspace.lines;
        lines.low_rows(&self.scale.columns, &self.scale.rows, source, y);
        lines.low_columns(&self.scale.columns, low);
    }

    /// What each row of a band adds. Its neighbours are made again, for the masking.
    fn powers(&mut self, (rows, mut lows): Band<'_>) -> Vec<RowPowers> {
        let (scale, settings, stride) = (self.scale, self.settings, self.stride);
        let mut powers = vec![RowPowers::default(); rows.len()];
        let mut unused = vec![0.0; scale.columns.size];
        let needed = scale.rows.with_neighbours();
        let with_neighbours = rows.start.saturating_sub(1)..(rows.end + 1).min(scale.rows.size);
        for y in with_neighbours {
            let place = y.checked_sub(rows.start).filter(|place| *place < rows.len());
            let low = lows.each_mut().map(|low| place.map(|place| &mut low[place * stride..][..stride]));
            if needed.contains(&y) {
                self.bands(y, low, &mut unused);
                self.workspace.separate(scale, settings, y);
            } else {
                for (source, low) in self.source.into_iter().zip(low) {
                    low.into_iter().for_each(|low| self.low_row(source, y, low));
                }
                continue;
            }
            if let Some(place) = place.filter(|_| scale.rows.scored.contains(&y)) {
                powers[place].original = Some(self.workspace.original_powers(scale, settings));
            }
            if y > rows.start && scale.rows.scored.contains(&(y - 1)) {
                powers[y - 1 - rows.start].masked = Some(self.workspace.mask(scale, settings, y - 1));
            }
        }
        if scale.rows.is_scored_fully() && rows.end == scale.rows.size && !rows.is_empty() {
            powers[rows.len() - 1].masked = Some(self.workspace.mask(scale, settings, rows.end - 1));
        }
        powers
    }

    /// All bands of row `y` of both pictures.
    fn bands(&mut self, y: usize, lows: [Option<&mut [f32]>; 2], unused: &mut [f32]) {
        let Workspace { lines, reference, distorted, .. } = &mut self.workspace;
        let (columns, rows) = (&self.scale.columns, &self.scale.rows);
        for ((source, low), bands) in self.source.into_iter().zip(lows).zip([reference, distorted]) {
            lines.split_rows(columns, rows, source, y);
            lines.split_columns(columns, low.unwrap_or(unused), bands);
        }
    }
}
