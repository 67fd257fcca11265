//! Quality over bit rate, a curve per encoder or picture size.

use super::axes::{Area, Axes, Axis};
use super::{Anchor, CURVES, Canvas, Colour, Drawing, FAINT_INK, INK, Lettering, PlotError};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 450.0;
const AREA: Area = Area { left: 64.0, top: 62.0, right: WIDTH - 160.0, bottom: HEIGHT - 52.0 };
/// Distance of two names at the right edge, which are moved apart where they would cover each other.
const NAME_ROW: f64 = 15.0;

/// A curve with a name.
#[derive(Clone, Debug)]
pub struct RateCurve {
    pub name: String,
    /// Bit rate in kbit/s and quality, by rising rate.
    pub points: Vec<(f64, f64)>,
    pub dashed: bool,
}

/// Quality over bit rate; the rate is on a logarithmic scale.
#[derive(Clone, Debug)]
pub struct RateQuality {
    pub title: String,
    /// The name of the vertical axis.
    pub quality: String,
    pub curves: Vec<RateCurve>,
    /// Qualities that were asked for, drawn as lines across.
    pub targets: Vec<f64>,
}

impl RateQuality {
    pub fn svg(&self) -> String {
        super::themed_svg(self)
    }

    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        super::painted_png(self)
    }

    fn axes(&self) -> Axes {
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter());
        Axes {
            x: Axis::logarithmic(points().map(|point| point.0), 0.05),
            y: Axis::linear(points().map(|point| point.1), 0.5),
            area: AREA,
        }
    }

    fn coloured(&self) -> impl Iterator<Item = (&RateCurve, Colour)> {
        self.curves.iter().zip(CURVES.into_iter().cycle())
    }
}

impl Drawing for RateQuality {
    fn size(&self) -> (u32, u32) {
        (WIDTH as u32, HEIGHT as u32)
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        let curve = |curve: &RateCurve| format!("{}: {} points", curve.name, curve.points.len());
        self.curves.iter().map(curve).collect::<Vec<_>>().join("; ")
    }

    fn draw(&self, canvas: &mut dyn Canvas) {
        let axes = self.axes();
        let title = Lettering { anchor: Anchor::Start, colour: INK, large: true };
        canvas.text((20.0, 26.0), &self.title, title);
        axes.draw(canvas, ("kbit/s (logarithmic)", &self.quality));
        for target in self.targets.iter().filter(|target| axes.y.contains(**target)) {
            let y = axes.at(axes.x.low(), *target).1;
            canvas.dashes(&[(AREA.left, y), (AREA.right, y)], FAINT_INK, 1.0);
            let faint = Lettering { anchor: Anchor::End, colour: FAINT_INK, large: false };
            canvas.text((AREA.right - 4.0, y - 5.0), &format!("target {target}"), faint);
        }
        for (curve, colour) in self.coloured() {
            draw_curve(canvas, &axes, curve, colour);
        }
        self.draw_names(canvas, &axes);
    }
}

fn draw_curve(canvas: &mut dyn Canvas, axes: &Axes, curve: &RateCurve, colour: Colour) {
    let places: Vec<_> = curve.points.iter().map(|point| axes.at(point.0, point.1)).collect();
    match places.len() {
        0 | 1 => {}
        _ if curve.dashed => canvas.dashes(&places, colour, 2.0),
        _ => canvas.line(&places, colour, 2.0),
    }
    for (place, (kbps, score)) in places.iter().zip(&curve.points) {
        let hint = format!("{}: {kbps:.0} kbit/s, {score:.2}", curve.name);
        canvas.with_hint(&hint, &mut |canvas| canvas.dot(*place, 3.5, colour, 1.0));
    }
}

impl RateQuality {
    /// Names beside the ends of the curves.
    fn draw_names(&self, canvas: &mut dyn Canvas, axes: &Axes) {
        let name = |(curve, colour): (&RateCurve, Colour)| {
            let last = curve.points.last()?;
            Some((axes.at(last.0, last.1).1, curve.name.clone(), colour))
        };
        let mut names: Vec<(f64, String, Colour)> = self.coloured().filter_map(name).collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = AREA.top;
        for (y, name, colour) in names {
            let y = y.max(free);
            free = y + NAME_ROW;
            let lettering = Lettering { anchor: Anchor::Start, colour, large: false };
            canvas.text((AREA.right + 8.0, y + 4.0), &name, lettering);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(curves: Vec<RateCurve>) -> RateQuality {
        RateQuality { title: "a & b".into(), quality: "VMAF".into(), curves, targets: vec![92.0, 12.0] }
    }

    #[test]
    fn foreign_names_do_not_break_the_picture() {
        let points = vec![(100.0, 90.0), (200.0, 95.0)];
        let curve = RateCurve { name: "<script>".into(), points, dashed: true };
        let svg = chart(vec![curve]).svg();
        assert!(svg.contains("&lt;script&gt;") && svg.contains("a &amp; b") && !svg.contains("<script>"));
        assert!(svg.contains("target 92") && !svg.contains("target 12"), "{svg}");
        assert!(svg.contains("stroke-dasharray") && svg.contains("prefers-color-scheme:dark"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn nothing_and_a_single_point_are_drawn_as_well() {
        let one = vec![RateCurve { name: "x".into(), points: vec![(100.0, 90.0)], dashed: false }];
        for curves in [Vec::new(), one] {
            assert!(!chart(curves.clone()).svg().contains("NaN"));
            assert_eq!(&chart(curves).png().unwrap()[..4], b"\x89PNG");
        }
    }
}
