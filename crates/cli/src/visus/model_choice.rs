//! Which models a person means.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use visus_engine::model::{BUILTIN, automatic, builtin};
use visus_engine::{ModelSource, ModelSpec, Plan};
use visus_video::Format;

/// The models for these words, and what to tell about the choice.
pub struct Choice {
    pub models: Vec<ModelSpec>,
    pub reasons: Vec<String>,
}

/// Resolves every `--model`. `auto` picks by size and frame rate, `all` takes each built-in model that fits,
/// `none` leaves it at metrics.
pub fn choose(words: &[String], format: &Format, frame_rate: Option<(u32, u32)>) -> Result<Choice> {
    let mut choice = Choice { models: Vec::new(), reasons: Vec::new() };
    for word in words {
        match word.as_str() {
            "auto" => {
                let (version, reason) = automatic(format, frame_rate);
                choice.models.push(ModelSpec::version(version).named(version));
                choice.reasons.push(reason);
            }
            "all" => add_all(format, &mut choice),
            "none" => {}
            other => choice.models.push(named(other)?),
        }
    }
    Ok(choice)
}

fn add_all(format: &Format, choice: &mut Choice) {
    for model in BUILTIN {
        let spec = ModelSpec::version(model.version).named(model.version);
        let fits = Plan::new(std::slice::from_ref(&spec), &[], true)
            .map_err(|error| error.to_string())
            .and_then(|plan| plan.check_format(format).map_err(|error| error.to_string()));
        match fits {
            Ok(()) => choice.models.push(spec),
            Err(reason) => choice.reasons.push(format!("{} is left out: {reason}", model.version)),
        }
    }
}

/// A version, a file, or libvmaf's own grammar. Scores are called after the model unless `name=` says otherwise.
fn named(word: &str) -> Result<ModelSpec> {
    if word.contains('=') && !word.ends_with(".json")
        || word.starts_with("path=")
        || word.starts_with("version=")
    {
        let spec: ModelSpec = word.parse().with_context(|| format!("model '{word}'"))?;
        let given = word.split(':').any(|part| part.starts_with("name="));
        let label = default_name(&spec);
        return Ok(if given { spec } else { spec.named(&label) });
    }
    if word.ends_with(".json") {
        let mut spec = ModelSpec::version("");
        spec.source = ModelSource::Path(PathBuf::from(word));
        let name = default_name(&spec);
        return Ok(spec.named(&name));
    }
    let long = format!("vmaf_{word}");
    let Some(model) = builtin(word).or_else(|| builtin(&long)) else {
        let known: Vec<&str> = BUILTIN.iter().map(|model| model.version).collect();
        bail!(
            "there is no built-in model '{word}'; built in are {}; a file must end in .json",
            known.join(", ")
        );
    };
    Ok(ModelSpec::version(model.version).named(model.version))
}

fn default_name(spec: &ModelSpec) -> String {
    match &spec.source {
        ModelSource::Version(version) => version.clone(),
        ModelSource::Path(path) => {
            path.file_stem().map_or("vmaf".to_owned(), |stem| stem.to_string_lossy().into_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_models() {
        let one = |word: &str| named(word).map(|spec| (spec.label(), spec.name));
        let version = |name: &str| ("vmaf_v0.6.1neg".to_owned(), name.to_owned());
        assert_eq!(one("vmaf_v0.6.1neg").unwrap(), version("vmaf_v0.6.1neg"));
        assert_eq!(one("v0.6.1neg").unwrap(), version("vmaf_v0.6.1neg"));
        assert_eq!(one("version=vmaf_v0.6.1neg").unwrap(), version("vmaf_v0.6.1neg"));
        assert_eq!(one("version=vmaf_v0.6.1neg:name=x").unwrap(), version("x"));
        assert_eq!(one("dir/my.json").unwrap(), ("dir/my.json".to_owned(), "my".to_owned()));
        assert!(one("v9").unwrap_err().to_string().contains("vmaf_4k_v0.6.1"));
    }
}
