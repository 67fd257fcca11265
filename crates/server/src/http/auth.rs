//! Who may ask: the bearer token.

use std::fmt;

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::settings::StartError;

/// Whether a token is asked for, and which.
#[derive(Clone)]
pub enum Access {
    Open,
    Token { digest: [u8; 32], made_up: Option<String> },
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Open) { "Open" } else { "Token" })
    }
}

impl Access {
    pub fn configured(token: &[u8]) -> Self {
        Self::Token { digest: Sha256::digest(token).into(), made_up: None }
    }

    /// A token of 256 random bits, for a server that was given none.
    pub fn random() -> Result<Self, StartError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| StartError::Random(error.to_string()))?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self::Token { digest: Sha256::digest(&token).into(), made_up: Some(token) })
    }

    /// The made-up token, to be shown once.
    pub fn made_up(&self) -> Option<&str> {
        match self {
            Self::Token { made_up, .. } => made_up.as_deref(),
            Self::Open => None,
        }
    }

    /// Whether a request with these headers may pass. Digests are compared, in constant time: neither the content nor
    /// the length of the token shows in how long it takes.
    pub fn allows(&self, headers: &HeaderMap) -> bool {
        let Self::Token { digest, .. } = self else { return true };
        let Some(given) = bearer(headers) else { return false };
        bool::from(Sha256::digest(given).as_slice().ct_eq(digest))
    }
}

/// The bearer token of a request that has exactly one `Authorization` header.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (only, None) = (all.next()?, all.next()) else { return None };
    let (scheme, token) = only.as_bytes().split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(values: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn only_the_token_passes() {
        let access = Access::configured("s\u{fc}ss".as_bytes());
        assert!(access.allows(&headers(&["Bearer s\u{fc}ss".as_bytes()])));
        assert!(access.allows(&headers(&["bearer  s\u{fc}ss ".as_bytes()])));
        let wrong: [&[&[u8]]; 8] = [
            &[],
            &[b"Bearer"],
            &[b"Bearer "],
            &[b"Bearer s"],
            &[b"Basic s"],
            &[b"s\xc3\xbcss"],
            &[b"Bearer s\xfcss"],
            &[b"Bearer s\xc3\xbcss", b"Bearer s\xc3\xbcss"],
        ];
        for values in wrong {
            assert!(!access.allows(&headers(values)), "{values:?}");
        }
        assert!(Access::Open.allows(&headers(&[])));
    }

    #[test]
    fn made_up_tokens_differ_and_stay_out_of_debug_output() {
        let (one, two) = (Access::random().unwrap(), Access::random().unwrap());
        assert_ne!(one.made_up(), two.made_up());
        assert_eq!(one.made_up().unwrap().len(), 64);
        assert_eq!(format!("{one:?}"), "Token");
    }
}
