//! Arguments: one table per tool gives the schema, the checks, the texts of refusals and the nearest right value.

use serde_json::{Map, Value, json};

use crate::ToolError;

/// What an argument can hold.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    /// One of these texts.
    Word(&'static [&'static str]),
    /// One of these backends, or devices by number: `cuda:1`, `cuda:0,1`, and in builds that have it `vulkan:1`.
    Backend(&'static [&'static str]),
    /// One of these numbers.
    Choice(&'static [i64]),
    /// A whole number from here to there.
    Whole {
        min: i64,
        max: i64,
    },
    /// A number from here to there.
    Number {
        min: f64,
        max: f64,
    },
    Flag,
    /// Texts, at most so many.
    Texts {
        most: usize,
    },
}

/// Where a whole number has no limit of its own.
pub const MANY: i64 = 1 << 53;

/// The longest text that any argument can hold, in bytes: twice the longest path.
const LONGEST_TEXT: usize = 8192;

/// One argument of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// The default as JSON text.
    pub default: Option<&'static str>,
    /// A value for examples, as JSON text.
    pub example: Option<&'static str>,
    /// The start of the refusal where the contract has its own; the value follows.
    pub refusal: Option<&'static str>,
    /// Whether `tools/list` names it. One that is not listed works all the same.
    pub listed: bool,
    pub help: &'static str,
}

/// Whether this build has adapters of Vulkan and Metal.
fn has_adapters() -> bool {
    visus_scoring::backend::BUILT_IN.contains(&"vulkan")
}

/// Whether a backend is written as `cuda:` and numbers, or as `vulkan:` or `metal:` and a number.
fn names_devices(text: &str) -> bool {
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once(':') {
        Some(("cuda", numbers)) => numbers.split(',').all(is_number),
        Some(("vulkan" | "metal", number)) => has_adapters() && is_number(number),
        _ => false,
    }
}

