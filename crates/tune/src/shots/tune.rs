//! A setting of its own for every shot, and the shots encoded with them as one file.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::Shots;
use crate::TuneError;
use crate::encoders::{Adapter, Choices};
use crate::estimate;
use crate::event::{Event, Sink};
use crate::lab::{Bench, Lab, Made};
use crate::mp4;
use crate::output::OutputFile;
use crate::probe_curve::{Curve, Sample, contradictions, out_of_reach};
use crate::score::Judge;
use crate::search::MAX_ENCODES;
use crate::source::{Source, Window};
use crate::tools::{Files, file_url};
use visus_engine::Pooling;

/// What is planned.
#[derive(Clone, Debug)]
pub struct ShotSettings {
    pub adapter: &'static Adapter,
    pub choices: Choices,
    pub target: f64,
    pub pooling: Pooling,
    /// With it, the shots are encoded, joined and measured.
    pub output: Option<OutputFile>,
}

/// One shot's setting; `end_frame` is exclusive.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShotRow {
    /// First frame.
    pub start_frame: u64,
    /// The frame after its last.
    pub end_frame: u64,
    /// −1 where none could be measured.
    pub crf: i32,
    /// The score on the shot's frames.
    pub predicted_vmaf: Option<f64>,
    /// Bit rate of the video, in kbit/s.
    pub bitrate_kbps: Option<f64>,
    /// How it begins: start, cut, fade or dissolve.
    pub begins_with: &'static str,
    /// Whether the target was met.
    pub ok: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// Measurements that contradict each other by more than half a point.
    pub contradictions: Vec<String>,
    /// Whether nothing had to be computed.
    pub from_cache: bool,
}

/// The joined encode, measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Joined {
    /// The file.
    pub path: String,
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the video.
    pub bytes: u64,
    /// Bit rate of the video, in kbit/s.
    pub bitrate_kbps: f64,
    /// The score on the shot's frames.
    pub predicted_vmaf: f64,
    /// The score of the joined encode.
    pub achieved_vmaf: f64,
    /// The codec as RFC 6381 writes it.
    pub codecs: String,
}

/// The plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShotPlan {
    /// The source.
    pub src: String,
    /// The encoder.
    pub encoder: String,
    /// Its version.
    pub encoder_version: String,
    /// Frames per second.
    pub framerate: f64,
    /// Always bisect.
    pub predicate: &'static str,
    /// The target.
    pub target_vmaf: f64,
    /// How frames are pooled.
    pub metric: &'static str,
    /// The model.
    pub model: String,
    /// In order.
    pub shots: Vec<ShotRow>,
    /// First frames of flashes.
    pub flashes: Vec<u64>,
    /// Encode one shot each.
    pub segment_commands: Vec<Vec<String>>,
    /// Joins the shots.
    pub concat_command: Vec<String>,
    /// The joined encode.
    pub output: Option<Joined>,
    /// Why there is none.
    pub output_error: Option<String>,
    /// Shots taken from the cache.
    pub shots_from_cache: usize,
}

/// Shots longer than this are measured in parts, in seconds.
const LONG: f64 = 20.0;

/// Plans every shot. One that fails does not lose the others; only a cancellation ends it all.
pub fn tune(
    lab: &Lab,
    source: &Source,
    judge: &Judge,
    shots: &Shots,
    settings: &ShotSettings,
    sink: Sink<'_>,
) -> Result<ShotPlan, TuneError> {
    let mut choices = settings.choices.clone();
    let joining = settings.adapter.join.map(|(option, value)| (option.to_owned(), value.to_owned()));
    choices.extra.extend(joining);
    let (recipe, available) = lab.recipe(settings.adapter, source, &choices, None)?;
    let frames = shots.frames / shots.shots.len().max(1) as u64;
    let recipes = vec![recipe.clone(); shots.shots.len()];
    sink(Event::Estimate(estimate::estimate(&lab.cache, source, &recipes, MAX_ENCODES, frames)));
    let label = settings.adapter.name.to_owned();
    let version = available.version.clone();
    let bench = Bench { source, recipe, available, judge, label };
    let mut curve = Curve::new(lab, bench, Vec::new(), settings.pooling);
    let rows = rows(&mut curve, shots, settings, sink)?;
    let mut plan = ShotPlan {
        src: source.path.display().to_string(),
        encoder: settings.adapter.name.to_owned(),
        encoder_version: version,
        framerate: source.fps(),
        predicate: "bisect",
        target_vmaf: settings.target,
        metric: settings.pooling.name(),
        model: judge.label.clone(),
        flashes: shots.flashes.clone(),
        segment_commands: segment_commands(&curve, &rows),
        concat_command: concat_command(Path::new("concat.txt"), &output_name(settings)),
        output: None,
        output_error: None,
        shots_from_cache: rows.iter().filter(|row| row.from_cache).count(),
        shots: rows,
    };
    if let Some(output) = &settings.output {
        match join(lab, &curve, &plan, output, sink) {
            Ok(joined) => plan.output = Some(joined),
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => plan.output_error = Some(error.chain()),
        }
    }
    Ok(plan)
}

