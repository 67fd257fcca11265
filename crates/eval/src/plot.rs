//! Scatter plots of predictions against opinion scores, as SVG and as a page.
//!
//! A plot shows every row up to a limit, the least-squares line, and around it the band in which 95 of 100 opinion scores
//! of a prediction are to be expected. Colours follow the reader's light or dark setting.

use std::fmt::Write;

use crate::stats::{Interval, sum};
use crate::{Comparison, Evaluation};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 48.0;
const TOP: f64 = 34.0;
const RIGHT: f64 = 16.0;
/// More points would only make the file large; every n-th is drawn.
const MOST_POINTS: usize = 4000;

/// A line through the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub slope: f64,
    pub intercept: f64,
    mean_x: f64,
    squares_x: f64,
    deviation: f64,
    count: f64,
}

impl Fit {
    /// Least squares; `None` where x does not vary.
    pub fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        let count = x.len() as f64;
        let (mean_x, mean_y) = (sum(x.len(), &|i| x[i]) / count, sum(y.len(), &|i| y[i]) / count);
        let squares_x = sum(x.len(), &|i| (x[i] - mean_x).powi(2));
        let slope = sum(x.len(), &|i| (x[i] - mean_x) * (y[i] - mean_y)) / squares_x;
        let intercept = mean_y - slope * mean_x;
        let rest = sum(x.len(), &|i| (y[i] - slope * x[i] - intercept).powi(2));
        let deviation = (rest / (count - 2.0).max(1.0)).sqrt();
        slope.is_finite().then_some(Self { slope, intercept, mean_x, squares_x, deviation, count })
    }

    pub fn at(&self, x: f64) -> f64 {
        self.slope * x + self.intercept
    }

    /// Half the width of the band of a new observation (normal approximation).
    pub fn half_width(&self, x: f64) -> f64 {
        let leverage = 1.0 + 1.0 / self.count + (x - self.mean_x).powi(2) / self.squares_x;
        1.96 * self.deviation * leverage.sqrt()
    }
}

/// One axis: from where to where, and the distance of marks.
#[derive(Clone, Copy, Debug)]
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    fn of(values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let span = if high > low { high - low } else { 1.0 };
        let rough = span / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
        Self { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
    }

    fn part(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE)
    }

    fn marks(&self) -> impl Iterator<Item = f64> + '_ {
        let count = ((self.high - self.low) / self.step).round() as usize;
        (0..=count.min(20)).map(|i| self.low + i as f64 * self.step)
    }
}

struct Frame {
    x: Axis,
    y: Axis,
}

impl Frame {
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let across = LEFT + self.x.part(x) * (WIDTH - LEFT - RIGHT);
        (across, HEIGHT - BOTTOM - self.y.part(y) * (HEIGHT - BOTTOM - TOP))
    }

    /// Within the drawing's edges.
    fn clamped(&self, x: f64, y: f64) -> (f64, f64) {
        self.place(x, y.clamp(self.y.low, self.y.high))
    }
}

/// The plot of one model.
pub fn scatter_svg(evaluation: &Evaluation) -> String {
    let (x, y) = (&evaluation.predicted, &evaluation.opinions);
    let frame = Frame { x: Axis::of(x), y: Axis::of(y) };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"system-ui,sans-serif\" font-size=\"12\"><title>{}</title><style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n",
        escaped(&format!("Predictions of {} against opinion scores", evaluation.model)),
    );
    draw_axes(&mut svg, &frame);
    let line = draw_band(&mut svg, &frame, Fit::of(x, y));
    draw_points(&mut svg, &frame, x, y);
    svg.push_str(&line);
    draw_words(&mut svg, evaluation);
    svg.push_str("</svg>\n");
    svg
}

