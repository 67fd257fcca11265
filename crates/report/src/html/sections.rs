//! The parts of a page, as HTML. Every word from outside goes through [`escape`].

use std::fmt::Write;

use super::{WorstFrame, data_uri};
use crate::escape::escape;
use crate::plot;
use crate::record::{Curve, InputFact, Record};
use crate::score::IDENTICAL;
use crate::stats;

const COLOURS: usize = 7;
/// Worst frames that are listed, and how far they are apart in frames.
const WORST: usize = 8;
const APART: usize = 12;
/// Shots that are listed; a film has thousands.
const MOST_SHOTS: usize = 200;

fn base_name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// Heading and the line below it.
pub fn titles(record: &Record) -> (String, String) {
    let (reference, distorted) = (base_name(&record.reference.file), base_name(&record.distorted.file));
    let title = match (distorted.is_empty(), reference.is_empty()) {
        (false, false) => format!("{distorted} against {reference}"),
        (false, true) => distorted.to_owned(),
        _ => "Video quality report".to_owned(),
    };
    let mut facts = vec![format!("{} frames", record.frames.len())];
    facts.extend(Some(record.reference.format.clone()).filter(|format| !format.is_empty()));
    facts.extend(record.frames_per_second().map(|rate| format!("{} fps", rounded(rate))));
    facts.extend(Some(record.version.clone()).filter(|version| !version.is_empty()));
    (title, facts.join(" · "))
}