impl Field {
    pub const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, required: false, default: None, example: None, refusal: None, listed: true, help }
    }

    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    pub const fn example(mut self, json: &'static str) -> Self {
        self.example = Some(json);
        self
    }

    pub const fn refusal(mut self, start: &'static str) -> Self {
        self.refusal = Some(start);
        self
    }

    pub const fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    /// A value for examples: one that was chosen, or else the default or the first that is allowed.
    pub fn example_value(&self) -> Value {
        let written = self.example.or(self.default).and_then(|text| serde_json::from_str(text).ok());
        written.unwrap_or_else(|| match self.kind {
            Kind::Text => json!("..."),
            Kind::Word(words) | Kind::Backend(words) => json!(words.first()),
            Kind::Choice(numbers) => json!(numbers.first()),
            Kind::Whole { min, .. } => json!(min),
            Kind::Number { min, .. } => json!(min),
            Kind::Flag => json!(true),
            Kind::Texts { .. } => json!(["..."]),
        })
    }

    /// Whether the argument can hold the value.
    pub fn accepts(&self, value: &Value) -> bool {
        self.check(value).is_ok()
    }

    /// The right value that a wrong one most likely means.
    pub fn nearest_value(&self, value: &Value) -> Option<Value> {
        let near = match (self.kind, value) {
            (Kind::Text, Value::Number(_) | Value::Bool(_)) => json!(value.to_string()),
            (Kind::Word(words) | Kind::Backend(words), _) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_ascii_lowercase);
                json!(nearest(text.trim(), words.iter().copied())?)
            }
            (Kind::Choice(numbers), _) => {
                let wanted = lenient_number(value)?;
                let distance = |number: &&i64| (**number as f64 - wanted).abs();
                json!(numbers.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?)
            }
            (Kind::Whole { min, max }, _) => {
                json!((lenient_number(value)?.round() as i64).clamp(min, max))
            }
            (Kind::Number { min, max }, _) => json!(lenient_number(value)?.clamp(min, max)),
            (Kind::Flag, Value::Number(number)) => json!(number.as_f64() != Some(0.0)),
            (Kind::Flag, Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => json!(true),
                "false" | "no" | "off" | "0" => json!(false),
                _ => return None,
            },
            (Kind::Texts { .. }, Value::String(text)) => {
                json!(text.split(',').map(str::trim).collect::<Vec<_>>())
            }
            (Kind::Texts { most }, Value::Array(list)) => json!(list.iter().take(most).collect::<Vec<_>>()),
            _ => return None,
        };
        self.accepts(&near).then_some(near)
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Word(words) => json!({ "type": "string", "enum": words }),
            Kind::Backend(words) => {
                let adapters = if has_adapters() { "|(vulkan|metal):[0-9]+" } else { "" };
                let pattern = format!("^({}|cuda:[0-9]+(,[0-9]+)*{adapters})$", words.join("|"));
                json!({ "type": "string", "pattern": pattern })
            }
            Kind::Choice(numbers) => json!({ "type": "integer", "enum": numbers }),
            Kind::Whole { min, max } if max >= MANY => json!({ "type": "integer", "minimum": min }),
            Kind::Whole { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Texts { most } => {
                json!({ "type": "array", "items": { "type": "string" }, "maxItems": most })
            }
        };
        // What is off unless it is set needs no default in the list.
        let default = self.default.filter(|default| *default != "false");
        if let Some(default) = default.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
            schema["default"] = default;
        }
        schema["description"] = json!(self.help);
        schema
    }

    /// Refuses a value that the argument cannot hold.
    fn check(&self, value: &Value) -> Result<(), ToolError> {
        let refuse = |reason: String| Err(self.refused(value, reason));
        match self.kind {
            Kind::Text if value.as_str().is_some_and(|text| text.len() > LONGEST_TEXT) => {
                refuse(format!("must not be longer than {LONGEST_TEXT} bytes"))
            }
            Kind::Text if value.is_string() => Ok(()),
            Kind::Text => refuse("must be a string".to_owned()),
            Kind::Word(words) => match value.as_str() {
                Some(text) if words.contains(&text) => Ok(()),
                _ => refuse(one_of(words.iter())),
            },
            Kind::Backend(words) => match value.as_str() {
                Some(text) if words.contains(&text) || names_devices(text) => Ok(()),
                _ => refuse(one_of(words.iter())),
            },
            Kind::Choice(numbers) => match whole(value) {
                Some(number) if numbers.contains(&number) => Ok(()),
                _ => refuse(one_of(numbers.iter())),
            },
            Kind::Whole { min, max } => match whole(value) {
                Some(number) if (min..=max).contains(&number) => Ok(()),
                _ if max >= MANY && min == 0 => refuse("must be a non-negative integer".to_owned()),
                _ if max >= MANY => refuse(format!("must be an integer >= {min}")),
                _ => refuse(format!("must be an integer in range [{min}, {max}]")),
            },
            Kind::Number { min, max } => match value.as_f64() {
                Some(number) if (min..=max).contains(&number) => Ok(()),
                _ => refuse(format!("must be a number in range [{min}, {max}]")),
            },
            Kind::Flag if value.is_boolean() => Ok(()),
            Kind::Flag => refuse("must be true or false".to_owned()),
            Kind::Texts { most } => match value.as_array() {
                Some(list) if list.len() > most => {
                    let count = json!(format!("{} entries", list.len()));
                    Err(ToolError::invalid(self.name, &count, format!("at most {most} are allowed")))
                }
                Some(list) if list.iter().all(fits_text) => Ok(()),
                Some(list) if list.iter().all(Value::is_string) => {
                    refuse(format!("no entry may be longer than {LONGEST_TEXT} bytes"))
                }
                _ => refuse("must be an array of strings".to_owned()),
            },
        }
    }

    fn refused(&self, value: &Value, reason: String) -> ToolError {
        match self.refusal {
            Some(start) => ToolError::Refused(format!("{start}{}", crate::error::quoted(value))),
            None => ToolError::invalid(self.name, value, reason),
        }
    }
}

fn fits_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() <= LONGEST_TEXT)
}

/// A number, also one that was written as text.
fn lenient_number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|number| number.is_finite())
}

fn one_of<T: std::fmt::Display>(allowed: impl Iterator<Item = T>) -> String {
    format!("must be one of {}", allowed.map(|value| value.to_string()).collect::<Vec<_>>().join("|"))
}

/// A whole number; JSON also writes it as 8.0.
fn whole(value: &Value) -> Option<i64> {
    let exact = |number: f64| number.fract() == 0.0 && number.abs() <= MANY as f64;
    value.as_i64().or_else(|| value.as_f64().filter(|number| exact(*number)).map(|number| number as i64))
}

