//! What the charts and the page of a comparison show. `report` draws them.
//!
//! A chart has every row up to a limit, the least-squares line, and around it the band in which 95 of 100 opinion scores of
//! a prediction are to be expected.

use visus_report::document::{Cell, Document};
use visus_report::plot::{BandPoint, Scatter};

use crate::stats::{Fit, Interval};
use crate::{Comparison, Evaluation, Intervals, Pair};

/// Points along the line.
const STEPS: u32 = 48;

/// Predictions of one model against opinion scores.
pub fn scatter(evaluation: &Evaluation) -> Scatter<'_> {
    let (x, y) = (&evaluation.predicted, &evaluation.opinions);
    let (low, high) = Scatter::range(x);
    let band = |fit: Fit| {
        let at = |step| low + (high - low) * f64::from(step) / f64::from(STEPS);
        let point = |x| BandPoint { x, middle: fit.at(x), half: fit.half_width(x) };
        (0..=STEPS).map(|step| point(at(step))).collect()
    };
    Scatter {
        title: short(&evaluation.model),
        subtitle: format!("PLCC {:.4}, SROCC {:.4}", evaluation.figures.plcc, evaluation.figures.srocc),
        names: ("prediction", "opinion score"),
        x,
        y,
        band: Fit::of(x, y).map_or(Vec::new(), band),
    }
}

/// A page with the table of all models, the tests between them and a chart of each.
pub fn page(comparison: &Comparison) -> String {
    let mut page = Document::new("Models against opinion scores");
    if let Some(first) = comparison.ranked.first() {
        let (table, split) = (&first.table, first.split.name());
        page = page.paragraph(&format!("{table}, split {split}. Brackets hold 95 % bootstrap intervals."));
    }
    let rows: Vec<_> = comparison.ranked.iter().map(ranking_row).collect();
    page = page.table(&["model", "n", "PLCC", "SROCC", "KROCC", "RMSE"], &rows);
    page = with_pairs(page, comparison);
    for (model, error) in &comparison.errors {
        page = page.error(model, error);
    }
    page.charts(comparison.ranked.iter().map(|evaluation| scatter(evaluation).svg()))
        .remark("Lines are least squares; bands hold 95 % of the opinion scores that are to be expected.")
        .html()
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

fn ranking_row(evaluation: &Evaluation) -> [Cell; 6] {
    let figures = &evaluation.figures;
    let interval = |pick: fn(&Intervals) -> Option<Interval>| evaluation.intervals.as_ref().and_then(pick);
    [
        short(&evaluation.model).into(),
        evaluation.n().to_string().into(),
        figure(figures.plcc, interval(|all| all.plcc)),
        figure(figures.srocc, interval(|all| all.srocc)),
        figure(figures.krocc, interval(|all| all.krocc)),
        figure(figures.rmse, interval(|all| all.rmse)),
    ]
}

fn figure(value: f64, interval: Option<Interval>) -> Cell {
    let interval = interval.map_or(String::new(), |i| format!("[{:.4}, {:.4}]", i.low, i.high));
    Cell::with_small(format!("{value:.4}"), interval)
}

fn with_pairs(page: Document, comparison: &Comparison) -> Document {
    if comparison.pairs.is_empty() {
        return page;
    }
    let columns = ["pair", "PLCC difference", "Steiger p", "Wilcoxon p (Holm)"];
    let rows: Vec<_> = comparison.pairs.iter().map(pair_row).collect();
    let page = page.heading("Is the difference more than chance?").table(&columns, &rows);
    match comparison.friedman {
        Some(friedman) => page.paragraph(&format!(
            "Friedman's test of all models' absolute errors: statistic {:.3}, p {:.3e}.",
            friedman.statistic, friedman.p
        )),
        None => page,
    }
}

fn pair_row(pair: &Pair) -> [Cell; 4] {
    let chance = |p: Option<f64>| Cell::from(p.map_or("–".to_owned(), |p| format!("{p:.3e}")));
    [
        format!("{} – {}", short(&pair.models[0]), short(&pair.models[1])).into(),
        figure(pair.plcc_difference, pair.plcc_bootstrap.map(|(interval, _)| interval)),
        chance(pair.plcc_steiger),
        chance(pair.wilcoxon_holm),
    ]
}
