//! Addresses of objects: `s3://bucket/key`, `gs://bucket/key`, `az://container/key`.

use std::fmt;
use std::str::FromStr;

use crate::RemoteError;

/// Whose store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    S3,
    Google,
    Azure,
}

const SCHEMES: [(&str, Scheme); 3] = [("s3", Scheme::S3), ("gs", Scheme::Google), ("az", Scheme::Azure)];

/// Where an object is, or a prefix of several.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    pub(crate) scheme: Scheme,
    pub(crate) bucket: String,
    key: String,
}

impl Address {
    /// Whether a text is meant as an address of an object store.
    pub fn is_meant_by(text: &str) -> bool {
        SCHEMES.iter().any(|(name, _)| text.strip_prefix(name).is_some_and(|rest| rest.starts_with("://")))
    }

    /// The object's name within its bucket; empty for the bucket itself.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Another object of the same bucket.
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: key.trim_matches('/').to_owned(), ..self.clone() }
    }

    /// An object below this one.
    pub fn join(&self, name: &str) -> Self {
        match self.key.as_str() {
            "" => self.with_key(name),
            key => self.with_key(&format!("{key}/{name}")),
        }
    }

    /// The address of the bucket, as its builder reads it.
    pub(crate) fn bucket_url(&self) -> String {
        let name = SCHEMES.iter().find(|(_, scheme)| *scheme == self.scheme).map_or("", |(name, _)| name);
        format!("{name}://{}", self.bucket)
    }
}

impl FromStr for Address {
    type Err = RemoteError;

    fn from_str(text: &str) -> Result<Self, RemoteError> {
        let refuse = |why: &str| RemoteError::Address(format!("{text}: {why}"));
        let (name, rest) =
            text.split_once("://").ok_or_else(|| refuse("it is no address of an object store"))?;
        let scheme = SCHEMES.iter().find(|(known, _)| *known == name).map(|(_, scheme)| *scheme);
        let scheme = scheme.ok_or_else(|| refuse("s3://, gs:// and az:// are known"))?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(refuse("there is no bucket"));
        }
        let key = key.trim_matches('/');
        let is_odd = |part: &str| part.is_empty() || part == "." || part == "..";
        if !key.is_empty() && key.split('/').any(is_odd) {
            return Err(refuse("a part of the key is empty, '.' or '..'"));
        }
        Ok(Self { scheme, bucket: bucket.to_owned(), key: key.to_owned() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => f.write_str(&self.bucket_url()),
            key => write!(f, "{}/{key}", self.bucket_url()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, bucket, key) in [
            ("s3://films/a/b.y4m", "films", "a/b.y4m"),
            ("gs://films", "films", ""),
            ("az://films/a b/", "films", "a b"),
        ] {
            assert!(Address::is_meant_by(text), "{text}");
            let address: Address = text.parse().unwrap();
            assert_eq!((&*address.bucket, address.key()), (bucket, key));
            assert_eq!(address.to_string(), text.trim_end_matches('/'));
        }
        let address: Address = "s3://films/plan".parse().unwrap();
        assert_eq!(address.join("plan.json").to_string(), "s3://films/plan/plan.json");
        assert_eq!(address.with_key("x").to_string(), "s3://films/x");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["/films/a", "ftp://a/b", "s3://", "s3:///a", "s3://a/b//c", "s3://a/../b", "film.y4m"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        assert!(
            !Address::is_meant_by("/s3://a") && !Address::is_meant_by("s3:a") && !Address::is_meant_by("s3")
        );
    }
}