fn rows(
    curve: &mut Curve<'_>,
    shots: &Shots,
    settings: &ShotSettings,
    sink: Sink<'_>,
) -> Result<Vec<ShotRow>, TuneError> {
    let mut rows = Vec::new();
    let kinds = std::iter::once("start").chain(shots.boundaries.iter().map(|boundary| boundary.kind.name()));
    for (index, (shot, begins_with)) in shots.shots.iter().zip(kinds).enumerate() {
        sink(Event::Part { name: format!("shot {}", index + 1), index, of: shots.shots.len() });
        curve.windows = windows(shot.start, shot.end, curve.bench.source.fps());
        curve.bench.label = format!("shot {}", index + 1);
        let row = row(curve, (shot.start, shot.end), begins_with, settings.target, sink);
        if curve.lab.cancel.is_fired() {
            return Err(TuneError::Cancelled);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// A long shot is measured in three parts of a fifth of the limit each.
fn windows(start: u64, end: u64, fps: f64) -> Vec<Window> {
    let (frames, length) = (end - start, (LONG / 5.0 * fps).round() as u64);
    if frames as f64 <= LONG * fps {
        return vec![Window::new(start, frames)];
    }
    (0..3).map(|part| Window::new(start + (2 * part + 1) * frames / 6 - length / 2, length)).collect()
}

fn row(
    curve: &Curve<'_>,
    frames: (u64, u64),
    begins_with: &'static str,
    target: f64,
    sink: Sink<'_>,
) -> ShotRow {
    let mut row = ShotRow {
        start_frame: frames.0,
        end_frame: frames.1,
        crf: -1,
        predicted_vmaf: None,
        bitrate_kbps: None,
        begins_with,
        ok: false,
        error: None,
        contradictions: Vec::new(),
        from_cache: false,
    };
    let found = match curve.search(target, &[], sink) {
        Ok(found) => found,
        Err(error) => {
            row.error = Some(error.chain());
            return row;
        }
    };
    row.from_cache = found.samples.iter().all(|sample| sample.detail.cached);
    row.contradictions = contradictions(&found, &curve.bench.recipe.adapter.knob);
    row.ok = found.best().is_some();
    if !row.ok {
        row.error = Some(out_of_reach(&found, target, curve.pooling, curve.bench.judge.ceiling));
    }
    // A shot that cannot meet the target gets the best there is.
    let best = found.best().or_else(|| found.samples.iter().max_by(|a, b| a.score.total_cmp(&b.score)));
    if let Some(Sample { crf, bitrate_kbps, vmaf_score, .. }) = best.map(|best| &best.detail) {
        row.crf = crf.whole();
        row.bitrate_kbps = Some(*bitrate_kbps);
        row.predicted_vmaf = Some(*vmaf_score);
    }
    row
}

fn output_name(settings: &ShotSettings) -> PathBuf {
    settings.output.as_ref().map_or(PathBuf::from("output.mp4"), |output| output.path().to_owned())
}

/// Names of segments, as the commands use them.
pub(super) fn segment_name(index: usize) -> String {
    format!("segment_{index:04}.mp4")
}

fn segment_commands(curve: &Curve<'_>, rows: &[ShotRow]) -> Vec<Vec<String>> {
    let command = |(index, row): (usize, &ShotRow)| {
        let window = Window::new(row.start_frame, row.end_frame - row.start_frame);
        curve.bench.recipe.command(curve.bench.source, window, row.crf, Path::new(&segment_name(index)))
    };
    rows.iter().enumerate().map(command).collect()
}

fn concat_command(list: &Path, output: &Path) -> Vec<String> {
    let shown = |path: &Path| file_url(path).to_string_lossy().into_owned();
    let words = ["ffmpeg", "-hide_banner", "-nostdin", "-y", "-f", "concat", "-safe", "0", "-i"];
    let mut args: Vec<String> = words.map(str::to_owned).to_vec();
    args.extend([shown(list), "-map".to_owned(), "0:v:0".to_owned(), "-c".to_owned(), "copy".to_owned()]);
    args.extend(["-f".to_owned(), "mp4".to_owned(), shown(output)]);
    args
}

/// Encodes every shot, joins them and measures the whole.
#[expect(clippy::disallowed_methods, reason = "the list lies in the lab's own folder")]
fn join(
    lab: &Lab,
    curve: &Curve<'_>,
    plan: &ShotPlan,
    output: &OutputFile,
    sink: Sink<'_>,
) -> Result<Joined, TuneError> {
    let missing = plan.shots.iter().position(|row| row.crf < 0);
    if let Some(index) = missing {
        let what = format!("shot {}", index + 1);
        return Err(TuneError::Score {
            what,
            reason: "it has no setting, so there is nothing to join".to_owned(),
        });
    }
    let mut list = "ffconcat version 1.0\n".to_owned();
    for row in &plan.shots {
        let window = Window::new(row.start_frame, row.end_frame - row.start_frame);
        let made = lab.encode(&curve.bench, window, row.crf, sink)?;
        // Names in the lab's folder are plain numbers, next to the list.
        let name = made.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        list.push_str(&format!("file '{name}'\nduration {:.9}\n", made.facts.duration));
    }
    let (list_path, joined) = (lab.fresh("ffconcat"), lab.fresh("mp4"));
    std::fs::write(&list_path, list).map_err(|error| TuneError::io(&list_path, error))?;
    let args: Vec<String> = concat_command(&list_path, &joined).split_off(1);
    let args: Vec<std::ffi::OsString> = args
        .into_iter()
        .chain(["-v", "error", "-progress", "pipe:1"].map(str::to_owned))
        .map(Into::into)
        .collect();
    let files = Files { read: &[], folder: joined.parent() };
    let finished = lab.tools.work(&with_output_last(args), files, &lab.cancel, |_| {})?;
    if finished.code != 0 {
        let reason = crate::encoders::reason(&finished.stderr);
        return Err(TuneError::Score { what: "joining the shots".to_owned(), reason });
    }
    measure(lab, curve, plan, &joined, output, sink)
}

/// ffmpeg wants the output's name after all options.
fn with_output_last(mut args: Vec<std::ffi::OsString>) -> Vec<std::ffi::OsString> {
    let at = args.len() - 5;
    let output = args.remove(at);
    args.push(output);
    args
}

fn measure(
    lab: &Lab,
    curve: &Curve<'_>,
    plan: &ShotPlan,
    joined: &Path,
    output: &OutputFile,
    sink: Sink<'_>,
) -> Result<Joined, TuneError> {
    let facts = mp4::facts(joined)?;
    let made = Made { path: joined.to_owned(), facts, elapsed_ms: 0, cached: false };
    let scores = lab.score(&curve.bench, Window::WHOLE, &made, "the joined encode", sink)?;
    output.receive(joined)?;
    let weight = |row: &ShotRow| (row.end_frame - row.start_frame) as f64;
    let all: f64 = plan.shots.iter().map(weight).sum();
    let predicted: f64 = plan.shots.iter().map(|row| row.predicted_vmaf.unwrap_or(0.0) * weight(row)).sum();
    Ok(Joined {
        path: output.path().display().to_string(),
        frames: made.facts.frames,
        bytes: made.facts.video_bytes,
        bitrate_kbps: made.facts.kbps(),
        predicted_vmaf: predicted / all.max(1.0),
        achieved_vmaf: curve.pooling.pool(scores.first().map_or(&[], Vec::as_slice)),
        codecs: made.facts.codecs.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_shots_are_sampled() {
        assert_eq!(windows(100, 300, 25.0), [Window::new(100, 200)]);
        let long = windows(1000, 4000, 25.0);
        assert_eq!(long.len(), 3);
        assert!(
            long.iter().all(|window| window.start >= 1000 && window.start + window.count.unwrap() <= 4000)
        );
    }

    #[test]
    fn the_output_stands_last() {
        let words =
            ["-i", "a", "file:out", "-v", "error", "-progress", "pipe:1"].map(std::ffi::OsString::from);
        assert_eq!(with_output_last(words.to_vec()).last().unwrap(), "file:out");
    }
}
