//! A look at a model before any runtime sees it: operators, inputs, and whether rows are independent.
//!
//! Field numbers are those of onnx.proto3.

use std::collections::{BTreeSet, HashSet};

use super::wire::{Malformed, fields};

/// An input that is to be fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub name: String,
    /// Sizes; `None` for one that is open.
    pub shape: Vec<Option<usize>>,
}

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Operators, with their domain if it is not ONNX' own.
    pub operators: BTreeSet<String>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<String>,
    /// Each row of the output depends on the same row of the input alone.
    pub rowwise: bool,
    pub has_external: bool,
}

/// Graphs within graphs, at most.
const MAX_DEPTH: usize = 8;

/// Looks at a serialised `ModelProto`.
pub(super) fn scan(model: &[u8]) -> Result<Scan, Malformed> {
    let mut scan = Scan { rowwise: true, ..Scan::default() };
    let mut graphs = 0;
    for field in fields(model) {
        let field = field?;
        match (field.number, field.value.bytes()) {
            (7, Some(graph)) => {
                graphs += 1;
                scan.top_graph(graph)?;
            }
            (20, _) => return Err("it carries training information"),
            (25, _) => return Err("it defines functions of its own"),
            _ => {}
        }
    }
    if graphs == 1 { Ok(scan) } else { Err("it does not hold one graph") }
}

impl Scan {
    fn top_graph(&mut self, graph: &[u8]) -> Result<(), Malformed> {
        self.graph(graph, 0)?;
        let mut constants = HashSet::new();
        let mut inputs = Vec::new();
        for field in fields(graph) {
            let field = field?;
            let Some(bytes) = field.value.bytes() else { continue };
            match field.number {
                5 => constants.extend(text_field(bytes, 8)?),
                11 => inputs.push(value_info(bytes)?),
                12 => self.outputs.extend(text_field(bytes, 1)?),
                _ => {}
            }
        }
        // Old files list weights among the inputs.
        inputs.retain(|input: &Input| !constants.contains(&input.name));
        self.inputs = inputs;
        for field in fields(graph) {
            let field = field?;
            if let (1, Some(node)) = (field.number, field.value.bytes()) {
                self.rowwise &= Node::read(node)?.works_by_rows(&mut constants);
            }
        }
        Ok(())
    }

    fn graph(&mut self, graph: &[u8], depth: usize) -> Result<(), Malformed> {
        if depth > MAX_DEPTH {
            return Err("its graphs are nested too deeply");
        }
        for field in fields(graph) {
            let field = field?;
            match (field.number, field.value.bytes()) {
                (1, Some(node)) => self.node(node, depth)?,
                (5, Some(tensor)) => self.tensor(tensor)?,
                (15, _) => return Err("it has sparse tensors"),
                _ => {}
            }
        }
        Ok(())
    }

    fn node(&mut self, node: &[u8], depth: usize) -> Result<(), Malformed> {
        let domain = text_field(node, 7)?.unwrap_or_default();
        let operator = text_field(node, 4)?.unwrap_or_default();
        let own = domain.is_empty() || domain == "ai.onnx";
        self.operators.insert(if own { operator } else { format!("{domain}.{operator}") });
        for field in fields(node) {
            let field = field?;
            if let (5, Some(attribute)) = (field.number, field.value.bytes()) {
                self.attribute(attribute, depth)?;
            }
        }
        Ok(())
    }

    fn attribute(&mut self, attribute: &[u8], depth: usize) -> Result<(), Malformed> {
        for field in fields(attribute) {
            let field = field?;
            match (field.number, field.value.bytes()) {
                (5 | 10, Some(tensor)) => self.tensor(tensor)?,
                (6 | 11, Some(graph)) => self.graph(graph, depth + 1)?,
                (22 | 23, _) => return Err("it has sparse tensors"),
                _ => {}
            }
        }
        Ok(())
    }

