//! Inputs that lead to different outcomes: those of the project, those of earlier runs, and those of this one.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// More inputs than this are not read: changing them would take turns too rarely.
const MOST: usize = 4096;
const FAILURE: &str = "failure-";

#[derive(Debug)]
pub struct Corpus {
    inputs: Vec<Vec<u8>>,
    /// Where new inputs are kept.
    folder: Option<PathBuf>,
    /// The input that is being tried, for the case that the process does not survive it.
    running: Option<File>,
}

impl Corpus {
    /// Seeds, then what is committed, then what earlier runs found.
    pub fn open(folder: Option<PathBuf>, committed: &Path, seeds: &[Vec<u8>]) -> Self {
        let mut inputs = seeds.to_vec();
        inputs.extend(read(committed));
        if let Some(folder) = &folder {
            let _ = fs::create_dir_all(folder);
            inputs.extend(read(folder));
        }
        if inputs.is_empty() {
            inputs.push(Vec::new());
        }
        inputs.truncate(MOST);
        let running = folder.as_ref().and_then(|folder| File::create(folder.join("running")).ok());
        Self { inputs, folder, running }
    }

    pub fn inputs(&self) -> &[Vec<u8>] {
        &self.inputs
    }

    /// Writes down what is tried next.
    pub fn remember(&self, input: &[u8]) {
        if let Some(mut file) = self.running.as_ref() {
            let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(input));
            let _ = file.set_len(input.len() as u64);
        }
    }

    /// Takes an input in.
    pub fn keep(&mut self, input: Vec<u8>) {
        if let Some(folder) = &self.folder {
            let _ = fs::write(folder.join(name(&input)), &input);
        }
        self.inputs.push(input);
    }

    /// Writes a failure down; says where, in brackets.
    pub fn report(&self, input: &[u8]) -> String {
        let Some(folder) = &self.folder else { return String::new() };
        let path = folder.join(format!("{FAILURE}{}", name(input)));
        fs::write(&path, input).map_or_else(|_| String::new(), |()| format!(" (in {})", path.display()))
    }
}

/// The inputs in a folder, in the order of their names.
fn read(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_input = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name != "running" && !name.starts_with(FAILURE)
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_input).collect();
    paths.sort();
    paths.iter().take(MOST).filter_map(|path| fs::read(path).ok()).collect()
}

/// A name by content.
fn name(input: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
