//! Goes through two pictures row by row and sums the differences of their pixels.
//!
//! Most of the time goes into the differences themselves. Pixels that are equal, and pairs that were seen before, are
//! sorted out; what remains of a row goes to the kernel in one piece.

use visus_video::{Chroma, Format, Frame, PlaneView};

use super::chroma::{chroma_row, copy};
use super::lab::{Converter, Lab, Yuv};
use super::memo::Memo;
use super::scalar::{PixelPair, differences};

/// A row of pixels, all planes as wide as luma.
#[derive(Debug)]
struct PixelRow {
    y: Vec<u16>,
    u: Vec<u16>,
    v: Vec<u16>,
}

impl PixelRow {
    fn new(width: usize) -> Self {
        Self { y: vec![0; width], u: vec![0; width], v: vec![0; width] }
    }

    fn load(&mut self, frame: &Frame, layout: Chroma, row: usize) {
        match frame.plane(0) {
            PlaneView::U8(plane) => copy(plane.row(row), &mut self.y),
            PlaneView::U16(plane) => copy(plane.row(row), &mut self.y),
        }
        for (plane, out) in [(1, &mut self.u), (2, &mut self.v)] {
            match frame.plane(plane) {
                PlaneView::U8(plane) => chroma_row(plane, layout, row, out),
                PlaneView::U16(plane) => chroma_row(plane, layout, row, out),
            }
        }
    }

    fn pixels(&self) -> impl Iterator<Item = Yuv> {
        let chroma = self.u.iter().zip(&self.v);
        self.y.iter().zip(chroma).map(|(y, (u, v))| Yuv { y: *y, u: *u, v: *v })
    }
}

/// Sums differences over pictures of one format.
#[derive(Debug)]
pub struct Differences {
    layout: Chroma,
    converter: Converter,
    reference: PixelRow,
    distorted: PixelRow,
    colours: Memo<Yuv, Lab>,
    known: Memo<PixelPair, f32>,
    /// The differences of a row.
    row: Vec<f32>,
    /// Pairs of the row that are not known yet, where they are, and their differences.
    pairs: Vec<PixelPair>,
    places: Vec<usize>,
    found: Vec<f32>,
}

impl Differences {
    pub fn new(format: &Format) -> Self {
        let width = format.width();
        Self {
            layout: format.chroma(),
            converter: Converter::new(format.depth()),
            reference: PixelRow::new(width),
            distorted: PixelRow::new(width),
            colours: Memo::new(),
            known: Memo::new(),
            row: vec![0.0; width],
            pairs: Vec::with_capacity(width),
            places: Vec::with_capacity(width),
            found: vec![0.0; width],
        }
    }

    /// The sum over all pixels, taken in their order.
    pub fn sum(&mut self, reference: &Frame, distorted: &Frame) -> f64 {
        let mut sum = 0.0;
        for row in 0..reference.format().height() {
            self.reference.load(reference, self.layout, row);
            self.distorted.load(distorted, self.layout, row);
            self.sort_out();
            self.compute();
            sum = self.row.iter().fold(sum, |sum, difference| sum + f64::from(*difference));
        }
        sum
    }

    fn sort_out(&mut self) {
        self.pairs.clear();
        self.places.clear();
        let pixels = self.reference.pixels().zip(self.distorted.pixels());
        for (x, (pair, out)) in pixels.zip(&mut self.row).enumerate() {
            // Equal pixels differ by exactly 0.
            let known = if pair.0 == pair.1 { Some(0.0) } else { self.known.find(&pair) };
            if known.is_none() {
                self.pairs.push(pair);
                self.places.push(x);
            }
            *out = known.unwrap_or(0.0);
        }
    }

    fn compute(&mut self) {
        let found = &mut self.found[..self.pairs.len()];
        differences(&self.pairs, &self.converter, &mut self.colours, found);
        for ((pair, x), difference) in self.pairs.iter().zip(&self.places).zip(found) {
            self.row[*x] = *difference;
            self.known.keep(*pair, *difference);
        }
    }
}