    fn tensor(&mut self, tensor: &[u8]) -> Result<(), Malformed> {
        for field in fields(tensor) {
            let field = field?;
            self.has_external |=
                field.number == 13 || (field.number == 14 && field.value.number() == Some(1));
        }
        Ok(())
    }
}

/// The last text with this number, as Protocol Buffers want it.
pub(super) fn text_field(message: &[u8], number: u64) -> Result<Option<String>, Malformed> {
    let mut found = None;
    for field in fields(message) {
        let field = field?;
        if field.number == number {
            found = Some(field.value.text().ok_or("a name is not text")?.to_owned());
        }
    }
    Ok(found)
}

/// The last message with this number.
fn message_field(message: &[u8], number: u64) -> Result<Option<&[u8]>, Malformed> {
    let mut found = None;
    for field in fields(message) {
        let field = field?;
        if field.number == number {
            found = field.value.bytes();
        }
    }
    Ok(found)
}

/// `ValueInfoProto`: name, type, tensor type, shape, dimensions.
fn value_info(bytes: &[u8]) -> Result<Input, Malformed> {
    let name = text_field(bytes, 1)?.unwrap_or_default();
    let kind = message_field(bytes, 2)?.map(|kind| message_field(kind, 1)).transpose()?.flatten();
    let shape = kind.map(|kind| message_field(kind, 2)).transpose()?.flatten();
    let mut sizes = Vec::new();
    for field in fields(shape.unwrap_or_default()) {
        let field = field?;
        if let (1, Some(dimension)) = (field.number, field.value.bytes()) {
            sizes.push(dimension_size(dimension)?);
        }
    }
    Ok(Input { name, shape: sizes })
}

fn dimension_size(dimension: &[u8]) -> Result<Option<usize>, Malformed> {
    let mut size = None;
    for field in fields(dimension) {
        let field = field?;
        if let (1, Some(number)) = (field.number, field.value.number()) {
            // Some exporters write 0 or -1 for an open size.
            size = usize::try_from(number as i64).ok().filter(|size| *size > 0);
        }
    }
    Ok(size)
}

/// What shows whether a node mixes rows.
#[derive(Debug, Default)]
struct Node {
    operator: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    transposes_first: bool,
}

/// Operators that work on each number by itself, or on a row with constants.
const BY_NUMBER: [&str; 27] = [
    "Abs",
    "Add",
    "Ceil",
    "Clip",
    "Div",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Log",
    "Mul",
    "Neg",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Relu",
    "Sigmoid",
    "Softplus",
    "Sqrt",
    "Sub",
    "Tanh",
];

impl Node {
    fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut node = Self::default();
        for field in fields(bytes) {
            let field = field?;
            let text = || field.value.text().unwrap_or_default().to_owned();
            match field.number {
                1 => node.inputs.push(text()),
                2 => node.outputs.push(text()),
                4 => node.operator = text(),
                5 => node.transposes_first |= is_trans_a(field.value.bytes().unwrap_or_default())?,
                _ => {}
            }
        }
        Ok(node)
    }

    fn works_by_rows(self, constants: &mut HashSet<String>) -> bool {
        let constant = |place: usize| self.inputs.get(place).is_none_or(|name| constants.contains(name));
        match self.operator.as_str() {
            "Constant" => {
                constants.extend(self.outputs);
                true
            }
            "Gemm" | "MatMul" => !constant(0) && constant(1) && constant(2) && !self.transposes_first,
            operator => BY_NUMBER.contains(&operator),
        }
    }
}

/// An attribute `transA` that is not 0.
fn is_trans_a(attribute: &[u8]) -> Result<bool, Malformed> {
    let (mut named, mut value) = (false, 0);
    for field in fields(attribute) {
        let field = field?;
        match field.number {
            1 => named = field.value.text() == Some("transA"),
            3 => value = field.value.number().unwrap_or(0),
            _ => {}
        }
    }
    Ok(named && value != 0)
}
