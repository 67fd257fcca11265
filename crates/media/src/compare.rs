//! Whether a score of these two videos means anything: yes, with a warning, or no; and why.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use visus_video::Interlacing;

use crate::sync::bars;
use crate::sync::findings::{Findings, Sync, frames};
use crate::sync::log::Laid;
use crate::sync::pairer::CERTAIN;
use crate::sync::plan::Start;
use crate::sync::runs::{Alternative, DoubtfulRun};
use crate::{Facts, Probe};

/// The verdict, and the weight of a reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    #[default]
    Yes,
    Warn,
    No,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Yes => "yes",
            Self::Warn => "warn",
            Self::No => "no",
        })
    }
}

/// Something that bears on the comparison. `Yes` marks what was met and dealt with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub weight: Verdict,
    /// A short name that programs can look for.
    pub code: Cow<'static, str>,
    pub text: String,
}

/// Can the two be compared?
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparability {
    pub reasons: Vec<Reason>,
}

impl Comparability {
    pub fn verdict(&self) -> Verdict {
        self.reasons.iter().map(|reason| reason.weight).max().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, weight: Verdict, code: &'static str, text: impl Into<String>) {
        self.reasons.push(Reason { weight, code: Cow::Borrowed(code), text: text.into() });
    }

    fn yes(&mut self, code: &'static str, text: impl Into<String>) {
        self.add(Verdict::Yes, code, text);
    }

    fn warn(&mut self, code: &'static str, text: impl Into<String>) {
        self.add(Verdict::Warn, code, text);
    }

    fn no(&mut self, code: &'static str, text: impl Into<String>) {
        self.add(Verdict::No, code, text);
    }

    pub fn json(&self) -> Value {
        let reason = |reason: &Reason| json!({ "weight": reason.weight.to_string(), "code": reason.code, "text": reason.text });
        json!({
            "comparable": self.verdict().to_string(),
            "reasons": self.reasons.iter().map(reason).collect::<Vec<_>>(),
        })
    }
}

/// What the facts of both videos say, before a frame is looked at.
pub(crate) fn facts(reference: &Facts, distorted: &Facts, sync: Sync) -> Comparability {
    let mut found = Comparability::default();
    let both = [(reference, "reference"), (distorted, "distorted video")];
    geometry(&mut found, reference, distorted);
    rates(&mut found, reference, distorted, sync);
    light(&mut found, reference, distorted);
    for (facts, name) in both {
        if facts.interlacing.is_interlaced() {
            let order = facts.interlacing;
            found.warn(
                "interlaced",
                format!("the {name} is interlaced ({order}); frames are compared as they are, without deinterlacing"),
            );
        }
        if facts.probe.as_ref().is_some_and(|probe| probe.film_grain) {
            found.warn(
                "film_grain",
                format!("the decoder adds film grain to the {name}; its grain is random and lowers scores"),
            );
        }
    }
    if reference.interlacing.is_interlaced() && distorted.interlacing == Interlacing::Progressive {
        found.warn("deinterlaced", "the distorted video is progressive and its reference is not");
    }
    found
}

fn geometry(found: &mut Comparability, reference: &Facts, distorted: &Facts) {
    let size = |facts: &Facts| (facts.format.width(), facts.format.height());
    let (a, b) = (size(reference), size(distorted));
    if a != b {
        found.yes("size", format!("the reference is {}x{}, the distorted video {}x{}", a.0, a.1, b.0, b.1));
    }
    let turn = |facts: &Facts| facts.probe.as_ref().map_or(0, |probe| probe.rotation);
    if turn(reference) != turn(distorted) {
        let text =
            "players turn the reference by {} and the distorted video by {} degrees; both are turned upright";
        let text = text.replacen("{}", &turn(reference).to_string(), 1);
        found.yes("rotation", text.replacen("{}", &turn(distorted).to_string(), 1));
    } else if turn(reference) != 0 {
        found.yes(
            "rotation",
            format!("players turn both by {} degrees; they are compared as stored", turn(reference)),
        );
    }
    let aspects = (reference.display_aspect(), distorted.display_aspect());
    if (aspects.0 / aspects.1 - 1.0).abs() > 0.02 {
        found.warn(
            "aspect",
            format!(
                "the pictures have different shapes on a screen: {:.3}:1 and {:.3}:1",
                aspects.0, aspects.1
            ),
        );
    }
    let square = |facts: &Facts| facts.aspect.0 == facts.aspect.1;
    if !square(reference) || !square(distorted) {
        let text = |facts: &Facts| format!("{}:{}", facts.aspect.0, facts.aspect.1);
        found.yes(
            "non_square",
            format!(
                "samples are not square: {} and {}; they are compared as stored",
                text(reference),
                text(distorted)
            ),
        );
    }
}

