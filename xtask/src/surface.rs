//! What crates show each other, and what nobody looks at: dependencies without a use, public functions without a caller.
//!
//! This reads text, not types, so it only claims what text can show: a dependency whose name occurs nowhere in the crate's
//! sources, and a function or constant that the crate root exports and that occurs nowhere outside the crate. Types are left
//! out: a signature may need them although nobody names them.

use std::path::{Path, PathBuf};

use anyhow::Result;

/// The Rust files of the project, each with its crate's folder and its text.
pub struct Sources {
    files: Vec<(PathBuf, String)>,
}

impl Sources {
    pub fn read(root: &Path, files: &[PathBuf]) -> Result<Self> {
        let read = |path: &PathBuf| {
            let shown = path.strip_prefix(root).unwrap_or(path).to_path_buf();
            Ok((shown, std::fs::read_to_string(path)?))
        };
        Ok(Self { files: files.iter().map(read).collect::<Result<_>>()? })
    }

    /// Whether any file of this folder has the word.
    fn within(&self, folder: &Path, word: &str) -> bool {
        self.files.iter().any(|(path, text)| path.starts_with(folder) && has_word(text, word))
    }

    /// Whether any file outside this folder has the word.
    fn outside(&self, folder: &Path, word: &str) -> bool {
        self.files.iter().any(|(path, text)| !path.starts_with(folder) && has_word(text, word))
    }

    /// Dependencies on our own crates that a crate does not use.
    pub fn unused_edges(&self, name: &str, dependencies: &[&str], faults: &mut Vec<String>) {
        let folder = Path::new("crates").join(name);
        for used in dependencies {
            if !self.within(&folder, &format!("visus_{used}")) {
                faults.push(format!("{name} depends on {used} and does not use it"));
            }
        }
    }

    /// Functions and constants that a crate exports to nobody.
    pub fn unused_exports(&self, name: &str, faults: &mut Vec<String>) {
        let folder = Path::new("crates").join(name).join("src");
        let root = folder.join("lib.rs");
        let Some((_, text)) = self.files.iter().find(|(path, _)| *path == root) else { return };
        for export in exports(text).into_iter().filter(|export| !is_type(export)) {
            if !self.outside(&folder, &export) {
                faults.push(format!(
                    "{} exports {export}, which nothing outside the crate uses",
                    root.display()
                ));
            }
        }
    }
}

/// The last names of all `pub use`.
fn exports(root: &str) -> Vec<String> {
    let mut names = Vec::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let list = statement.split_once('{').map_or(statement, |(_, list)| list);
        for entry in list.split(',') {
            let entry = entry.rsplit(" as ").next().unwrap_or(entry);
            let name = entry.rsplit("::").next().unwrap_or(entry).trim_matches(|c: char| !is_name(c));
            if !name.is_empty() {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// Types and traits are written in CamelCase.
fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.chars().any(char::is_lowercase)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the text has the word, not as a part of another one.
pub fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        let file = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
        Sources {
            files: vec![
                file("crates/a/src/lib.rs", "pub use b::{used, Shown, left};\npub use c::CALLED;"),
                file("crates/a/src/b.rs", "pub fn used() {}\npub fn left() {}"),
                file("crates/d/src/lib.rs", "use visus_a::used;\nconst X: u8 = visus_a::CALLED;"),
            ],
        }
    }

    #[test]
    fn a_dependency_has_to_be_used() {
        let mut faults = Vec::new();
        sources().unused_edges("d", &["a", "b"], &mut faults);
        assert_eq!(faults, ["d depends on b and does not use it"]);
    }

    #[test]
    fn an_exported_function_has_to_have_a_caller() {
        let mut faults = Vec::new();
        sources().unused_exports("a", &mut faults);
        assert_eq!(faults, ["crates/a/src/lib.rs exports left, which nothing outside the crate uses"]);
    }
}
