//! The tools: names, descriptions, arguments, answers and handlers, one entry each.
//!
//! A tool lives in its own file as a constant of type [`Tool`] and stands once in [`TOOLS`]. Every front end calls it
//! through [`crate::Server::start`], which checks the arguments against the tool's table and then runs its handler.

pub mod advice;
pub mod backends;
pub mod bench;
pub mod cause;
pub mod eval;
pub mod extractors;
pub mod field;
pub mod fit;
pub mod job;
pub mod migrate;
pub mod models;
pub mod offer;
pub mod pictures;
pub mod schema;
pub mod score;
pub mod score_args;
pub mod score_fields;
pub mod tiny_args;
pub mod tuning;
pub mod worst;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::jobs::{Owner, Work};
use crate::report::Detail;
use crate::{Server, ToolError};
use field::{Field, Kind, Values};
use offer::Toolset;
use schema::Schema;

/// A tool's answer: one JSON object.
pub type Answer = Map<String, Value>;

/// What a client may assume of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

/// Changes nothing.
pub const READS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
/// Ends something or writes a file.
pub const CHANGES: Hints = Hints { read_only: false, destructive: true, idempotent: true, open_world: false };

/// How a tool is run.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Answers from memory, on the caller's thread.
    Now(fn(&Server, &Owner, &Values) -> Result<Answer, ToolError>),
    /// Looks at files or asks a binary: on a blocking thread, beside the queue.
    Look(fn(&Server, &Values) -> Result<Answer, ToolError>),
    /// Takes its time: arguments are checked and files opened on a blocking thread, the work that comes of it is a job.
    Work(fn(&Server, Values) -> Result<Work, ToolError>),
}

/// A tool: how it is listed, what it takes, what it answers and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    pub name: &'static str,
    pub title: &'static str,
    /// What it does and when to use it, in two sentences: every conversation pays for them.
    pub description: &'static str,
    pub set: Toolset,
    pub hints: Hints,
    pub fields: fn() -> &'static [Field],
    /// The schema of its answer, by [`schema::of`] the answer's type.
    pub answer: fn() -> Schema,
    /// The fields of the answer that `tools/list` names: those that an agent looks for.
    pub shows: &'static [&'static str],
    pub run: Run,
}

impl Tool {
    /// The table of its arguments.
    pub fn fields(&self) -> &'static [Field] {
        (self.fields)()
    }

    pub fn input_schema(&self) -> Schema {
        field::schema(self.fields())
    }

    /// The whole schema of its answer, that of a job in the background included.
    pub fn answer_schema(&self) -> Schema {
        match self.run {
            Run::Work(_) => schema::with_job_fields((self.answer)(), self.is_long()),
            Run::Now(_) | Run::Look(_) => (self.answer)(),
        }
    }

    /// What `tools/list` says of its answer.
    pub fn listed_schema(&self) -> Schema {
        let job: &[&str] = if matches!(self.run, Run::Work(_)) { &["job_id"] } else { &[] };
        schema::top_level(&self.answer_schema(), &[self.shows, job].concat())
    }

    /// Whether it can run in the background.
    pub fn is_long(&self) -> bool {
        self.fields().iter().any(|field| field.name == BACKGROUND.name)
    }
}

/// Every tool, in the order in which they are listed.
pub static TOOLS: &[Tool] = &[
    score::VMAF_SCORE,
    score::VMAF_SCORE_ENCODED,
    worst::DESCRIBE_WORST_FRAMES,
    models::LIST_MODELS,
    models::DESCRIBE_MODEL,
    backends::LIST_BACKENDS,
    backends::PROBE_BACKEND,
    backends::VMAF_VERSION,
    extractors::LIST_EXTRACTORS,
    bench::RUN_BENCHMARK,
    bench::VMAF_BENCH,
    tuning::RUN_SEARCH,
    tuning::RUN_COMPARE,
    tuning::RUN_LADDER,
    tuning::RUN_TUNE_PER_SHOT,
    tuning::VMAF_PER_SHOT,
    eval::EVAL_MODEL_ON_SPLIT,
    eval::COMPARE_MODELS,
    migrate::MIGRATE_THRESHOLDS,
    job::GET_JOB,
    job::LIST_JOBS,
    job::CANCEL_JOB,
];

/// The tool with this name.
pub fn by_name(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// For tools without arguments.
pub(crate) const NO_FIELDS: &[Field] = &[];

/// The argument of every tool that can run in the background.
pub(crate) const BACKGROUND: Field =
    Field::new("background", Kind::Flag, "Return a job_id.").default("false");

/// The argument of lists that are shortened for agents.
pub(crate) const LIST_DETAIL: Field =
    Field::new("detail", Kind::Word(&["auto", "full"]), "full: everything.").default("\"auto\"");

/// Whether a list is wanted in full: on request, or where this server stands in for the Python one.
pub(crate) fn wants_full(server: &Server, values: &Values) -> bool {
    let asked = values.text("detail").and_then(Detail::parse).unwrap_or_default();
    asked.or(server.config().auto_detail) == Detail::Full
}

/// An answer of a typed value.
pub(crate) fn answer(value: &impl Serialize) -> Result<Answer, ToolError> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(ToolError::Failed(format!("internal error: {other} is no object"))),
        Err(error) => Err(ToolError::Failed(format!("internal error: {error}"))),
    }
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
