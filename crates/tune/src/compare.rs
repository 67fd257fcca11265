//! Encoders side by side: the setting of each that meets a target, and what it costs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use crate::TuneError;
use crate::bd::{self, Method, RatePoint};
use crate::encoders::{self, Adapter, Choices};
use crate::estimate;
use crate::event::{Event, Sink};
use crate::lab::{Bench, Lab};
use crate::probe_curve::{Curve, Sample, contradictions, out_of_reach};
use crate::samples::{self, SamplePlan};
use crate::score::Judge;
use crate::search::MAX_ENCODES;
use crate::source::Source;
use visus_engine::Pooling;

/// What is compared.
#[derive(Clone, Debug)]
pub struct CompareSettings {
    /// Names; one that is unknown or absent is a row that says so.
    pub encoders: Vec<String>,
    pub targets: Vec<f64>,
    pub choices: Choices,
    pub pooling: Pooling,
    pub samples: SamplePlan,
    pub parallel: bool,
}

/// One encoder at one target.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Row {
    /// The encoder.
    pub codec: String,
    /// The encoder.
    pub adapter: String,
    /// cpu, hardware or unknown.
    pub runtime_variant: String,
    /// The ffmpeg that encoded.
    pub ffmpeg_bin: String,
    /// Version of its library.
    pub encoder_version: String,
    /// −1 where there is none.
    pub best_crf: i32,
    /// Bit rate of the video, in kbit/s.
    pub bitrate_kbps: Option<f64>,
    /// How long encoding took.
    pub encode_time_ms: u64,
    /// The pooled score.
    pub vmaf_score: Option<f64>,
    /// The score that was asked for.
    pub target_vmaf: f64,
    /// Whether the target was met.
    pub ok: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// Settings that were measured on the way.
    pub bisect_samples: Vec<Sample>,
    /// Measurements that contradict each other by more than half a point.
    pub contradictions: Vec<String>,
    /// Whether nothing had to be computed.
    pub from_cache: bool,
}

/// Rate and quality of one encoder against the first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Delta {
    /// The encoder.
    pub encoder: String,
    /// The encoder that it is compared with.
    pub anchor: String,
    /// Bjøntegaard's rate difference, by piecewise cubic interpolation; negative is better.
    pub bd_rate_percent: Option<f64>,
    /// The same by one cubic polynomial.
    pub bd_rate_cubic_percent: Option<f64>,
    /// Bjøntegaard's quality difference.
    pub bd_vmaf: Option<f64>,
    /// What went wrong.
    pub error: Option<String>,
}

/// The whole comparison.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// The source.
    pub src: String,
    /// 2 with several targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// The target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_vmaf: Option<f64>,
    /// The targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_vmafs: Option<Vec<f64>>,
    /// What measured.
    pub tool_version: String,
    /// The model.
    pub model: String,
    /// How frames are pooled.
    pub metric: &'static str,
    /// Frames measured: first, count.
    pub windows: Vec<(u64, u64)>,
    /// How long it took.
    pub wall_time_ms: u64,
    /// One per encoder and target.
    pub rows: Vec<Row>,
    /// Against the first encoder.
    pub bd_rate: Vec<Delta>,
    /// Rows taken from the cache.
    pub rows_from_cache: usize,
}

