//! A ladder: sizes and settings that give the most for each bit rate, all judged at the size of the display.

use schemars::JsonSchema;
use serde::Serialize;

use crate::TuneError;
use crate::encoders::{Adapter, Choices};
use crate::estimate;
use crate::event::{Event, Sink};
use crate::hull::{self, Spacing};
use crate::lab::{Bench, Lab};
use crate::probe_curve::{Curve, Sample, contradictions};
use crate::samples::{self, SamplePlan};
use crate::score::Judge;
use crate::search::MAX_ENCODES;
use crate::source::Source;
use visus_engine::Pooling;

/// What is asked.
#[derive(Clone, Debug)]
pub struct LadderSettings {
    pub adapter: &'static Adapter,
    pub choices: Choices,
    pub resolutions: Vec<(u32, u32)>,
    pub targets: Vec<f64>,
    /// How many renditions at most.
    pub tiers: usize,
    pub spacing: Spacing,
    pub pooling: Pooling,
    pub samples: SamplePlan,
}

/// A rendition, or a point that was measured on the way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rendition {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// Bit rate of the video, in kbit/s.
    pub bitrate_kbps: f64,
    /// The most bits in any second.
    pub bandwidth_bps: u64,
    /// The pooled score at the size of the display.
    pub vmaf: f64,
    /// The setting.
    pub crf: i32,
    /// The codec as RFC 6381 writes it.
    pub codecs: String,
}

/// A size that could not be measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// What went wrong.
    pub error: String,
}

/// The ladder and all that was measured for it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ladder {
    /// Name and version of this format.
    pub schema: &'static str,
    /// The source.
    pub src: String,
    /// The encoder.
    pub encoder: String,
    /// Version of its library.
    pub encoder_version: String,
    /// The model that measured.
    pub model: String,
    /// How frames were pooled.
    pub metric: &'static str,
    /// Width and height at which scores are measured.
    pub display: (u32, u32),
    /// Frames per second as a ratio.
    pub frame_rate: (u32, u32),
    /// Seconds.
    pub duration: f64,
    /// What is the same from tier to tier.
    pub spacing: &'static str,
    /// Frames of the source that stood for it: first and count.
    pub windows: Vec<(u64, u64)>,
    /// The renditions that were chosen, by rising rate.
    pub renditions: Vec<Rendition>,
    /// Points of the convex hull, by rising rate.
    pub hull: Vec<Rendition>,
    /// All points that were measured.
    pub samples: Vec<Rendition>,
    /// Sizes that could not be measured.
    pub failures: Vec<Failure>,
    /// Measurements that contradict each other by more than half a point.
    pub contradictions: Vec<String>,
    /// Whether nothing had to be computed.
    pub from_cache: bool,
}

/// Seconds from one key frame to the next, so that players can switch.
const KEY_SECONDS: f64 = 2.0;
/// Settings so much finer than the usual start are not tried: no rendition would use them.
const FINEST: u32 = 16;

/// Makes a ladder. A size that fails is listed in `failures`; an error is an invalid request, a cancellation, or a
/// ladder without a single point.
pub fn ladder(
    lab: &Lab,
    source: &Source,
    judge: &Judge,
    settings: &LadderSettings,
    sink: Sink<'_>,
) -> Result<Ladder, TuneError> {
    check(source, settings)?;
    let windows =
        samples::windows(source, &settings.samples, || source.packet_sizes(&lab.tools, &lab.cancel));
    send_estimate(lab, source, settings, &windows, sink);
    let mut gathered = Gathered::default();
    for (index, size) in settings.resolutions.iter().enumerate() {
        let name = format!("{}x{}", size.0, size.1);
        sink(Event::Part { name, index, of: settings.resolutions.len() });
        match at_size(lab, source, judge, settings, *size, &windows, &mut gathered, sink) {
            Err(TuneError::Cancelled) => return Err(TuneError::Cancelled),
            Err(error) => {
                let failure = Failure { width: size.0, height: size.1, error: error.chain() };
                sink(Event::Warning(format!("{}x{}: {}", size.0, size.1, failure.error)));
                gathered.failures.push(failure);
                gathered.last_error = Some(error);
            }
            Ok(()) => {}
        }
    }
    match gathered.last_error.take() {
        Some(error) if gathered.points.is_empty() => Err(error),
        _ => Ok(finish(source, judge, settings, &windows, gathered)),
    }
}

#[derive(Default)]
struct Gathered {
    points: Vec<Rendition>,
    failures: Vec<Failure>,
    contradictions: Vec<String>,
    last_error: Option<TuneError>,
    version: String,
    computed: bool,
}

fn check(source: &Source, settings: &LadderSettings) -> Result<(), TuneError> {
    let invalid =
        |value: String, reason: String| Err(TuneError::Invalid { name: "resolutions", value, reason });
    let (width, height) = source.size();
    if settings.resolutions.is_empty() {
        return invalid(String::new(), "at least one size is needed, as 1280x720".to_owned());
    }
    for (w, h) in &settings.resolutions {
        if *w > width || *h > height {
            let reason = format!("larger than the source, which is {width}x{height}; enlarging adds nothing");
            return invalid(format!("{w}x{h}"), reason);
        }
        if w % 2 == 1 || h % 2 == 1 || *w < 16 || *h < 16 {
            return invalid(format!("{w}x{h}"), "both sides must be even, and at least 16".to_owned());
        }
    }
    Ok(())
}

