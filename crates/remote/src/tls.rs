//! Cryptography for TLS: rustls with graviola, as the server has it.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

use crate::RemoteError;

/// The provider, unless this processor cannot run it.
pub fn provider() -> Result<Arc<CryptoProvider>, RemoteError> {
    match missing() {
        None => Ok(Arc::new(rustls_graviola::default_provider())),
        Some(what) => Err(RemoteError::Address(format!(
            "this processor lacks {what}, which the built-in cryptography needs; use an endpoint without TLS"
        ))),
    }
}

/// What this processor lacks of what graviola needs.
#[cfg(target_arch = "x86_64")]
pub fn missing() -> Option<&'static str> {
    use std::arch::is_x86_feature_detected as has;
    let needed = [
        ("AES", has!("aes")),
        ("PCLMULQDQ", has!("pclmulqdq")),
        ("SSSE3", has!("ssse3")),
        ("BMI1", has!("bmi1")),
        ("BMI2", has!("bmi2")),
        ("ADX", has!("adx")),
        ("AVX", has!("avx")),
        ("AVX2", has!("avx2")),
    ];
    needed.into_iter().find_map(|(name, present)| (!present).then_some(name))
}

#[cfg(target_arch = "aarch64")]
pub fn missing() -> Option<&'static str> {
    use std::arch::is_aarch64_feature_detected as has;
    let needed =
        [("NEON", has!("neon")), ("AES", has!("aes")), ("PMULL", has!("pmull")), ("SHA2", has!("sha2"))];
    needed.into_iter().find_map(|(name, present)| (!present).then_some(name))
}
