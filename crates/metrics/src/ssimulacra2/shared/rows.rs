//! The first step: pairs of rows, from colours to samples that are blurred along the row.

use std::ops::Range;
use std::slice::ChunksMut;

use super::super::blur::blur_along;
use super::super::colour::Converter;
use super::super::fused::Fused;
use super::super::scale::{OwnedRows, Rows, SIDES, borrowed, halve_row, owned_rows};
use super::super::score::COMPONENTS;
use super::super::xyb;
use super::{BLURRED, KEPT, blurred_plane, sample_plane};
use crate::Pair;

/// Where colours come from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    Frames(Pair<'a>),
    /// Records of a row of each colour of both pictures.
    Picture(&'a [f32]),
}

/// Two rows that are made together, and what they are made into.
#[derive(Debug)]
pub struct RowPair<'a> {
    y: usize,
    upper: &'a mut [f32],
    /// Missing below the last row.
    lower: Option<&'a mut [f32]>,
    /// The row of the next scale.
    halved: Option<&'a mut [f32]>,
}

impl<'a> RowPair<'a> {
    /// The pairs of these rows, which begin with an upper one.
    pub fn all(
        rows: Range<usize>,
        records: &'a mut [f32],
        record: usize,
        mut halved: Option<ChunksMut<'a, f32>>,
    ) -> Vec<Self> {
        let mut records: Vec<Option<&mut [f32]>> = records.chunks_mut(record).map(Some).collect();
        let mut pairs = Vec::with_capacity(rows.len().div_ceil(2));
        for y in rows.clone().step_by(2) {
            let Some(upper) = records[y % KEPT].take() else { continue };
            let lower = if y + 1 < rows.end { records[(y + 1) % KEPT].take() } else { None };
            let halved = halved.as_mut().and_then(ChunksMut::next);
            pairs.push(Self { y, upper, lower, halved });
        }
        pairs
    }
}

/// What a thread needs to make rows.
#[derive(Debug)]
pub struct RowScratch {
    converter: Converter,
    /// Colours of the upper and the lower row.
    colours: [[OwnedRows; SIDES]; 2],
    product: Vec<f32>,
}

impl RowScratch {
    /// For rows up to this width.
    pub fn new(converter: &Converter, width: usize) -> Self {
        let colours = || [(); SIDES].map(|()| owned_rows(width));
        Self { converter: converter.clone(), colours: [colours(), colours()], product: vec![0.0; width] }
    }

    #[inline(always)]
    pub fn make<F: Fused>(
        &mut self,
        source: Source<'_>,
        pair: RowPair<'_>,
        width: usize,
        structure: [bool; COMPONENTS],
    ) {
        let RowPair { y, upper, lower, halved } = pair;
        let Self { converter, colours: [upper_colours, lower_colours], product } = self;
        let product = &mut product[..width];
        let above = colours::<F>(converter, source, y, width, upper_colours);
        fill::<F>(above, upper, product, structure);
        let below = match lower {
            Some(lower) => {
                let below = colours::<F>(converter, source, y + 1, width, lower_colours);
                fill::<F>(below, lower, product, structure);
                below
            }
            // A last row without a neighbour counts twice.
            None => above,
        };
        if let Some(halved) = halved {
            let outs = halved.chunks_mut(width.div_ceil(2));
            let pairs = above.iter().flatten().zip(below.iter().flatten());
            for (out, (above, below)) in outs.zip(pairs) {
                halve_row(above, below, out);
            }
        }
    }
}

/// The colours of row `y` of both pictures.
#[inline(always)]
fn colours<'a, F: Fused>(
    converter: &mut Converter,
    source: Source<'a>,
    y: usize,
    width: usize,
    room: &'a mut [OwnedRows; SIDES],
) -> [Rows<'a>; SIDES] {
    match source {
        Source::Frames(pair) => {
            for (frame, rows) in [pair.reference, pair.distorted].into_iter().zip(&mut *room) {
                converter.row::<F>(frame, y, rows);
            }
            borrowed(room)
        }
        Source::Picture(picture) => {
            let record = &picture[y * SIDES * COMPONENTS * width..];
            std::array::from_fn(|side| {
                std::array::from_fn(|colour| &record[(side * COMPONENTS + colour) * width..][..width])
            })
        }
    }
}

/// Fills a record: samples, and what is blurred along the row.
#[inline(always)]
fn fill<F: Fused>(
    colours: [Rows<'_>; SIDES],
    record: &mut [f32],
    product: &mut [f32],
    structure: [bool; COMPONENTS],
) {
    let width = product.len();
    let (samples, blurred) = record.split_at_mut(SIDES * COMPONENTS * width);
    for (colours, samples) in colours.into_iter().zip(samples.chunks_exact_mut(COMPONENTS * width)) {
        let (x, rest) = samples.split_at_mut(width);
        let (y, b) = rest.split_at_mut(width);
        xyb::convert_row::<F>(colours, [x, y, b]);
    }
    let sample = |side: usize, component: usize| &samples[sample_plane(side, component) * width..][..width];
    let first = blurred_plane(0, 0);
    for component in 0..COMPONENTS {
        let [one, two] = [0, 1].map(|side| sample(side, component));
        let planes = &mut blurred[(blurred_plane(component, 0) - first) * width..][..BLURRED * width];
        let (means, products) = planes.split_at_mut(SIDES * width);
        for (row, out) in [one, two].into_iter().zip(means.chunks_exact_mut(width)) {
            blur_along::<F>(row, out);
        }
        if structure[component] {
            let pairs = [(one, one), (two, two), (one, two)];
            for ((a, b), out) in pairs.into_iter().zip(products.chunks_exact_mut(width)) {
                product.iter_mut().zip(a).zip(b).for_each(|((product, a), b)| *product = a * b);
                blur_along::<F>(product, out);
            }
        }
    }
}