fn send_estimate(
    lab: &Lab,
    source: &Source,
    settings: &LadderSettings,
    windows: &[crate::Window],
    sink: Sink<'_>,
) {
    let frames = windows.iter().map(|window| window.count.unwrap_or(source.frames)).sum();
    let recipe = |size: &(u32, u32)| crate::Recipe {
        adapter: settings.adapter,
        choices: settings.choices.clone(),
        size: Some(*size),
    };
    let recipes: Vec<crate::Recipe> = settings.resolutions.iter().map(recipe).collect();
    let encodes = MAX_ENCODES.min(3 + 2 * settings.targets.len());
    sink(Event::Estimate(estimate::estimate(&lab.cache, source, &recipes, encodes, frames)));
}

/// The settings with key frames at fixed distances.
pub(crate) fn with_key_frames(choices: &Choices, source: &Source) -> Choices {
    let frames = (KEY_SECONDS * source.fps()).round().max(1.0) as u32;
    Choices { gop: choices.gop.or(Some(frames)), ..choices.clone() }
}

fn at_size(
    lab: &Lab,
    source: &Source,
    judge: &Judge,
    settings: &LadderSettings,
    size: (u32, u32),
    windows: &[crate::Window],
    gathered: &mut Gathered,
    sink: Sink<'_>,
) -> Result<(), TuneError> {
    let choices = with_key_frames(&settings.choices, source);
    let (recipe, available) = lab.recipe(settings.adapter, source, &choices, Some(size))?;
    gathered.version.clone_from(&available.version);
    let knob = settings.adapter.knob;
    let label = format!("{}x{}", size.0, size.1);
    let bench = Bench { source, recipe, available, judge, label };
    let curve = Curve::new(lab, bench, windows.to_vec(), settings.pooling);
    let first = knob.position(knob.start).saturating_sub(FINEST);
    let mut known: Vec<Sample> = Vec::new();
    let mut outcome = Ok(());
    for target in &settings.targets {
        match curve.search_from(first, *target, &known, sink) {
            Ok(found) => {
                gathered.contradictions.extend(contradictions(&found, &knob));
                known = found.samples.into_iter().map(|sample| sample.detail).collect();
            }
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    gathered.computed |= known.iter().any(|sample| !sample.cached);
    gathered.points.extend(known.iter().map(rendition));
    outcome
}

fn rendition(sample: &Sample) -> Rendition {
    Rendition {
        width: sample.size.0,
        height: sample.size.1,
        bitrate_kbps: sample.bitrate_kbps,
        bandwidth_bps: sample.peak_bps.max(sample.bitrate_kbps * 1000.0).ceil() as u64,
        vmaf: sample.vmaf_score,
        crf: sample.crf.whole(),
        codecs: sample.codecs.clone(),
    }
}

/// Points of the hull that lie within what was asked for: from the cheapest up to the best target.
fn finish(
    source: &Source,
    judge: &Judge,
    settings: &LadderSettings,
    windows: &[crate::Window],
    mut gathered: Gathered,
) -> Ladder {
    gathered.contradictions.dedup();
    let places: Vec<(f64, f64)> =
        gathered.points.iter().map(|point| (point.bitrate_kbps, point.vmaf)).collect();
    let hull: Vec<Rendition> =
        hull::upper_hull(&places).into_iter().map(|index| gathered.points[index].clone()).collect();
    let useful = useful(&hull, &settings.targets);
    let places: Vec<(f64, f64)> = useful.iter().map(|point| (point.bitrate_kbps, point.vmaf)).collect();
    let chosen = hull::tiers(&places, settings.tiers, settings.spacing);
    Ladder {
        schema: "vmaf-tune-ladder/v1",
        src: source.path.display().to_string(),
        encoder: settings.adapter.name.to_owned(),
        encoder_version: gathered.version,
        model: judge.label.clone(),
        metric: settings.pooling.name(),
        display: source.size(),
        frame_rate: source.rate,
        duration: source.duration(),
        spacing: settings.spacing.name(),
        windows: windows.iter().map(|window| (window.start, window.count.unwrap_or(source.frames))).collect(),
        renditions: chosen.into_iter().map(|index| useful[index].clone()).collect(),
        hull,
        samples: gathered.points,
        failures: gathered.failures,
        contradictions: gathered.contradictions,
        from_cache: !gathered.computed,
    }
}

/// The hull without what lies above the highest target: the first point that meets it is the top.
fn useful(hull: &[Rendition], targets: &[f64]) -> Vec<Rendition> {
    let highest = targets.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let top = hull.iter().position(|point| point.vmaf >= highest).map_or(hull.len(), |index| index + 1);
    hull[..top].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_above_the_highest_target_is_a_rendition() {
        let point = |bitrate_kbps, vmaf| Rendition {
            width: 640,
            height: 360,
            bitrate_kbps,
            bandwidth_bps: 0,
            vmaf,
            crf: 20,
            codecs: String::new(),
        };
        let hull = [point(100.0, 60.0), point(300.0, 90.2), point(500.0, 95.1), point(900.0, 98.0)];
        assert_eq!(useful(&hull, &[95.0, 90.0]).len(), 3);
        assert_eq!(useful(&hull, &[99.0]).len(), 4);
    }
}
