//! What goes into a model and what comes out.

/// Rows for one input, and single rows that go with each of them into others.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub input: String,
    /// The shape of one row, without the batch.
    pub row_shape: Vec<usize>,
    pub rows: usize,
    /// `rows` times the product of `row_shape`.
    pub data: Vec<f32>,
    /// Inputs that are the same for every row.
    pub fixed: Vec<(String, Vec<f32>)>,
}

impl Batch {
    pub(super) fn row_len(&self) -> usize {
        self.row_shape.iter().product()
    }

    /// The shape with the batch, for messages.
    pub(super) fn shape(&self) -> Vec<usize> {
        [&[self.rows], self.row_shape.as_slice()].concat()
    }
}

/// One output of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub name: String,
    pub shape: Vec<usize>,
    pub data: Vec<f32>,
}

impl Output {
    /// The shape without sizes of 1.
    pub fn squeezed(&self) -> Vec<usize> {
        self.shape.iter().copied().filter(|size| *size != 1).collect()
    }

    /// One number for each row, or the shape that it has in place of that.
    pub fn per_row(self, rows: usize) -> Result<Vec<f32>, Vec<usize>> {
        let squeezed = self.squeezed();
        // A single row leaves nothing to squeeze to.
        let expected: &[usize] = if rows == 1 { &[] } else { &[rows] };
        if squeezed == expected { Ok(self.data) } else { Err(squeezed) }
    }
}

/// A shape as Python writes it.
pub fn python_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        many => {
            let sizes: Vec<String> = many.iter().map(usize::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}