fn rates(found: &mut Comparability, reference: &Facts, distorted: &Facts, sync: Sync) {
    for (facts, name) in [(reference, "reference"), (distorted, "distorted video")] {
        if facts.probe.as_ref().is_some_and(|probe| probe.variable_rate) {
            found.warn("variable_frame_rate", format!("frames of the {name} are not evenly spaced in time"));
        }
    }
    let (Some(a), Some(b)) = (reference.rate(), distorted.rate()) else { return };
    if (a / b - 1.0).abs() <= 0.001 {
        return;
    }
    let how = match sync {
        Sync::Full => "frames are paired by content, and only those are scored that both have",
        _ => "frames are paired one after another, which cannot be right: use --sync full",
    };
    let weight = if sync == Sync::Full { Verdict::Warn } else { Verdict::No };
    let ratio = simple_ratio(a / b).map_or(String::new(), |(x, y)| format!(" ({x}:{y})"));
    found.add(weight, "frame_rate", format!("{a:.3} against {b:.3} frames per second{ratio}; {how}"));
}

/// The ratio in small numbers, if it is one.
fn simple_ratio(value: f64) -> Option<(u32, u32)> {
    (1..=12u32).find_map(|below| {
        let above = (value * f64::from(below)).round();
        let near = (above / f64::from(below) / value - 1.0).abs() < 0.002;
        (near && (1.0..=12.0).contains(&above)).then_some((above as u32, below))
    })
}

/// Range, matrix, transfer and primaries.
fn light(found: &mut Comparability, reference: &Facts, distorted: &Facts) {
    match (reference.hdr(), distorted.hdr()) {
        (Some(a), Some(b)) if a == b => found.warn(
            "hdr",
            format!("both are HDR ({a}). VMAF models are trained on SDR: the score ranks encodes of this film at best, it says \
                     nothing about how good they look"),
        ),
        (None, None) => {}
        (a, b) => {
            let name = |hdr: Option<&str>| hdr.map_or("SDR".to_owned(), |hdr| format!("HDR ({hdr})"));
            found.no(
                "hdr",
                format!("the reference is {} and the distorted video {}: their samples mean different light", name(a), name(b)),
            );
        }
    }
    if reference.range.is_some() != distorted.range.is_some()
        && [reference, distorted].iter().any(|facts| facts.range == Some(visus_video::ColourRange::Full))
    {
        let unstated = if reference.range.is_none() { "reference" } else { "distorted video" };
        found.warn(
            "range",
            format!(
                "the range of the {unstated} is not stated and the other one is full; limited is assumed"
            ),
        );
    }
    type Part = fn(&Probe) -> &Option<String>;
    let parts: [(&'static str, &str, Part); 2] = [
        ("matrix", "colour matrix", |probe| &probe.matrix),
        ("primaries", "primaries", |probe| &probe.primaries),
    ];
    for (code, name, part) in parts {
        if let (Some(a), Some(b)) = (reference.text(part), distorted.text(part))
            && a != b
        {
            found.warn(code, format!("{name}: {a} against {b}; samples are compared as they are"));
        }
    }
}

/// Below these the pictures are not the same, or hardly.
const STRANGERS: f32 = 0.6;
const DOUBTFUL: f32 = 0.8;

/// What pairing needs to know of one video to be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outline {
    pub width: usize,
    pub height: usize,
    pub rate: Option<f64>,
    /// How many frames it should have by its duration.
    pub stated_frames: Option<f64>,
}

impl Outline {
    pub fn of(facts: &Facts) -> Self {
        Self {
            width: facts.format.width(),
            height: facts.format.height(),
            rate: facts.rate(),
            stated_frames: facts.probe.as_ref().and_then(Probe::stated_frames),
        }
    }
}

