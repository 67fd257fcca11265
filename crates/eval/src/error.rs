//! What can go wrong. Texts that clients match on are those of the contract.

use std::path::PathBuf;

use crate::onnx::{OnnxError, python_shape};

/// Why an evaluation has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    #[error("split must be one of ('train', 'val', 'test', 'all'); got '{0}'")]
    Split(String),
    #[error("{table} has no 'mos' column — can't score correlations")]
    NoOpinions { table: String },
    #[error("{table} has none of the feature columns {}; make them with `visus features`", crate::FEATURES.join(", "))]
    NoFeatures { table: String },
    #[error("{table} has no column '{column}', which model {model} needs; it has {known}")]
    NoColumn { table: String, column: String, model: String, known: String },
    #[error("split '{split}' has {count} samples — need ≥2 to compute correlations")]
    TooFew { split: String, count: usize },
    #[error("correlation undefined: input has zero variance")]
    ZeroVariance,
    #[error(
        "model output shape {} does not match target shape {}",
        python_shape(output),
        python_shape(target)
    )]
    OutputShape { output: Vec<usize>, target: Vec<usize> },
    #[error("model {model} gave {value} for row {row}: not a number that can be correlated")]
    NotFinite { model: String, value: f64, row: usize },
    #[error("'models' must be a non-empty list of paths")]
    NoModels,
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    #[error(transparent)]
    Model(#[from] visus_engine::model::LoadError),
    #[error("model '{0}' is neither an .onnx nor a .json file, nor a built-in model; see `visus models`")]
    UnknownModel(String),
    #[error("cancelled")]
    Cancelled,
}

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    #[error("cannot read {table}")]
    Read { table: String, source: std::io::Error },
    #[error("{table} has {bytes} bytes, more than the {limit} that are read")]
    TooLarge { table: String, bytes: u64, limit: u64 },
    #[error("{table} has {rows} rows, more than the {limit} that are read")]
    TooManyRows { table: String, rows: u64, limit: u64 },
    #[error("{table} has {rows} rows of {columns} columns, more than the {limit} numbers that are read")]
    TooManyNumbers { table: String, rows: u64, columns: usize, limit: u64 },
    #[error("{table} needed more memory than the {} MiB that are allowed", limit >> 20)]
    OutOfMemory { table: String, limit: u64 },
    #[error(transparent)]
    Memory(visus_video::budget::OverBudget),
    /// In the words of the worker that read it.
    #[error("{0}")]
    Refused(String),
    #[error("{table} took longer than the {:.0} s that are allowed", limit.as_secs_f64())]
    TimedOut { table: String, limit: std::time::Duration },
    #[error("{table} is not a table that can be read: {reason}")]
    Malformed { table: String, reason: String },
    #[error("{table}: column '{column}' is {kind}, it must hold {wanted}")]
    Kind { table: String, column: String, kind: String, wanted: &'static str },
    #[error(
        "{table} is compressed with {codec}, which is not read here; save it with compression='snappy' or 'zstd'"
    )]
    Codec { table: String, codec: String },
    #[error("this build reads and writes no Parquet (the cargo feature `parquet` is off); use a .csv file")]
    NoParquet,
    #[error("{}: a table is a .parquet or a .csv file", path.display())]
    Ending { path: PathBuf },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
}
