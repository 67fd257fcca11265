//! A canvas that writes SVG.

use std::fmt::Write;

use super::{Anchor, Canvas, Colour, Lettering, PAPER, Point};
use crate::escape::escape;

#[derive(Debug, Default)]
pub struct SvgCanvas {
    body: String,
}

impl Colour {
    fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

impl Canvas for SvgCanvas {
    fn rectangle(&mut self, corner: Point, size: Point, colour: Colour, opacity: f64) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" fill-opacity=\"{opacity}\"/>",
            corner.0,
            corner.1,
            size.0,
            size.1,
            colour.hex()
        );
    }

    fn line(&mut self, points: &[Point], colour: Colour, width: f64) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"/>",
            points.join(" "),
            colour.hex()
        );
    }

    fn text(&mut self, at: Point, text: &str, lettering: Lettering) {
        let anchor = match lettering.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (size, weight) = if lettering.large { (16, 600) } else { (12, 400) };
        let _ = writeln!(
            self.body,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{}\">{}</text>",
            at.0,
            at.1,
            lettering.colour.hex(),
            escape(text)
        );
    }
}

impl SvgCanvas {
    /// The whole file.
    pub fn finish(self, (width, height): (u32, u32), title: &str, description: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" font-family=\"system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif\">\n\
             <title>{}</title>\n<desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n{}</svg>\n",
            escape(title),
            escape(description),
            PAPER.hex(),
            self.body
        )
    }
}
