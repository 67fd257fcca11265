//! Pictures of a pair: the worst region, and reference, distorted and difference beside each other as PNG.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster};
use visus_video::{ColourRange, Frame, Plane, PlaneView, Sample};

use super::{Chosen, ShowOptions};
use crate::MediaError;
use crate::convert::Shape;
use crate::rgb::levels;

/// A rectangle of luma samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
}

/// A plane as numbers on the scale of 8 bits.
pub(crate) struct Luma {
    pub width: usize,
    pub height: usize,
    samples: Vec<f32>,
}

impl Luma {
    pub fn of(frame: &Frame) -> Self {
        Self::of_plane(frame, 0)
    }

    pub fn of_plane(frame: &Frame, plane: usize) -> Self {
        let unit = f32::from(1u16 << (frame.format().depth() - 8));
        match frame.plane(plane) {
            PlaneView::U8(view) => Self::from(view, unit),
            PlaneView::U16(view) => Self::from(view, unit),
        }
    }

    fn from<T: Sample>(plane: Plane<'_, T>, unit: f32) -> Self {
        let number = |sample: &T| -> f32 { (*sample).into() };
        let samples = plane.rows().flatten().map(|sample| number(sample) / unit).collect();
        Self { width: plane.width(), height: plane.height(), samples }
    }

    pub fn at(&self, x: usize, y: usize) -> f32 {
        self.samples[y * self.width + x]
    }

    pub fn row(&self, y: usize) -> &[f32] {
        &self.samples[y * self.width..][..self.width]
    }

    pub fn mean(&self) -> f64 {
        self.samples.iter().map(|sample| f64::from(*sample)).sum::<f64>() / self.samples.len().max(1) as f64
    }

    /// Mean squared error against another plane that is moved right and down by `shift`, edges left out.
    pub fn error(&self, other: &Self, shift: (i32, i32)) -> f64 {
        const EDGE: usize = 2;
        let (mut sum, mut count) = (0.0, 0u64);
        for y in EDGE..self.height.saturating_sub(EDGE) {
            let moved = (y as i64 + i64::from(shift.1)) as usize;
            let from = (EDGE as i64 + i64::from(shift.0)) as usize;
            let length = self.width.saturating_sub(2 * EDGE);
            let (a, b) = (&self.row(y)[EDGE..][..length], &other.row(moved)[from..][..length]);
            sum += f64::from(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>());
            count += length as u64;
        }
        sum / count.max(1) as f64
    }

    /// Mean magnitude of the Laplacian.
    pub fn detail(&self) -> f64 {
        let mut sum = 0.0;
        for y in 1..self.height.saturating_sub(1) {
            let (above, row, below) = (self.row(y - 1), self.row(y), self.row(y + 1));
            let line = |x: usize| (4.0 * row[x] - row[x - 1] - row[x + 1] - above[x] - below[x]).abs();
            sum += f64::from((1..self.width.saturating_sub(1)).map(line).sum::<f32>());
        }
        sum / (self.width * self.height).max(1) as f64
    }

    /// Steps at the borders of a grid of 8, horizontal and vertical, over steps elsewhere, less 1.
    pub fn blocking(&self) -> f64 {
        let mut across = [0.0f64; 8];
        let mut down = [0.0f64; 8];
        for y in 0..self.height {
            let row = self.row(y);
            row.windows(2)
                .enumerate()
                .for_each(|(x, pair)| across[(x + 1) % 8] += f64::from((pair[0] - pair[1]).abs().min(32.0)));
            if y > 0 {
                let steps: f32 = row.iter().zip(self.row(y - 1)).map(|(a, b)| (a - b).abs().min(32.0)).sum();
                down[y % 8] += f64::from(steps);
            }
        }
        let excess = |sums: [f64; 8]| {
            let others = sums[1..].iter().sum::<f64>() / 7.0;
            if others > 1.0 { sums[0] / others - 1.0 } else { 0.0 }
        };
        (excess(across) + excess(down)) / 2.0
    }

    pub fn gradient(&self, x: usize, y: usize) -> f32 {
        let (x, y) = (x.clamp(1, self.width.max(3) - 2), y.clamp(1, self.height.max(3) - 2));
        (self.at(x + 1, y) - self.at(x - 1, y)).abs() + (self.at(x, y + 1) - self.at(x, y - 1)).abs()
    }
}

/// Error is summed up in squares of this side.
const CELL: usize = 16;

