//! The detectors, a file for each group of faults.
//!
//! A detector looks at the facts of one frame, and at those of its neighbours where it must, and says how certain it is: 0
//! for nothing, else a half at its limit up to 1. Limits keep a distance from what clean encodes show (see the page
//! `docs/encoded-video.md`). A frame that shows another frame, or is moved, differs in every other respect too, so detectors of
//! such *structural* faults come first and the others do not look at the frames that these explain.

mod blocks;
mod colour;
mod levels;
mod order;
mod patch;
mod placement;
mod texture;
mod time;

use crate::finding::Kind;
use crate::look::FrameFacts;

/// The facts of a clip, in the order of its frames.
pub(crate) struct Clip<'a> {
    pub facts: &'a [FrameFacts],
    pub columns: usize,
    pub rows: usize,
}

impl Clip<'_> {
    /// Frames around one, as far as they exist.
    pub fn around(&self, at: usize, far: usize) -> &[FrameFacts] {
        &self.facts[at.saturating_sub(far)..(at + far + 1).min(self.facts.len())]
    }

    /// The middle value of a figure among the frames around one.
    pub fn usual(&self, at: usize, figure: impl Fn(&FrameFacts) -> f32) -> f32 {
        const FAR: usize = 24;
        let mut values: Vec<f32> = self.around(at, FAR).iter().map(figure).collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f32::total_cmp).1
    }
}

/// What a detector says of one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sign {
    pub kind: Kind,
    /// From 0.5 to 1.
    pub confidence: f32,
    /// The figure over its limit; 1 where there is none.
    pub strength: f32,
}

impl Sign {
    pub fn new(kind: Kind, confidence: f32) -> Self {
        Self { kind, confidence, strength: 1.0 }
    }
}

/// A sign if a figure is beyond its limit; twice the limit is certain.
pub(crate) fn sign(kind: Kind, figure: f32, limit: f32) -> Option<Sign> {
    let ratio = figure / limit;
    (ratio > 1.0).then(|| Sign { kind, confidence: (0.5 + 0.5 * (ratio - 1.0)).min(1.0), strength: ratio })
}

/// All signs of a frame: a structural one alone, or any of the others.
pub(crate) fn signs(clip: &Clip<'_>, at: usize) -> Vec<Sign> {
    let structural: [fn(&Clip<'_>, usize) -> Option<Sign>; 5] =
        [levels::blank, order::frozen, time::sign_of, order::sign_of, placement::sign_of];
    if let Some(found) = structural.into_iter().find_map(|detector| detector(clip, at)) {
        return vec![found];
    }
    let texture = texture::sign_of(clip, at);
    // What changes the texture of the whole picture makes single cells look wrong.
    let local = texture.is_none() || clip.facts[at].patch.share > 0.5;
    let patch = if local { patch::sign_of(clip, at) } else { None };
    [levels::sign_of(clip, at), colour::sign_of(clip, at), patch, texture].into_iter().flatten().collect()
}

/// Kinds of which a run of frames has one: single frames may look like another one of the group.
pub(crate) fn group(kind: Kind) -> Kind {
    match kind {
        Kind::Brightness | Kind::Contrast | Kind::Gamma => Kind::Brightness,
        Kind::MissingChroma
        | Kind::SwappedChroma
        | Kind::Hue
        | Kind::Saturation
        | Kind::ColourCast
        | Kind::ColourMatrix => Kind::Hue,
        Kind::FrameOrder | Kind::Combing | Kind::Blended => Kind::FrameOrder,
        other => other,
    }
}

/// The kind of a run of frames: the one that most of them show, or what all of them together do, against the others of the clip.
pub(crate) fn kind_of_run(signs: &[Sign], frames: &[FrameFacts], others: &[FrameFacts]) -> Kind {
    let weight =
        |kind: Kind| signs.iter().filter(|sign| sign.kind == kind).map(|sign| sign.confidence).sum::<f32>();
    let most = signs.iter().map(|sign| sign.kind).max_by(|a, b| weight(*a).total_cmp(&weight(*b)));
    match most {
        Some(Kind::Damage) | None => patch::kind(frames),
        Some(Kind::Combing | Kind::Blended) => time::kind(frames, others),
        Some(kind) => kind,
    }
}

/// Faults that coarse encodes have too must begin and end abruptly, within a shot, and last a little.
pub(crate) fn stands_out(kind: Kind, facts: &[FrameFacts], from: usize, to: usize) -> bool {
    const FRAMES: usize = 3;
    type Figure = fn(&FrameFacts) -> f32;
    // A figure, and how many times as large it must become at once.
    let figures: &[(Figure, f32)] = match kind {
        Kind::Blurred => &[
            (|facts| 1.0 / texture::ratio(facts).max(1e-3), 2.0),
            (|facts| 1.0 / texture::coarse(facts).max(1e-3), 1.2),
        ],
        Kind::Blocking => &[(blocks::steps, 2.0)],
        Kind::Oversharpened if !facts[from..=to].iter().any(texture::is_crisp) => &[(texture::energy, 1.06)],
        _ => return true,
    };
    let jumps = |inside: usize, outside: Option<&FrameFacts>| {
        let jump = |(figure, times): &(Figure, f32)| {
            outside.is_none_or(|outside| figure(&facts[inside]) > times * figure(outside))
        };
        figures.iter().any(jump)
    };
    // Motion of the reference says where a shot begins.
    let cut = |at: usize| {
        facts.get(at).is_some_and(|facts| facts.motion.moved[0] > 0.7 * facts.luma.spread.powi(2).max(20.0))
    };
    let fades = |at: usize| facts[at].motion.faded.abs() > 0.5;
    // The first frames of a clip are key frames, which are crisper than those that follow.
    let begins = kind == Kind::Oversharpened && from == 0;
    let before = from.checked_sub(1).and_then(|at| facts.get(at));
    to + 1 - from >= FRAMES
        && !begins
        && jumps(from, before)
        && jumps(to, facts.get(to + 1))
        // A shot may be coded coarsely as a whole.
        && !(cut(from) && cut(to + 1))
        && !(kind == Kind::Blocking && (fades(from) || fades(to)))
}

/// What is wrong in a run of frames of one kind, in words.
pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    match kind {
        Kind::Blank | Kind::Brightness | Kind::Contrast | Kind::Gamma => levels::words(kind, frames),
        Kind::FrameOrder | Kind::Frozen => order::words(kind, frames),
        Kind::Combing | Kind::Blended => time::words(kind, frames),
        Kind::Shifted | Kind::Scaled => placement::words(kind, frames),
        Kind::MissingChroma
        | Kind::SwappedChroma
        | Kind::Hue
        | Kind::Saturation
        | Kind::ColourCast
        | Kind::ColourMatrix => colour::words(kind, frames),
        Kind::Overlay | Kind::Damage => patch::words(kind, frames),
        Kind::Oversharpened | Kind::Blurred | Kind::Noise => texture::words(kind, frames),
        Kind::Banding | Kind::Blocking => blocks::words(kind, frames),
    }
}

/// The middle value of a figure.
pub(crate) fn median(frames: &[FrameFacts], figure: impl Fn(&FrameFacts) -> f32) -> f32 {
    let mut values: Vec<f32> = frames.iter().map(figure).collect();
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f32::total_cmp).1 }
}
