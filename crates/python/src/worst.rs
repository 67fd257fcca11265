//! The worst frames of two files, as pictures and in words.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use visus_engine::Cancel as EngineCancel;
use visus_media::Shape;
use visus_media::worst::{ShowOptions, WorstFrame, scores_of, select, show};
use visus_report::worst::{WorstEntry, WorstRegion};
use visus_scoring::{Prepared, ScoreRequest, score};
use visus_video::ColourRange;

use crate::failure::Failure;
use crate::options::{FileOptions, ScoreOptions};
use crate::wait::{self, Cancel, Progress};

/// A frame's entry as JSON, and its picture.
type Shown<'py> = (String, Bound<'py, PyBytes>);

/// What is asked of the worst frames.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct WorstOptions {
    count: usize,
    side: usize,
}

/// The worst frames: the score that they are judged by, and of each its facts as JSON and its picture.
#[pyfunction]
pub fn worst<'py>(
    py: Python<'py>,
    reference: PathBuf,
    distorted: PathBuf,
    wanted: WorstOptions,
    options: ScoreOptions,
    files: FileOptions,
    progress: Option<Bound<'py, PyAny>>,
    cancel: &Bound<'py, Cancel>,
) -> PyResult<(String, Vec<Shown<'py>>)> {
    let cancel = cancel.get().0.clone();
    let (name, frames) = wait::run(py, &cancel, progress, |progress| {
        let request = || files.request(reference.clone(), distorted.clone(), &options);
        find(&request, &wanted, &cancel, progress)
    })?;
    let shown = |frame: WorstFrame| (entry(&frame), PyBytes::new(py, &frame.png));
    Ok((name, frames.into_iter().map(shown).collect()))
}

/// Scores the files, and reads them a second time for the pictures.
fn find(
    request: &dyn Fn() -> Result<ScoreRequest, Failure>,
    wanted: &WorstOptions,
    cancel: &EngineCancel,
    progress: &Progress,
) -> Result<(String, Vec<WorstFrame>), Failure> {
    let videos = request()?.videos;
    if !videos.reference.is_rereadable() || !videos.distorted.is_rereadable() {
        return Err(Failure::request("the worst frames are read a second time: both videos must be files"));
    }
    let result = score(request()?, cancel, &mut progress.sink())?;
    result.check()?;
    let none = || Failure::request("there is no score to judge frames by; name a model");
    let name = result.main_column().ok_or_else(none)?;
    let findings = result.faults.as_ref().map_or(Vec::new(), |faults| faults.findings.clone());
    let chosen = select(&scores_of(&result.outcome, &name), &result.shots(), &findings, wanted.count);
    let ScoreRequest { videos, selection, .. } = request()?;
    let mut videos = Prepared::new(videos, &selection.models, cancel)?.open()?;
    videos.pass_over_skipped().map_err(visus_media::MediaError::from)?;
    let range = videos.reference.info().range.unwrap_or(ColourRange::Limited);
    let shape = Shape { format: *videos.reference.format(), range };
    let score_name = if name.starts_with("vmaf") { "VMAF".to_owned() } else { name.clone() };
    let show_options = ShowOptions { shape, side: wanted.side, score_name, findings };
    let (reference, distorted) = (&mut *videos.reference, &mut *videos.distorted);
    let shown = show(reference, distorted, &chosen, &show_options, |_| !cancel.is_fired())?;
    videos.pair.finish();
    Ok((name, shown))
}

fn entry(frame: &WorstFrame) -> String {
    let region = frame.region;
    let entry = WorstEntry {
        frame_index: frame.index,
        score: frame.score,
        shot: frame.shot,
        png: String::new(),
        region: WorstRegion { x: region.x, y: region.y, width: region.width, height: region.height },
        description: frame.description.clone(),
        measures: frame.measures.json(),
    };
    visus_report::score::json(&entry).to_string()
}