/// The part of the picture, at most `side` wide and three quarters of that high, in which the error weighs most. Error in
/// smooth places is seen more easily than in busy ones.
pub(crate) fn worst_region(reference: &Frame, distorted: &Frame, side: usize) -> Region {
    let (a, b) = (Luma::of(reference), Luma::of(distorted));
    let (width, height) = (a.width.min(side), a.height.min(side * 3 / 4));
    let (columns, rows) = (a.width.div_ceil(CELL), a.height.div_ceil(CELL));
    let mut sums = vec![0.0f64; (columns + 1) * (rows + 1)];
    for row in 0..rows {
        for column in 0..columns {
            let at = (row + 1) * (columns + 1) + column + 1;
            sums[at] = weight(&a, &b, column * CELL, row * CELL) + sums[at - 1] + sums[at - columns - 1]
                - sums[at - columns - 2];
        }
    }
    let (wide, high) = (width.div_ceil(CELL).min(columns), height.div_ceil(CELL).min(rows));
    let within = |column: usize, row: usize| {
        let at = |column: usize, row: usize| sums[row * (columns + 1) + column];
        at(column + wide, row + high) - at(column, row + high) - at(column + wide, row) + at(column, row)
    };
    let places = (0..=rows - high).flat_map(|row| (0..=columns - wide).map(move |column| (column, row)));
    let best = places.max_by(|x, y| within(x.0, x.1).total_cmp(&within(y.0, y.1)));
    let (column, row) = best.unwrap_or_default();
    // Even places keep chroma in step.
    let (x, y) = ((column * CELL).min(a.width - width) & !1, (row * CELL).min(a.height - height) & !1);
    Region { x, y, width, height }
}

/// Squared error of a cell, less where the reference is busy.
fn weight(a: &Luma, b: &Luma, x: usize, y: usize) -> f64 {
    let (mut error, mut sum, mut squares, mut count) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for y in y..(y + CELL).min(a.height) {
        for x in x..(x + CELL).min(a.width) {
            let (a, b) = (f64::from(a.at(x, y)), f64::from(b.at(x, y)));
            (error, sum, squares, count) = (error + (a - b).powi(2), sum + a, squares + a * a, count + 1.0);
        }
    }
    let variance = (squares / count - (sum / count).powi(2)).max(0.0);
    error / (variance + 64.0)
}

/// Pixels, three bytes each.
struct Canvas {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

const BACKGROUND: [u8; 3] = [24, 24, 28];
const INK: [u8; 3] = [235, 235, 235];
const GAP: usize = 8;
const STRIP: usize = 26;

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Self { width, height, bytes: BACKGROUND.repeat(width * height) }
    }

    fn put(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        if x < self.width && y < self.height {
            self.bytes[3 * (y * self.width + x)..][..3].copy_from_slice(&colour);
        }
    }

    /// A line of text; what does not fit is cut.
    fn text(&mut self, x: usize, y: usize, width: usize, text: &str) {
        let mut at = x;
        for letter in text.chars() {
            let raster = get_raster(letter, FontWeight::Regular, RasterHeight::Size16)
                .or_else(|| get_raster('?', FontWeight::Regular, RasterHeight::Size16));
            let Some(raster) = raster else { continue };
            if at + raster.width() > x + width {
                return;
            }
            for (dy, row) in raster.raster().iter().enumerate() {
                for (dx, ink) in row.iter().enumerate() {
                    let mix = |below: u8, above: u8| {
                        ((u16::from(below) * u16::from(255 - ink) + u16::from(above) * u16::from(*ink)) / 255)
                            as u8
                    };
                    self.put(at + dx, y + dy, std::array::from_fn(|c| mix(BACKGROUND[c], INK[c])));
                }
            }
            at += raster.width();
        }
    }

    fn png(&self) -> Result<Vec<u8>, MediaError> {
        let fault =
            |error: png::EncodingError| MediaError::Picture(format!("the PNG cannot be made: {error}"));
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(fault)?;
        writer.write_image_data(&self.bytes).map_err(fault)?;
        writer.finish().map_err(fault)?;
        Ok(out)
    }
}

/// Reference, distorted and difference of a region, with a line of words above each.
pub(crate) fn triptych(
    reference: &Frame,
    distorted: &Frame,
    region: Region,
    chosen: Chosen,
    options: &ShowOptions,
) -> Result<Vec<u8>, MediaError> {
    let zoom = (options.side / region.width.max(1)).clamp(1, 4);
    let (width, height) = (region.width * zoom, region.height * zoom);
    let mut canvas = Canvas::new(3 * width + 4 * GAP, height + STRIP + 2 * GAP);
    let pictures = [rgb(reference, region, options.shape), rgb(distorted, region, options.shape)];
    let amplify = amplification(&pictures);
    let titles = [
        format!("reference  frame {}", chosen.index),
        format!("distorted  {} {:.1}", options.score_name, chosen.score),
        format!("difference x{amplify}"),
    ];
    for (panel, title) in titles.iter().enumerate() {
        let left = GAP + panel * (width + GAP);
        canvas.text(left, GAP, width, title);
        for y in 0..height {
            for x in 0..width {
                let at = y / zoom * region.width + x / zoom;
                let colour = match panel {
                    2 => difference(pictures[0][at], pictures[1][at], amplify),
                    panel => pictures[panel][at],
                };
                canvas.put(left + x, GAP + STRIP + y, colour);
            }
        }
    }
    canvas.png()
}

