//! What the picture shows: curves over the frames, their histograms beside them, figures above.

use super::scale::{label, nice_range, ticks};
use super::{Anchor, CURVES, Canvas, Colour, Drawing, FAINT_INK, GRID, INK, Lettering, PlotError, Point};
use crate::record::{Curve, Record};

const WIDTH: f64 = 960.0;
const PLOT_HEIGHT: f64 = 320.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 16.0;
const HISTOGRAM: f64 = 150.0;
const GAP: f64 = 14.0;
const BOTTOM: f64 = 44.0;
const TITLE: f64 = 44.0;
const LEGEND_ROW: f64 = 20.0;
/// More curves than these cannot be distinguished.
const MOST_CURVES: usize = CURVES.len();
const BINS: usize = 40;

pub struct Chart<'a> {
    record: &'a Record,
    curves: Vec<&'a Curve>,
    left_out: usize,
    low: f64,
    high: f64,
}

impl Drawing for Chart<'_> {
    fn size(&self) -> (u32, u32) {
        (WIDTH as u32, (self.top() + PLOT_HEIGHT + BOTTOM) as u32)
    }

    fn title(&self) -> String {
        let name = |file: &str| shortened(file.rsplit(['/', '\\']).next().unwrap_or(file), 40);
        match (name(&self.record.distorted.file), name(&self.record.reference.file)) {
            (distorted, reference) if !distorted.is_empty() && !reference.is_empty() => {
                format!("{distorted} against {reference}")
            }
            (distorted, _) if !distorted.is_empty() => distorted,
            _ => "Quality over the frames".to_owned(),
        }
    }

    fn description(&self) -> String {
        self.curves.iter().map(|curve| legend(curve)).collect::<Vec<_>>().join("; ")
    }

    fn draw(&self, canvas: &mut dyn Canvas) {
        let ink = |colour, large| Lettering { anchor: Anchor::Start, colour, large };
        canvas.text((LEFT - 36.0, 28.0), &self.title(), ink(INK, true));
        for (row, (curve, colour)) in self.curves.iter().zip(CURVES).enumerate() {
            let y = TITLE + row as f64 * LEGEND_ROW;
            canvas.rectangle((LEFT - 36.0, y - 1.0), (12.0, 12.0), colour, 1.0);
            canvas.text((LEFT - 18.0, y + 10.0), &legend(curve), ink(FAINT_INK, false));
        }
        if self.left_out > 0 {
            let y = TITLE + self.curves.len() as f64 * LEGEND_ROW + 10.0;
            let text = format!("and {} more that are not drawn", self.left_out);
            canvas.text((LEFT - 18.0, y), &text, ink(FAINT_INK, false));
        }
        self.axes(canvas);
        for (curve, colour) in self.curves.iter().zip(CURVES).rev() {
            for stretch in self.stretches(curve) {
                canvas.line(&stretch, colour, 1.5);
            }
            self.histogram(canvas, curve, colour);
        }
    }
}

impl<'a> Chart<'a> {
    pub fn new(record: &'a Record) -> Result<Self, PlotError> {
        let mut curves: Vec<&Curve> = record.shown();
        curves.retain(|curve| curve.values.iter().flatten().any(|value| value.is_finite()));
        let left_out = curves.len().saturating_sub(MOST_CURVES);
        curves.truncate(MOST_CURVES);
        let values = curves.iter().flat_map(|curve| curve.values.iter().flatten().copied());
        let (low, high) = nice_range(values).ok_or(PlotError::Nothing)?;
        Ok(Self { record, curves, left_out, low, high })
    }

    fn top(&self) -> f64 {
        let rows = self.curves.len() + usize::from(self.left_out > 0);
        TITLE + rows as f64 * LEGEND_ROW + 12.0
    }

    fn right(&self) -> f64 {
        WIDTH - RIGHT - HISTOGRAM - GAP
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.top() + (1.0 - share.clamp(0.0, 1.0)) * PLOT_HEIGHT
    }

    fn x(&self, place: usize) -> f64 {
        let last = self.record.frames.len().saturating_sub(1).max(1);
        LEFT + place as f64 / last as f64 * (self.right() - LEFT)
    }

