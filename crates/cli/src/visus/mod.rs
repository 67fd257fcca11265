//! `visus`: the command for people.

mod args;
mod batch;
mod bench;
#[cfg(feature = "libav")]
mod decoder;
mod demo;
mod diff;
#[cfg(feature = "server")]
mod doctor;
mod draw;
#[cfg(feature = "eval")]
mod eval;
#[cfg(feature = "eval")]
mod eval_args;
#[cfg(feature = "eval")]
mod features;
mod fleet;
mod gate;
mod hash;
#[cfg(feature = "server")]
pub mod mcp;
mod media;
mod merge;
mod metrics;
mod migrate;
mod models;
mod pages;
mod sampled;
mod schema;
mod score;
mod selftest;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod server_args;
mod shell;
mod tune;
#[cfg(feature = "server")]
mod ui;
mod worst;

use std::process::ExitCode;

use clap::Parser;
use visus_scoring::{ErrorClass, NotComparable, RequestError, ScoreError};

use args::{Args, Command};

/// Something failed; wrong arguments are clap's own 2.
const FAILURE: u8 = 1;
/// As clap's own.
const WRONG_ARGUMENTS: u8 = 2;
/// A gate that could not measure.
const NOT_MEASURED: u8 = 2;
/// A score of these two videos would mean nothing.
const NOT_COMPARABLE: u8 = 3;

/// Runs the command. Its exit code is decided here: 0 done, 1 failed, 2 wrong arguments, 3 not comparable.
pub fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        Some(word) if word == visus_child::supervise::MARKER => return visus_child::supervise::main(words),
        #[cfg(feature = "eval")]
        Some(word) if word == visus_eval::onnx::worker::MARKER => return crate::onnx_worker(words),
        _ => {}
    }
    let args = Args::parse();
    let result = match args.command {
        Command::Score(args) => score::run(&args),
        Command::Worst(args) => worst::run(&args),
        Command::Gate(args) => return gate_code(gate::run(&args)),
        Command::Batch(args) => batch::run(&args).and_then(|tally| tally.verdict()),
        Command::Migrate(args) => migrate::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Report(args) => pages::run(&args),
        Command::Plan(args) => fleet::plan(&args),
        Command::Work(args) => return fleet::work(&args),
        Command::Gather(args) => fleet::gather(&args),
        Command::Status(args) => fleet::status(&args),
        Command::Top(args) => fleet::top(&args),
        Command::Search(args) => tune::search(&args),
        Command::Compare(args) => tune::compare(&args),
        Command::Ladder(args) => tune::ladder(&args),
        Command::Shots(args) => tune::shots(&args),
        Command::Cache(args) => tune::cache(&args),
        Command::Models(args) => models::run(&args),
        Command::Metrics(args) => metrics::run(&args),
        Command::Demo(args) => demo::run(&args),
        #[cfg(feature = "eval")]
        Command::Eval(args) => eval::run(&args),
        #[cfg(feature = "eval")]
        Command::Features(args) => features::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        #[cfg(feature = "server")]
        Command::Ui(args) => ui::run(&args),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(args),
        #[cfg(feature = "server")]
        Command::Mcp(args) => mcp::run(&args),
        #[cfg(feature = "server")]
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man => shell::man(),
        Command::Schema(args) => schema::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("visus: {error:#}");
            ExitCode::from(code(&error))
        }
    }
}

/// This program: as supervisor of children it dies with them.
pub(crate) fn launcher() -> Option<std::path::PathBuf> {
    std::env::current_exe().ok()
}

/// The exit code for a failure, by whose fault it is.
fn code(error: &anyhow::Error) -> u8 {
    match error_class(error) {
        Some(ErrorClass::Request) => WRONG_ARGUMENTS,
        Some(ErrorClass::NotComparable) => NOT_COMPARABLE,
        _ => FAILURE,
    }
}

/// The class of a failure by its name, as a batch's lines have it.
fn class(error: &anyhow::Error) -> &'static str {
    draw::class_name(error_class(error).unwrap_or(ErrorClass::Failed))
}

/// Whose fault a failure is, if it comes from a request.
fn error_class(error: &anyhow::Error) -> Option<ErrorClass> {
    error.chain().find_map(|cause| {
        let scoring = cause.downcast_ref::<ScoreError>().map(ScoreError::class);
        let refused = || cause.is::<NotComparable>().then_some(ErrorClass::NotComparable);
        let wrong = || cause.is::<RequestError>() || is_misset(cause);
        scoring.or_else(refused).or_else(|| wrong().then_some(ErrorClass::Request))
    })
}

/// Whether the environment names a CPU level that there is not, as the server says it.
#[cfg(feature = "server")]
fn is_misset(cause: &(dyn std::error::Error + 'static)) -> bool {
    use visus_server::config::ConfigError;
    use visus_server::http::StartError;
    matches!(cause.downcast_ref(), Some(ConfigError::CpuLevel(_)))
        || matches!(cause.downcast_ref(), Some(StartError::Config(ConfigError::CpuLevel(_))))
}

#[cfg(not(feature = "server"))]
fn is_misset(_cause: &(dyn std::error::Error + 'static)) -> bool {
    false
}

/// A gate tells a bad score (1) from a failed measurement (2), which is no judgement of the video.
fn gate_code(result: anyhow::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILURE),
        Err(error) => {
            eprintln!("visus: {error:#}");
            ExitCode::from(NOT_MEASURED)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}