/// Compares. The report comes back also when every row failed; an error is only a cancellation.
pub fn compare(
    lab: &Lab,
    source: &Source,
    judge: &Judge,
    settings: &CompareSettings,
    sink: Sink<'_>,
) -> Result<Comparison, TuneError> {
    let started = Instant::now();
    let windows =
        samples::windows(source, &settings.samples, || source.packet_sizes(&lab.tools, &lab.cancel));
    send_estimate(lab, source, settings, &windows, sink);
    let results = run_all(settings.encoders.len(), workers(settings), |index| {
        let name = &settings.encoders[index];
        sink(Event::Part { name: name.clone(), index, of: settings.encoders.len() });
        rows_of(lab, source, judge, settings, name, sink)
    });
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for result in results {
        let (encoder_rows, curve) = result?;
        curves.push((encoder_rows.first().map(|row| row.codec.clone()).unwrap_or_default(), curve));
        rows.extend(encoder_rows);
    }
    let single = settings.targets.len() == 1;
    if single {
        // Those that worked, by rate; the others follow.
        rows.sort_by(|a, b| {
            let rate = |row: &Row| row.bitrate_kbps.unwrap_or(f64::INFINITY);
            b.ok.cmp(&a.ok).then(rate(a).total_cmp(&rate(b)))
        });
    }
    Ok(Comparison {
        src: source.path.display().to_string(),
        schema_version: (!single).then_some(2),
        target_vmaf: if single { settings.targets.first().copied() } else { None },
        target_vmafs: (!single).then(|| settings.targets.clone()),
        tool_version: concat!("visus-", env!("CARGO_PKG_VERSION")).to_owned(),
        model: judge.label.clone(),
        metric: settings.pooling.name(),
        windows: windows.iter().map(|window| (window.start, window.count.unwrap_or(source.frames))).collect(),
        wall_time_ms: started.elapsed().as_millis() as u64,
        rows_from_cache: rows.iter().filter(|row| row.from_cache).count(),
        rows,
        bd_rate: deltas(&curves),
    })
}

fn workers(settings: &CompareSettings) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if settings.parallel { (cores / 2).clamp(1, 4) } else { 1 }
}

