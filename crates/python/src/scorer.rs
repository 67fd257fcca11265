//! Frames that are pushed by Python.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use visus_engine::Silent;
use visus_scoring::{ErrorClass, FrameScorer};
use visus_video::{Format, Pool};

use crate::failure::Failure;
use crate::frame::Planes;
use crate::options::{FormatOptions, ScoreOptions};
use crate::report::{Report, bytes_of};
use crate::wait::{self, Cancel};

/// Frames of the pool beyond those that are computed: the ones that metrics look back at, and those on their way.
const SPARE_FRAMES: usize = 8;

/// Pairs of frames in, scores out.
#[pyclass(frozen, module = "visus")]
#[derive(Debug)]
pub struct Scorer {
    format: Format,
    cancel: visus_engine::Cancel,
    /// Copies of frames whose memory may change.
    pool: Pool,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Open(Box<FrameScorer>),
    Finished,
    Failed,
}

#[pymethods]
impl Scorer {
    #[new]
    fn new(
        py: Python<'_>,
        format: FormatOptions,
        options: ScoreOptions,
        names: (String, String),
        cancel: Option<&Bound<'_, Cancel>>,
    ) -> PyResult<Self> {
        let cancel = cancel.map(|token| token.get().0.clone()).unwrap_or_default();
        let made = py.detach(|| -> Result<_, Failure> {
            let (clip, run) = (format.clip()?, options.run()?);
            let names = [names.0.as_str(), names.1.as_str()];
            let sink = Box::new(Silent);
            let scorer = FrameScorer::new(&options.selection()?, clip, names, &run, &cancel, sink)?;
            let threads = run.threads.unwrap_or_else(|| visus_engine::Settings::default().threads);
            Ok((scorer, Pool::new(clip.format, 4 * threads + SPARE_FRAMES), clip.format))
        });
        let (scorer, pool, format) = made?;
        Ok(Self { format, cancel, pool, state: Mutex::new(State::Open(Box::new(scorer))) })
    }

    /// Scores a pair and gives its number.
    fn push(&self, py: Python<'_>, reference: Planes<'_>, distorted: Planes<'_>) -> PyResult<u64> {
        let (reference, distorted) = (reference.frame(&self.format)?, distorted.frame(&self.format)?);
        let pushed = py.detach(|| {
            let (reference, distorted) = (reference.shared(&self.pool), distorted.shared(&self.pool));
            let mut state = self.lock();
            let pushed = state.open()?.push(reference, distorted);
            if let Err(error) = &pushed
                && error.class() != ErrorClass::Request
            {
                *state = State::Failed;
            }
            pushed.map_err(Failure::from)
        });
        py.check_signals()?;
        Ok(pushed?)
    }

    /// Pairs so far.
    #[getter]
    fn pushed(&self, py: Python<'_>) -> PyResult<u64> {
        let pushed = py.detach(|| Ok::<u64, Failure>(self.lock().open()?.pushed()));
        Ok(pushed?)
    }

    /// The scores that are known by now: name and float64 values, not a number where one is not known.
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let columns = py.detach(|| {
            let mut state = self.lock();
            let scorer = state.open()?;
            let pushed = scorer.pushed();
            let scores = scorer.scores()?;
            let values = |column: &visus_engine::Column| -> Vec<f64> {
                (0..pushed).map(|index| column.get(index).unwrap_or(f64::NAN)).collect()
            };
            let named = |column| (visus_engine::Column::name(column).to_owned(), values(column));
            Ok::<_, Failure>(scores.columns().iter().map(named).collect::<Vec<_>>())
        });
        Ok(columns?.into_iter().map(|(name, values)| (name, bytes_of(py, &values))).collect())
    }

    /// Waits for the rest and gives the report.
    fn finish(&self, py: Python<'_>) -> PyResult<Report> {
        wait::run(py, &self.cancel, None, |_| {
            let mut state = self.lock();
            match std::mem::replace(&mut *state, State::Finished) {
                State::Open(scorer) => Ok(Report::of(&scorer.finish()?)),
                other => {
                    *state = other;
                    Err(state.closed())
                }
            }
        })
    }

    /// Drops what is not finished.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let mut state = self.lock();
            if matches!(&*state, State::Open(_)) {
                *state = State::Finished;
            }
        });
    }
}

impl Scorer {
    /// What a panic left behind is not used: the scorer inside refuses everything after an error.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn open(&mut self) -> Result<&mut FrameScorer, Failure> {
        match self {
            Self::Open(scorer) => Ok(scorer),
            _ => Err(self.closed()),
        }
    }

    fn closed(&self) -> Failure {
        Failure::request(match self {
            Self::Failed => "the scorer has ended with an error; make a new one",
            _ => "the scorer is finished; make a new one",
        })
    }
}
