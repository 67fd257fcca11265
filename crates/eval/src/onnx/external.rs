//! Tensors that a model keeps in other files of its folder. They are put into the model, so that what runs is one piece.

use std::collections::HashMap;
use std::io::Read;

use super::wire::{Malformed, fields, put_bytes};
use super::{Folder, OnnxError};

/// A copy of the model with all its data inside, of at most `limit` bytes more. `folder` is where the model lies.
pub(super) fn inlined(
    name: &str,
    model: &[u8],
    folder: Option<&Folder>,
    limit: u64,
) -> Result<Vec<u8>, OnnxError> {
    let mut files = Files { name, folder, limit, left: limit, known: HashMap::new() };
    rewritten(model, Message::Model, &mut files)
}

/// The messages on the way to a tensor.
#[derive(Clone, Copy, PartialEq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
}

impl Message {
    /// What a field of this message holds.
    fn inner(self, field: u64) -> Option<Self> {
        match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Some(Self::Graph),
            (Self::Graph, 1) => Some(Self::Node),
            (Self::Node, 5) => Some(Self::Attribute),
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) => Some(Self::Tensor),
            _ => None,
        }
    }
}

/// Depth is bounded: the scan has seen the model before.
fn rewritten(bytes: &[u8], message: Message, files: &mut Files<'_>) -> Result<Vec<u8>, OnnxError> {
    if message == Message::Tensor {
        return files.tensor(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    for field in fields(bytes) {
        let field = field.map_err(|reason| files.malformed(reason))?;
        match (message.inner(field.number), field.value.bytes()) {
            (Some(inner), Some(bytes)) => {
                put_bytes(&mut out, field.number, &rewritten(bytes, inner, files)?);
            }
            _ => out.extend_from_slice(field.whole),
        }
    }
    Ok(out)
}

struct Files<'a> {
    name: &'a str,
    folder: Option<&'a Folder>,
    limit: u64,
    /// Bytes that may still be put into the model. Every use of a file counts: many tensors may share one.
    left: u64,
    known: HashMap<String, Vec<u8>>,
}

/// Where a tensor's bytes are.
#[derive(Default)]
struct Place {
    location: String,
    offset: u64,
    length: Option<u64>,
}

impl Files<'_> {
    fn malformed(&self, reason: Malformed) -> OnnxError {
        OnnxError::Malformed { name: self.name.to_owned(), reason }
    }

    fn refuse(&self, location: &str, reason: impl Into<String>) -> OnnxError {
        OnnxError::External {
            name: self.name.to_owned(),
            location: location.to_owned(),
            reason: reason.into(),
        }
    }

    /// The tensor without its reference to a file, and with the bytes in its place (`raw_data`).
    fn tensor(&mut self, bytes: &[u8]) -> Result<Vec<u8>, OnnxError> {
        let (mut out, mut place) = (Vec::with_capacity(bytes.len()), Place::default());
        let mut is_external = false;
        for field in fields(bytes) {
            let field = field.map_err(|reason| self.malformed(reason))?;
            match field.number {
                13 => self.entry(field.value.bytes().unwrap_or_default(), &mut place)?,
                14 => is_external = field.value.number() == Some(1),
                _ => out.extend_from_slice(field.whole),
            }
        }
        if is_external {
            let data = self.data(&place)?;
            put_bytes(&mut out, 9, data);
        }
        Ok(out)
    }

    fn entry(&self, entry: &[u8], place: &mut Place) -> Result<(), OnnxError> {
        let text = |number| {
            let text = super::scan::text_field(entry, number).map_err(|reason| self.malformed(reason));
            text.map(Option::unwrap_or_default)
        };
        let (key, value) = (text(1)?, text(2)?);
        let number = || value.parse().map_err(|_| self.malformed("an offset or a length is not a number"));
        match key.as_str() {
            "location" => place.location = value,
            "offset" => place.offset = number()?,
            "length" => place.length = Some(number()?),
            _ => {}
        }
        Ok(())
    }

    fn data(&mut self, place: &Place) -> Result<&[u8], OnnxError> {
        if !self.known.contains_key(&place.location) {
            let bytes = self.read(&place.location)?;
            self.known.insert(place.location.clone(), bytes);
        }
        let all = &self.known[&place.location];
        let length = place.length.unwrap_or((all.len() as u64).saturating_sub(place.offset));
        let end = place.offset.checked_add(length).filter(|end| *end <= all.len() as u64);
        let end = end.ok_or_else(|| {
            let wanted = format!("{length} bytes at {} are wanted, it has {}", place.offset, all.len());
            self.refuse(&place.location, wanted)
        })?;
        self.left = self.left.checked_sub(length).ok_or_else(|| {
            let reason =
                format!("the model's tensors have more than the {} bytes that are allowed", self.limit);
            self.refuse(&place.location, reason)
        })?;
        Ok(&self.known[&place.location][place.offset as usize..end as usize])
    }

    fn read(&self, location: &str) -> Result<Vec<u8>, OnnxError> {
        let refuse = |reason: std::io::Error| self.refuse(location, reason.to_string());
        let folder =
            self.folder.ok_or_else(|| self.refuse(location, "it must lie in the model's own folder"))?;
        let file = folder.file(location).map_err(refuse)?;
        let length = file.metadata().map_err(refuse)?.len();
        if length > self.limit {
            let reason = format!("it must be a file of at most {} bytes, it has {length}", self.limit);
            return Err(self.refuse(location, reason));
        }
        let mut bytes = Vec::new();
        file.take(self.limit).read_to_end(&mut bytes).map_err(refuse)?;
        Ok(bytes)
    }
}
