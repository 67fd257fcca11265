//! Columns of scores, one entry per frame.

/// Stands where a frame has no score. It is a NaN that no computation makes.
const ABSENT: u64 = 0x7ff4_0000_5e5e_5e5e;

/// One feature or model over the frames.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    values: Vec<f64>,
}

impl Column {
    pub fn new(name: String) -> Self {
        Self { name, values: Vec::new() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The score of a frame, if it has one.
    pub fn get(&self, index: u64) -> Option<f64> {
        let value = *self.values.get(usize::try_from(index).ok()?)?;
        (value.to_bits() != ABSENT).then_some(value)
    }

    /// The scores of the frames that have one, in frame order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, f64)> {
        (0..)
            .zip(&self.values)
            .filter(|(_, value)| value.to_bits() != ABSENT)
            .map(|(index, value)| (index, *value))
    }

    pub(crate) fn set(&mut self, index: u64, value: f64) {
        let index = index as usize;
        if self.values.len() <= index {
            self.values.resize(index + 1, f64::from_bits(ABSENT));
        }
        debug_assert_eq!(self.values[index].to_bits(), ABSENT, "{} is written twice at {index}", self.name);
        self.values[index] = value;
    }
}

/// All columns of a run, and the numbers that stand for the whole clip.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    pub(crate) columns: Vec<Column>,
    pub(crate) aggregates: Vec<(String, f64)>,
}

impl Scores {
    /// Scores from elsewhere: named columns with an entry per frame, and numbers for the whole clip.
    pub fn from_columns(columns: Vec<(String, Vec<Option<f64>>)>, aggregates: Vec<(String, f64)>) -> Self {
        let column = |(name, values): (String, Vec<Option<f64>>)| {
            let values = values.into_iter().map(|value| value.unwrap_or(f64::from_bits(ABSENT))).collect();
            Column { name, values }
        };
        Self { columns: columns.into_iter().map(column).collect(), aggregates }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub fn aggregates(&self) -> &[(String, f64)] {
        &self.aggregates
    }

    /// Puts the columns into another order.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        let mut taken: Vec<Option<Column>> =
            std::mem::take(&mut self.columns).into_iter().map(Some).collect();
        self.columns = order.iter().filter_map(|index| taken[*index].take()).collect();
    }
}
