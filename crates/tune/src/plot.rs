//! Pictures of results as SVG, and one page around them: rate and quality, the hull, bars per shot.
//!
//! No script and nothing from elsewhere: a page can be mailed. Colours are those of Okabe and Ito, which most eyes can
//! tell apart; names stand at the lines as well.

use std::fmt::Write;

use crate::compare::Comparison;
use crate::ladder::Ladder;
use crate::shots::ShotPlan;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8a00"];

/// A line of points with a name.
#[derive(Clone, Debug)]
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    joined: bool,
    dashed: bool,
}

/// Text as it may stand in SVG and HTML.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Round steps that cover a range.
fn ticks(low: f64, high: f64, about: f64) -> Vec<f64> {
    let rough = (high - low).max(1e-9) / about;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
    let step = step.unwrap_or(power);
    let first = (low / step).ceil() as i64;
    (first..).map(|index| index as f64 * step).take_while(|tick| *tick <= high + step * 1e-6).collect()
}

/// Rates at 1, 2 and 5 of every power of ten.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(power)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    /// Around all points, with a little air.
    fn around(lines: &[Line]) -> Self {
        let all = || lines.iter().flat_map(|line| line.points.iter());
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let x = range(&mut all().map(|point| point.0.ln()));
        let y = range(&mut all().map(|point| point.1));
        let air = |(low, high): (f64, f64), least: f64| {
            let margin = ((high - low) * 0.06).max(least);
            if low.is_finite() { (low - margin, high + margin) } else { (0.0, 1.0) }
        };
        Self { x: air(x, 0.05), y: air(y, 0.5) }
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = (x.ln() - self.x.0) / (self.x.1 - self.x.0);
        let up = (y - self.y.0) / (self.y.1 - self.y.0);
        (LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM))
    }
}

fn head(title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"system-ui,sans-serif\" font-size=\"12\">\n<title>{0}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\" font-weight=\"600\" fill=\"#222\">{0}</text>\n",
        escaped(title)
    )
}

/// Rate (logarithmic) against quality.
fn rate_quality(title: &str, lines: &[Line], targets: &[f64]) -> String {
    let frame = Frame::around(lines);
    let mut svg = head(title);
    grid(&mut svg, &frame);
    for target in targets.iter().filter(|target| (frame.y.0..=frame.y.1).contains(*target)) {
        let y = frame.at(1.0, *target).1;
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{}\" stroke=\"#888\" stroke-dasharray=\"2 4\"/>\
             <text x=\"{}\" y=\"{:.1}\" fill=\"#666\" text-anchor=\"end\">target {target}</text>",
            WIDTH - RIGHT,
            WIDTH - RIGHT - 4.0,
            y - 5.0
        );
    }
    let mut labels: Vec<(f64, String, &str)> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        draw_line(&mut svg, &frame, line, colour);
        if let Some(last) = line.points.last() {
            labels.push((frame.at(last.0, last.1).1, line.name.clone(), colour));
        }
    }
    write_labels(&mut svg, labels);
    svg.push_str("</svg>\n");
    svg
}

fn grid(svg: &mut String, frame: &Frame) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for tick in ticks(frame.y.0, frame.y.1, 7.0) {
        let y = frame.at(1.0, tick).1;
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e4e4e4\"/><text x=\"{}\" y=\"{:.1}\" fill=\"#555\" \
             text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            plain(tick)
        );
    }
    for tick in log_ticks(frame.x.0.exp(), frame.x.1.exp()) {
        let x = frame.at(tick, frame.y.0).0;
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#e4e4e4\"/><text x=\"{x:.1}\" y=\"{}\" fill=\"#555\" \
             text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            plain(tick)
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#888\"/>\
         <text x=\"{:.1}\" y=\"{}\" fill=\"#333\" text-anchor=\"middle\">kbit/s (logarithmic)</text>\
         <text transform=\"translate(18 {:.1}) rotate(-90)\" fill=\"#333\" text-anchor=\"middle\">VMAF</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 12.0,
        (TOP + bottom) / 2.0
    );
}

/// A number without needless zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn draw_line(svg: &mut String, frame: &Frame, line: &Line, colour: &str) {
    let places: Vec<(f64, f64)> = line.points.iter().map(|point| frame.at(point.0, point.1)).collect();
    if line.joined && places.len() > 1 {
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let dash = if line.dashed { " stroke-dasharray=\"7 4\"" } else { "" };
        let _ = writeln!(
            svg,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>",
            path.join("L")
        );
    }
    for ((x, y), (kbps, score)) in places.iter().zip(&line.points) {
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"><title>{}: {kbps:.0} kbit/s, {score:.2}</title></circle>",
            escaped(&line.name)
        );
    }
}

/// Names at the right, moved apart where they would cover each other.
fn write_labels(svg: &mut String, mut labels: Vec<(f64, String, &str)>) {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = TOP;
    for (y, name, colour) in labels {
        let y = y.max(free);
        free = y + 15.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" fill=\"{colour}\" font-weight=\"600\">{}</text>",
            WIDTH - RIGHT + 8.0,
            y + 4.0,
            escaped(&name)
        );
    }
}