fn rounded(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether the two can be compared, and everything a person should hear first.
pub fn verdict(record: &Record) -> String {
    let mut html = String::new();
    if let Some(comparable) = &record.comparable {
        let (class, words) = match comparable.verdict.as_str() {
            "yes" => ("yes", "The two videos can be compared"),
            "no" => ("no", "The two videos cannot be compared: the scores mean little"),
            _ => ("warn", "The two videos can be compared with care"),
        };
        html.push_str(&banner(class, words, &comparable.reasons));
    }
    if !record.warnings.is_empty() {
        html.push_str(&banner(
            "warn",
            "Faults that the scores do not show, or do not name",
            &record.warnings,
        ));
    }
    let mut notes = record.notes.clone();
    if record.identical && !notes.iter().any(|note| note.contains("identical")) {
        notes.push(IDENTICAL.to_owned());
    }
    if let Some(shorter) = &record.shorter {
        notes.push(format!(
            "The {shorter} video is shorter than the other one; only the common frames are scored."
        ));
    }
    for (side, input) in [("reference", &record.reference), ("distorted video", &record.distorted)] {
        notes.extend(input.warnings.iter().map(|warning| format!("{side}: {warning}")));
    }
    if !notes.is_empty() {
        html.push_str(&banner("warn", "Good to know", &notes));
    }
    html
}

fn banner(class: &str, words: &str, reasons: &[String]) -> String {
    let mut html = format!("<div class=\"verdict {class}\" role=\"note\"><p>{words}</p>");
    if !reasons.is_empty() {
        let items: String = reasons.iter().map(|reason| format!("<li>{}</li>", escape(reason))).collect();
        let _ = write!(html, "<ul>{items}</ul>");
    }
    html.push_str("</div>\n");
    html
}

/// The numbers that are read first, for up to four models.
pub fn tiles(record: &Record, shown: &[&Curve]) -> String {
    let mut html = String::from("<div class=\"tiles\">\n");
    for (place, curve) in shown.iter().enumerate().take(4) {
        let Some(figures) = curve.figures() else { continue };
        let _ = writeln!(
            html,
            "<div class=\"tile c{}\"><span class=\"name\">{}</span><b>{}</b>\
             <p>p5 {} · harmonic {}<br>lowest {} at frame {}</p></div>",
            place % COLOURS,
            escape(&curve.name),
            number(figures.mean, figures.max),
            number(figures.p5, figures.max),
            number(figures.harmonic_mean, figures.max),
            number(figures.min, figures.max),
            record.frames.get(figures.min_place).copied().unwrap_or(0),
        );
    }
    html.push_str("</div>\n");
    html
}

/// Two decimals for scores, four for features of a small range.
fn number(value: f64, largest: f64) -> String {
    if largest > 10.0 { format!("{value:.2}") } else { format!("{value:.4}") }
}

/// The curve with its controls; without scripts a still picture.
pub fn chart(record: &Record, shown: &[&Curve]) -> String {
    let still = plot::svg(record).unwrap_or_default().replacen("<svg ", "<svg class=\"still\" ", 1);
    let mut chips = String::new();
    for (place, curve) in shown.iter().enumerate() {
        let _ = write!(
            chips,
            "<button type=\"button\" class=\"chip c{}\" aria-pressed=\"true\" data-curve=\"{place}\"><span>{}</span></button>",
            place % COLOURS,
            escape(&curve.name)
        );
    }
    let (first, last) =
        (record.frames.first().copied().unwrap_or(0), record.frames.last().copied().unwrap_or(0));
    let cuts = if record.shots.len() > 1 { " Dotted lines are cuts between shots." } else { "" };
    format!(
        "<section aria-labelledby=\"curve\"><h2 id=\"curve\">Score over the frames</h2>\n\
         <div class=\"bar script\" hidden>{chips}<span class=\"space\"></span>{BUTTONS}</div>\n\
         <div id=\"chart\" tabindex=\"0\" role=\"slider\" aria-label=\"Frame\" aria-valuemin=\"{first}\" aria-valuemax=\"{last}\" \
         aria-valuenow=\"{first}\" aria-describedby=\"keys\"><div id=\"tip\" hidden></div>{still}</div>\n\
         <div id=\"overview\" hidden></div>\n\
         <p class=\"hint script\" id=\"keys\" hidden><span class=\"mouse\">Drag over the curve to zoom in; Ctrl and the wheel work too. \
         Keys: arrows move, + and − zoom, 0 shows all.</span>{cuts}</p></section>\n"
    )
}

const BUTTONS: &str = "<button type=\"button\" id=\"in\" aria-label=\"Zoom in\" title=\"Zoom in\">+</button>\
<button type=\"button\" id=\"out\" aria-label=\"Zoom out\" title=\"Zoom out\">−</button>\
<button type=\"button\" id=\"left\" aria-label=\"Earlier\" title=\"Earlier\">◀</button>\
<button type=\"button\" id=\"right\" aria-label=\"Later\" title=\"Later\">▶</button>\
<button type=\"button\" id=\"whole\">All</button>\
<button type=\"button\" id=\"fit\" class=\"toggle\" aria-pressed=\"false\">Fit height</button>";

/// The table of figures.
pub fn figures(record: &Record, shown: &[&Curve]) -> String {
    let mut rows = String::new();
    for (place, curve) in shown.iter().enumerate() {
        let Some(figures) = curve.figures() else { continue };
        let values = [
            figures.mean,
            figures.harmonic_mean,
            figures.min,
            figures.p1,
            figures.p5,
            figures.p10,
            figures.p25,
            figures.median,
            figures.max,
        ];
        let cells: String =
            values.iter().map(|value| format!("<td>{}</td>", number(*value, figures.max))).collect();
        let _ = writeln!(
            rows,
            "<tr data-of=\"{place}\"><th scope=\"row\">{}</th>{cells}</tr>",
            escape(&curve.name)
        );
    }
    let heads = ["mean", "harmonic", "min", "p1", "p5", "p10", "p25", "median", "max"];
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let aggregates: String = record
        .aggregates
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{value:.4} over the whole clip</dd>", escape(name)))
        .collect();
    let aggregates = if aggregates.is_empty() { aggregates } else { format!("<dl>{aggregates}</dl>") };
    format!(
        "<section aria-labelledby=\"figures\"><h2 id=\"figures\">Figures</h2><div class=\"scroll\"><table><thead><tr>\
         <th scope=\"col\">score</th>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div>{aggregates}\
         <p class=\"hint\">p5 is the score that 5 % of the frames do not reach. The harmonic mean weighs bad frames more.</p></section>\n"
    )
}

const HISTOGRAM: (f64, f64) = (360.0, 120.0);
const BINS: usize = 30;

/// A small histogram per curve.
pub fn histograms(shown: &[&Curve]) -> String {
    let figures: String = shown.iter().enumerate().map(|(place, curve)| histogram(place, curve)).collect();
    if figures.is_empty() {
        return figures;
    }
    format!(
        "<section aria-labelledby=\"histogram\"><h2 id=\"histogram\">How scores are spread</h2><div class=\"histograms\">{figures}</div></section>\n"
    )
}

fn histogram(place: usize, curve: &Curve) -> String {
    let Some((low, high)) = plot::nice_range(curve.values.iter().flatten().copied()) else {
        return String::new();
    };
    let counts = plot::counts(curve, low, high, BINS);
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let (width, height) = HISTOGRAM;
    let bin_width = width / BINS as f64;
    let mut bars = String::new();
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let tall = (*count as f64 / most * height).max(1.0);
        let (from, to) = (
            low + (high - low) * bin as f64 / BINS as f64,
            low + (high - low) * (bin + 1) as f64 / BINS as f64,
        );
        let _ = write!(
            bars,
            "<rect class=\"bin\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"><title>{} to {}: {count} frames</title></rect>",
            bin as f64 * bin_width + 0.5,
            height - tall,
            bin_width - 1.0,
            number(from, high),
            number(to, high),
        );
    }
    let mut labels = String::new();
    for tick in plot::ticks(low, high, 5) {
        let x = (tick - low) / (high - low) * width;
        let anchor = if x < 10.0 {
            "start"
        } else if x > width - 10.0 {
            "end"
        } else {
            "middle"
        };
        let text = plot::label(tick, high - low);
        let _ = write!(
            labels,
            "<text class=\"axis\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>",
            height + 16.0
        );
    }
    format!(
        "<figure class=\"histogram c{}\" data-of=\"{place}\"><svg viewBox=\"0 0 {width} {}\" role=\"img\" aria-label=\"Histogram of {name}\">\
         {bars}<line class=\"grid\" x1=\"0\" x2=\"{width}\" y1=\"{height}\" y2=\"{height}\"/>{labels}</svg><figcaption>{name}</figcaption></figure>",
        place % COLOURS,
        height + 22.0,
        name = escape(&curve.name),
    )
}

