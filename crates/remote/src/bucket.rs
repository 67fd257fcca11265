//! A place for named bytes in an object store.
//!
//! Every request is tried again when the store is busy (429, 5xx), cuts the connection, or is silent for too long; what it
//! refuses for good (no such object, no permission) is not.

use std::collections::HashMap;
use std::future::Future;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig,
    WriteMultipart,
};

use crate::address::Scheme;
use crate::crypto::Signatures;
use crate::http::Web;
use crate::runtime::wait;
use crate::{Address, RemoteError};

/// Larger pieces are sent in parts of this size.
const PART: usize = 8 << 20;
/// How often a request is made before it fails.
const ATTEMPTS: u32 = 8;
/// The first pause before the next attempt; each is twice as long as the one before, up to the last.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The longest that one attempt may take; at a megabyte a second a part is there in time.
const LIMIT: Duration = Duration::from_secs(120);

/// Clients by their bucket, so that connections are used again.
static STORES: LazyLock<Mutex<HashMap<String, Arc<dyn ObjectStore>>>> = LazyLock::new(Mutex::default);

/// What is known of an object without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFacts {
    pub bytes: u64,
    /// When it was written, by the store's clock.
    pub written: SystemTime,
    /// The store's name for exactly these bytes, if it has one.
    pub version: Option<String>,
}

impl From<&ObjectMeta> for ObjectFacts {
    fn from(meta: &ObjectMeta) -> Self {
        Self { bytes: meta.size, written: meta.last_modified.into(), version: meta.e_tag.clone() }
    }
}

/// An object store from an address on: names are keys below it.
#[derive(Clone, Debug)]
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    root: Address,
}

impl Bucket {
    /// Credentials, region and endpoint come from the environment, as for other clients of the store.
    pub fn open(root: &Address) -> Result<Self, RemoteError> {
        let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match stores.get(&root.bucket_url()) {
            Some(store) => Arc::clone(store),
            None => {
                let store = connect(root)?;
                stores.insert(root.bucket_url(), Arc::clone(&store));
                store
            }
        };
        Ok(Self { store, root: root.clone() })
    }

    /// The address of a name.
    pub fn address(&self, name: &str) -> Address {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }

    fn path(&self, name: &str) -> Result<Path, RemoteError> {
        let address = self.address(name);
        Path::parse(address.key()).map_err(|error| RemoteError::Address(format!("{address}: {error}")))
    }