/// What pairing says, before or after scoring.
pub(crate) fn content(found: &mut Comparability, findings: &Findings, facts: &[Outline; 2]) {
    bars(found, findings, facts);
    lost(found, findings, facts);
    let Some(start) = findings.start else {
        if findings.sync == Sync::Off {
            found.yes("sync", "pairing by content is off");
        }
        return;
    };
    match start.likeness {
        Some(likeness) if likeness < STRANGERS => {
            found.no(
                "content",
                format!("the two do not show the same pictures (likeness {likeness:.2}, the same film has more than 0.9)"),
            );
            return;
        }
        Some(likeness) if likeness < DOUBTFUL => {
            found.warn("content", format!("the pictures are only roughly alike (likeness {likeness:.2})"));
        }
        None => {
            found.warn("content", "the pictures at the start are too flat to tell whether they are the same")
        }
        Some(_) => {}
    }
    offset(found, findings, start);
    brightness(found, findings);
    gaps(found, findings, facts);
    recheck(found, findings);
    doubts(found, findings);
    patches(found, findings);
    for complaint in &findings.complaints {
        found.warn("damage", format!("damage was forgiven: {complaint}"));
    }
}

/// Below this confidence a start is a guess, whatever else speaks for it.
const GUESSED: f32 = 0.15;

fn offset(found: &mut Comparability, findings: &Findings, start: Start) {
    let confidence = start.confidence;
    if findings.offset() != 0 {
        let words = findings.words();
        let first = words.split(';').next().unwrap_or_default();
        found.yes("offset", format!("{first}; frames are paired accordingly"));
    }
    if confidence < GUESSED || confidence < CERTAIN && start.doubtful {
        found.warn(
            "ambiguous",
            format!("where the two begin cannot be told for sure (confidence {confidence:.2}): the scene is still, repeats itself, or is coded too coarsely"),
        );
    }
}

/// Pairs more than these many levels apart in brightness look different.
const SHIFT: f32 = 4.0;

fn brightness(found: &mut Comparability, findings: &Findings) {
    let Some((gain, summand)) = findings.brightness else { return };
    let near = |value: f32, wanted: f32| (value / wanted - 1.0).abs() < 0.03;
    let grey = 126.0 * (gain - 1.0) + summand;
    if near(gain, 219.0 / 255.0) && (summand - 16.0).abs() < 5.0 {
        found.warn("range", "the distorted video looks like limited range although it is not marked so, or the other way round for the reference");
    } else if near(gain, 255.0 / 219.0) && (summand + 18.6).abs() < 6.0 {
        found.warn("range", "the distorted video looks like full range although it is not marked so, or the other way round for the reference");
    } else if (gain - 1.0).abs() > 0.08 || grey.abs() > SHIFT {
        found.warn(
            "brightness",
            format!("brightness differs: contrast times {gain:.2}, mid grey {grey:+.1} levels of 255"),
        );
    }
}

fn gaps(found: &mut Comparability, findings: &Findings, facts: &[Outline; 2]) {
    let rates = facts.each_ref().map(|facts| facts.rate);
    let apart = rates[0].zip(rates[1]).is_some_and(|(a, b)| (a / b - 1.0).abs() > 0.001);
    let weight = if apart { Verdict::Yes } else { Verdict::Warn };
    for (runs, code, what) in [
        (&findings.missing, "dropped", "of the reference missing in the distorted video, not scored"),
        (&findings.extra, "duplicated", "of the distorted video repeated or added, not scored"),
    ] {
        if runs.frames > 0 {
            found.add(weight, code, format!("{} {what}", frames(runs.frames)));
        }
    }
    if findings.frozen.frames > 0 {
        found.warn(
            "frozen",
            format!(
                "the picture of the distorted video stands still in {} while the reference moves",
                frames(findings.frozen.frames)
            ),
        );
    }
    let longer =
        findings.longer.map(|side| format!("the {side} video goes on after the end of the other one"));
    if let Some(text) = longer {
        found.yes("length", text);
    }
}

fn recheck(found: &mut Comparability, findings: &Findings) {
    let share = |count: u64| count as f64 / findings.pairs.max(1) as f64;
    let unlike = share(findings.unlike.frames);
    if unlike > 0.5 {
        found.no("content", format!("{:.0} % of the pairs do not show the same picture", 100.0 * unlike));
    } else if findings.unlike.frames > 0 {
        found.warn("unlike", format!("in {} the two do not look alike", frames(findings.unlike.frames)));
    }
    let contradicted = share(findings.checks[2]);
    if contradicted > 0.02 {
        found.warn(
            "recheck",
            format!("in {:.0} % of the pairs a neighbouring frame would fit better", 100.0 * contradicted),
        );
    }
}

/// Pairs that the pictures do not confirm: more than this share of all is worth a warning.
const DOUBTFUL_SHARE: f64 = 0.01;
/// Frames that show two at once: more than this share of all is worth a warning.
const BLENDED_SHARE: f64 = 0.03;

