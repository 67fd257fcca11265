//! Every chart of the project, as SVG, or as PNG without any font of the system.
//!
//! There are four: scores over the frames with their histograms ([`svg`], [`png`]), quality over bit rate
//! ([`RateQuality`]), predictions against opinions ([`Scatter`]) and settings over time ([`Bars`]). All draw on a [`Canvas`];
//! there is one that writes SVG and one that paints pixels, so both show the same. The last three share [`axes`].

mod axes;
mod bars;
mod chart;
mod raster;
mod rate;
mod scale;
mod scatter;
mod svg;

pub use bars::{Bar, Bars};
pub use chart::counts;
pub use rate::{RateCurve, RateQuality};
pub use scale::{label, nice_range, ticks};
pub use scatter::{BandPoint, Scatter};

use crate::record::Record;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    #[error("there is nothing to draw: no column has a score for a frame")]
    Nothing,
    #[error("the picture cannot be made: {0}")]
    Png(String),
}

/// A point of the drawing: to the right, and down.
type Point = (f64, f64);

/// Where a text's given point lies in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
struct Lettering {
    anchor: Anchor,
    colour: Colour,
    large: bool,
}

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Colour(u8, u8, u8);

const INK: Colour = Colour(0x1b, 0x1f, 0x24);
const FAINT_INK: Colour = Colour(0x5b, 0x63, 0x6d);
const GRID: Colour = Colour(0xdd, 0xe1, 0xe6);
const PAPER: Colour = Colour(0xff, 0xff, 0xff);

/// Colours that people who see colours differently can tell apart (Okabe and Ito, 2008), the darkest first.
const CURVES: [Colour; 7] = [
    Colour(0x00, 0x72, 0xb2),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x00, 0x8f, 0x6b),
    Colour(0xb6, 0x5b, 0x8f),
    Colour(0xb8, 0x7f, 0x00),
    Colour(0x3a, 0x9b, 0xd6),
    Colour(0x55, 0x55, 0x55),
];

/// What a chart needs of paper and pen.
trait Canvas {
    fn rectangle(&mut self, corner: Point, size: Point, colour: Colour, opacity: f64);
    fn line(&mut self, points: &[Point], colour: Colour, width: f64);
    fn dashes(&mut self, points: &[Point], colour: Colour, width: f64);
    fn polygon(&mut self, points: &[Point], colour: Colour, opacity: f64);
    fn dot(&mut self, centre: Point, radius: f64, colour: Colour, opacity: f64);
    fn text(&mut self, at: Point, text: &str, lettering: Lettering);
    /// Text that is shown while the pointer rests on what `draw` draws, where a picture can do that.
    fn with_hint(&mut self, hint: &str, draw: &mut dyn FnMut(&mut dyn Canvas));
}

/// A chart that knows its size and its words.
trait Drawing {
    fn size(&self) -> (u32, u32);
    fn title(&self) -> String;
    /// What the picture shows, for those who do not see it.
    fn description(&self) -> String;
    fn draw(&self, canvas: &mut dyn Canvas);
}

/// A chart as an SVG file that follows the reader's light or dark setting.
fn themed_svg(drawing: &dyn Drawing) -> String {
    let mut canvas = svg::SvgCanvas::themed();
    drawing.draw(&mut canvas);
    canvas.finish(drawing.size(), &drawing.title(), &drawing.description())
}

/// A chart as a PNG file, at two pixels per unit.
fn painted_png(drawing: &dyn Drawing) -> Result<Vec<u8>, PlotError> {
    let mut canvas = raster::RasterCanvas::new(drawing.size())?;
    drawing.draw(&mut canvas);
    canvas.png()
}

/// The chart as an SVG file.
pub fn svg(record: &Record) -> Result<String, PlotError> {
    let chart = chart::Chart::new(record)?;
    let mut canvas = svg::SvgCanvas::default();
    chart.draw(&mut canvas);
    Ok(canvas.finish(chart.size(), &chart.title(), &chart.description()))
}

/// The chart as a PNG file, at two pixels per unit.
pub fn png(record: &Record) -> Result<Vec<u8>, PlotError> {
    painted_png(&chart::Chart::new(record)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Curve, InputFact, ModelFact};

    fn record(frames: u64) -> Record {
        let values = (0..frames).map(|frame| Some(90.0 + 8.0 * (frame as f64 / 9.0).sin())).collect();
        Record {
            frames: (0..frames).collect(),
            curves: vec![Curve { name: "vmaf<".into(), values }],
            models: vec![ModelFact { name: "vmaf<".into(), model: "vmaf".into(), sha256: None }],
            distorted: InputFact { file: "a/<b>&.y4m".into(), ..InputFact::default() },
            ..Record::default()
        }
    }

    #[test]
    fn a_picture_for_any_length() {
        for frames in [1, 2, 3, 1000, 50_000] {
            let text = svg(&record(frames)).unwrap();
            assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
            assert!(text.contains("&lt;b&gt;&amp;.y4m") && !text.contains("<b>"), "{text}");
            assert!(text.len() < 60_000, "{}", text.len());
            assert!(!text.contains("NaN"));
        }
        assert!(matches!(svg(&record(0)), Err(PlotError::Nothing)));
    }

    #[test]
    fn the_png_shows_curve_and_text() {
        let bytes = png(&record(300)).unwrap();
        assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
        let picture = tiny_skia::Pixmap::decode_png(&bytes).unwrap();
        let Colour(red, green, blue) = CURVES[0];
        let counted = |red, green, blue| {
            let want = tiny_skia::PremultipliedColorU8::from_rgba(red, green, blue, 255);
            picture.pixels().iter().filter(|pixel| Some(**pixel) == want).count()
        };
        assert!(counted(red, green, blue) > 500, "the curve");
        assert!(counted(INK.0, INK.1, INK.2) > 100, "the title");
        assert!(counted(255, 255, 255) > 100_000, "the paper");
    }
}
