//! Two axes with round numbers, a grid and their names: what charts of points share.

use super::scale::{log_ticks, plain, ticks};
use super::{Anchor, Canvas, FAINT_INK, GRID, INK, Lettering, Point};

/// Where the drawing lies within the picture.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// From where to where, and whether equal ratios or equal differences are equally far apart.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// Around all values, with a little air, at least `least` on both sides.
    pub fn linear(values: impl Iterator<Item = f64>, least: f64) -> Self {
        let (low, high) = with_air(values, least);
        Self { low, high, logarithmic: false }
    }

    /// The same for positive values on a logarithmic scale.
    pub fn logarithmic(values: impl Iterator<Item = f64>, least: f64) -> Self {
        let (low, high) = with_air(values.filter(|value| *value > 0.0).map(f64::ln), least);
        Self { low, high, logarithmic: true }
    }

    pub fn low(&self) -> f64 {
        if self.logarithmic { self.low.exp() } else { self.low }
    }

    pub fn high(&self) -> f64 {
        if self.logarithmic { self.high.exp() } else { self.high }
    }

    pub fn contains(&self, value: f64) -> bool {
        (self.low()..=self.high()).contains(&value)
    }

    /// How far along the axis a value lies, 0 to 1 within it.
    fn share(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.ln() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic { log_ticks(self.low(), self.high()) } else { ticks(self.low, self.high, 7) }
    }
}

fn with_air(values: impl Iterator<Item = f64>, least: f64) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let margin = ((high - low) * 0.06).max(least);
    if low <= high { (low - margin, high + margin) } else { (0.0, 1.0) }
}

/// Two axes around an area.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    pub x: Axis,
    pub y: Axis,
    pub area: Area,
}

impl Axes {
    /// Where a point lies in the picture.
    pub fn at(&self, x: f64, y: f64) -> Point {
        let Area { left, top, right, bottom } = self.area;
        (left + self.x.share(x) * (right - left), bottom - self.y.share(y) * (bottom - top))
    }

    /// The same, held within the area from top to bottom.
    pub fn clamped(&self, x: f64, y: f64) -> Point {
        self.at(x, y.clamp(self.y.low(), self.y.high()))
    }

    /// Grid, numbers, the two lines and their names.
    pub fn draw(&self, canvas: &mut dyn Canvas, names: (&str, &str)) {
        let Area { left, top, right, bottom } = self.area;
        let faint = |anchor| Lettering { anchor, colour: FAINT_INK, large: false };
        for tick in self.y.ticks() {
            let y = self.at(self.x.low(), tick).1;
            canvas.line(&[(left, y), (right, y)], GRID, 1.0);
            canvas.text((left - 8.0, y + 4.0), &plain(tick), faint(Anchor::End));
        }
        for tick in self.x.ticks() {
            let x = self.at(tick, self.y.low()).0;
            canvas.line(&[(x, top), (x, bottom)], GRID, 1.0);
            canvas.text((x, bottom + 18.0), &plain(tick), faint(Anchor::Middle));
        }
        canvas.line(&[(left, top), (left, bottom), (right, bottom)], FAINT_INK, 1.0);
        let ink = |anchor| Lettering { anchor, colour: INK, large: false };
        canvas.text(((left + right) / 2.0, bottom + 38.0), names.0, ink(Anchor::Middle));
        canvas.text((left - 44.0, top - 10.0), names.1, ink(Anchor::Start));
    }
}
