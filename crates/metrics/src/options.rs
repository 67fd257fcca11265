//! Options of a metric: their definition, how text becomes values, and how they show in the names of scores.

use crate::printf;

/// What an option can hold, its default and its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    Bool { default: bool },
    Int { default: i32, min: i32, max: i32 },
    Double { default: f64, min: f64, max: f64 },
    Text { default: &'static str },
}

/// One option of a metric.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    pub name: &'static str,
    /// Short form for names of scores.
    pub alias: Option<&'static str>,
    pub help: &'static str,
    pub kind: OptionKind,
    /// Whether a value other than the default shows in the names of scores (and so makes a distinct feature).
    pub in_name: bool,
}

impl OptionSpec {
    pub const fn bool(name: &'static str, default: bool, help: &'static str) -> Self {
        Self { name, alias: None, help, kind: OptionKind::Bool { default }, in_name: false }
    }

    pub const fn int(name: &'static str, default: i32, min: i32, max: i32, help: &'static str) -> Self {
        Self { name, alias: None, help, kind: OptionKind::Int { default, min, max }, in_name: false }
    }

    pub const fn double(name: &'static str, default: f64, min: f64, max: f64, help: &'static str) -> Self {
        Self { name, alias: None, help, kind: OptionKind::Double { default, min, max }, in_name: false }
    }

    pub const fn text(name: &'static str, default: &'static str, help: &'static str) -> Self {
        Self { name, alias: None, help, kind: OptionKind::Text { default }, in_name: false }
    }

    /// Makes the option show in names under this alias.
    pub const fn named(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self.in_name = true;
        self
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    Bool(bool),
    Int(i32),
    Double(f64),
    Text(String),
}

/// Why an option's text was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionError {
    #[error("option {name}={value} is refused: it must be {allowed}")]
    Value { name: &'static str, value: String, allowed: String },
    #[error("there is no option '{name}'; known options: {known}")]
    Unknown { name: String, known: String },
}

/// A full set of values for a metric's options.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    values: Vec<(&'static str, OptionValue)>,
    given: Vec<&'static str>,
    suffix: String,
}

impl Options {
    /// Reads given `(name, text)` pairs; what is not given takes its default. Of a name given twice, the last counts.
    /// Numbers are read as C's `atoi` and `atof` do (a trailing rest is ignored), as libvmaf's callers expect.
    pub fn parse(specs: &'static [OptionSpec], given: &[(String, String)]) -> Result<Self, OptionError> {
        if let Some((name, _)) = given.iter().find(|(name, _)| specs.iter().all(|spec| spec.name != name)) {
            let known = specs.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ");
            return Err(OptionError::Unknown { name: name.clone(), known });
        }
        let mut values = Vec::with_capacity(specs.len());
        let mut set = Vec::new();
        for spec in specs {
            let text = given.iter().rev().find(|(name, _)| name == spec.name).map(|(_, text)| text.as_str());
            let value = match text {
                Some(text) => {
                    set.push(spec.name);
                    parse_value(spec, text)?
                }
                None => default_value(spec),
            };
            values.push((spec.name, value));
        }
        let suffix = name_suffix(specs, &values);
        Ok(Self { values, given: set, suffix })
    }

    /// What these options add to the names of scores; empty if nothing differs from the defaults.
    pub fn suffix(&self) -> &str {
        &self.suffix
    }

    fn get(&self, name: &str) -> &OptionValue {
        // A metric asks only for options of its own specification.
        &self.values.iter().find(|(known, _)| *known == name).expect("option is in the specification").1
    }

    /// Whether the request set this option, be it to its default.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), OptionValue::Bool(true))
    }

    pub fn int(&self, name: &str) -> i32 {
        match self.get(name) {
            OptionValue::Int(value) => *value,
            other => unreachable!("{name} is not an integer option but {other:?}"),
        }
    }

    pub fn double(&self, name: &str) -> f64 {
        match self.get(name) {
            OptionValue::Double(value) => *value,
            other => unreachable!("{name} is not a number option but {other:?}"),
        }
    }

    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            OptionValue::Text(value) => value,
            other => unreachable!("{name} is not a text option but {other:?}"),
        }
    }
}

fn default_value(spec: &OptionSpec) -> OptionValue {
    match spec.kind {
        OptionKind::Bool { default } => OptionValue::Bool(default),
        OptionKind::Int { default, .. } => OptionValue::Int(default),
        OptionKind::Double { default, .. } => OptionValue::Double(default),
        OptionKind::Text { default } => OptionValue::Text(default.to_owned()),
    }
}