/// How much the difference is amplified: a power of two that brings all but the strongest twentieth into range.
fn amplification(pictures: &[Vec<[u8; 3]>; 2]) -> i32 {
    let apart = |(a, b): (&[u8; 3], &[u8; 3])| (0..3).map(|c| a[c].abs_diff(b[c])).max().unwrap_or(0);
    let mut all: Vec<u8> = pictures[0].iter().zip(&pictures[1]).map(apart).collect();
    all.sort_unstable();
    let high = i32::from(all.get(all.len() * 19 / 20).copied().unwrap_or(0)).max(1);
    [16, 8, 4, 2].into_iter().find(|factor| factor * high <= 127).unwrap_or(1)
}

/// Mid grey where nothing differs.
fn difference(a: [u8; 3], b: [u8; 3], amplify: i32) -> [u8; 3] {
    std::array::from_fn(|c| (128 + amplify * (i32::from(b[c]) - i32::from(a[c]))).clamp(0, 255) as u8)
}

/// A region as RGB: BT.709 from 720 rows on, else BT.601.
pub(crate) fn rgb(frame: &Frame, region: Region, shape: Shape) -> Vec<[u8; 3]> {
    let (red, blue) = if frame.format().height() >= 720 { (0.2126, 0.0722) } else { (0.299, 0.114) };
    let (sx, sy) = frame.format().chroma().shifts();
    let planes: Vec<Luma> = (0..frame.format().planes()).map(|plane| Luma::of_plane(frame, plane)).collect();
    let (low, luma_span, chroma_span) = match shape.range {
        ColourRange::Limited => levels(ColourRange::Limited, 8),
        ColourRange::Full => (0.0, 255.0, 255.0),
    };
    let chroma = |plane: usize, x: usize, y: usize| match planes.get(plane) {
        Some(plane) if plane.width > 0 && plane.height > 0 => {
            let (x, y) = ((x >> sx).min(plane.width - 1), (y >> sy).min(plane.height - 1));
            (f64::from(plane.at(x, y)) - 128.0) / chroma_span
        }
        _ => 0.0,
    };
    let pixel = |x: usize, y: usize| {
        let luma = (f64::from(planes[0].at(x, y)) - low) / luma_span;
        let (cb, cr) = (chroma(1, x, y), chroma(2, x, y));
        let (r, b) = (luma + (2.0 - 2.0 * red) * cr, luma + (2.0 - 2.0 * blue) * cb);
        let g = (luma - red * r - blue * b) / (1.0 - red - blue);
        [r, g, b].map(|value| (value * 255.0).round().clamp(0.0, 255.0) as u8)
    };
    let rows = region.y..region.y + region.height;
    rows.flat_map(|y| (region.x..region.x + region.width).map(move |x| (x, y)))
        .map(|(x, y)| pixel(x, y))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rgb::write_row;
    use visus_video::{Chroma, Format};

    fn grey(format: Format) -> Frame {
        let mut frame = Frame::new(format);
        for plane in 0..3 {
            let (width, height) = format.plane_size(plane);
            (0..height).for_each(|y| write_row(&mut frame, plane, y, std::iter::repeat_n(128, width)));
        }
        frame
    }

    #[test]
    fn the_region_holds_the_damage() {
        let format = Format::new(640, 360, Chroma::C420, 8).unwrap();
        let (reference, mut distorted) = (grey(format), grey(format));
        for y in 200..240 {
            let row = (0..640).map(|x| if (400..440).contains(&x) { 200 } else { 128 });
            write_row(&mut distorted, 0, y, row);
        }
        let region = worst_region(&reference, &distorted, 200);
        assert!(region.x <= 400 && region.x + region.width >= 440, "{region:?}");
        assert!(region.y <= 200 && region.y + region.height >= 240, "{region:?}");
        let small = worst_region(&reference, &distorted, 2000);
        assert_eq!(small, Region { x: 0, y: 0, width: 640, height: 360 });
    }

    #[test]
    fn a_triptych_is_a_png_of_the_right_size() {
        let format = Format::new(64, 48, Chroma::C420, 8).unwrap();
        let frame = grey(format);
        let region = worst_region(&frame, &frame, 128);
        let shape = Shape { format, range: ColourRange::Limited };
        let options = ShowOptions { shape, side: 128, score_name: "vmaf".to_owned(), findings: Vec::new() };
        let chosen = Chosen { index: 3, score: 50.0, shot: 0 };
        let png = triptych(&frame, &frame, region, chosen, &options).unwrap();
        let decoder = png::Decoder::new(std::io::Cursor::new(png));
        let info = decoder.read_info().unwrap();
        assert_eq!((info.info().width, info.info().height), (3 * 128 + 4 * 8, 96 + 26 + 16));
    }

    #[test]
    fn colours() {
        let format = Format::new(2, 2, Chroma::C444, 8).unwrap();
        let mut frame = Frame::new(format);
        for (plane, value) in [63, 102, 240].into_iter().enumerate() {
            (0..2).for_each(|y| write_row(&mut frame, plane, y, [value, value].into_iter()));
        }
        let region = Region { x: 0, y: 0, width: 2, height: 2 };
        let red = rgb(&frame, region, Shape { format, range: ColourRange::Limited })[0];
        // These are BT.709's figures for red, read as BT.601.
        assert!(red[0] > 220 && red[1] < 40 && red[2] < 30, "{red:?}");
    }
}
