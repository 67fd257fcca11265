//! Goes through two pictures row by row and sums the differences of their pixels.
//!
//! Most of the time goes into the differences themselves. Pixels that are equal, and pairs that were seen before, are
//! sorted out; what remains of a row goes to the kernel in one piece.

use visus_video::{Chroma, Format, Frame, PlaneView};

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::chroma::{chroma_row, copy};
use super::group::Group;
use super::lab::{Converter, Lab, Yuv};
use super::labs::{GROUP, Labs, LabsMut, Pixels, Singles, Steps};
use super::memo::Memo;
use super::scalar::{PixelPair, differences};
use crate::simd::Target;

/// A row of pixels, all planes as wide as luma, and zeros up to a whole number of groups.
#[derive(Debug)]
struct PixelRow {
    width: usize,
    y: Vec<u16>,
    u: Vec<u16>,
    v: Vec<u16>,
}

impl PixelRow {
    fn new(width: usize) -> Self {
        let row = || vec![0; width.next_multiple_of(GROUP)];
        Self { width, y: row(), u: row(), v: row() }
    }

    #[inline(always)]
    fn load(&mut self, frame: &Frame, layout: Chroma, row: usize) {
        match frame.plane(0) {
            PlaneView::U8(plane) => copy(plane.row(row), &mut self.y),
            PlaneView::U16(plane) => copy(plane.row(row), &mut self.y),
        }
        for (plane, out) in [(1, &mut self.u), (2, &mut self.v)] {
            let out = &mut out[..self.width];
            match frame.plane(plane) {
                PlaneView::U8(plane) => chroma_row(plane, layout, row, out),
                PlaneView::U16(plane) => chroma_row(plane, layout, row, out),
            }
        }
    }

    fn pixels(&self) -> impl Iterator<Item = Yuv> {
        let chroma = self.u.iter().zip(&self.v);
        self.y.iter().zip(chroma).map(|(y, (u, v))| Yuv { y: *y, u: *u, v: *v }).take(self.width)
    }

    #[inline(always)]
    fn group(&self, number: usize) -> Pixels<'_> {
        let [y, u, v] = [&self.y, &self.u, &self.v].map(|plane| &plane.as_chunks().0[number]);
        Pixels { y, u, v }
    }
}

/// Sums differences over pictures of one format.
#[derive(Debug)]
pub struct Differences {
    layout: Chroma,
    converter: Converter,
    reference: PixelRow,
    distorted: PixelRow,
    /// The differences of a row, in whole groups.
    row: Vec<f32>,
    method: Method,
}

/// How the differences of a row are found.
#[derive(Debug)]
enum Method {
    OneByOne(Box<Remembered>),
    InGroups(Target, Box<Grouped>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Box<avx512::Grouped>),
}

impl Method {
    fn new(format: &Format, target: Target) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = target.avx512() {
            return Self::Avx512(Box::new(avx512::Grouped::new(proof, format.depth())));
        }
        if target.is_wide() {
            Self::InGroups(target, Box::new(Grouped::new(format)))
        } else {
            Self::OneByOne(Box::new(Remembered::new(format.width())))
        }
    }
}

impl Differences {
    pub fn new(format: &Format, target: Target) -> Self {
        let width = format.width();
        Self {
            layout: format.chroma(),
            converter: Converter::new(format.depth()),
            reference: PixelRow::new(width),
            distorted: PixelRow::new(width),
            row: vec![0.0; width.next_multiple_of(GROUP)],
            method: Method::new(format, target),
        }
    }

    /// The sum over all pixels, taken in their order.
    pub fn sum(&mut self, reference: &Frame, distorted: &Frame) -> f64 {
        let mut sum = 0.0;
        for y in 0..reference.format().height() {
            let row = self.row(reference, distorted, y);
            sum = row.iter().fold(sum, |sum, difference| sum + f64::from(*difference));
        }
        sum
    }