/// The worst frames of the first curve, or those given with pictures.
pub fn worst(record: &Record, shown: &[&Curve], given: &[WorstFrame]) -> String {
    let Some(first) = shown.first() else { return String::new() };
    let frames: Vec<u64> = if given.is_empty() {
        let places = stats::worst_places(&first.values, WORST, APART);
        places.into_iter().map(|place| record.frames[place]).collect()
    } else {
        given.iter().map(|worst| worst.frame).collect()
    };
    let rows: String = frames.iter().map(|frame| worst_row(record, shown, *frame)).collect();
    let heads: String = shown
        .iter()
        .enumerate()
        .take(6)
        .map(|(place, curve)| format!("<th scope=\"col\" data-of=\"{place}\">{}</th>", escape(&curve.name)))
        .collect();
    let pictures: String = given.iter().map(picture).collect();
    let pictures =
        if pictures.is_empty() { pictures } else { format!("<div class=\"worst\">{pictures}</div>") };
    format!(
        "<section aria-labelledby=\"worst\"><h2 id=\"worst\">Worst frames</h2><div class=\"scroll\"><table><thead><tr>\
         <th scope=\"col\">frame</th><th scope=\"col\">time</th>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div>{pictures}</section>\n"
    )
}

fn worst_row(record: &Record, shown: &[&Curve], frame: u64) -> String {
    let place = record.frames.partition_point(|other| *other < frame);
    let cell = |(number_of, curve): (usize, &&Curve)| {
        let value = curve.values.get(place).copied().flatten();
        let text = value
            .map_or("–".to_owned(), |value| number(value, if value.abs() > 1.5 { 100.0 } else { value }));
        format!("<td data-of=\"{number_of}\">{text}</td>")
    };
    let cells: String = shown.iter().enumerate().take(6).map(cell).collect();
    let (from, to) = (frame.saturating_sub(50), frame + 50);
    format!(
        "<tr><td><button type=\"button\" class=\"plain\" data-jump=\"{from} {to} {frame}\">{frame}</button></td><td>{}</td>{cells}</tr>\n",
        time(record, frame)
    )
}

