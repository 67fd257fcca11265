//! Why a request has no result, and whose fault that is.
//!
//! Front ends map the [`ErrorClass`] to their exit code or status and print the text; none of them looks at the variants to
//! decide.

use visus_engine::{EngineError, PlanError, Side};
use visus_media::MediaError;
use visus_video::ReadError;

/// A wrong request: a name that is not known, an option that is not taken, a range without frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("no such built-in model '{name}'{}; built in are {known}; a model file must end in .json", hint(.nearest))]
    UnknownModel { name: String, nearest: Option<&'static str>, known: String },
    #[error("model '{name}': {reason}")]
    Model { name: String, reason: String },
    #[error("{0}")]
    Metric(String),
    #[error("{0}")]
    Range(String),
    #[error("nothing to compute: the request names neither a model nor a metric")]
    Nothing,
    #[error("{0}")]
    Format(String),
    /// What is to be done to the videos beforehand cannot be done.
    #[error("{0}")]
    Input(String),
    #[error("{0}")]
    CpuLevel(String),
    #[error("{0}")]
    Backend(String),
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map_or(String::new(), |nearest| format!(" (did you mean '{nearest}'?)"))
}

/// Two videos whose score would mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the two videos cannot be compared: {}", .reasons.join("; "))]
pub struct NotComparable {
    pub reasons: Vec<String>,
    /// Whether the user may insist on a score.
    pub can_be_forced: bool,
}

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    NotComparable(#[from] NotComparable),
    /// A video that cannot be opened.
    #[error("the {side} video")]
    Open { side: Side, source: ReadError },
    /// The same for video that was encoded, or that is brought to another size or paired by content.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The plan cannot be made: a wrong option, a damaged model file.
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("model {label}: {reason}")]
    ModelFile { label: String, reason: String },
    #[error(transparent)]
    Engine(EngineError),
    /// An error of decoding or scoring that was reworded, so that it names the files as the user did.
    #[error("{text}")]
    Reworded { class: ErrorClass, text: String },
    #[error("the operating system: {0}")]
    System(String),
}

/// Whose fault an error is. Front ends map this to exit codes and statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request is wrong whatever the videos are: `visus` ends with 2, HTTP answers 400.
    Request,
    /// A score of these two videos would mean nothing: 3, HTTP 400.
    NotComparable,
    /// A video cannot be opened, or is of a kind that the request cannot be applied to: 1, HTTP 400.
    Video,
    /// A child process took too long: 1, HTTP 500.
    TimedOut,
    /// The user gave up.
    Cancelled,
    /// Scoring failed on the way: 1, HTTP 500.
    Failed,
}

impl ScoreError {
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Request(_) => ErrorClass::Request,
            Self::NotComparable(_) => ErrorClass::NotComparable,
            Self::Open { .. } => ErrorClass::Video,
            Self::Media(error) => media_class(error),
            Self::Plan(PlanError::Load(_)) | Self::ModelFile { .. } => ErrorClass::Request,
            Self::Plan(_) => ErrorClass::Request,
            Self::Engine(error) => engine_class(error),
            Self::Reworded { class, .. } => *class,
            Self::System(_) => ErrorClass::Failed,
        }
    }
}

impl From<EngineError> for ScoreError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Incompatible { reference, distorted } => {
                NotComparable::formats(&reference, &distorted).into()
            }
            other => Self::Engine(other),
        }
    }
}

impl NotComparable {
    /// Formats that differ although nothing is converted.
    pub(crate) fn formats(reference: &visus_video::Format, distorted: &visus_video::Format) -> Self {
        let text = format!(
            "the reference is {reference}, the distorted video {distorted}; let them be scaled, or convert one of them first"
        );
        Self { reasons: vec![text], can_be_forced: false }
    }
}

fn media_class(error: &MediaError) -> ErrorClass {
    match error {
        MediaError::Cancelled => ErrorClass::Cancelled,
        MediaError::TimedOut { .. } => ErrorClass::TimedOut,
        MediaError::NoTool { .. } | MediaError::ToolBroken { .. } => ErrorClass::Failed,
        MediaError::OneSide { error, .. } => media_class(error),
        MediaError::BothSides { reference, distorted } => {
            let (first, second) = (media_class(reference), media_class(distorted));
            if first == ErrorClass::Video { second } else { first }
        }
        _ => ErrorClass::Video,
    }
}

fn engine_class(error: &EngineError) -> ErrorClass {
    use visus_metrics::MetricError;
    match error {
        EngineError::Cancelled => ErrorClass::Cancelled,
        EngineError::EmptyPart { .. } | EngineError::UnlistedStart { .. } => ErrorClass::Request,
        EngineError::WrongFrame { .. } => ErrorClass::Request,
        EngineError::Metric(MetricError::Format { .. }) | EngineError::NoFrames => ErrorClass::Video,
        EngineError::Incompatible { .. } => ErrorClass::NotComparable,
        _ => ErrorClass::Failed,
    }
}
