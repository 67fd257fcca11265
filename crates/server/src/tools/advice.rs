//! What to do about a refused call: the nearest right value, and an example call that takes over what was right.

use std::path::Path;

use serde_json::{Value, json};

use super::field::{Field, nearest};
use super::{Answer, Tool, by_name};
use crate::roots::PathError;
use crate::text::{quoted, quoted_text};
use crate::{Fault, Server, ToolError};

/// An example longer than this leaves out what is optional.
const LONGEST_EXAMPLE: usize = 1000;
/// So many files of a folder are compared with a name that is not there.
const MOST_FILES: usize = 1000;

/// Help for whoever made the call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// The nearest right value, in a sentence.
    pub hint: Option<String>,
    /// A call that works, as far as the arguments tell.
    pub example: Option<Value>,
}

/// Advice for a call that was refused. Failed work gets none: the call was right. Blocks: it may look into a folder.
pub fn advise(server: &Server, name: &str, given: &Answer, error: &ToolError) -> Advice {
    if !matches!(error.fault(), Fault::Request | Fault::NotFound) {
        return Advice::default();
    }
    let offer = &server.config().offer;
    let Some(tool) = by_name(name).filter(|tool| offer.has(tool)) else {
        let near = nearest(name, offer.tools().map(|tool| tool.name)).and_then(by_name);
        return Advice {
            hint: near.map(|near| format!("did you mean '{}'?", near.name)),
            example: near.map(|near| example(near, given, &[])),
        };
    };
    let missing = match error {
        ToolError::Missing { keys, .. } => keys.as_slice(),
        _ => &[],
    };
    Advice { hint: hint(server, tool, given, error), example: Some(example(tool, given, missing)) }
}

fn hint(server: &Server, tool: &Tool, given: &Answer, error: &ToolError) -> Option<String> {
    match error {
        ToolError::Missing { keys, .. } => {
            let key = keys.first()?;
            let (wrong, _) = misnamed(tool, given, key)?;
            Some(format!("you gave {}; did you mean '{key}'?", quoted_text(wrong)))
        }
        ToolError::NoSuchJob { .. } => Some("list_jobs shows the jobs that there are".to_owned()),
        ToolError::Path(PathError::Absent(path)) | ToolError::VideoPath(PathError::Absent(path)) => {
            similar_file(server, path)
        }
        _ => {
            // Whatever the text, it is about the argument that does not pass.
            let wrong = |field: &&Field| given.get(field.name).is_some_and(|value| !field.accepts(value));
            let field = tool.fields().iter().find(wrong)?;
            let near = field.nearest_value(given.get(field.name)?)?;
            Some(format!("did you mean {} {}?", field.name, quoted(&near)))
        }
    }
}

/// An argument that the tool does not know and whose name is like that of a missing one.
fn misnamed<'a>(tool: &Tool, given: &'a Answer, key: &str) -> Option<(&'a str, &'a Value)> {
    let unknown =
        given.iter().filter(|(name, _)| !tool.fields().iter().any(|field| field.name == name.as_str()));
    let (name, value) =
        unknown.into_iter().find(|(name, _)| nearest(name, std::iter::once(key)).is_some())?;
    Some((name, value))
}

/// A file beside the one that is not there, with a similar name.
fn similar_file(server: &Server, path: &str) -> Option<String> {
    let (folder, name) = (Path::new(path).parent()?, Path::new(path).file_name()?.to_str()?);
    let (folder, names) = server.roots().names(folder.to_str()?, MOST_FILES).ok()?;
    let near = nearest(name, names.iter().map(String::as_str))?;
    Some(format!("did you mean {}?", quoted_text(&folder.join(near).to_string_lossy())))
}

/// A call of the tool: what was right is taken over, what was nearly right is put right, what is missing is made up.
fn example(tool: &Tool, given: &Answer, missing: &[String]) -> Value {
    let mut arguments = Answer::new();
    for field in tool.fields() {
        let needed = field.required || missing.iter().any(|key| key == field.name);
        if let Some(value) = usable(tool, field, given) {
            arguments.insert(field.name.to_owned(), value);
        } else if needed {
            arguments.insert(field.name.to_owned(), field.example_value());
        }
    }
    let call = json!({ "tool": tool.name, "arguments": crate::text::clean_answer(arguments) });
    if call.to_string().len() <= LONGEST_EXAMPLE {
        return call;
    }
    let needed =
        tool.fields().iter().filter(|field| field.required || missing.iter().any(|key| key == field.name));
    let plain: Answer = needed.map(|field| (field.name.to_owned(), field.example_value())).collect();
    json!({ "tool": tool.name, "arguments": plain })
}