const STYLE: &str = ".ground{fill:#fff}.ink{fill:#222}.soft{fill:#555}.grid{stroke:#ddd}.dot{fill:#1f6fb2;fill-opacity:.45}\
                     .line{stroke:#c2410c;stroke-width:2;fill:none}.band{fill:#c2410c;fill-opacity:.13}\
                     @media(prefers-color-scheme:dark){.ground{fill:#16181c}.ink{fill:#eee}.soft{fill:#aaa}.grid{stroke:#333}\
                     .dot{fill:#6ab0f3}.line{stroke:#fb923c}.band{fill:#fb923c}}";

fn draw_axes(svg: &mut String, frame: &Frame) {
    for mark in frame.x.marks() {
        let (across, _) = frame.place(mark, frame.y.low);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{across:.1}\" x2=\"{across:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>\
             <text class=\"soft\" x=\"{across:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 16.0,
            number(mark),
        );
    }
    for mark in frame.y.marks() {
        let (_, down) = frame.place(frame.x.low, mark);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{down:.1}\" y2=\"{down:.1}\"/>\
             <text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            down + 4.0,
            number(mark),
        );
    }
}

/// The band, which lies below the points. Gives the line, which lies above them.
fn draw_band(svg: &mut String, frame: &Frame, fit: Option<Fit>) -> String {
    let Some(fit) = fit else { return String::new() };
    let steps = 48;
    let at = |i: usize| frame.x.low + (frame.x.high - frame.x.low) * i as f64 / steps as f64;
    let points = |side: f64| -> Vec<String> {
        let point = |i: usize| {
            let (x, y) = frame.clamped(at(i), fit.at(at(i)) + side * fit.half_width(at(i)));
            format!("{x:.1},{y:.1}")
        };
        (0..=steps).map(point).collect()
    };
    let mut lower = points(-1.0);
    lower.reverse();
    let band = [points(1.0), lower].concat().join(" ");
    let _ = writeln!(svg, "<polygon class=\"band\" points=\"{band}\"/>");
    format!("<polyline class=\"line\" points=\"{}\"/>\n", points(0.0).join(" "))
}

fn draw_points(svg: &mut String, frame: &Frame, x: &[f64], y: &[f64]) {
    let step = x.len().div_ceil(MOST_POINTS).max(1);
    svg.push_str("<g class=\"dot\">");
    for (x, y) in x.iter().zip(y).step_by(step) {
        let (across, down) = frame.place(*x, *y);
        let _ = write!(svg, "<circle cx=\"{across:.1}\" cy=\"{down:.1}\" r=\"2.4\"/>");
    }
    svg.push_str("</g>\n");
}

fn draw_words(svg: &mut String, evaluation: &Evaluation) {
    let shown = evaluation.n().div_ceil(evaluation.n().div_ceil(MOST_POINTS).max(1));
    let count = match evaluation.n() {
        n if n == shown => format!("{n} rows"),
        n => format!("{n} rows, {shown} drawn"),
    };
    let _ = writeln!(
        svg,
        "<text class=\"ink\" x=\"{LEFT}\" y=\"20\" font-weight=\"600\">{}</text>\
         <text class=\"soft\" x=\"{:.1}\" y=\"20\" text-anchor=\"end\">PLCC {:.4}, SROCC {:.4}, {count}</text>\
         <text class=\"ink\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">prediction</text>\
         <text class=\"ink\" transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">opinion score</text>",
        escaped(&short(&evaluation.model)),
        WIDTH - RIGHT,
        evaluation.figures.plcc,
        evaluation.figures.srocc,
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 10.0,
        (TOP + HEIGHT - BOTTOM) / 2.0,
    );
}

/// The file's name without its folders, cut to what fits.
fn short(model: &str) -> String {
    let name = model.rsplit(['/', '\\']).next().unwrap_or(model);
    let count = name.chars().count();
    if count <= 32 {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(count - 31).collect::<String>())
    }
}

