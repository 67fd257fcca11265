//! A report: scores and everything that is known about them.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use visus_report::score::ScoreReport;
use visus_report::{Record, bootstrap, diff as compare, html, plot};
use visus_scoring::{ScoreResult, score as score_files};

use crate::VERSION;
use crate::failure::Failure;
use crate::options::{FileOptions, ScoreOptions};
use crate::wait::{self, Cancel};

/// Scores of a run, or of a report that was read.
#[pyclass(frozen, module = "visus")]
#[derive(Debug)]
pub struct Report {
    json: Value,
    frames: Vec<i64>,
    columns: Vec<(String, Vec<f64>)>,
    /// What frames are judged by.
    main: Option<String>,
}

impl Report {
    /// Of a run that has just ended.
    pub fn of(result: &ScoreResult) -> Self {
        let (facts, outcome) = (result.facts(VERSION), &result.outcome);
        let report = ScoreReport::new(&facts, outcome);
        let values = |column: &visus_engine::Column| {
            report.listed().map(|index| column.get(index).unwrap_or(f64::NAN)).collect()
        };
        Self {
            json: report.json(),
            frames: report.listed().map(|index| (outcome.first_frame + index) as i64).collect(),
            columns: outcome
                .scores
                .columns()
                .iter()
                .map(|column| (column.name().to_owned(), values(column)))
                .collect(),
            main: result.main_column(),
        }
    }

    fn read(json: Value) -> Result<Self, Failure> {
        let record = Record::from_json(&json)?;
        let column = |curve: &visus_report::record::Curve| {
            let values = curve.values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
            (curve.name.clone(), values)
        };
        Ok(Self {
            frames: record.frames.iter().map(|frame| *frame as i64).collect(),
            columns: record.curves.iter().map(column).collect(),
            main: record.shown().first().map(|curve| curve.name.clone()),
            json,
        })
    }

    fn record(&self) -> Result<Record, Failure> {
        Ok(Record::from_json(&self.json)?)
    }
}

#[pymethods]
impl Report {
    /// The numbers of the listed frames, int64.
    fn frames<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = self.frames.iter().flat_map(|frame| frame.to_ne_bytes()).collect();
        PyBytes::new(py, &bytes)
    }

    /// The names of the columns.
    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// A column over the listed frames, float64; none if there is no such column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyBytes>> {
        let (_, values) = self.columns.iter().find(|(known, _)| known == name)?;
        Some(bytes_of(py, values))
    }

    /// The column that sums it up.
    #[getter]
    fn main(&self) -> Option<&str> {
        self.main.as_deref()
    }

    /// The report as `visus score --json` writes it, or all of it but the frames in one line.
    #[pyo3(signature = (frames = true))]
    fn json(&self, py: Python<'_>, frames: bool) -> String {
        py.detach(|| {
            if frames {
                return format!("{:#}\n", self.json);
            }
            let entries = self.json.as_object().into_iter().flatten();
            let some = entries.filter(|(name, _)| *name != "frames" && *name != "part");
            Value::Object(some.map(|(name, value)| (name.clone(), value.clone())).collect()).to_string()
        })
    }

    /// The self-contained page.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| Ok::<_, Failure>(html::page(&self.record()?, &[])))?)
    }

    /// Curve and histogram.
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| Ok::<_, Failure>(plot::svg(&self.record()?)?))?)
    }

    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let png = py.detach(|| Ok::<_, Failure>(plot::png(&self.record()?)?))?;
        Ok(PyBytes::new(py, &png))
    }
}

/// Values as the bytes of a float64 array.
pub fn bytes_of<'py>(py: Python<'py>, values: &[f64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Scores two files. The second value says why the score means nothing, where it does not.
#[pyfunction]
pub fn score(
    py: Python<'_>,
    reference: PathBuf,
    distorted: PathBuf,
    options: ScoreOptions,
    files: FileOptions,
    progress: Option<Bound<'_, PyAny>>,
    cancel: &Bound<'_, Cancel>,
) -> PyResult<(Report, Option<Vec<String>>)> {
    let cancel = cancel.get().0.clone();
    wait::run(py, &cancel, progress, |progress| {
        let request = files.request(reference, distorted, &options)?;
        let result = score_files(request, &cancel, &mut progress.sink())?;
        let refusal = result.check().err().map(|refusal| refusal.reasons);
        Ok((Report::of(&result), refusal))
    })
}

/// Reads the text of a report.
#[pyfunction]
pub fn read_report(py: Python<'_>, text: &str) -> PyResult<Report> {
    let read = py.detach(|| {
        let json = serde_json::from_str(text);
        Report::read(json.map_err(visus_report::record::RecordError::from)?)
    });
    Ok(read?)
}

/// Compares two reports: as JSON, and in words.
#[pyfunction]
#[pyo3(signature = (first, second, seed = bootstrap::SEED))]
pub fn diff(
    py: Python<'_>,
    first: &Bound<'_, Report>,
    second: &Bound<'_, Report>,
    seed: u64,
) -> PyResult<(String, String)> {
    let (first, second) = (first.get(), second.get());
    let compared = py.detach(|| {
        let compared = compare::diff(&first.record()?, &second.record()?, seed);
        Ok::<_, Failure>((compared.json().to_string(), compared.text()))
    });
    Ok(compared?)
}
