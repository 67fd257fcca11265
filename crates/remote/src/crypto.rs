//! What requests to object stores are signed with: SHA-256, HMAC, and RSA for service accounts of Google Cloud.

use graviola::signing::rsa::SigningKey;
use hmac::{Hmac, Mac};
use object_store::client::{
    CryptoProvider, DigestAlgorithm, DigestContext, HmacContext, Signer, SigningAlgorithm,
};
use object_store::{Error, Result};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};

use crate::tls;

fn refused(reason: impl std::fmt::Display) -> Error {
    Error::Generic { store: "signature", source: reason.to_string().into() }
}

/// The algorithms.
#[derive(Debug)]
pub struct Signatures;

impl CryptoProvider for Signatures {
    fn digest(&self, algorithm: DigestAlgorithm) -> Result<Box<dyn DigestContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(Sum { state: Sha256::new(), result: Vec::new() })),
            other => Err(refused(format!("{other:?} is not known"))),
        }
    }

    fn hmac(&self, algorithm: DigestAlgorithm, secret: &[u8]) -> Result<Box<dyn HmacContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => {
                let state = Hmac::<Sha256>::new_from_slice(secret).map_err(refused)?;
                Ok(Box::new(Keyed { state, result: Vec::new() }))
            }
            other => Err(refused(format!("{other:?} is not known"))),
        }
    }

    fn sign(&self, algorithm: SigningAlgorithm, pem: &[u8]) -> Result<Box<dyn Signer>> {
        match algorithm {
            SigningAlgorithm::RS256 => Ok(Box::new(Rsa(key(pem)?))),
            other => Err(refused(format!("{other:?} is not known"))),
        }
    }
}

struct Sum {
    state: Sha256,
    result: Vec<u8>,
}

impl DigestContext for Sum {
    fn update(&mut self, data: &[u8]) {
        Digest::update(&mut self.state, data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        self.result = self.state.finalize_reset().to_vec();
        Ok(&self.result)
    }
}

struct Keyed {
    state: Hmac<Sha256>,
    result: Vec<u8>,
}

impl HmacContext for Keyed {
    fn update(&mut self, data: &[u8]) {
        Mac::update(&mut self.state, data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        self.result = self.state.clone().finalize().into_bytes().to_vec();
        Ok(&self.result)
    }
}

struct Rsa(SigningKey);

impl Signer for Rsa {
    fn sign(&self, text: &[u8]) -> Result<Vec<u8>> {
        let mut signature = vec![0; self.0.modulus_len_bytes()];
        let length = self
            .0
            .sign_pkcs1_sha256(&mut signature, text)
            .map_err(|error| refused(format!("{error:?}")))?
            .len();
        signature.truncate(length);
        Ok(signature)
    }
}

fn key(pem: &[u8]) -> Result<SigningKey> {
    tls::supported().map_err(refused)?;
    let key = match PrivateKeyDer::from_pem_slice(pem).map_err(refused)? {
        PrivateKeyDer::Pkcs8(key) => SigningKey::from_pkcs8_der(key.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(key) => SigningKey::from_pkcs1_der(key.secret_pkcs1_der()),
        _ => return Err(refused("the private key is not one of RSA")),
    };
    key.map_err(|error| refused(format!("the private key: {error:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// FIPS 180-2's example, and the first of RFC 4231.
    #[test]
    fn known_digests() {
        let mut sum = Signatures.digest(DigestAlgorithm::Sha256).unwrap();
        sum.update(b"a");
        sum.update(b"bc");
        assert_eq!(
            hex(sum.finish().unwrap()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let mut keyed = Signatures.hmac(DigestAlgorithm::Sha256, &[0x0b; 20]).unwrap();
        keyed.update(b"Hi There");
        assert_eq!(
            hex(keyed.finish().unwrap()),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
    }

    #[test]
    fn what_is_signed_can_be_verified() {
        let key = SigningKey::generate(graviola::signing::rsa::KeySize::Rsa2048).unwrap();
        let mut der = vec![0; 4096];
        let der = key.to_pkcs8_der(&mut der).unwrap().to_vec();
        let base64 = visible(&der);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{base64}\n-----END PRIVATE KEY-----\n");
        let signature =
            Signatures.sign(SigningAlgorithm::RS256, pem.as_bytes()).unwrap().sign(b"text").unwrap();
        key.public_key().verify_pkcs1_sha256(&signature, b"text").unwrap();
        assert!(key.public_key().verify_pkcs1_sha256(&signature, b"other").is_err());
        assert!(Signatures.sign(SigningAlgorithm::RS256, b"no key").is_err());
    }

    /// Base64 of a few bytes.
    fn visible(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for group in bytes.chunks(3) {
            let word =
                group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
            let letter = |place: usize| LETTERS[(word >> (18 - 6 * place)) as usize & 63] as char;
            let shown = (0..4).map(|place| if place <= group.len() { letter(place) } else { '=' });
            text.extend(shown);
        }
        text
    }
}