    /// The differences of the pixels in row `y`.
    pub fn row(&mut self, reference: &Frame, distorted: &Frame, y: usize) -> &[f32] {
        let Self { layout, converter, reference: one, distorted: two, row, method } = self;
        one.load(reference, *layout, y);
        two.load(distorted, *layout, y);
        match method {
            Method::OneByOne(remembered) => remembered.differences(converter, one, two, row),
            Method::InGroups(target, grouped) => target.run(
                #[inline(always)]
                || in_groups(one, two, row, |pixels, out| grouped.differences(pixels, out)),
            ),
            #[cfg(target_arch = "x86_64")]
            Method::Avx512(grouped) => {
                in_groups(one, two, row, |pixels, out| grouped.differences(pixels, out));
            }
        }
        &row[..one.width]
    }
}

/// Differences in groups.
#[derive(Debug)]
struct Grouped {
    converter: Converter,
    steps: Steps,
    /// The colours of both pictures.
    colours: [[Singles; 3]; 2],
    group: Group,
}

impl Grouped {
    fn new(format: &Format) -> Self {
        Self {
            converter: Converter::new(format.depth()),
            steps: Steps::ZERO,
            colours: [[[0.0; GROUP]; 3]; 2],
            group: Group::EMPTY,
        }
    }

    #[inline(always)]
    fn differences(&mut self, pixels: [Pixels<'_>; 2], out: &mut Singles) {
        for (pixels, [l, a, b]) in pixels.into_iter().zip(&mut self.colours) {
            self.steps.make(&self.converter, pixels, &mut LabsMut { l, a, b });
        }
        let [one, two] = self.colours.each_ref().map(|[l, a, b]| Labs { l, a, b });
        self.group.differences(one, two, out);
    }
}

/// Goes through a row. Groups that are equal differ by exactly 0.
#[inline(always)]
fn in_groups(
    one: &PixelRow,
    two: &PixelRow,
    row: &mut [f32],
    mut differences: impl FnMut([Pixels<'_>; 2], &mut Singles),
) {
    for (number, out) in row.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let pixels = [one.group(number), two.group(number)];
        if pixels[0] == pixels[1] {
            out.fill(0.0);
        } else {
            differences(pixels, out);
        }
    }
}

/// Differences one by one, with what was found before.
#[derive(Debug)]
struct Remembered {
    colours: Memo<Yuv, Lab>,
    known: Memo<PixelPair, f32>,
    /// Pairs of the row that are not known yet, where they are, and their differences.
    pairs: Vec<PixelPair>,
    places: Vec<usize>,
    found: Vec<f32>,
}

impl Remembered {
    fn new(width: usize) -> Self {
        Self {
            colours: Memo::new(),
            known: Memo::new(),
            pairs: Vec::with_capacity(width),
            places: Vec::with_capacity(width),
            found: vec![0.0; width],
        }
    }

    fn differences(&mut self, converter: &Converter, one: &PixelRow, two: &PixelRow, row: &mut [f32]) {
        self.sort_out(one, two, row);
        self.compute(converter, row);
    }

    fn sort_out(&mut self, one: &PixelRow, two: &PixelRow, row: &mut [f32]) {
        self.pairs.clear();
        self.places.clear();
        let pixels = one.pixels().zip(two.pixels());
        for (x, (pair, out)) in pixels.zip(row).enumerate() {
            // Equal pixels differ by exactly 0.
            let known = if pair.0 == pair.1 { Some(0.0) } else { self.known.find(&pair) };
            if known.is_none() {
                self.pairs.push(pair);
                self.places.push(x);
            }
            *out = known.unwrap_or(0.0);
        }
    }

    fn compute(&mut self, converter: &Converter, row: &mut [f32]) {
        let found = &mut self.found[..self.pairs.len()];
        differences(&self.pairs, converter, &mut self.colours, found);
        for ((pair, x), difference) in self.pairs.iter().zip(&self.places).zip(found) {
            row[*x] = *difference;
            self.known.keep(*pair, *difference);
        }
    }
}
