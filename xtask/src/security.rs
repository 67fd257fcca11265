//! `docs/security.md` names the test behind each statement. This checks that every name is one: statements whose test was renamed
//! or removed are found.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Files whose statements have to name their tests.
const PAGE: &str = "docs/security.md";
/// Parts of the page that say what is left to others.
const WITHOUT_TESTS: [&str; 3] = ["## Who is trusted", "## What is left to you", "## Reporting a hole"];

/// Lists statements without a test, and tests that do not exist.
pub fn check(root: &Path, files: &[PathBuf], faults: &mut Vec<String>) -> Result<()> {
    let page = std::fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let mut tests = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        tests.extend(tests_of(&text));
    }
    faults.extend(page_faults(&page, &tests).into_iter().map(|fault| format!("{PAGE}: {fault}")));
    Ok(())
}

/// The names of all tests in a file: functions that follow `#[test]` or `#[tokio::test…]`, and entries `("name", function),` of a
/// table of tests where a file has no harness.
fn tests_of(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_next = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_next = true;
        }
        let entry = line.strip_prefix("(\"").and_then(|rest| rest.split_once("\", "));
        let is_function = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let entry = entry.filter(|(_, function)| is_function(function.trim_end_matches("),")));
        names.extend(entry.map(|(name, _)| name.to_owned()));
        let signature = line.trim_start_matches("async ").strip_prefix("fn ");
        if let Some(name) = signature.filter(|_| is_next).and_then(|rest| rest.split('(').next()) {
            names.push(name.to_owned());
            is_next = false;
        }
    }
    names
}

fn page_faults(page: &str, tests: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    for statement in statements(page) {
        let named = names(&statement);
        if named.is_empty() {
            faults.push(format!("no test is named for: {}", start(&statement)));
        }
        let unknown = named.iter().filter(|name| !tests.contains(name));
        faults.extend(
            unknown.map(|name| format!("there is no test {name}, which is named for: {}", start(&statement))),
        );
    }
    faults
}

/// The list entries and paragraphs that state something.
fn statements(page: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in page.split("\n## ").skip(1) {
        if WITHOUT_TESTS.iter().any(|title| format!("## {part}").starts_with(title)) {
            continue;
        }
        let body = part.split_once('\n').map_or("", |(_, body)| body);
        let entries = body.replace("\n- ", "\n\n- ");
        let entries = entries.split("\n\n").map(str::trim).filter(|entry| !entry.is_empty());
        // A paragraph that ends with a colon leads to a list.
        all.extend(entries.filter(|entry| !entry.ends_with(':')).map(|entry| entry.replace('\n', " ")));
    }
    all
}

/// The tests behind a statement stand in brackets at its end: (tests: `a`, `b`).
fn names(statement: &str) -> Vec<String> {
    let Some((_, list)) = statement.rsplit_once("(tests: ") else { return Vec::new() };
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn start(statement: &str) -> String {
    statement.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Security\n\nIntro.\n\n## Files\n\n- One holds. (tests: `a_test`)\n- Two\n  holds.\n\nThree: (tests: `gone`)\n\n\
                        ## What is left to you\n\nMuch.\n";

    #[test]
    fn statements_without_a_test_and_names_of_none_are_found() {
        let faults = page_faults(PAGE, &["a_test".to_owned()]);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("- Two") && faults[1].contains("gone"), "{faults:?}");
    }

    #[test]
    fn tests_are_found_by_their_attribute() {
        let text = "#[test]\nfn a() {}\nfn b() {}\n#[tokio::test(flavor = \"x\")]\nasync fn c() {}\n#[cfg(unix)]\n#[test]\n#[cfg(x)]\nfn d() {}";
        assert_eq!(tests_of(text), ["a", "c", "d"]);
        assert_eq!(tests_of("    (\"e_is_so\", e),\n    (\"f\", json!({ \"x\": 1 })),"), ["e_is_so"]);
    }
}
