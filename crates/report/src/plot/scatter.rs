//! Predictions against opinion scores: every row up to a limit, a fitted line, and the band around it.

use super::axes::{Area, Axes, Axis};
use super::{Anchor, CURVES, Canvas, Drawing, FAINT_INK, INK, Lettering, PlotError, Point};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 440.0;
const AREA: Area = Area { left: 60.0, top: 62.0, right: WIDTH - 16.0, bottom: HEIGHT - 50.0 };
/// More points would only make the file large; every n-th is drawn.
const MOST_POINTS: usize = 4000;

/// The line at a place, and half the height of the band around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    pub x: f64,
    pub middle: f64,
    pub half: f64,
}

/// Points with a line through them.
#[derive(Clone, Debug)]
pub struct Scatter<'a> {
    pub title: String,
    /// Figures that stand below the title; the number of rows is added.
    pub subtitle: String,
    /// Names of the two axes.
    pub names: (&'a str, &'a str),
    pub x: &'a [f64],
    pub y: &'a [f64],
    /// The line and its band by rising x; empty where there is none.
    pub band: Vec<BandPoint>,
}

impl Scatter<'_> {
    pub fn svg(&self) -> String {
        super::themed_svg(self)
    }

    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        super::painted_png(self)
    }

    /// The range of x that is drawn, so that a band can be computed for it.
    pub fn range(x: &[f64]) -> (f64, f64) {
        let axis = Axis::linear(x.iter().copied(), 1e-3);
        (axis.low(), axis.high())
    }

    fn step(&self) -> usize {
        self.x.len().div_ceil(MOST_POINTS).max(1)
    }

    fn rows(&self) -> String {
        let (all, drawn) = (self.x.len(), self.x.len().div_ceil(self.step()));
        if all == drawn { format!("{all} rows") } else { format!("{all} rows, {drawn} drawn") }
    }
}

impl Drawing for Scatter<'_> {
    fn size(&self) -> (u32, u32) {
        (WIDTH as u32, HEIGHT as u32)
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        format!("{} against {}; {}, {}", self.names.1, self.names.0, self.subtitle, self.rows())
    }

    fn draw(&self, canvas: &mut dyn Canvas) {
        let axes = Axes {
            x: Axis::linear(self.x.iter().copied(), 1e-3),
            y: Axis::linear(self.y.iter().copied(), 1e-3),
            area: AREA,
        };
        let ink = |colour, large| Lettering { anchor: Anchor::Start, colour, large };
        canvas.text((16.0, 24.0), &self.title, ink(INK, true));
        let words = Lettering { anchor: Anchor::End, ..ink(FAINT_INK, false) };
        canvas.text((AREA.right, 44.0), &format!("{}, {}", self.subtitle, self.rows()), words);
        axes.draw(canvas, self.names);
        // The band lies below the points, the line above them.
        canvas.polygon(&self.outline(&axes), CURVES[1], 0.14);
        for (x, y) in self.x.iter().zip(self.y).step_by(self.step()) {
            canvas.dot(axes.at(*x, *y), 2.4, CURVES[0], 0.45);
        }
        let middle: Vec<Point> = self.band.iter().map(|at| axes.clamped(at.x, at.middle)).collect();
        if middle.len() > 1 {
            canvas.line(&middle, CURVES[1], 2.0);
        }
    }
}

impl Scatter<'_> {
    /// Along the upper edge of the band, and back along the lower one.
    fn outline(&self, axes: &Axes) -> Vec<Point> {
        let upper = self.band.iter().map(|at| axes.clamped(at.x, at.middle + at.half));
        let lower = self.band.iter().rev().map(|at| axes.clamped(at.x, at.middle - at.half));
        upper.chain(lower).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_thinned_and_said_to_be() {
        let x: Vec<f64> = (0..9000).map(f64::from).collect();
        let band = [0.0, 9000.0].map(|x| BandPoint { x, middle: x, half: 100.0 }).to_vec();
        let scatter = Scatter {
            title: "<m>".into(),
            subtitle: "PLCC 1.0000".into(),
            names: ("prediction", "opinion score"),
            x: &x,
            y: &x,
            band,
        };
        let svg = scatter.svg();
        assert_eq!(svg.matches("<circle").count(), 3000);
        assert!(svg.contains("PLCC 1.0000, 9000 rows, 3000 drawn") && svg.contains("&lt;m&gt;"), "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 1);
        assert_eq!(&scatter.png().unwrap()[..4], b"\x89PNG");
    }
}
