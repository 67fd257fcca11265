//! Cryptography for TLS: rustls with graviola, for clients here and for the server.
//!
//! Graviola is Rust and inline assembly, so that building needs no C compiler. It runs on x86-64 and 64-bit ARM processors of the
//! last ten years.

use rustls::crypto::CryptoProvider;

/// Why there is no cryptography here.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoCryptography {
    #[error("this processor lacks {0}, which the built-in cryptography needs")]
    Lacks(&'static str),
    #[error("the built-in cryptography does not run on this kind of processor")]
    Unknown,
}

/// The provider, unless this processor cannot run it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn provider() -> Result<CryptoProvider, NoCryptography> {
    supported().map(|()| rustls_graviola::default_provider())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn provider() -> Result<CryptoProvider, NoCryptography> {
    Err(NoCryptography::Unknown)
}

/// Whether graviola runs on this processor.
pub fn supported() -> Result<(), NoCryptography> {
    let lacking = needed().into_iter().find(|(_, is_present)| !is_present);
    match lacking {
        _ if needed().is_empty() => Err(NoCryptography::Unknown),
        Some((name, _)) => Err(NoCryptography::Lacks(name)),
        None => Ok(()),
    }
}

/// What graviola needs of a processor, and whether it is there.
#[cfg(target_arch = "x86_64")]
fn needed() -> Vec<(&'static str, bool)> {
    use std::arch::is_x86_feature_detected as has;
    vec![
        ("AES", has!("aes")),
        ("PCLMULQDQ", has!("pclmulqdq")),
        ("SSSE3", has!("ssse3")),
        ("BMI1", has!("bmi1")),
        ("BMI2", has!("bmi2")),
        ("ADX", has!("adx")),
        ("AVX", has!("avx")),
        ("AVX2", has!("avx2")),
    ]
}

#[cfg(target_arch = "aarch64")]
fn needed() -> Vec<(&'static str, bool)> {
    use std::arch::is_aarch64_feature_detected as has;
    vec![("NEON", has!("neon")), ("AES", has!("aes")), ("PMULL", has!("pmull")), ("SHA2", has!("sha2"))]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn needed() -> Vec<(&'static str, bool)> {
    Vec::new()
}
