//! The files of the web page, which are compiled into the program, and the same code as one document for MCP Apps.

/// Name, type and content of every file.
const FILES: [(&str, &str, &str); 14] = [
    ("index.html", HTML, include_str!("../web/index.html")),
    ("style.css", "text/css; charset=utf-8", include_str!("../web/style.css")),
    ("main.js", SCRIPT, include_str!("../web/main.js")),
    ("api.js", SCRIPT, include_str!("../web/api.js")),
    ("dom.js", SCRIPT, include_str!("../web/dom.js")),
    ("pyramid.js", SCRIPT, include_str!("../web/pyramid.js")),
    ("chart.js", SCRIPT, include_str!("../web/chart.js")),
    ("look.js", SCRIPT, include_str!("../web/look.js")),
    ("picker.js", SCRIPT, include_str!("../web/picker.js")),
    ("run.js", SCRIPT, include_str!("../web/run.js")),
    ("compare.js", SCRIPT, include_str!("../web/compare.js")),
    ("tune.js", SCRIPT, include_str!("../web/tune.js")),
    ("explain.js", SCRIPT, include_str!("../web/explain.js")),
    ("rate.js", SCRIPT, include_str!("../web/rate.js")),
];

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The modules of the MCP App, each after those that it imports.
const APP: [&str; 6] = [
    include_str!("../web/dom.js"),
    include_str!("../web/pyramid.js"),
    include_str!("../web/chart.js"),
    include_str!("../web/explain.js"),
    include_str!("../web/bridge.js"),
    include_str!("../web/app.js"),
];

/// The type and content of a file of the page.
pub fn file(name: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(known, ..)| *known == name).map(|(_, kind, text)| (*kind, *text))
}

/// The MCP App: one document with its style and script inside, as hosts want it.
pub fn app() -> String {
    let script: String = APP.iter().map(|module| joined(module)).collect();
    include_str!("../web/app.html")
        .replace("/*STYLE*/", include_str!("../web/style.css"))
        .replace("/*SCRIPT*/", &script)
}

/// A module as a part of one script: what it imports stands before it, and what it exports is simply there.
fn joined(module: &str) -> String {
    let mut script = String::with_capacity(module.len());
    for line in module.lines().filter(|line| !line.starts_with("import ")) {
        script.push_str(line.strip_prefix("export ").unwrap_or(line));
        script.push('\n');
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_import_is_a_file_of_the_page() {
        for (name, _, text) in FILES {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.rsplit_once("from \"./").and_then(|(_, rest)| rest.strip_suffix("\";"));
                let from = from
                    .unwrap_or_else(|| panic!("{name}: {line}: an import is one line, of a file beside it"));
                assert!(file(from).is_some(), "{name} imports {from}");
            }
        }
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_nothing_is_inline() {
        for (name, _, text) in FILES {
            assert!(!text.contains("https://") || name == "explain.js", "{name}");
            assert!(!text.contains("innerHTML") && !text.contains("eval("), "{name}");
        }
        let (_, page) = file("index.html").unwrap();
        assert!(
            !page.contains("<style") && !page.contains(" style=") && !page.contains(" onclick"),
            "{page}"
        );
        assert_eq!(
            page.matches("<script").count(),
            page.matches("<script type=\"module\" src=\"/ui/main.js\">").count()
        );
    }

    #[test]
    fn the_app_is_one_document() {
        let app = app();
        assert!(!app.contains("\nimport ") && !app.contains("\nexport "));
        assert!(!app.contains("/*STYLE*/") && !app.contains("/*SCRIPT*/"));
        assert!(app.len() < 100_000, "{}", app.len());
    }
}
