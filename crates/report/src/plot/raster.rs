//! A canvas of pixels. Letters come from a font that is drawn already and carried along, so no system font is needed.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use tiny_skia::{FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform};

use super::{Anchor, Canvas, Colour, Lettering, PAPER, PlotError, Point};

/// Pixels per unit.
const SCALE: f32 = 2.0;

pub struct RasterCanvas {
    pixels: Pixmap,
}

impl RasterCanvas {
    pub fn new((width, height): (u32, u32)) -> Result<Self, PlotError> {
        let size = |side: u32| (side as f32 * SCALE) as u32;
        let pixels = Pixmap::new(size(width), size(height));
        let mut pixels = pixels.ok_or_else(|| PlotError::Png(format!("{width}x{height} is no size")))?;
        pixels.fill(tiny_skia::Color::from_rgba8(PAPER.0, PAPER.1, PAPER.2, 255));
        Ok(Self { pixels })
    }

    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        self.pixels.encode_png().map_err(|error| PlotError::Png(error.to_string()))
    }

    fn stroke(&mut self, points: &[Point], colour: Colour, width: f64, dash: Option<StrokeDash>) {
        let stroke = Stroke { width: width as f32, line_join: LineJoin::Round, dash, ..Stroke::default() };
        if let Some(path) = path(points) {
            let scale = Transform::from_scale(SCALE, SCALE);
            self.pixels.stroke_path(&path, &paint(colour, 1.0), &stroke, scale, None);
        }
    }

    fn fill(&mut self, path: Option<Path>, colour: Colour, opacity: f64) {
        if let Some(path) = path {
            let scale = Transform::from_scale(SCALE, SCALE);
            self.pixels.fill_path(&path, &paint(colour, opacity), FillRule::Winding, scale, None);
        }
    }

    /// Mixes a colour into a pixel.
    fn blend(&mut self, x: i64, y: i64, colour: Colour, amount: u8) {
        let (width, height) = (i64::from(self.pixels.width()), i64::from(self.pixels.height()));
        if x < 0 || y < 0 || x >= width || y >= height {
            return;
        }
        let mix = |below: u8, above: u8| {
            ((u32::from(below) * u32::from(255 - amount) + u32::from(above) * u32::from(amount) + 127) / 255)
                as u8
        };
        let pixel = &mut self.pixels.pixels_mut()[(y * width + x) as usize];
        let (red, green, blue) =
            (mix(pixel.red(), colour.0), mix(pixel.green(), colour.1), mix(pixel.blue(), colour.2));
        if let Some(mixed) = tiny_skia::PremultipliedColorU8::from_rgba(red, green, blue, 255) {
            *pixel = mixed;
        }
    }
}

fn path(points: &[Point]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (number, (x, y)) in points.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        if number == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path.finish()
}

fn paint(colour: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(colour.0, colour.1, colour.2, (opacity * 255.0).round() as u8);
    paint.anti_alias = true;
    paint
}

impl Canvas for RasterCanvas {
    fn rectangle(&mut self, corner: Point, size: Point, colour: Colour, opacity: f64) {
        let rectangle = Rect::from_xywh(corner.0 as f32, corner.1 as f32, size.0 as f32, size.1 as f32);
        if let Some(rectangle) = rectangle {
            let scale = Transform::from_scale(SCALE, SCALE);
            self.pixels.fill_rect(rectangle, &paint(colour, opacity), scale, None);
        }
    }

    fn line(&mut self, points: &[Point], colour: Colour, width: f64) {
        self.stroke(points, colour, width, None);
    }

    fn dashes(&mut self, points: &[Point], colour: Colour, width: f64) {
        self.stroke(points, colour, width, StrokeDash::new(vec![7.0, 4.0], 0.0));
    }

    fn polygon(&mut self, points: &[Point], colour: Colour, opacity: f64) {
        self.fill(path(points), colour, opacity);
    }

    fn dot(&mut self, centre: Point, radius: f64, colour: Colour, opacity: f64) {
        self.fill(PathBuilder::from_circle(centre.0 as f32, centre.1 as f32, radius as f32), colour, opacity);
    }

    fn text(&mut self, at: Point, text: &str, lettering: Lettering) {
        let weight = FontWeight::Regular;
        let height = if lettering.large { RasterHeight::Size32 } else { RasterHeight::Size24 };
        let advance = get_raster_width(weight, height);
        let width = (advance * text.chars().count()) as f64;
        let shift = match lettering.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let left = (at.0 * f64::from(SCALE) - shift).round() as i64;
        // The letters' base line lies at about four fifths of their height.
        let top = (at.1 * f64::from(SCALE)).round() as i64 - height.val() as i64 * 4 / 5;
        for (place, letter) in text.chars().enumerate() {
            let Some(letter) = get_raster(letter, weight, height).or_else(|| get_raster('?', weight, height))
            else {
                continue;
            };
            let left = left + (place * advance) as i64;
            for (row, amounts) in (0..).zip(letter.raster()) {
                for (column, amount) in (0..).zip(*amounts) {
                    self.blend(left + column, top + row, lettering.colour, *amount);
                }
            }
        }
    }

    fn with_hint(&mut self, _hint: &str, draw: &mut dyn FnMut(&mut dyn Canvas)) {
        draw(self);
    }
}
