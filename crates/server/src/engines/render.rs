//! The words that a foreign `vmaf` is started with, made from what was understood. No text of a client is among them:
//! programs read options in ways of their own, and what they read must be what was checked.

use std::path::Path;

use serde_json::json;
use visus_engine::{FeatureSpec, ModelSource, ModelSpec};
use visus_metrics::OptionKind;
use visus_metrics::registry;

use super::WantedModel;
use crate::ToolError;

/// libvmaf's tool reads no more than 1024 bytes of an option, and goes on with what it has read.
const LONGEST: usize = 1000;

/// The words for `--model`. `place` is where the child finds the model's file.
pub fn model(model: &WantedModel, place: Option<&Path>) -> Result<String, ToolError> {
    let given = model.given.as_deref().unwrap_or_default();
    let refuse = |reason: &str| ToolError::invalid("model", &json!(given), reason);
    let names = |key: &str| given.split(':').any(|part| part.starts_with(key));
    if names("version=") && names("path=") {
        return Err(refuse("it names both version= and path="));
    }
    let spec = &model.spec;
    let mut words = vec![match (&spec.source, place) {
        (ModelSource::Version(version), _) if is_plain(version) => format!("version={version}"),
        (ModelSource::Path(_), Some(place)) => format!("path={}", place.display()),
        _ => return Err(refuse("a model is one that is built in, or a file")),
    }];
    if !is_plain(&spec.name) {
        return Err(refuse("name= takes letters, digits, '_', '-' and '.'"));
    }
    words.push(format!("name={}", spec.name));
    words.extend(spec.flags.disable_clip.then(|| "disable_clip=true".to_owned()));
    words.extend(spec.flags.enable_transform.then(|| "enable_transform=true".to_owned()));
    words.extend(overloads(spec).map_err(|reason| refuse(&reason))?);
    bounded(words.join(":")).map_err(|reason| refuse(&reason))
}

fn overloads(spec: &ModelSpec) -> Result<Vec<String>, String> {
    let word = |overload: &visus_engine::model::Overload| {
        check_option(&overload.metric, &overload.option, &overload.value)?;
        Ok(format!("{}.{}={}", overload.metric, overload.option, overload.value))
    };
    spec.overloads.iter().map(word).collect()
}

/// The words for `--feature`.
pub fn feature(spec: &FeatureSpec) -> Result<String, ToolError> {
    let refuse = |reason: String| ToolError::invalid("feature", &json!(spec.metric), reason);
    if registry::by_name(&spec.metric).is_none() {
        return Err(refuse("no metric of this name is known here".to_owned()));
    }
    let option = |(name, value): &(String, String)| {
        check_option(&spec.metric, name, value)?;
        Ok(format!("{name}={value}"))
    };
    let options = spec.options.iter().map(option).collect::<Result<Vec<_>, String>>().map_err(refuse)?;
    let words = if options.is_empty() { String::new() } else { format!("={}", options.join(":")) };
    bounded(format!("{}{words}", spec.metric)).map_err(refuse)
}

/// A word that stands for itself in any program: a version, a precision.
pub fn word<'a>(name: &str, text: &'a str) -> Result<&'a str, ToolError> {
    if is_plain(text) {
        return Ok(text);
    }
    Err(ToolError::invalid(name, &json!(text), "it must be letters, digits, '_', '-' and '.'"))
}

/// Whether an option is one that our own metric has, and takes no place in the file system.
fn check_option(metric: &str, name: &str, value: &str) -> Result<(), String> {
    let known = registry::by_name(metric).and_then(|info| {
        info.options.iter().find(|option| option.name == name || option.alias == Some(name))
    });
    let Some(option) = known else { return Err(format!("'{metric}' has no option '{name}'")) };
    let is_place = ["path", "file", "dir"].iter().any(|word| name.contains(word));
    if is_place {
        return Err(format!("option '{name}' names a place in the file system"));
    }
    let number = value.parse::<f64>().is_ok_and(f64::is_finite);
    let fits = match option.kind {
        OptionKind::Bool { .. } => number || matches!(value, "true" | "false"),
        OptionKind::Int { .. } | OptionKind::Double { .. } => number,
        OptionKind::Text { .. } => is_plain(value),
    };
    if fits { Ok(()) } else { Err(format!("option '{name}' cannot be handed to another program")) }
}

/// Letters, digits and what cannot be mistaken for anything else; not the beginning of an option.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !text.is_empty() && text.len() <= 200 && text.chars().all(plain) && !text.starts_with('-')
}

fn bounded(words: String) -> Result<String, String> {
    match words.len() {
        length if length > LONGEST => Err(format!("it has {length} bytes, more than {LONGEST}")),
        _ => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> WantedModel {
        WantedModel { given: Some(text.to_owned()), spec: text.parse().unwrap(), file: None }
    }

    #[test]
    fn models_are_said_anew() {
        let said =
            |text: &str| model(&wanted(text), Some(Path::new("/proc/1/fd/7"))).map_err(|e| e.to_string());
        assert_eq!(said("version=vmaf_v0.6.1").unwrap(), "version=vmaf_v0.6.1:name=vmaf");
        assert_eq!(
            said("name=a:path=/films/m.json:disable_clip:vif.vif_enhn_gain_limit=1.0").unwrap(),
            "path=/proc/1/fd/7:name=a:disable_clip=true:vif.vif_enhn_gain_limit=1"
        );
        for text in [
            "version=vmaf_v0.6.1:path=/etc/passwd",
            "path=/etc/passwd:version=vmaf_v0.6.1",
            "version=a/b",
            "version=vmaf_v0.6.1:name=a/../b",
            "version=vmaf_v0.6.1:cambi.heatmaps_path=x",
            "version=vmaf_v0.6.1:vif.unheard_of=1",
            "version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=x",
        ] {
            assert!(said(text).is_err(), "{text}");
        }
        let long = format!("version=vmaf_v0.6.1{}", ":vif.vif_enhn_gain_limit=1".repeat(32));
        assert!(said(&long).is_ok());
        let long = format!("version=vmaf_v0.6.1:name={}", "n".repeat(1024));
        assert!(said(&long).is_err());
    }

    #[test]
    fn features_are_said_anew() {
        let said = |text: &str| feature(&text.parse().unwrap()).map_err(|error| error.to_string());
        assert_eq!(said("psnr").unwrap(), "psnr");
        assert_eq!(said("vif=vif_enhn_gain_limit=1.0").unwrap(), "vif=vif_enhn_gain_limit=1");
        for text in ["cambi=heatmaps_path=maps", "no_such", "psnr=x=1", "vif=vif_enhn_gain_limit=/etc"] {
            assert!(said(text).is_err(), "{text}");
        }
    }
}