    /// Makes a request until it has an answer. `None` where there is no such object.
    async fn again<T, F>(&self, what: String, request: impl Fn() -> F) -> Result<Option<T>, RemoteError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut pause = PAUSE;
        for attempt in 1.. {
            let reason = match tokio::time::timeout(LIMIT, request()).await {
                Ok(Ok(answer)) => return Ok(Some(answer)),
                Ok(Err(Error::NotFound { .. })) => return Ok(None),
                Ok(Err(Error::Precondition { path, .. })) => return Err(RemoteError::Changed(path)),
                Ok(Err(error)) if is_final(&error) || is_distrusted(&error) => {
                    return Err(RemoteError::failed(what, chain(&error)));
                }
                Ok(Err(error)) => chain(&error),
                Err(_) => format!("no answer in {} s", LIMIT.as_secs()),
            };
            if attempt >= ATTEMPTS {
                return Err(RemoteError::failed(what, format!("{reason} ({attempt} attempts)")));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(None)
    }

    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RemoteError> {
        let path = self.path(name)?;
        let read = || async { self.store.get(&path).await?.bytes().await };
        let what = format!("cannot read {}", self.address(name));
        Ok(wait(self.again(what, read))?.map(|bytes| bytes.to_vec()))
    }

    /// Writes an object, whole or not at all. An existing one is kept unless `replace`.
    pub fn put(&self, name: &str, bytes: Vec<u8>, replace: bool) -> Result<(), RemoteError> {
        let (path, bytes) = (self.path(name)?, Bytes::from(bytes));
        let what = format!("cannot write {}", self.address(name));
        if bytes.len() > PART {
            return self.put_in_parts(&path, &bytes, replace, what);
        }
        let mode = if replace { PutMode::Overwrite } else { PutMode::Create };
        let write = || async {
            let payload = PutPayload::from_bytes(bytes.clone());
            match self.store.put_opts(&path, payload, mode.clone().into()).await {
                // Also what is left of an attempt whose answer was lost.
                Ok(_) | Err(Error::AlreadyExists { .. }) => Ok(()),
                Err(Error::Precondition { .. }) if !replace => Ok(()),
                Err(error) => Err(error),
            }
        };
        wait(self.again(what.clone(), write))?
            .ok_or_else(|| RemoteError::failed(what, "there is no such bucket"))
    }

    /// Parts become an object when the last is there. Stores have no condition for that: of two writers at the same moment the
    /// second stays, with the same scores.
    fn put_in_parts(
        &self,
        path: &Path,
        bytes: &Bytes,
        replace: bool,
        what: String,
    ) -> Result<(), RemoteError> {
        let write = || async {
            if !replace && self.store.head(path).await.is_ok() {
                return Ok(());
            }
            let mut upload = WriteMultipart::new_with_chunk_size(self.store.put_multipart(path).await?, PART);
            upload.put(bytes.clone());
            upload.finish().await.map(|_| ())
        };
        wait(self.again(what.clone(), write))?
            .ok_or_else(|| RemoteError::failed(what, "there is no such bucket"))
    }

    /// What is known of an object, if there is one.
    pub fn facts(&self, name: &str) -> Result<Option<ObjectFacts>, RemoteError> {
        let path = self.path(name)?;
        let what = format!("cannot look at {}", self.address(name));
        let meta = wait(self.again(what, || async { self.store.head(&path).await }))?;
        Ok(meta.as_ref().map(ObjectFacts::from))
    }

    /// All objects below a name, by what follows the bucket's root, in the order of their names.
    pub fn list(&self, name: &str) -> Result<Vec<(String, ObjectFacts)>, RemoteError> {
        let path = self.path(name)?;
        let what = format!("cannot list {}", self.address(name));
        let list = || async { self.store.list(Some(&path)).try_collect::<Vec<_>>().await };
        let found = wait(self.again(what, list))?.unwrap_or_default();
        let root = self.root.key();
        let name_of = |meta: &ObjectMeta| {
            let key = meta.location.as_ref();
            key.strip_prefix(root).unwrap_or(key).trim_start_matches('/').to_owned()
        };
        let mut named: Vec<_> = found.iter().map(|meta| (name_of(meta), ObjectFacts::from(meta))).collect();
        named.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(named)
    }

    /// Some bytes of an object that must still be the one that `facts` are of.
    pub(crate) async fn range(
        &self,
        name: &str,
        facts: &ObjectFacts,
        range: Range<u64>,
    ) -> Result<Bytes, RemoteError> {
        let path = self.path(name)?;
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: facts.version.clone(),
            ..GetOptions::default()
        };
        let what = format!("cannot read {}", self.address(name));
        let read = || async { self.store.get_opts(&path, options.clone()).await?.bytes().await };
        let bytes = self.again(what, read).await?;
        let bytes = bytes.ok_or_else(|| RemoteError::Changed(self.address(name).to_string()))?;
        if bytes.len() as u64 != range.end - range.start {
            return Err(RemoteError::Changed(self.address(name).to_string()));
        }
        Ok(bytes)
    }
}

/// A client for the bucket of an address.
fn connect(root: &Address) -> Result<Arc<dyn ObjectStore>, RemoteError> {
    let (web, url, crypto) = (Web::new()?, root.bucket_url(), Arc::new(Signatures));
    // Attempts are counted here; the store's own are for what it answers at once.
    let retry = RetryConfig { max_retries: 2, ..RetryConfig::default() };
    let cannot = |error: Error| RemoteError::Address(format!("{root}: {error}"));
    Ok(match root.scheme {
        Scheme::S3 => {
            let builder = AmazonS3Builder::from_env().with_url(url).with_retry(retry);
            Arc::new(builder.with_http_connector(web).with_crypto_provider(crypto).build().map_err(cannot)?)
        }
        Scheme::Google => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retry);
            Arc::new(builder.with_http_connector(web).with_crypto_provider(crypto).build().map_err(cannot)?)
        }
        Scheme::Azure => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retry);
            Arc::new(builder.with_http_connector(web).with_crypto_provider(crypto).build().map_err(cannot)?)
        }
    })
}

/// What another attempt would not change.
fn is_final(error: &Error) -> bool {
    matches!(
        error,
        Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. }
            | Error::InvalidPath { .. }
            | Error::UnknownConfigurationKey { .. }
    )
}

/// Whether a server is not whom it says it is, or its authority is not known here (`SSL_CERT_FILE`).
fn is_distrusted(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            let inner = io.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            if matches!(inner, Some(rustls::Error::InvalidCertificate(_))) {
                return true;
            }
        }
        cause = error.source();
    }
    false
}

/// An error with its causes, without repeating what a cause says already.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