    fn axes(&self, canvas: &mut dyn Canvas) {
        let faint = |anchor| Lettering { anchor, colour: FAINT_INK, large: false };
        for value in ticks(self.low, self.high, 6) {
            let y = self.y(value);
            canvas.line(&[(LEFT, y), (WIDTH - RIGHT, y)], GRID, 1.0);
            canvas.text((LEFT - 8.0, y + 4.0), &label(value, self.high - self.low), faint(Anchor::End));
        }
        let bottom = self.top() + PLOT_HEIGHT;
        let (first, last) = (self.record.frames.first().copied(), self.record.frames.last().copied());
        let (first, last) = (first.unwrap_or(0) as f64, last.unwrap_or(0) as f64);
        let frames = if last > first { ticks(first, last, 8) } else { vec![first] };
        for frame in frames.into_iter().filter(|frame| frame.fract() == 0.0) {
            let share = (frame - first) / (last - first).max(1.0);
            let x = LEFT + share * (self.right() - LEFT);
            canvas.line(&[(x, bottom), (x, bottom + 4.0)], FAINT_INK, 1.0);
            canvas.text((x, bottom + 18.0), &format!("{frame:.0}"), faint(Anchor::Middle));
        }
        canvas.line(&[(LEFT, bottom), (WIDTH - RIGHT, bottom)], FAINT_INK, 1.0);
        canvas.text(((LEFT + self.right()) / 2.0, bottom + 36.0), "frame", faint(Anchor::Middle));
        let middle = WIDTH - RIGHT - HISTOGRAM / 2.0;
        canvas.text((middle, bottom + 18.0), "share of frames", faint(Anchor::Middle));
    }

    /// The curve between its gaps. Where frames are closer than half a unit, the lowest and the highest of a unit stand for all.
    fn stretches(&self, curve: &Curve) -> Vec<Vec<Point>> {
        let per_point = curve.values.len() as f64 / (self.right() - LEFT);
        let group = if per_point > 2.0 { per_point.ceil() as usize } else { 1 };
        let mut stretches = vec![Vec::new()];
        for (number, values) in curve.values.chunks(group).enumerate() {
            let known = (number * group..).zip(values).filter_map(|(place, value)| Some((place, (*value)?)));
            let low = known.clone().min_by(|a, b| a.1.total_cmp(&b.1));
            let high = known.max_by(|a, b| a.1.total_cmp(&b.1));
            let (Some(low), Some(high)) = (low, high) else {
                stretches.push(Vec::new());
                continue;
            };
            let mut ends = vec![low, high];
            ends.sort_by_key(|(place, _)| *place);
            ends.dedup_by_key(|(place, _)| *place);
            if let Some(stretch) = stretches.last_mut() {
                stretch.extend(ends.into_iter().map(|(place, value)| (self.x(place), self.y(value))));
            }
        }
        stretches.retain(|stretch| !stretch.is_empty());
        for stretch in &mut stretches {
            // A lonely point gets some width, to be seen.
            if let [only] = stretch[..] {
                stretch.push((only.0 + 2.0, only.1));
            }
        }
        stretches
    }

    fn histogram(&self, canvas: &mut dyn Canvas, curve: &Curve, colour: Colour) {
        let counts = counts(curve, self.low, self.high, BINS);
        let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let height = PLOT_HEIGHT / BINS as f64;
        for (bin, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let y = self.top() + PLOT_HEIGHT - (bin + 1) as f64 * height;
            let width = count as f64 / most * HISTOGRAM;
            let opacity = if self.curves.len() == 1 { 0.85 } else { 0.5 };
            canvas.rectangle((WIDTH - RIGHT - HISTOGRAM, y + 0.5), (width, height - 1.0), colour, opacity);
        }
    }
}

/// How many scores lie in each of the equal parts of a range.
pub fn counts(curve: &Curve, low: f64, high: f64, bins: usize) -> Vec<usize> {
    let mut counts = vec![0; bins];
    for value in curve.values.iter().flatten().filter(|value| value.is_finite()) {
        let bin = ((value - low) / (high - low) * bins as f64).floor().clamp(0.0, bins as f64 - 1.0);
        counts[bin as usize] += 1;
    }
    counts
}

fn legend(curve: &Curve) -> String {
    let name = shortened(&curve.name, 48);
    match curve.figures() {
        Some(figures) => format!(
            "{name} · mean {:.2} · harmonic {:.2} · p5 {:.2} · min {:.2}",
            figures.mean, figures.harmonic_mean, figures.p5, figures.min
        ),
        None => name,
    }
}

/// Long names lose their middle.
pub fn shortened(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_owned();
    }
    let half = (most - 1) / 2;
    letters[..half].iter().chain(&['…']).chain(&letters[letters.len() - half..]).collect()
}