/// The schema of a tool's arguments.
pub fn schema(fields: &[Field]) -> Map<String, Value> {
    let listed = fields.iter().filter(|field| field.listed);
    let properties: Map<String, Value> =
        listed.map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
    ]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// Arguments that went through their table's checks.
#[derive(Clone, Debug, Default)]
pub struct Values {
    map: Map<String, Value>,
    /// Names that no argument has, with the nearest one that exists.
    pub unknown: Vec<String>,
}

/// Deeper nesting than this is refused.
const MAX_DEPTH: usize = 50;

impl Values {
    /// Checks given arguments against their table. Null counts as absent.
    pub fn read(
        tool: &'static str,
        fields: &[Field],
        mut given: Map<String, Value>,
    ) -> Result<Self, ToolError> {
        if given.values().any(|value| deeper_than(value, MAX_DEPTH - 1)) {
            return Err(ToolError::Refused(format!("arguments are nested deeper than {MAX_DEPTH} levels")));
        }
        given.retain(|_, value| !value.is_null());
        let keys: Vec<String> = fields
            .iter()
            .filter(|field| field.required && !given.contains_key(field.name))
            .map(|field| field.name.to_owned())
            .collect();
        if !keys.is_empty() {
            return Err(ToolError::Missing { tool, keys });
        }
        let mut values = Self::default();
        for field in fields {
            if let Some(value) = given.remove(field.name) {
                field.check(&value)?;
                values.map.insert(field.name.to_owned(), value);
            }
        }
        values.unknown = given.keys().take(8).map(|name| advice(name, fields)).collect();
        Ok(values)
    }

    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.map.get(name)?.as_str()
    }

    pub fn whole(&self, name: &str) -> Option<i64> {
        whole(self.map.get(name)?)
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.map.get(name)?.as_f64()
    }

    /// A whole number that the table keeps from being negative.
    pub fn count(&self, name: &str) -> Option<u64> {
        u64::try_from(self.whole(name)?).ok()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.map.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn texts(&self, name: &str) -> Vec<String> {
        let list = self.map.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The value as it was given.
    pub fn raw(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }
}

fn deeper_than(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(list) => limit == 0 || list.iter().any(|value| deeper_than(value, limit - 1)),
        Value::Object(map) => limit == 0 || map.values().any(|value| deeper_than(value, limit - 1)),
        _ => false,
    }
}

fn advice(name: &str, fields: &[Field]) -> String {
    let shown = crate::error::cleaned(name);
    match nearest(name, fields.iter().map(|field| field.name)) {
        Some(near) => format!("unknown argument '{shown}' was ignored; did you mean '{near}'?"),
        None => format!("unknown argument '{shown}' was ignored"),
    }
}

/// The candidate that a mistyped word most likely means.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let best = candidates.map(|candidate| (distance(word, candidate), candidate)).min()?;
    let abbreviated = |short: &str, long: &str| short.len() >= 3 && long.starts_with(short);
    let near = best.0 <= 2.max(word.len() / 4) || abbreviated(best.1, word) || abbreviated(word, best.1);
    near.then_some(best.1)
}

