//! A model's file, read and checked.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use visus_video::budget::{Budget, Reservation};

use super::scan::{Input, Scan, scan};
use super::{ALLOWED, Batch, Folder, OnnxError, external, python_shape};

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
    /// What its bytes take, for as long as a copy of it is there.
    room: Option<Arc<Reservation>>,
}

/// Room for a model's bytes.
fn room(name: &str, bytes: u64) -> Result<Reservation, OnnxError> {
    let what = format!("model {name}");
    let wait = Duration::from_secs(10);
    Budget::process().wait(bytes, &what, wait, &|| false).map_err(OnnxError::Memory)
}

impl ModelFile {
    /// Reads and checks a file by its name. Its further data may lie beside it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line names its model; a server hands over the opened file"
    )]
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, OnnxError> {
        let name = path.display().to_string();
        let fail = |source| OnnxError::Read { name: name.clone(), source };
        let folder = Folder::open(path.parent().unwrap_or(Path::new(""))).map_err(fail)?;
        let file = File::open(path).map_err(fail)?;
        Self::read(name, file, Some(&folder), limits)
    }

    /// Reads and checks an opened file. `folder` is where its further data may lie; without it there is none.
    pub fn read(
        name: String,
        file: File,
        folder: Option<&Folder>,
        limits: &Limits,
    ) -> Result<Self, OnnxError> {
        let fail = |source| OnnxError::Read { name: name.clone(), source };
        let length = file.metadata().map_err(fail)?.len();
        if length > limits.bytes {
            return Err(OnnxError::TooLarge { name, bytes: length, limit: limits.bytes });
        }
        // Of a file with data outside, both the parts and the whole are there for a moment.
        let mut room = room(&name, length.saturating_mul(2))?;
        let mut bytes = Vec::new();
        file.take(limits.bytes + 1).read_to_end(&mut bytes).map_err(fail)?;
        let mut model = Self::from_bytes(name, bytes, folder, limits)?;
        if model.bytes.len() as u64 > room.bytes() {
            room = self::room(&model.name, model.bytes.len() as u64)?;
        }
        model.room = Some(Arc::new(room));
        Ok(model)
    }

    /// A model that has all its data inside.
    pub(super) fn in_one_piece(name: String, bytes: Vec<u8>, limits: &Limits) -> Result<Self, OnnxError> {
        Self::from_bytes(name, bytes, None, limits)
    }

    pub fn from_bytes(
        name: String,
        bytes: Vec<u8>,
        folder: Option<&Folder>,
        limits: &Limits,
    ) -> Result<Self, OnnxError> {
        if bytes.len() as u64 > limits.bytes {
            return Err(OnnxError::TooLarge { name, bytes: bytes.len() as u64, limit: limits.bytes });
        }
        let scan = scan(&bytes).map_err(|reason| OnnxError::Malformed { name: name.clone(), reason })?;
        if let Some(operator) = scan.operators.iter().find(|operator| !ALLOWED.contains(&operator.as_str())) {
            return Err(OnnxError::Operator { name, operator: operator.clone() });
        }
        let left = limits.bytes - bytes.len() as u64;
        // The file with the data, and the model that it is put into.
        let _room = scan.has_external.then(|| room(&name, left.saturating_mul(2))).transpose()?;
        let bytes = if scan.has_external { external::inlined(&name, &bytes, folder, left)? } else { bytes };
        let Scan { inputs, outputs, rowwise, .. } = scan;
        Ok(Self { name, bytes, inputs, outputs, rowwise, room: None })
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