/// The value for a field among what was given: right, nearly right, or under a wrong name.
fn usable(tool: &Tool, field: &Field, given: &Answer) -> Option<Value> {
    match given.get(field.name).filter(|value| !value.is_null()) {
        Some(value) if field.accepts(value) => Some(value.clone()),
        Some(value) => field.nearest_value(value),
        None if field.required => misnamed(tool, given, field.name)
            .map(|(_, value)| value)
            .filter(|value| field.accepts(value))
            .cloned(),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Flags};

    fn server(folder: &Path) -> Server {
        let flags = Flags { allow: vec![folder.to_owned()], ..Flags::default() };
        Server::new(Config::read(&flags, &|_| None).unwrap())
    }

    fn advice(name: &str, given: Value, error: &ToolError) -> Advice {
        let folder = tempfile::tempdir().unwrap();
        advise(&server(folder.path()), name, given.as_object().unwrap(), error)
    }

    #[test]
    fn a_mistyped_tool_is_recognised() {
        let error = ToolError::UnknownTool("vmaf_scor".to_owned());
        let advice = advice("vmaf_scor", json!({ "ref": "a.mp4", "dis": "b.mp4" }), &error);
        assert_eq!(advice.hint.as_deref(), Some("did you mean 'vmaf_score'?"));
        let call = json!({ "tool": "vmaf_score", "arguments": { "ref": "a.mp4", "dis": "b.mp4" } });
        assert_eq!(advice.example, Some(call));
    }

    #[test]
    fn a_misnamed_argument_gets_its_right_name() {
        let error = ToolError::Missing { tool: "vmaf_score", keys: vec!["ref".into(), "dis".into()] };
        let advice = advice("vmaf_score", json!({ "reference": "a.mp4", "distorted": "b.mp4" }), &error);
        assert_eq!(advice.hint.as_deref(), Some("you gave 'reference'; did you mean 'ref'?"));
        assert_eq!(advice.example.unwrap()["arguments"], json!({ "ref": "a.mp4", "dis": "b.mp4" }));
    }

    #[test]
    fn a_wrong_value_is_put_right_and_the_rest_taken_over() {
        let given =
            json!({ "ref": "a.yuv", "dis": "b.yuv", "width": "1920", "height": 1080, "pixfmt": "420p" });
        let error = ToolError::invalid("width", &json!("1920"), "must be an integer >= 1");
        let found = advice("vmaf_score", given, &error);
        assert_eq!(found.hint.as_deref(), Some("did you mean width 1920?"));
        let arguments =
            json!({ "ref": "a.yuv", "dis": "b.yuv", "width": 1920, "height": 1080, "pixfmt": "420" });
        assert_eq!(found.example.unwrap()["arguments"], arguments);
        assert_eq!(
            advice("vmaf_score", json!({}), &ToolError::Failed("broken".to_owned())),
            Advice::default()
        );
    }

    #[test]
    fn a_file_with_a_similar_name_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::write(base.join("reference.y4m"), "").unwrap();
        let server = server(&base);
        let absent = base.join("refrence.y4m").to_string_lossy().into_owned();
        let error = ToolError::video_path(server.roots().open(&absent).unwrap_err());
        let advice = advise(&server, "vmaf_score", json!({ "ref": absent }).as_object().unwrap(), &error);
        assert!(advice.hint.unwrap().contains("reference.y4m"));
        let outside = ToolError::Path(PathError::Absent("/etc/passwdd".to_owned()));
        assert_eq!(advise(&server, "vmaf_score", &Answer::new(), &outside).hint, None);
    }

    #[test]
    fn hostile_arguments_do_not_reach_the_advice() {
        let hostile = "\n# SYSTEM\u{202e}".repeat(100_000);
        let given = json!({ "ref": hostile, "dis": "b\n\u{202e}c.mp4", hostile.as_str(): 1 });
        let error = ToolError::invalid("ref", &given["ref"], "too long");
        let advice = advice("vmaf_score", given, &error);
        let text = format!("{} {}", advice.hint.unwrap_or_default(), advice.example.unwrap());
        assert!(text.len() < 2000 && !text.contains(['\n', '\u{202e}']), "{text}");
    }
}
