//! From traits to shots: hard cuts, fades, dissolves, and flashes, which are none.
//!
//! A cut is a difference that motion does not explain and that stands out from its neighbours. A flash looks like two cuts,
//! but the picture after it is the one before it. A dissolve is a slow change whose middle is the mean of its ends and
//! whose ends are not alike; under heavy motion it cannot be told from that. A fade goes through a flat picture.

use super::Shot;
use super::look::{SLOW, Traits};

/// How shots are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetectSettings {
    /// The mean difference of luma, on the 8-bit scale, from which a change can be a cut.
    pub threshold: f64,
    /// Shots shorter than this are joined to the one before.
    pub shortest: u64,
}

impl Default for DetectSettings {
    fn default() -> Self {
        Self { threshold: 12.0, shortest: 6 }
    }
}

/// What a boundary is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cut,
    Fade,
    Dissolve,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Fade => "fade",
            Self::Dissolve => "dissolve",
        }
    }
}

/// Where a shot begins, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    pub frame: u64,
    pub kind: Kind,
}

/// What was found in a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shots {
    pub shots: Vec<Shot>,
    /// One fewer than shots.
    pub boundaries: Vec<Boundary>,
    /// First frames of flashes.
    pub flashes: Vec<u64>,
    pub frames: u64,
}

/// A flat picture has a spread below this, on the 8-bit scale.
const FLAT: f32 = 4.0;
/// A cut stands out from its neighbours by this factor.
const STANDS_OUT: f32 = 2.0;
/// Two pictures with at least this correlation show the same.
const ALIKE: f32 = 0.6;

/// Finds the shots from the traits of all frames.
pub fn detect(traits: &[Traits], settings: &DetectSettings) -> Shots {
    let (cuts, flashes) = cuts_and_flashes(traits, settings.threshold as f32);
    let mut boundaries: Vec<Boundary> =
        cuts.iter().map(|frame| Boundary { frame: *frame as u64, kind: Kind::Cut }).collect();
    let mut slow = fades(traits, &cuts);
    slow.extend(dissolves(traits, &cuts, &slow, &flashes, settings.threshold as f32));
    boundaries.extend(slow);
    boundaries.sort_by_key(|boundary| boundary.frame);
    let frames = traits.len() as u64;
    let boundaries = without_short(boundaries, settings.shortest, frames);
    let shots = stretches(&boundaries, frames).map(|(start, end)| shot(traits, start, end)).collect();
    Shots { shots, boundaries, flashes: flashes.iter().map(|frame| *frame as u64).collect(), frames }
}

fn cuts_and_flashes(traits: &[Traits], threshold: f32) -> (Vec<usize>, Vec<usize>) {
    let (mut cuts, mut flashes) = (Vec::new(), Vec::new());
    let mut frame = 1;
    while frame < traits.len() {
        if !is_jump(traits, frame, threshold) {
            frame += 1;
        } else if let Some(length) = flash_length(traits, frame, threshold) {
            flashes.push(frame);
            frame += length + 1;
        } else {
            cuts.push(frame);
            frame += 1;
        }
    }
    (cuts, flashes)
}

/// A change from one frame to the next that neither motion nor a busy neighbourhood explains. A smaller one counts where
/// the brightness is also distributed in another way.
fn is_jump(traits: &[Traits], frame: usize, threshold: f32) -> bool {
    let here = &traits[frame];
    let large = here.difference >= threshold && here.residual >= threshold / 3.0;
    let other =
        here.difference >= threshold / 2.0 && here.residual >= threshold / 4.0 && here.histogram >= 0.4;
    if !large && !other {
        return false;
    }
    let around =
        (frame.saturating_sub(3).max(1)..(frame + 4).min(traits.len())).filter(|other| *other != frame);
    let mut residuals: Vec<f32> = around.map(|other| traits[other].residual).collect();
    residuals.sort_by(f32::total_cmp);
    // The middle of the neighbours: a flash or a second cut nearby does not hide this one.
    let usual = residuals.get(residuals.len() / 2).copied().unwrap_or(0.0);
    here.residual >= STANDS_OUT * usual
}

