//! Dictionaries: options of a feature, before they are used.

use std::sync::Mutex;

use visus_engine::model::normalised_number;

use crate::handles::{Table, lock};

/// Keys and values; a key that is set again has its new value in the old place.
#[derive(Debug, Default)]
pub struct Dictionary(Mutex<Vec<(String, String)>>);

pub static DICTIONARIES: Table<Dictionary> = Table::new();

impl Dictionary {
    /// Numbers are kept as libvmaf keeps them, in single precision and six digits.
    pub fn set(&self, key: String, value: &str) {
        let value = normalised_number(value);
        let mut entries = lock(&self.0);
        match entries.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => entries.push((key, value)),
        }
    }

    pub fn entries(&self) -> Vec<(String, String)> {
        lock(&self.0).clone()
    }
}
