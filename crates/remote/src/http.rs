//! The way to an object store: hyper, with TLS by rustls and graviola.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, Error, connect::HttpConnector as Tcp};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};

use crate::{RemoteError, tls};

/// Time to connect, and time until the head of the response is there.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(60);
/// Connections that nobody uses are closed after this time, before most stores close them.
const IDLE: Duration = Duration::from_secs(15);

type Hyper = Client<HttpsConnector<Tcp>, HttpRequestBody>;

/// Makes clients; all share one pool of connections.
#[derive(Clone, Debug)]
pub struct Web(Hyper);

impl Web {
    pub fn new() -> Result<Self, RemoteError> {
        let mut tcp = Tcp::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        let builder = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(Arc::new(tls::provider()?))
            .map_err(|error| RemoteError::failed("certificates of this machine", error))?;
        let https = builder.https_or_http().enable_http1().wrap_connector(tcp);
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
        Ok(Self(client.build(https)))
    }
}

impl HttpConnector for Web {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Web {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answered = tokio::time::timeout(ANSWER, self.0.request(request)).await;
        let response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(HttpError::new(kind(&error), error)),
            Err(late) => return Err(HttpError::new(HttpErrorKind::Timeout, late)),
        };
        let (head, body) = response.into_parts();
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}

/// What object_store may try again by itself.
fn kind(error: &Error) -> HttpErrorKind {
    if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Interrupted }
}
