//! Rows that show another moment than their own: combing, blended frames, and frames that show a neighbour of theirs.
//!
//! `strips` says for each field how far it lags behind, and how much of its error that explains. A lag that explains a good part
//! of the error is none that encoders have. Which fault it is follows from the run as a whole: fields that lag by different amounts are
//! woven (however much of the weave an encoder has smoothed away), a lag near 1 is another frame, and all else a mixture.

use super::{Clip, Sign, median, order};
use crate::finding::Kind;
use crate::look::FrameFacts;
use crate::strips::FieldTime;

/// Share of the error that the lag must explain: of fine encodes, which stay below a half of that, and of coarse ones, which show
/// dissolves and drawings late.
const BY_LAG: f32 = 0.1;
const BY_LAG_COARSE: f32 = 0.25;
/// Squared levels that an encode leaves beside the lag: up to the first it is a fine one, from the second a coarse one.
const REST: [f32; 2] = [4.0, 8.0];
/// Share that lag and loss must explain together where motion does not let them be told apart, as in drawings that move with every
/// second frame: what an encoder takes from grain is explained to two thirds at most.
const EXPLAINED: f32 = 0.8;
/// Squared levels that must be wrong.
const ERROR: f32 = 0.8;
/// Least lag, and the least one of a frame that shows its neighbour.
const LAG: f32 = 0.2;
const WHOLE: f32 = 0.8;
/// A frame may not lag by more than its neighbour.
const MOST: f32 = 1.4;
/// By how much fields must differ in lag to be woven.
const WOVEN: f32 = 0.05;
/// One field is so many times as wrong as the other.
const UNEVEN: f32 = 3.0;

/// The most that can be said of a frame by its lag.
const ALONE: f32 = 0.9;

pub(crate) fn sign_of(clip: &Clip<'_>, at: usize) -> Option<Sign> {
    let facts = &clip.facts[at];
    let error = sum(facts, |time| time.error);
    let (by_lag, explained) =
        (sum(facts, |time| time.by_lag) / error, sum(facts, |time| time.explained) / error);
    let [even, odd] = facts.times.map(|time| time.lag.abs());
    let most = even.max(odd);
    let rest = (error - sum(facts, |time| time.explained)) / 2.0;
    let coarse = ((rest - REST[0]) / (REST[1] - REST[0])).clamp(0.0, 1.0);
    let limit = BY_LAG + coarse * (BY_LAG_COARSE - BY_LAG);
    let certainty = (by_lag / limit).max(if explained > EXPLAINED { 3.0 } else { 0.0 });
    if !(LAG..MOST).contains(&most) || error < 2.0 * ERROR || certainty < 1.0 {
        return None;
    }
    let kind = if even.min(odd) > WHOLE { Kind::FrameOrder } else { Kind::Blended };
    // One frame alone may be shown late by an encoder; it must be another one by its cells, too.
    let most = if order::sign_of(clip, at).is_some() { 1.0 } else { ALONE };
    Some(Sign { kind, confidence: (0.3 + 0.2 * certainty).min(most), strength: certainty })
}

/// Of both fields.
fn sum(facts: &FrameFacts, figure: fn(&FieldTime) -> f32) -> f32 {
    facts.times.iter().map(figure).sum::<f32>().max(1e-3)
}

fn lag(facts: &FrameFacts) -> f32 {
    (facts.times[0].lag + facts.times[1].lag) / 2.0
}

/// By how much even rows lag more than odd ones.
fn apart(facts: &FrameFacts) -> f32 {
    facts.times[0].lag - facts.times[1].lag
}

/// What a run of such frames shows; `others` are the frames around it.
pub(crate) fn kind(frames: &[FrameFacts], others: &[FrameFacts]) -> Kind {
    // Exchanged frames lag and lead in turn; a mixture is one with the same neighbour throughout.
    let [late, early] = [1.0, -1.0].map(|way| frames.iter().filter(|facts| way * lag(facts) > LAG).count());
    if median(frames, |facts| lag(facts).abs()) > WHOLE || 4 * late.min(early) >= frames.len().max(4) {
        return Kind::FrameOrder;
    }
    let count = frames.len().max(1) as f32;
    let mean = frames.iter().map(apart).sum::<f32>() / count;
    let spread = (frames.iter().map(|facts| (apart(facts) - mean).powi(2)).sum::<f32>() / count).sqrt();
    // Fine rows of a picture may lag by themselves: what other frames show as well says nothing. Student's t keeps chance out.
    let more = (mean - median(others, apart)).abs();
    let woven = more > WOVEN && more > 3.0 * spread / (count - 1.0).max(1.0).sqrt();
    let explained = [0, 1].map(|field| median(frames, |facts| facts.times[field].explained));
    let uneven = explained[0].max(explained[1]) > UNEVEN * explained[0].min(explained[1]);
    if woven || uneven { Kind::Combing } else { Kind::Blended }
}

pub(crate) fn words(kind: Kind, frames: &[FrameFacts]) -> String {
    let lags = [0, 1].map(|field| median(frames, |facts| facts.times[field].lag));
    let lag = (lags[0] + lags[1]) / 2.0;
    let neighbour = if lag > 0.0 { "previous" } else { "next" };
    if kind == Kind::Combing {
        let wrong = [0, 1].map(|field| median(frames, |facts| facts.times[field].explained));
        let which = if wrong[0] > wrong[1] { "even" } else { "odd" };
        return format!("combing (interlacing): the {which} rows come from the {neighbour} frame");
    }
    let share = 100.0 * lag.abs().min(1.0);
    format!("frames are blended: about {share:.0} % of the {neighbour} frame is mixed in (ghosting)")
}
