//! What every tool promises: sizes of the list, descriptions, schemas, and that its own example passes its own checks.

use serde_json::{Value, json};

use super::*;
use crate::mcp::listed_tools;
use crate::tools::offer::Offer;

/// `tools/list` as a client gets it.
fn list(offer: &Offer) -> Value {
    json!({ "tools": listed_tools(offer) })
}

#[test]
fn the_list_of_all_tools_is_small() {
    let sizes: Vec<(usize, &str)> = TOOLS
        .iter()
        .map(|tool| {
            let only = Offer::from_flags(&[], &[tool.name.to_owned()], Offer::default()).unwrap();
            (list(&only).to_string().len(), tool.name)
        })
        .collect();
    let all = list(&Offer::all()).to_string().len();
    assert!(all <= 24_000, "{all} bytes: {sizes:?}");
    let usual = list(&Offer::default()).to_string().len();
    assert!(usual <= 20_000, "{usual} bytes: {sizes:?}");
}

#[test]
fn descriptions_are_two_sentences_about_tools_that_are_offered_together() {
    let offered: Vec<&str> = Offer::default().tools().map(|tool| tool.name).collect();
    for tool in TOOLS {
        let sentences = tool.description.matches(". ").count() + 1;
        assert!(sentences <= 2 && tool.description.ends_with('.'), "{}: {}", tool.name, tool.description);
        assert!(tool.description.len() <= 330, "{}: {} bytes", tool.name, tool.description.len());
        for other in TOOLS.iter().filter(|other| !offered.contains(&other.name)) {
            assert!(!tool.description.contains(other.name), "{} names {}", tool.name, other.name);
        }
    }
}

#[test]
fn every_argument_and_every_field_at_the_top_is_described() {
    for tool in TOOLS {
        for schema in [tool.input_schema(), tool.listed_schema()] {
            for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let help = field["description"].as_str().unwrap_or_default();
                assert!(!help.is_empty() && !help.contains('\n'), "{}.{name}: {field}", tool.name);
            }
        }
    }
}

#[test]
fn fields_that_are_shown_are_there() {
    for tool in TOOLS {
        let whole = tool.answer_schema();
        for name in tool.shows {
            assert!(whole["properties"].get(name).is_some(), "{}.{name}", tool.name);
        }
    }
}

#[test]
fn icons_stand_on_the_server_alone() {
    assert!(!list(&Offer::all()).to_string().contains("icon"));
}

#[test]
fn examples_pass_their_own_checks() {
    for tool in TOOLS {
        for field in tool.fields() {
            assert!(
                field.accepts(&field.example_value()),
                "{}.{}: {}",
                tool.name,
                field.name,
                field.example_value()
            );
        }
        let example = tool.fields().iter().filter(|field| field.required);
        let example: Answer = example.map(|field| (field.name.to_owned(), field.example_value())).collect();
        Values::read(tool.name, tool.fields(), example).unwrap();
    }
}

#[test]
fn names_are_unique_and_only_long_work_has_a_background() {
    for (index, tool) in TOOLS.iter().enumerate() {
        assert!(TOOLS[index + 1..].iter().all(|other| other.name != tool.name), "{}", tool.name);
        assert!(!tool.is_long() || matches!(tool.run, Run::Work(_)), "{}", tool.name);
    }
}

/// Whatever a client says, and whatever the environment: files of clients are decoded by ffmpeg in its sandbox.
#[test]
fn a_server_never_decodes_in_its_process() {
    use super::score_args::ScoreArgs;
    let environment = |name: &str| (name == "VISUS_DECODER").then(|| "libav".into());
    let config = crate::config::Config::read(&crate::config::Flags::default(), &environment).unwrap();
    let clips = json!({ "ref": "a.mp4", "dis": "b.mp4", "decoder": "libav", "in_process": true });
    let tool = TOOLS.iter().find(|tool| tool.name == "vmaf_score").unwrap();
    let given = clips.as_object().cloned().unwrap_or_default();
    let values = Values::read(tool.name, tool.fields(), given).unwrap();
    let args = ScoreArgs::new(tool.name, super::score_fields::Names::Mcp, values).unwrap();
    assert!(!args.pairing(&config).unwrap().in_process);
    assert!(!visus_scoring::Pairing::default().in_process);
}