/// How many letters must be changed, added or taken away.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field::new("ref", Kind::Text, "a").required(),
        Field::new("dis", Kind::Text, "b").required(),
        Field::new("width", Kind::Whole { min: 1, max: MANY }, "c"),
        Field::new("pixfmt", Kind::Word(&["420", "422"]), "d").default("\"420\""),
        Field::new("bitdepth", Kind::Choice(&[8, 10]), "e"),
        Field::new("feature", Kind::Texts { most: 2 }, "f"),
        Field::new("tiny_crf", Kind::Whole { min: 0, max: 63 }, "g"),
        Field::new("fast", Kind::Flag, "h"),
        Field::new("target", Kind::Number { min: 0.0, max: 110.0 }, "i"),
    ];

    #[test]
    fn backends_may_have_numbers() {
        let field = Field::new("backend", Kind::Backend(&["auto", "cuda"]), "a");
        for text in ["auto", "cuda", "cuda:0", "cuda:12", "cuda:0,1"] {
            assert!(field.accepts(&json!(text)), "{text}");
        }
        for text in ["", "cuda:", "cuda:x", "cuda:0,", "auto:1", "cuda:-1"] {
            assert!(!field.accepts(&json!(text)), "{text}");
        }
    }

    fn read(value: Value) -> Result<Values, String> {
        let Value::Object(map) = value else { panic!("an object") };
        Values::read("t", FIELDS, map).map_err(|error| error.to_string())
    }

    fn with(name: &str, value: Value) -> Result<Values, String> {
        let mut map = json!({ "ref": "a", "dis": "b" });
        map[name] = value;
        read(map)
    }

    #[test]
    fn missing_and_null_arguments() {
        assert_eq!(read(json!({})).unwrap_err(), "tool 't' missing required argument: 'ref'");
        let null = json!({ "ref": "a", "dis": null });
        assert_eq!(read(null).unwrap_err(), "tool 't' missing required argument: 'dis'");
        assert!(!with("width", Value::Null).unwrap().has("width"));
    }

    #[test]
    fn refusals_name_the_allowed_values() {
        for (name, value, text) in [
            ("width", json!(0), "invalid width 0: must be an integer >= 1"),
            ("width", json!("8"), "invalid width '8': must be an integer >= 1"),
            ("width", json!(true), "invalid width true: must be an integer >= 1"),
            ("width", json!(1.5), "invalid width 1.5: must be an integer >= 1"),
            ("pixfmt", json!("421"), "invalid pixfmt '421': must be one of 420|422"),
            ("pixfmt", json!(420), "invalid pixfmt 420: must be one of 420|422"),
            ("bitdepth", json!(9), "invalid bitdepth 9: must be one of 8|10"),
            ("tiny_crf", json!(64), "invalid tiny_crf 64: must be an integer in range [0, 63]"),
            ("fast", json!(1), "invalid fast 1: must be true or false"),
            ("target", json!(110.5), "invalid target 110.5: must be a number in range [0, 110]"),
            ("target", json!("90"), "invalid target '90': must be a number in range [0, 110]"),
            ("ref", json!(7), "invalid ref 7: must be a string"),
            ("feature", json!("psnr"), "invalid feature 'psnr': must be an array of strings"),
            ("feature", json!(["a", "b", "c"]), "invalid feature '3 entries': at most 2 are allowed"),
        ] {
            assert_eq!(with(name, value).unwrap_err(), text);
        }
        assert_eq!(with("width", json!(8.0)).unwrap().whole("width"), Some(8));
    }

    #[test]
    fn a_wrong_value_has_a_nearest_right_one() {
        for (name, value, near) in [
            ("width", json!("1920"), json!(1920)),
            ("width", json!(0), json!(1)),
            ("pixfmt", json!(420), json!("420")),
            ("pixfmt", json!("421"), json!("420")),
            ("bitdepth", json!(9.9), json!(10)),
            ("tiny_crf", json!(64), json!(63)),
            ("fast", json!("yes"), json!(true)),
            ("target", json!("950"), json!(110.0)),
            ("feature", json!("psnr, ciede"), json!(["psnr", "ciede"])),
        ] {
            let field = FIELDS.iter().find(|field| field.name == name).unwrap();
            assert_eq!(field.nearest_value(&value), Some(near), "{name} {value}");
        }
        assert_eq!(FIELDS[7].nearest_value(&json!("perhaps")), None);
    }

    #[test]
    fn long_texts_are_refused_without_being_repeated() {
        for value in [json!("x".repeat(4_000_000)), json!(vec!["x".repeat(10_000)])] {
            for name in ["ref", "feature"] {
                assert!(with(name, value.clone()).unwrap_err().len() < 500);
            }
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        assert!(with("x", nested(49)).is_ok());
        assert!(with("x", nested(50)).unwrap_err().contains("deeper than 50"));
    }

    #[test]
    fn unknown_names_are_noted() {
        let values = with("widht", json!(8)).unwrap();
        assert_eq!(values.unknown, ["unknown argument 'widht' was ignored; did you mean 'width'?"]);
    }

    #[test]
    fn schemas_are_plain() {
        let schema = Value::Object(schema(FIELDS));
        assert_eq!(schema["required"], json!(["ref", "dis"]));
        assert_eq!(
            schema["properties"]["pixfmt"],
            json!({ "type": "string", "enum": ["420", "422"], "default": "420", "description": "d" })
        );
        assert_eq!(
            schema["properties"]["width"],
            json!({ "type": "integer", "minimum": 1, "description": "c" })
        );
    }
}