/// A page with the table of all models, the tests between them and a plot of each.
pub fn page(comparison: &Comparison) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>Models against opinion scores</title><style>{PAGE_STYLE}</style>\
         </head><body>\n<h1>Models against opinion scores</h1>\n"
    );
    if let Some(first) = comparison.ranked.first() {
        let _ = writeln!(
            page,
            "<p>{}, split <b>{}</b>. Brackets hold 95&nbsp;% bootstrap intervals.</p>",
            escaped(&first.table),
            first.split.name()
        );
    }
    add_ranking(&mut page, comparison);
    add_pairs(&mut page, comparison);
    for (model, error) in &comparison.errors {
        let _ = writeln!(page, "<p class=\"error\"><b>{}</b>: {}</p>", escaped(model), escaped(error));
    }
    page.push_str("<div class=\"plots\">\n");
    comparison.ranked.iter().for_each(|evaluation| page.push_str(&scatter_svg(evaluation)));
    page.push_str("</div>\n<p class=\"soft\">Lines are least squares; bands hold 95&nbsp;% of opinion scores to be expected.</p>\n");
    page.push_str("</body></html>\n");
    page
}

const PAGE_STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:1180px;margin:2rem auto;padding:0 1rem;color:#222;\
    background:#fff}table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}\
    td,th{padding:.3rem .7rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}td:first-child,th:first-child{\
    text-align:left}small{color:#666}.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(340px,1fr));gap:1rem}\
    .error{color:#b42318}.soft{color:#666}@media(prefers-color-scheme:dark){body{background:#16181c;color:#eee}td,th{\
    border-color:#333}small,.soft{color:#aaa}.error{color:#f97066}}";

fn add_ranking(page: &mut String, comparison: &Comparison) {
    page.push_str(
        "<table><tr><th>model</th><th>n</th><th>PLCC</th><th>SROCC</th><th>KROCC</th><th>RMSE</th></tr>\n",
    );
    for evaluation in &comparison.ranked {
        let figures = &evaluation.figures;
        let interval =
            |pick: fn(&crate::Intervals) -> Option<Interval>| evaluation.intervals.as_ref().and_then(pick);
        let cells = [
            (figures.plcc, interval(|i| i.plcc)),
            (figures.srocc, interval(|i| i.srocc)),
            (figures.krocc, interval(|i| i.krocc)),
            (figures.rmse, interval(|i| i.rmse)),
        ];
        let cells: String = cells.into_iter().map(|(value, interval)| cell(value, interval)).collect();
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td>{cells}</tr>",
            escaped(&short(&evaluation.model)),
            evaluation.n()
        );
    }
    page.push_str("</table>\n");
}

fn cell(value: f64, interval: Option<Interval>) -> String {
    let interval =
        interval.map_or(String::new(), |i| format!(" <small>[{:.4}, {:.4}]</small>", i.low, i.high));
    format!("<td>{value:.4}{interval}</td>")
}

fn add_pairs(page: &mut String, comparison: &Comparison) {
    if comparison.pairs.is_empty() {
        return;
    }
    page.push_str(
        "<h2>Is the difference more than luck?</h2>\n<table><tr><th>pair</th><th>PLCC difference</th><th>Steiger p</th>\
         <th>Wilcoxon p (Holm)</th></tr>\n",
    );
    for pair in &comparison.pairs {
        let chance = |p: Option<f64>| p.map_or("–".to_owned(), |p| format!("{p:.3e}"));
        let _ = writeln!(
            page,
            "<tr><td>{} – {}</td>{}<td>{}</td><td>{}</td></tr>",
            escaped(&short(&pair.models[0])),
            escaped(&short(&pair.models[1])),
            cell(pair.plcc_difference, pair.plcc_bootstrap.map(|(interval, _)| interval)),
            chance(pair.plcc_steiger),
            chance(pair.wilcoxon_holm),
        );
    }
    page.push_str("</table>\n");
    if let Some(friedman) = comparison.friedman {
        let _ = writeln!(
            page,
            "<p>Friedman's test of all models' absolute errors: statistic {:.3}, p {:.3e}.</p>",
            friedman.statistic, friedman.p
        );
    }
}

/// A mark's number without a tail of digits.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    text.chars().filter(|c| !c.is_control()).collect()
}
