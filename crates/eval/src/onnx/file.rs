//! A model's file, read and checked.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use super::scan::{Input, Scan, scan};
use super::{ALLOWED, Batch, OnnxError, external, python_shape};

/// What a model may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of its file, and of data outside of it.
    pub bytes: u64,
    /// Bytes of memory while it runs.
    pub memory: u64,
    /// How long one run may take.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 256 << 20, memory: 4 << 30, time: Duration::from_secs(120) }
    }
}

/// A checked model in one piece.
#[derive(Clone, Debug)]
pub struct ModelFile {
    pub name: String,
    pub(super) bytes: Vec<u8>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<String>,
    /// Rows are independent of each other.
    pub rowwise: bool,
}

impl ModelFile {
    /// Reads and checks a file.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, OnnxError> {
        let name = path.display().to_string();
        let fail = |source| OnnxError::Read { name: name.clone(), source };
        let file = File::open(path).map_err(fail)?;
        Self::read(name, file, path.parent().unwrap_or(Path::new("")), limits)
    }

    /// Reads and checks an opened file. `folder` is where its further data may lie.
    pub fn read(name: String, file: File, folder: &Path, limits: &Limits) -> Result<Self, OnnxError> {
        let mut bytes = Vec::new();
        let read = file.take(limits.bytes + 1).read_to_end(&mut bytes);
        read.map_err(|source| OnnxError::Read { name: name.clone(), source })?;
        Self::from_bytes(name, bytes, folder, limits)
    }

    pub fn from_bytes(
        name: String,
        bytes: Vec<u8>,
        folder: &Path,
        limits: &Limits,
    ) -> Result<Self, OnnxError> {
        if bytes.len() as u64 > limits.bytes {
            return Err(OnnxError::TooLarge { name, bytes: bytes.len() as u64, limit: limits.bytes });
        }
        let scan = scan(&bytes).map_err(|reason| OnnxError::Malformed { name: name.clone(), reason })?;
        if let Some(operator) = scan.operators.iter().find(|operator| !ALLOWED.contains(&operator.as_str())) {
            return Err(OnnxError::Operator { name, operator: operator.clone() });
        }
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let left = limits.bytes - bytes.len() as u64;
        let bytes = if scan.has_external { external::inlined(&name, &bytes, folder, left)? } else { bytes };
        let Scan { inputs, outputs, rowwise, .. } = scan;
        Ok(Self { name, bytes, inputs, outputs, rowwise })
    }

    /// SHA-256 of the model with all its data.
    pub fn sha256(&self) -> String {
        visus_engine::model::sha256_hex(&self.bytes)
    }

    /// Whether the model takes these rows. Says how many rows go in at once, if that is fixed.
    pub(super) fn check(&self, batch: &Batch) -> Result<Option<usize>, OnnxError> {
        let known = || self.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ");
        let input = self.inputs.iter().find(|input| input.name == batch.input).ok_or_else(|| {
            OnnxError::NoInput { name: self.name.clone(), wanted: batch.input.clone(), known: known() }
        })?;
        for other in self.inputs.iter().filter(|other| other.name != batch.input) {
            let Some((_, row)) = batch.fixed.iter().find(|(name, _)| *name == other.name) else {
                return Err(OnnxError::MissingInput { name: self.name.clone(), input: other.name.clone() });
            };
            self.check_shape(other, &[1, row.len()])?;
        }
        self.check_shape(input, &batch.shape())
    }

    fn check_shape(&self, input: &Input, actual: &[usize]) -> Result<Option<usize>, OnnxError> {
        // A shape that was left out says nothing.
        let Some((at_once, row)) = input.shape.split_first() else { return Ok(None) };
        let fits = |(expected, actual): (&Option<usize>, &usize)| expected.is_none_or(|size| size == *actual);
        let rows_fit = at_once.is_none_or(|at_once| actual[0].is_multiple_of(at_once) || actual[0] == 1);
        let same_rank = input.shape.len() == actual.len();
        if same_rank && rows_fit && row.iter().zip(&actual[1..]).all(fits) {
            return Ok(*at_once);
        }
        let sizes = |size: &Option<usize>| size.map_or("N".to_owned(), |size| size.to_string());
        let expected = format!("({})", input.shape.iter().map(sizes).collect::<Vec<_>>().join(", "));
        Err(OnnxError::InputShape {
            name: self.name.clone(),
            input: input.name.clone(),
            expected,
            actual: python_shape(actual),
        })
    }
}