fn doubts(found: &mut Comparability, findings: &Findings) {
    let share = |count: u64| count as f64 / findings.pairs.max(1) as f64;
    let doubtful = share(findings.doubtful.frames);
    if let Some(DoubtfulRun { run: first, alternative, .. }) = findings.doubtful.listed.first() {
        let last = first.distorted + first.count - 1;
        let other = match alternative {
            Alternative::Shift(shift) => format!("a shift by {shift:+} frames of the reference"),
            Alternative::Alone => "that they have no counterpart".to_owned(),
        };
        let change = findings.doubtful.mean_change(findings.pairs);
        let change = change.map_or(String::new(), |change| {
            format!(" Paired the other way, they would change the mean of all pairs by {change:+.2}.")
        });
        let text = format!(
            "the pairing of {:.1} % of the pairs is doubtful: another one explains the pictures nearly as well (first in frames \
             {} to {last} of the distorted video: {other}); see `pairing.doubtful` for all.{change}",
            100.0 * doubtful,
            first.distorted
        );
        let weight = if doubtful > DOUBTFUL_SHARE { Verdict::Warn } else { Verdict::Yes };
        found.add(weight, "doubtful", text);
    }
    if share(findings.blended.frames) > BLENDED_SHARE {
        found.warn(
            "blended",
            format!(
                "{} of the distorted video show two frames of the reference at once (a blended rate conversion, or telecine): \
                 they are compared with the nearer one, and no score of them is right",
                frames(findings.blended.frames)
            ),
        );
    }
}

fn patches(found: &mut Comparability, findings: &Findings) {
    let patches = findings.patches();
    if let Some(first) = patches.first() {
        let count = frames(patches.len() as u64);
        found.warn(
            "patch",
            format!(
                "in {count} (the first is {first}) a part of the picture is far off while the rest fits: damaged data that the \
                 decoder did not notice, or something that only one of the two shows"
            ),
        );
    }
}

fn bars(found: &mut Comparability, findings: &Findings, facts: &[Outline; 2]) {
    let size = |side: usize| (facts[side].width, facts[side].height);
    let views = [0, 1].map(|side| bars::view(findings.bars[side], size(side)).0);
    for (edge, what) in [(0, "above and below"), (2, "left and right")] {
        let wide = views.map(|view| view[edge] + view[edge + 1]);
        if (wide[0] - wide[1]).abs() > bars::APART {
            let name = if wide[0] > wide[1] { "reference" } else { "distorted video" };
            let percent = 100.0 * (wide[0] - wide[1]).abs();
            let text = format!("only the {name} has black bars {what} ({percent:.0} % of the picture)");
            match findings.laid {
                Laid::Fitted => found.no(
                    "black_bars",
                    format!("{text}, and its picture is fitted between them: crop the bars off first"),
                ),
                Laid::Whole | Laid::WithoutBars => found.warn("black_bars", text),
            }
        }
    }
}

/// A file that gave fewer frames than its container speaks of, by more than this share and these many, has lost some.
const LOST_SHARE: f64 = 0.005;
const LOST_FRAMES: f64 = 2.0;

fn lost(found: &mut Comparability, findings: &Findings, facts: &[Outline; 2]) {
    let named = facts.iter().zip(["reference", "distorted video"]).zip(findings.counted);
    for ((facts, name), counted) in named {
        let (Some(counted), Some(stated)) = (counted, facts.stated_frames) else { continue };
        if stated - counted as f64 > LOST_FRAMES.max(stated * LOST_SHARE) {
            found.warn(
                "lost_frames",
                format!("by its duration the {name} should have {stated:.0} frames, and {counted} came"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios() {
        assert_eq!(simple_ratio(2.0), Some((2, 1)));
        assert_eq!(simple_ratio(30.0 / 25.0), Some((6, 5)));
        assert_eq!(simple_ratio(25.0 / 60.0), Some((5, 12)));
        assert_eq!(simple_ratio(30000.0 / 1001.0 / 24.0), Some((5, 4)));
        assert_eq!(simple_ratio(1.2345), None);
    }

    #[test]
    fn the_heaviest_reason_decides() {
        let mut found = Comparability::default();
        assert_eq!(found.verdict(), Verdict::Yes);
        found.warn("hdr", "x");
        found.yes("size", "y");
        assert_eq!(found.verdict(), Verdict::Warn);
        assert_eq!(found.json()["comparable"], "warn");
    }
}