/// Runs `work` for every index on a few threads; results come in order of index.
pub(crate) fn run_all<T: Send>(count: usize, workers: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..workers.min(count).max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = slots.get(index) else { return };
                    let result = work(index);
                    *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    slots
        .into_iter()
        .filter_map(|slot| slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
        .collect()
}

fn send_estimate(
    lab: &Lab,
    source: &Source,
    settings: &CompareSettings,
    windows: &[crate::Window],
    sink: Sink<'_>,
) {
    let frames = windows.iter().map(|window| window.count.unwrap_or(source.frames)).sum();
    let adapters = settings.encoders.iter().filter_map(|name| encoders::by_name(name).ok());
    let recipe = |adapter| crate::Recipe { adapter, choices: settings.choices.clone(), size: None };
    let recipes: Vec<crate::Recipe> = adapters.map(recipe).collect();
    // Targets of one encoder share what was measured: the first takes most of it.
    let encodes = MAX_ENCODES.min(4 + 2 * settings.targets.len());
    sink(Event::Estimate(estimate::estimate(&lab.cache, source, &recipes, encodes, frames)));
}

type EncoderRows = (Vec<Row>, Vec<Sample>);

/// The rows of one encoder. Only a cancellation is an error.
fn rows_of(
    lab: &Lab,
    source: &Source,
    judge: &Judge,
    settings: &CompareSettings,
    name: &str,
    sink: Sink<'_>,
) -> Result<EncoderRows, TuneError> {
    let mut known: Vec<Sample> = Vec::new();
    let prepared = encoders::by_name(name).and_then(|adapter| {
        let (recipe, available) = lab.recipe(adapter, source, &settings.choices, None)?;
        let bench = Bench { source, recipe, available, judge, label: adapter.name.to_owned() };
        let windows =
            samples::windows(source, &settings.samples, || source.packet_sizes(&lab.tools, &lab.cancel));
        Ok(Curve::new(lab, bench, windows, settings.pooling))
    });
    let mut rows = Vec::new();
    for target in &settings.targets {
        let mut row = blank(lab, name, *target);
        let filled = match &prepared {
            Ok(curve) => fill(&mut row, curve, *target, &mut known, sink),
            Err(error) => Err(error.chain()),
        };
        if lab.cancel.is_fired() {
            return Err(TuneError::Cancelled);
        }
        row.ok = filled.is_ok();
        row.error = filled.err();
        rows.push(row);
    }
    Ok((rows, known))
}

fn blank(lab: &Lab, name: &str, target: f64) -> Row {
    let adapter: Option<&'static Adapter> = encoders::by_name(name).ok();
    let name = adapter.map_or(name, |adapter| adapter.name);
    let variant = adapter.map_or("unknown", |adapter| if adapter.hardware { "hardware" } else { "cpu" });
    Row {
        codec: name.to_owned(),
        adapter: name.to_owned(),
        runtime_variant: variant.to_owned(),
        ffmpeg_bin: lab.tools.media.ffmpeg.display().to_string(),
        encoder_version: String::new(),
        best_crf: -1,
        bitrate_kbps: None,
        encode_time_ms: 0,
        vmaf_score: None,
        target_vmaf: target,
        ok: false,
        error: None,
        bisect_samples: Vec::new(),
        contradictions: Vec::new(),
        from_cache: false,
    }
}

fn fill(
    row: &mut Row,
    curve: &Curve<'_>,
    target: f64,
    known: &mut Vec<Sample>,
    sink: Sink<'_>,
) -> Result<(), String> {
    row.encoder_version = curve.bench.available.version.clone();
    let found = curve.search(target, known, sink).map_err(|error| error.chain())?;
    let new: Vec<Sample> = found.samples.iter().map(|sample| sample.detail.clone()).collect();
    row.from_cache = new.iter().all(|sample| sample.cached);
    row.contradictions = contradictions(&found, &curve.bench.recipe.adapter.knob);
    row.bisect_samples = new.clone();
    *known = new;
    let Some(best) = found.best() else {
        return Err(out_of_reach(&found, target, curve.pooling, curve.bench.judge.ceiling));
    };
    row.best_crf = best.detail.crf.whole();
    row.bitrate_kbps = Some(best.detail.bitrate_kbps);
    row.encode_time_ms = best.detail.encode_time_ms;
    row.vmaf_score = Some(best.detail.vmaf_score);
    Ok(())
}

/// Each encoder's curve against the first one's, from what the searches measured.
fn deltas(curves: &[(String, Vec<Sample>)]) -> Vec<Delta> {
    let Some(((anchor, first), others)) = curves.split_first() else { return Vec::new() };
    let anchor_points = rising(first);
    let delta = |(encoder, samples): &(String, Vec<Sample>)| {
        let points = rising(samples);
        let rate = bd::bd_rate(&anchor_points, &points, Method::Pchip);
        Delta {
            encoder: encoder.clone(),
            anchor: anchor.clone(),
            bd_rate_cubic_percent: bd::bd_rate(&anchor_points, &points, Method::Cubic).ok(),
            bd_vmaf: bd::bd_quality(&anchor_points, &points, Method::Pchip).ok(),
            error: rate.as_ref().err().map(ToString::to_string),
            bd_rate_percent: rate.ok(),
        }
    };
    others.iter().map(delta).collect()
}

/// Points by rate, without those that cost more and give no more: a curve of quality over rate must rise.
fn rising(samples: &[Sample]) -> Vec<RatePoint> {
    let mut points: Vec<RatePoint> = samples
        .iter()
        .filter(|sample| sample.bitrate_kbps > 0.0 && sample.vmaf_score.is_finite())
        .map(|sample| RatePoint { kbps: sample.bitrate_kbps, quality: sample.vmaf_score })
        .collect();
    points.sort_by(|a, b| a.kbps.total_cmp(&b.kbps));
    let mut kept: Vec<RatePoint> = Vec::new();
    for point in points {
        if kept.last().is_none_or(|last| point.quality > last.quality) {
            kept.push(point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        let squares = run_all(50, 4, |index| index * index);
        assert_eq!(squares, (0..50).map(|index| index * index).collect::<Vec<_>>());
        assert_eq!(run_all(0, 4, |index| index), Vec::<usize>::new());
    }
}
