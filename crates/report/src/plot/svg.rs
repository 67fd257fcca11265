//! A canvas that writes SVG.

use std::fmt::Write;

use super::{Anchor, Canvas, Colour, FAINT_INK, GRID, INK, Lettering, PAPER, Point};
use crate::escape::escape;

#[derive(Debug, Default)]
pub struct SvgCanvas {
    body: String,
    /// Ink, grid and paper follow the reader's light or dark setting.
    themed: bool,
}

/// The colours of a themed picture, light and dark.
const THEME: &str = ":root{--ink:#1b1f24;--faint:#5b636d;--grid:#dde1e6;--paper:#fff}\
    @media(prefers-color-scheme:dark){:root{--ink:#eceff3;--faint:#a3abb5;--grid:#343a42;--paper:#16181c}}";

impl Colour {
    fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

fn list(points: &[Point]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

impl SvgCanvas {
    pub fn themed() -> Self {
        Self { body: String::new(), themed: true }
    }

    fn colour(&self, colour: Colour) -> String {
        match colour {
            _ if !self.themed => colour.hex(),
            INK => "var(--ink)".to_owned(),
            FAINT_INK => "var(--faint)".to_owned(),
            GRID => "var(--grid)".to_owned(),
            PAPER => "var(--paper)".to_owned(),
            other => other.hex(),
        }
    }

    fn polyline(&mut self, points: &[Point], colour: Colour, width: f64, more: &str) {
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{more}/>",
            list(points),
            self.colour(colour)
        );
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
            self.colour(colour)
        );
    }

    fn line(&mut self, points: &[Point], colour: Colour, width: f64) {
        self.polyline(points, colour, width, "");
    }

    fn dashes(&mut self, points: &[Point], colour: Colour, width: f64) {
        self.polyline(points, colour, width, " stroke-dasharray=\"7 4\"");
    }

    fn polygon(&mut self, points: &[Point], colour: Colour, opacity: f64) {
        let (points, colour) = (list(points), self.colour(colour));
        let _ = writeln!(
            self.body,
            "<polygon points=\"{points}\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>"
        );
    }

    fn dot(&mut self, centre: Point, radius: f64, colour: Colour, opacity: f64) {
        let ((x, y), colour) = (centre, self.colour(colour));
        let _ = writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>"
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
            self.colour(lettering.colour),
            escape(text)
        );
    }

    fn with_hint(&mut self, hint: &str, draw: &mut dyn FnMut(&mut dyn Canvas)) {
        let _ = writeln!(self.body, "<g><title>{}</title>", escape(hint));
        draw(self);
        self.body.push_str("</g>\n");
    }
}

impl SvgCanvas {
    /// The whole file.
    pub fn finish(self, (width, height): (u32, u32), title: &str, description: &str) -> String {
        let style = if self.themed { format!("<style>{THEME}</style>\n") } else { String::new() };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" font-family=\"system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif\">\n\
             <title>{}</title>\n<desc>{}</desc>\n{style}<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n{}</svg>\n",
            escape(title),
            escape(description),
            self.colour(PAPER),
            self.body
        )
    }
}