/// The curves of all encoders.
pub fn comparison(report: &Comparison) -> String {
    let mut lines: Vec<Line> = Vec::new();
    for row in &report.rows {
        let mut points: Vec<(f64, f64)> = row
            .bisect_samples
            .iter()
            .filter(|sample| sample.bitrate_kbps > 0.0 && sample.vmaf_score.is_finite())
            .map(|sample| (sample.bitrate_kbps, sample.vmaf_score))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        match lines.iter_mut().find(|line| line.name == row.codec) {
            Some(line) if line.points.len() < points.len() => line.points = points,
            Some(_) => {}
            None if points.is_empty() => {}
            None => lines.push(Line { name: row.codec.clone(), points, joined: true, dashed: false }),
        }
    }
    let targets: Vec<f64> =
        report.target_vmafs.clone().into_iter().flatten().chain(report.target_vmaf).collect();
    rate_quality("Rate and quality", &lines, &targets)
}

/// All points by size, and the hull over them.
pub fn ladder(ladder: &Ladder) -> String {
    let mut lines: Vec<Line> = Vec::new();
    for point in &ladder.samples {
        let name = format!("{}x{}", point.width, point.height);
        let place = (point.bitrate_kbps, point.vmaf);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(place),
            None => lines.push(Line { name, points: vec![place], joined: true, dashed: false }),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let hull = ladder.hull.iter().map(|point| (point.bitrate_kbps, point.vmaf)).collect();
    lines.push(Line { name: "hull".to_owned(), points: hull, joined: true, dashed: true });
    rate_quality("Renditions at the size of the display", &lines, &[])
}

/// A bar per shot: as wide as it is long, as high as its setting; its score above it.
pub fn shots(plan: &ShotPlan) -> String {
    let mut svg = head(&format!("{} per shot, target VMAF {}", plan.encoder, plan.target_vmaf));
    let frames = plan.shots.last().map_or(1, |row| row.end_frame).max(1) as f64;
    let most = f64::from(plan.shots.iter().map(|row| row.crf).max().unwrap_or(1).max(1));
    let (across, up) = (WIDTH - LEFT - 20.0, HEIGHT - TOP - BOTTOM - 20.0);
    for (index, row) in plan.shots.iter().enumerate() {
        let x = LEFT + row.start_frame as f64 / frames * across;
        let width = (row.end_frame - row.start_frame) as f64 / frames * across;
        let height = f64::from(row.crf.max(0)) / most * up;
        let (y, colour) = (HEIGHT - BOTTOM - height, if row.ok { COLOURS[0] } else { COLOURS[1] });
        let score = row.predicted_vmaf.map_or("none".to_owned(), |score| format!("{score:.1}"));
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{colour}\"><title>shot {}: frames \
             {}-{}, quality {}, VMAF {score}</title></rect>",
            (width - 1.0).max(1.0),
            index + 1,
            row.start_frame,
            row.end_frame - 1,
            row.crf
        );
        if width > 26.0 {
            let middle = x + width / 2.0;
            let _ = writeln!(
                svg,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#333\">{score}</text>\
                 <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#fff\">{}</text>",
                y - 6.0,
                y + 16.0,
                row.crf
            );
        }
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{0}H{1}\" fill=\"none\" stroke=\"#888\"/>\
         <text x=\"{2:.1}\" y=\"{3}\" fill=\"#333\" text-anchor=\"middle\">frames 0 to {frames} (score above, setting inside each bar)</text>",
        HEIGHT - BOTTOM,
        WIDTH - 20.0,
        LEFT + across / 2.0,
        HEIGHT - 18.0
    );
    svg.push_str("</svg>\n");
    svg
}

/// A page with a picture and a table of rows.
pub fn page(title: &str, svg: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |row: &[String], tag: &str| {
        row.iter().fold(String::new(), |text, cell| text + &format!("<{tag}>{}</{tag}>", escaped(cell)))
    };
    let names: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
    let body: String = rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row, "td"))).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<style>body{{font:15px/1.5 \
         system-ui,sans-serif;max-width:900px;margin:2rem auto;padding:0 1rem;color:#222}}svg{{width:100%;height:auto}}\
         table{{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}}td,th{{text-align:left;padding:.3rem \
         .6rem;border-bottom:1px solid #ddd}}</style></head>\n<body><h1>{0}</h1>\n{svg}\n<table><thead><tr>{1}</tr></thead>\n\
         <tbody>\n{body}</tbody></table>\n</body></html>\n",
        escaped(title),
        cells(&names, "th")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(81.0, 99.0, 7.0), [85.0, 90.0, 95.0]);
        assert_eq!(log_ticks(90.0, 1100.0), [100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(plain(0.5), "0.5");
    }

    #[test]
    fn foreign_names_do_not_break_the_page() {
        let line = Line {
            name: "<script>".into(),
            points: vec![(100.0, 90.0), (200.0, 95.0)],
            joined: true,
            dashed: false,
        };
        let svg = rate_quality("a & b", &[line], &[92.0]);
        assert!(svg.contains("&lt;script&gt;") && svg.contains("a &amp; b") && !svg.contains("<script>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let empty = rate_quality("nothing", &[], &[]);
        assert!(!empty.contains("NaN"));
        assert!(page("t", &svg, &["a"], &[vec!["<b>".into()]]).contains("<td>&lt;b&gt;</td>"));
    }
}