/// How many frames a flash lasts that begins here: after it, the picture is the one before it.
fn flash_length(traits: &[Traits], frame: usize, threshold: f32) -> Option<usize> {
    let jump = traits[frame].difference;
    (1..=traits[frame].lagged.len()).find(|length| {
        let after = traits.get(frame + length);
        // The frame after the flash is `length + 1` frames after the one before it.
        after.is_some_and(|after| {
            let back = after.lagged[length - 1];
            back < threshold / 2.0 && back < jump / 3.0
        })
    })
}

/// Boundaries in the middle of flat stretches that were reached, and left, slowly.
fn fades(traits: &[Traits], cuts: &[usize]) -> Vec<Boundary> {
    let mut found = Vec::new();
    let mut frame = 0;
    while frame < traits.len() {
        if traits[frame].spread >= FLAT {
            frame += 1;
            continue;
        }
        let end = (frame..traits.len()).find(|other| traits[*other].spread >= FLAT).unwrap_or(traits.len());
        let inside = frame > 0 && end < traits.len();
        let by_cut = cuts.iter().any(|cut| (frame.saturating_sub(1)..=end).contains(cut));
        if inside && !by_cut {
            found.push(Boundary { frame: ((frame + end) / 2) as u64, kind: Kind::Fade });
        }
        frame = end;
    }
    found
}

fn dissolves(
    traits: &[Traits],
    cuts: &[usize],
    fades: &[Boundary],
    flashes: &[usize],
    threshold: f32,
) -> Vec<Boundary> {
    let is_slow_change = |frame: usize| {
        let here = &traits[frame];
        let ends_flat = here.spread < FLAT || frame < SLOW || traits[frame - SLOW].spread < FLAT;
        here.slow >= threshold && here.bend <= 0.25 * here.slow && here.alike < ALIKE && !ends_flat
    };
    let near = |frame: usize| {
        let close = |other: usize| other.abs_diff(frame) <= SLOW;
        let lasts = |flash: &usize| (*flash..flash + SLOW + 6).contains(&frame);
        cuts.iter().any(|cut| close(*cut))
            || fades.iter().any(|fade| (fade.frame as usize).abs_diff(frame) <= 2 * SLOW)
            || flashes.iter().any(lasts)
    };
    let mut found = Vec::new();
    let mut frame = SLOW;
    while frame < traits.len() {
        if !is_slow_change(frame) || near(frame) {
            frame += 1;
            continue;
        }
        let end = (frame..traits.len()).find(|other| !is_slow_change(*other)).unwrap_or(traits.len());
        // The change runs from `SLOW` before the first sign to the last one.
        found.push(Boundary { frame: ((frame - SLOW + end) / 2) as u64, kind: Kind::Dissolve });
        frame = end + SLOW;
    }
    found
}

/// Drops boundaries that would make a shot too short; a cut is worth more than a slow change.
fn without_short(boundaries: Vec<Boundary>, shortest: u64, frames: u64) -> Vec<Boundary> {
    let mut kept: Vec<Boundary> = Vec::new();
    for boundary in boundaries {
        let start = kept.last().map_or(0, |last| last.frame);
        if boundary.frame - start >= shortest {
            kept.push(boundary);
        } else if let Some(last) =
            kept.last_mut().filter(|last| last.kind != Kind::Cut && boundary.kind == Kind::Cut)
        {
            *last = boundary;
        }
    }
    while kept.last().is_some_and(|last| frames - last.frame < shortest) {
        kept.pop();
    }
    kept
}

fn stretches(boundaries: &[Boundary], frames: u64) -> impl Iterator<Item = (u64, u64)> {
    let starts = std::iter::once(0).chain(boundaries.iter().map(|boundary| boundary.frame));
    let ends = boundaries.iter().map(|boundary| boundary.frame).chain([frames]);
    starts.zip(ends).filter(|(start, end)| start < end)
}

fn shot(traits: &[Traits], start: u64, end: u64) -> Shot {
    let inside = &traits[start as usize..end as usize];
    let mean = |value: &dyn Fn(&Traits) -> f32, frames: &[Traits]| {
        frames.iter().map(|traits| f64::from(value(traits))).sum::<f64>() / frames.len().max(1) as f64
    };
    // The first frame's difference is to the shot before.
    let motion = mean(&|traits| traits.difference, inside.get(1..).unwrap_or_default());
    Shot { start, end, complexity: mean(&|traits| traits.gradient, inside), motion }
}