fn picture(worst: &WorstFrame) -> String {
    let Some(png) = &worst.png else { return String::new() };
    let text = escape(&worst.description);
    format!(
        "<figure><img alt=\"Frame {frame}: {text}\" src=\"{}\" loading=\"lazy\"><figcaption><strong>Frame {frame}</strong> {text}</figcaption></figure>",
        data_uri(png),
        frame = worst.frame,
    )
}

fn time(record: &Record, frame: u64) -> String {
    let Some(seconds) = record.seconds(frame) else { return "–".to_owned() };
    let minutes = (seconds / 60.0).floor();
    format!("{minutes:.0}:{:05.2}", seconds - minutes * 60.0)
}

/// Shots, if there is more than one.
pub fn shots(record: &Record, shown: &[&Curve]) -> String {
    let (Some(first), true) = (shown.first(), record.shots.len() > 1) else { return String::new() };
    let mut rows = String::new();
    for (number_of, shot) in record.shots.iter().enumerate().take(MOST_SHOTS) {
        let (from, to) = (
            record.frames.partition_point(|frame| *frame < shot.start),
            record.frames.partition_point(|frame| *frame < shot.end),
        );
        let values: Option<Vec<f64>> =
            first.values.get(from..to).map(|values| values.iter().flatten().copied().collect());
        let Some(figures) = values.and_then(|values| stats::figures(&values)) else { continue };
        let last = shot.end - 1;
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td><button type=\"button\" class=\"plain\" data-jump=\"{} {last} -1\">{} to {last}</button></td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td></tr>",
            number_of + 1,
            shot.start,
            shot.start,
            time(record, shot.start),
            number(figures.mean, figures.max),
            number(figures.p5, figures.max),
            number(figures.min, figures.max),
        );
    }
    let more = record.shots.len().saturating_sub(MOST_SHOTS);
    let more = if more > 0 { format!("<p class=\"hint\">and {more} more</p>") } else { String::new() };
    format!(
        "<section aria-labelledby=\"shots\"><h2 id=\"shots\">Shots</h2><div class=\"scroll\"><table><thead><tr><th scope=\"col\">shot</th>\
         <th scope=\"col\">frames</th><th scope=\"col\">from</th><th scope=\"col\">mean</th><th scope=\"col\">p5</th><th scope=\"col\">min</th></tr></thead>\
         <tbody>\n{rows}</tbody></table></div>{more}<p class=\"hint\">Figures of {}.</p></section>\n",
        escape(&first.name)
    )
}

/// Where the numbers come from.
pub fn provenance(record: &Record) -> String {
    let mut entries = vec![("engine".to_owned(), escape(&record.version))];
    entries.extend(record.cpu_level.as_ref().map(|level| ("CPU level".to_owned(), escape(level))));
    for model in &record.models {
        let hash = model
            .sha256
            .as_ref()
            .map_or(String::new(), |hash| format!("<br><span class=\"hash\">{}</span>", escape(hash)));
        entries.push((format!("model {}", model.name), format!("{}{hash}", escape(&model.model))));
    }
    for (side, input) in [("reference", &record.reference), ("distorted video", &record.distorted)] {
        if !input.file.is_empty() {
            entries.push((side.to_owned(), input_html(input)));
        }
    }
    if let (Some(first), Some(last)) = (record.frames.first(), record.frames.last()) {
        entries.push(("frames".to_owned(), format!("{} ({first} to {last})", record.frames.len())));
    }
    entries.extend(record.pairing.iter().map(|(name, value)| (format!("pairing: {name}"), escape(value))));
    let entries: String =
        entries.iter().map(|(name, value)| format!("<dt>{}</dt><dd>{value}</dd>\n", escape(name))).collect();
    format!(
        "<section aria-labelledby=\"provenance\"><h2 id=\"provenance\">Where the numbers come from</h2><dl>\n{entries}</dl></section>\n"
    )
}

fn input_html(input: &InputFact) -> String {
    let rate = input
        .frame_rate
        .map_or(String::new(), |(num, den)| format!(" {} fps", rounded(f64::from(num) / f64::from(den))));
    let hash = input
        .sha256
        .as_ref()
        .map_or(String::new(), |hash| format!("<br><span class=\"hash\">SHA-256 {}</span>", escape(hash)));
    let size = input.bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes"));
    format!("{}<br>{}{rate}{size}{hash}", escape(&input.file), escape(&input.format))
}
