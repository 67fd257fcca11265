//! Scores that do not come from the engine's session: imported ones and predictions, in the order in which they were
//! first written.

use std::collections::BTreeMap;

use crate::abi::{Errno, Result};

/// When a column was first written: logs list columns in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// While so many pairs had been read.
    After(u64),
    /// While this pair was read.
    With(u64),
    /// At the flush.
    Flush,
    Flushed,
}

impl Moment {
    /// The place on the line of time.
    pub fn order(self) -> u64 {
        match self {
            Self::After(pairs) => 2 * pairs,
            Self::With(pair) => 2 * pair + 1,
            Self::Flush => u64::MAX - 1,
            Self::Flushed => u64::MAX,
        }
    }
}

/// One of them.
#[derive(Debug)]
pub struct Extra {
    pub name: String,
    pub values: BTreeMap<u32, f64>,
    pub since: Moment,
}

/// Frames beyond this number are refused: a log has a place for every frame before them.
pub const MAX_INDEX: u32 = 1 << 26;

/// All of them.
#[derive(Debug, Default)]
pub struct Extras(Vec<Extra>);

impl Extras {
    pub fn get(&self, name: &str, index: u32) -> Option<f64> {
        let extra = self.0.iter().find(|extra| extra.name == name)?;
        extra.values.get(&index).copied()
    }

    /// A score that is there already cannot be overwritten.
    pub fn append(&mut self, name: &str, index: u32, value: f64, now: Moment) -> Result<()> {
        if index >= MAX_INDEX {
            return Err(Errno::NoMemory);
        }
        let place = match self.0.iter().position(|extra| extra.name == name) {
            Some(place) => place,
            None => {
                self.0.push(Extra { name: name.to_owned(), values: BTreeMap::new(), since: now });
                self.0.len() - 1
            }
        };
        match self.0[place].values.entry(index) {
            std::collections::btree_map::Entry::Occupied(_) => Err(Errno::Invalid),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(value);
                Ok(())
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Extra> {
        self.0.iter()
    }
}
