//! From the facts of all frames to findings: signs of one kind in a row become one finding.

use std::collections::BTreeMap;

use crate::detectors::{Clip, Sign, group, kind_of_run, signs, stands_out, words};
use crate::finding::{Area, Finding, Kind, Visibility};
use crate::grid::Grid;
use crate::look::FrameFacts;

/// Findings that are no more frames apart touch each other.
const NEAR: u64 = 2;
/// Frames without a sign that a run may have in between.
const GAP: usize = 2;
/// The same for faults that are visible only where something moves.
const MOVING_GAP: usize = 6;
/// A run of so few frames must be this certain.
const SHORT: usize = 2;
const SHORT_CONFIDENCE: f32 = 0.95;
/// Frames at the ends of a run with less than this share of its usual strength do not belong to it.
const TRIM: f32 = 0.5;

/// Frames before and behind a run that it is compared with.
const AROUND: usize = 24;

/// Frames that show faults of one group.
type Run = Vec<(usize, Sign)>;

/// The faults of a clip of this size. `first`: the number of the first frame.
pub fn judge(width: usize, height: usize, first: u64, facts: &[FrameFacts]) -> Vec<Finding> {
    let grid = Grid::of(width, height);
    let clip = Clip { facts, columns: grid.columns, rows: grid.rows };
    let mut by_group: BTreeMap<Kind, Run> = BTreeMap::new();
    for at in 0..facts.len() {
        for sign in signs(&clip, at) {
            by_group.entry(group(sign.kind)).or_default().push((at, sign));
        }
    }
    let mut found = Vec::new();
    for (group, signs) in by_group {
        let runs = runs(group, &signs).into_iter().map(trimmed).filter(certain);
        let runs = runs.filter(|run| stands_out(group, facts, run[0].0, run[run.len() - 1].0));
        found.extend(runs.map(|run| finding((width, height), &grid, first, facts, &run)));
    }
    let mut found = without_consequences(found);
    found.sort_by_key(|finding| (finding.from, finding.kind));
    found
}

/// What a fault is made of: findings of a later rank that touch one of an earlier rank are its consequences. Frames in the wrong
/// order look shifted, blur lowers contrast, and encoders carry the texture of faulty frames over to the next ones.
fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::Oversharpened | Kind::Blurred | Kind::Blocking => 1,
        Kind::Banding => 2,
        Kind::Noise => 3,
        _ => 0,
    }
}

fn is_structural(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Blank
            | Kind::FrameOrder
            | Kind::Frozen
            | Kind::Combing
            | Kind::Blended
            | Kind::Shifted
            | Kind::Scaled
    )
}

fn without_consequences(found: Vec<Finding>) -> Vec<Finding> {
    let weight = |finding: &Finding| finding.confidence * (finding.to + 1 - finding.from) as f32;
    let explains = |cause: &Finding, other: &Finding| {
        let touches = cause.from <= other.to + NEAR && other.from <= cause.to + NEAR;
        let within = cause.from <= other.from && other.to <= cause.to;
        let later = rank(other.kind) > rank(cause.kind) && rank(cause.kind) > 0;
        let structure = is_structural(cause.kind)
            && (rank(other.kind) > 0 || (is_structural(other.kind) && weight(cause) > weight(other)));
        let contrast = cause.kind == Kind::Blurred && other.kind == Kind::Contrast && within;
        cause.kind != other.kind && touches && (later || structure || contrast)
    };
    let kept = |finding: &&Finding| !found.iter().any(|cause| explains(cause, finding));
    found.iter().filter(kept).cloned().collect()
}

fn runs(group: Kind, signs: &[(usize, Sign)]) -> Vec<Run> {
    let gap = match group {
        Kind::FrameOrder | Kind::Frozen => MOVING_GAP,
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

/// Without the frames at both ends that show only what encoders carry over from a faulty frame.
fn trimmed(mut run: Run) -> Run {
    let mut strengths: Vec<f32> = run.iter().map(|(_, sign)| sign.strength).collect();
    let middle = strengths.len() / 2;
    let usual = *strengths.select_nth_unstable_by(middle, f32::total_cmp).1;
    let weak = |sign: &Sign| sign.strength < TRIM * usual;
    while run.last().is_some_and(|(_, sign)| weak(sign)) {
        run.pop();
    }
    let start = run.iter().position(|(_, sign)| !weak(sign)).unwrap_or(0);
    run.split_off(start)
}

fn certain(run: &Run) -> bool {
    let most = run.iter().map(|(_, sign)| sign.confidence).fold(0.0, f32::max);
    if run.len() <= SHORT { most >= SHORT_CONFIDENCE } else { most >= 0.55 }
}

fn finding(
    (width, height): (usize, usize),
    grid: &Grid,
    first: u64,
    facts: &[FrameFacts],
    run: &Run,
) -> Finding {
    let frames: Vec<FrameFacts> = run.iter().map(|(at, _)| facts[*at]).collect();
    let signs: Vec<Sign> = run.iter().map(|(_, sign)| *sign).collect();
    let (from, to) = (run[0].0, run[run.len() - 1].0);
    let around = from.saturating_sub(AROUND)..(to + 1 + AROUND).min(facts.len());
    let others: Vec<FrameFacts> = around.filter(|at| !(from..=to).contains(at)).map(|at| facts[at]).collect();
    let kind = kind_of_run(&signs, &frames, &others);
    let strength = |(_, sign): &(usize, Sign)| sign.strength * sign.confidence;
    let strongest = run.iter().reduce(|a, b| if strength(b) > strength(a) { b } else { a });
    let strongest = strongest.map_or(from, |(at, _)| *at);
    let confidence = signs.iter().map(|sign| sign.confidence).sum::<f32>() / signs.len() as f32;
    let area = matches!(kind, Kind::Overlay | Kind::Damage).then(|| area(grid, &frames));
    let what = words(kind, &frames);
    let (from, to) = (first + from as u64, first + to as u64);
    let text = sentence(kind, (from, to), area.map(|area| (area, (width, height))), &what);
    Finding { kind, from, to, peak: first + strongest as u64, area, confidence, what, text }
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
