//! Errors on their way to Python: one class of exception for each class of refusal.
//!
//! The classes are written in Python (`visus._errors`), because some of them are also a `ValueError` or a `TimeoutError`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use visus_scoring::{ErrorClass, NotComparable, RequestError, ScoreError};
use visus_tune::TuneError;

/// Why there is no result.
#[derive(Clone, Debug)]
pub struct Failure {
    class: ErrorClass,
    text: String,
    /// Why two videos cannot be compared.
    reasons: Vec<String>,
}

impl Failure {
    pub fn new(class: ErrorClass, text: impl Into<String>) -> Self {
        Self { class, text: text.into(), reasons: Vec::new() }
    }

    /// A wrong request.
    pub fn request(text: impl Into<String>) -> Self {
        Self::new(ErrorClass::Request, text)
    }

    /// Says whose fault it is: where one of many pairs failed, which.
    pub fn about(self, what: &str) -> Self {
        Self { text: format!("{what}: {}", self.text), ..self }
    }

    /// The name of its class in `visus._errors`.
    fn class_name(&self) -> &'static str {
        match self.class {
            ErrorClass::Request => "RequestError",
            ErrorClass::NotComparable => "NotComparableError",
            ErrorClass::Video => "VideoError",
            ErrorClass::TimedOut => "TimedOutError",
            ErrorClass::Cancelled => "CancelledError",
            ErrorClass::Failed => "VisusError",
        }
    }
}

impl From<NotComparable> for Failure {
    fn from(refusal: NotComparable) -> Self {
        let advice = if refusal.can_be_forced { "; force=True scores them anyway" } else { "" };
        let text = format!("{refusal}{advice}");
        Self { class: ErrorClass::NotComparable, text, reasons: refusal.reasons }
    }
}

impl From<ScoreError> for Failure {
    fn from(error: ScoreError) -> Self {
        match error {
            ScoreError::NotComparable(refusal) => refusal.into(),
            other => Self::new(other.class(), visus_video::chain(&other)),
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::request(error.to_string())
    }
}

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Self {
        let class = match &error {
            TuneError::Cancelled => ErrorClass::Cancelled,
            TuneError::TimedOut { .. } => ErrorClass::TimedOut,
            TuneError::Source { .. } => ErrorClass::Video,
            TuneError::UnknownEncoder { .. } | TuneError::Invalid { .. } | TuneError::Model(_) => {
                ErrorClass::Request
            }
            _ => ErrorClass::Failed,
        };
        Self::new(class, error.chain())
    }
}

impl From<visus_media::MediaError> for Failure {
    fn from(error: visus_media::MediaError) -> Self {
        ScoreError::from(error).into()
    }
}

impl From<visus_report::record::RecordError> for Failure {
    fn from(error: visus_report::record::RecordError) -> Self {
        Self::new(ErrorClass::Video, error.to_string())
    }
}

impl From<visus_report::plot::PlotError> for Failure {
    fn from(error: visus_report::plot::PlotError) -> Self {
        Self::new(ErrorClass::Failed, error.to_string())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| raise(py, &failure).unwrap_or_else(|error| error))
    }
}

/// The exception, ready to be raised.
fn raise(py: Python<'_>, failure: &Failure) -> PyResult<PyErr> {
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let errors = ERRORS.get_or_try_init(py, || py.import("visus._errors").map(Bound::unbind))?;
    let exception = errors.bind(py).getattr(failure.class_name())?.call1((&failure.text,))?;
    if !failure.reasons.is_empty() {
        exception.setattr("reasons", failure.reasons.clone())?;
    }
    Ok(PyErr::from_value(exception))
}