fn parse_value(spec: &OptionSpec, text: &str) -> Result<OptionValue, OptionError> {
    let refuse = |allowed: String| OptionError::Value { name: spec.name, value: text.to_owned(), allowed };
    match spec.kind {
        OptionKind::Bool { .. } => match text {
            "true" => Ok(OptionValue::Bool(true)),
            "false" => Ok(OptionValue::Bool(false)),
            _ => Err(refuse("true or false".to_owned())),
        },
        OptionKind::Int { min, max, .. } => leading_int(text)
            .filter(|value| (min..=max).contains(value))
            .map(OptionValue::Int)
            .ok_or_else(|| refuse(format!("a whole number from {min} to {max}"))),
        OptionKind::Double { min, max, .. } => leading_double(text)
            .filter(|value| (min..=max).contains(value))
            .map(OptionValue::Double)
            .ok_or_else(|| refuse(format!("a number from {min} to {max}"))),
        OptionKind::Text { .. } => Ok(OptionValue::Text(text.to_owned())),
    }
}

/// C's `atoi`, but text that is no number is refused: a zero must begin with the digit 0.
fn leading_int(text: &str) -> Option<i32> {
    let rest = text.trim_start();
    let unsigned = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let digits = unsigned.len() - unsigned.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = &rest[..rest.len() - unsigned.len() + digits];
    let value: i32 = number.parse().ok()?;
    (value != 0 || text.starts_with('0')).then_some(value)
}

/// C's `atof`, under the same rule for zero.
fn leading_double(text: &str) -> Option<f64> {
    let rest = text.trim_start();
    let value = (1..=rest.len())
        .rev()
        .filter(|end| rest.is_char_boundary(*end))
        .find_map(|end| rest[..end].parse::<f64>().ok())?;
    (value != 0.0 || text.starts_with('0')).then_some(value)
}

/// `_alias_value` for every option that differs from its default, sorted by the option's full name. A switch shows
/// its alias alone. Numbers are printed like C's `%g`.
fn name_suffix(specs: &[OptionSpec], values: &[(&'static str, OptionValue)]) -> String {
    let mut changed: Vec<(&OptionSpec, &OptionValue)> = specs
        .iter()
        .zip(values)
        .filter(|(spec, (_, value))| spec.in_name && default_value(spec) != *value)
        .map(|(spec, (_, value))| (spec, value))
        .collect();
    changed.sort_by_key(|(spec, _)| spec.name);
    let mut suffix = String::new();
    for (spec, value) in changed {
        suffix.push('_');
        suffix.push_str(spec.alias.unwrap_or(spec.name));
        match value {
            OptionValue::Bool(_) => {}
            OptionValue::Int(value) => suffix.push_str(&format!("_{value}")),
            OptionValue::Double(value) => suffix.push_str(&format!("_{}", printf::general(*value, 6))),
            OptionValue::Text(value) => suffix.push_str(&format!("_{value}")),
        }
    }
    suffix
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[OptionSpec] = &[
        OptionSpec::bool("debug", false, "more output"),
        OptionSpec::double("gain_limit", 100.0, 1.0, 100.0, "limit").named("egl"),
        OptionSpec::int("csf_mode", 0, 0, 9, "mode").named("csf"),
        OptionSpec::bool("csf_fast", false, "fast").named("zf"),
        OptionSpec::text("method", "nearest", "method").named("pm"),
    ];

    fn parse(pairs: &[(&str, &str)]) -> Result<Options, OptionError> {
        let given: Vec<_> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Options::parse(SPECS, &given)
    }

    #[test]
    fn names_follow_the_full_option_name() {
        let all = [("gain_limit", "1.05"), ("csf_mode", "2"), ("csf_fast", "true"), ("method", "bicubic")];
        assert_eq!(parse(&all).unwrap().suffix(), "_zf_csf_2_egl_1.05_pm_bicubic");
        assert_eq!(parse(&[("gain_limit", "100"), ("debug", "true")]).unwrap().suffix(), "");
    }

    #[test]
    fn an_explicit_default_counts_as_given() {
        let options = parse(&[("gain_limit", "100")]).unwrap();
        assert!(options.is_given("gain_limit"));
        assert!(!options.is_given("csf_mode"));
    }

    #[test]
    fn numbers_are_read_like_c() {
        assert_eq!(parse(&[("gain_limit", "1.5xyz")]).unwrap().double("gain_limit"), 1.5);
        assert_eq!(parse(&[("csf_mode", "3.9")]).unwrap().int("csf_mode"), 3);
        for (name, value) in
            [("gain_limit", "x"), ("gain_limit", "0.5"), ("gain_limit", "nan"), ("csf_mode", "10")]
        {
            assert!(parse(&[(name, value)]).is_err(), "{name}={value}");
        }
        assert!(matches!(parse(&[("debug", "1")]), Err(OptionError::Value { .. })));
        assert!(matches!(parse(&[("bogus", "1")]), Err(OptionError::Unknown { .. })));
    }
}
