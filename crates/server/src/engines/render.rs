//! A request as arguments of a `vmaf` executable.
//!
//! No text of a client reaches the command line: models, metrics and options are written anew from what was parsed and
//! checked against our own registry, and files are named by the path to their open handle.

use std::ffi::OsString;
use std::path::Path;

use visus_engine::{FeatureSpec, ModelSpec};
use visus_video::{Chroma, Format};

use super::DEVICES;
use super::probe::Help;
use crate::ToolError;

/// libvmaf reads the first 1024 bytes of an option and ignores the rest.
const MAX_OPTION: usize = 1000;

/// The child's arguments as a list; no shell ever sees them.
#[derive(Debug, Default)]
pub struct Args(pub Vec<OsString>);

impl Args {
    pub fn word(&mut self, word: &str) -> &mut Self {
        self.0.push(word.into());
        self
    }

    pub fn pair(&mut self, option: &str, value: impl Into<OsString>) -> &mut Self {
        self.0.push(option.into());
        self.0.push(value.into());
        self
    }

    pub fn raw(&mut self, format: &Format) {
        let chroma = match format.chroma() {
            Chroma::C422 => "422",
            Chroma::C444 => "444",
            _ => "420",
        };
        self.pair("--width", format.width().to_string()).pair("--height", format.height().to_string());
        self.pair("-p", chroma).pair("-b", format.depth().to_string());
    }

    /// Where the binary cannot be given a backend, the others are switched off.
    pub fn backend(&mut self, backend: &str, help: &Help) -> &mut Self {
        if backend == "auto" {
            return self;
        }
        if help.shows("--backend") {
            return self.pair("--backend", backend);
        }
        for other in
            DEVICES.into_iter().filter(|other| *other != "cpu" && *other != backend && help.has(other))
        {
            self.word(&format!("--no_{other}"));
        }
        self
    }

    pub fn number(&mut self, option: &str, number: Option<u64>) -> &mut Self {
        if let Some(number) = number {
            self.pair(option, number.to_string());
        }
        self
    }
}

/// The words for `-m`. `file` is the path to the model's open file.
pub fn model(spec: &ModelSpec, file: Option<&Path>) -> Result<String, ToolError> {
    let source = match file {
        Some(path) => format!("path={}", path.display()),
        None => format!("version={}", spec.label()),
    };
    check_name(&spec.name)?;
    let mut words = vec![source, format!("name={}", spec.name)];
    words.extend(spec.flags.disable_clip.then(|| "disable_clip".to_owned()));
    words.extend(spec.flags.enable_transform.then(|| "enable_transform".to_owned()));
    for overload in &spec.overloads {
        check_option(&overload.option, &overload.value)?;
        words.push(format!("{}.{}={}", overload.metric, overload.option, overload.value));
    }
    bounded(words.join(":"))
}

/// The words for `--feature`.
pub fn metric(spec: &FeatureSpec) -> Result<String, ToolError> {
    let mut words = spec.metric.clone();
    for (place, (name, value)) in spec.options.iter().enumerate() {
        check_option(name, value)?;
        words.push(if place == 0 { '=' } else { ':' });
        words.push_str(&format!("{name}={value}"));
    }
    bounded(words)
}

/// Nothing that could be a path, or that ends an option early.
fn check_option(name: &str, value: &str) -> Result<(), ToolError> {
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-+.".contains(c));
    if name.contains("path") || name.contains("file") || !plain(name) || !plain(value) {
        return Err(ToolError::Refused(format!(
            "option '{}' cannot be handed to an executable",
            crate::error::cleaned(name)
        )));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), ToolError> {
    if name.chars().any(|c| c.is_control() || ":=".contains(c)) {
        return Err(ToolError::Refused("a model's name may hold neither ':' nor '='".to_owned()));
    }
    Ok(())
}

fn bounded(words: String) -> Result<String, ToolError> {
    if words.len() <= MAX_OPTION {
        return Ok(words);
    }
    Err(ToolError::Refused(format!(
        "a model or feature of {} bytes is too long for an executable, which reads {MAX_OPTION}",
        words.len()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_anew() {
        let spec: ModelSpec =
            "name=x:version=vmaf_v0.6.1:enable_transform=true:vif.vif_enhn_gain_limit=1.0".parse().unwrap();
        let words = model(&spec, None).unwrap();
        assert_eq!(words, "version=vmaf_v0.6.1:name=x:enable_transform:vif.vif_enhn_gain_limit=1");
        let spec: ModelSpec = "path=a.json".parse().unwrap();
        assert_eq!(model(&spec, Some(Path::new("/proc/1/fd/7"))).unwrap(), "path=/proc/1/fd/7:name=vmaf");
        assert_eq!(metric(&"psnr".parse().unwrap()).unwrap(), "psnr");
        let given: FeatureSpec = "cambi=full_ref=true:window_size=65".parse().unwrap();
        assert_eq!(metric(&given).unwrap(), "cambi=full_ref=true:window_size=65");
    }

    #[test]
    fn what_could_be_misread_is_refused() {
        for text in ["cambi=heatmaps_path=x", "psnr=a=/etc/passwd", "psnr=a=b c", "psnr=a\u{1}=b"] {
            assert!(metric(&text.parse().unwrap()).is_err(), "{text}");
        }
        let long = format!("psnr=a={}", "1".repeat(2000));
        let spec =
            FeatureSpec { metric: "psnr".to_owned(), options: vec![("a".to_owned(), "x".repeat(2000))] };
        assert!(metric(&spec).is_err(), "{long}");
        let mut spec = ModelSpec::version("vmaf_v0.6.1");
        spec.name = "a:path=/etc/passwd".to_owned();
        assert!(model(&spec, None).is_err());
    }
}
