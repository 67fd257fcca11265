//! From the facts of all frames to findings: signs of one kind in a row become one finding.

use std::collections::BTreeMap;

use crate::detectors::{Clip, Sign, kind_of_run, signs, stands_out, words};
use crate::finding::{Area, Finding, Kind, Visibility};
use crate::grid::Grid;
use crate::look::FrameFacts;

/// Frames without a sign that a run may have in between.
const GAP: usize = 2;
/// The same for faults that are visible only where something moves.
const MOVING_GAP: usize = 6;
/// A run of so few frames must be this certain.
const SHORT: usize = 2;
const SHORT_CONFIDENCE: f32 = 0.7;

/// Frames of one kind: each with its certainty.
type Run = Vec<(usize, f32)>;

/// The faults of a clip of this size. `first`: the number of the first frame.
pub fn judge(width: usize, height: usize, first: u64, facts: &[FrameFacts]) -> Vec<Finding> {
    let grid = Grid::of(width, height);
    let clip = Clip { facts, columns: grid.columns, rows: grid.rows };
    let mut by_kind: BTreeMap<Kind, Run> = BTreeMap::new();
    for at in 0..facts.len() {
        for Sign { kind, confidence } in signs(&clip, at) {
            by_kind.entry(kind).or_default().push((at, confidence));
        }
    }
    let mut found = Vec::new();
    for (kind, signs) in by_kind {
        let runs = runs(kind, &signs).into_iter().filter(|run| certain(run));
        let runs = runs.filter(|run| stands_out(kind, facts, run[0].0, run[run.len() - 1].0));
        found.extend(runs.map(|run| finding((width, height), &grid, first, facts, kind, &run)));
    }
    found.sort_by_key(|finding| (finding.from, finding.kind));
    found
}

fn runs(kind: Kind, signs: &[(usize, f32)]) -> Vec<Run> {
    let gap = match kind {
        Kind::FrameOrder | Kind::Frozen | Kind::Combing | Kind::Blended => MOVING_GAP,
        Kind::Shifted | Kind::Scaled => 4,
        _ => GAP,
    };
    let mut all: Vec<Run> = Vec::new();
    for sign in signs {
        match all.last_mut() {
            Some(run) if run.last().is_some_and(|last| sign.0 - last.0 <= gap + 1) => run.push(*sign),
            _ => all.push(vec![*sign]),
        }
    }
    all
}

fn certain(run: &Run) -> bool {
    let most = run.iter().map(|(_, confidence)| *confidence).fold(0.0, f32::max);
    if run.len() <= SHORT { most >= SHORT_CONFIDENCE } else { most >= 0.55 }
}

fn finding(
    (width, height): (usize, usize),
    grid: &Grid,
    first: u64,
    facts: &[FrameFacts],
    kind: Kind,
    run: &Run,
) -> Finding {
    let frames: Vec<FrameFacts> = run.iter().map(|(at, _)| facts[*at]).collect();
    let kind = kind_of_run(kind, &frames);
    let (from, to) = (run[0].0, run[run.len() - 1].0);
    let strongest = run.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or((from, 0.0));
    let confidence = run.iter().map(|(_, confidence)| confidence).sum::<f32>() / run.len() as f32;
    let area = matches!(kind, Kind::Overlay | Kind::Damage).then(|| area(grid, &frames));
    let what = words(kind, &frames);
    let (from, to) = (first + from as u64, first + to as u64);
    let text = sentence(kind, (from, to), area.map(|area| (area, (width, height))), &what);
    Finding { kind, from, to, peak: first + strongest.0 as u64, area, confidence, what, text }
}

/// The rectangle that holds the patches of most frames.
fn area(grid: &Grid, frames: &[FrameFacts]) -> Area {
    let middle = |figure: &dyn Fn(&FrameFacts) -> u16, late: bool| {
        let mut values: Vec<u16> = frames.iter().map(figure).collect();
        values.sort_unstable();
        let at = if late { values.len() * 3 / 4 } else { values.len() / 4 };
        usize::from(values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(0)) * grid.cell
    };
    let (x, y) = (middle(&|f| f.patch.from[0], false), middle(&|f| f.patch.from[1], false));
    let (right, bottom) = (middle(&|f| f.patch.to[0], true), middle(&|f| f.patch.to[1], true));
    Area { x, y, width: right.saturating_sub(x), height: bottom.saturating_sub(y) }
}

fn sentence(kind: Kind, (from, to): (u64, u64), area: Option<(Area, (usize, usize))>, what: &str) -> String {
    let frames = if from == to { format!("frame {from}") } else { format!("frames {from} to {to}") };
    let place = area.map_or(String::new(), |(area, (width, height))| {
        let Area { x, y, width: wide, height: high } = area;
        format!(", {} ({wide}x{high} at {x},{y})", area.place(width, height))
    });
    let blind = match kind.seen_by_vmaf() {
        Visibility::NotAtAll => "; VMAF does not measure colour",
        Visibility::Hardly => "; VMAF hardly measures this",
        Visibility::Seen => "",
    };
    format!("{frames}{place}: {what}{blind}")
}
