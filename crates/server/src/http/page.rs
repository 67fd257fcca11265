//! The web page: files that are part of this program, under a policy that lets nothing else run.
//!
//! The files need no token, for they say nothing of anybody's videos; everything that the page then asks for does.

use axum::extract::Path;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::answer::Answer;
use crate::web;

/// Nothing from elsewhere, nothing inline, no frames around the page; pictures from the page's own memory.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether a path belongs to the page.
pub fn is_page(path: &str) -> bool {
    path == "/" || path.starts_with("/ui/")
}

/// `GET /`
pub async fn index() -> Response {
    file("index.html")
}

/// `GET /ui/{name}`
pub async fn asset(Path(name): Path<String>) -> Response {
    file(&name)
}

fn file(name: &str) -> Response {
    let Some((kind, text)) = web::file(name) else {
        return Answer::not_found("the page has no such file").into_response();
    };
    let fixed = HeaderValue::from_static;
    let headers: [(HeaderName, HeaderValue); 6] = [
        (header::CONTENT_TYPE, fixed(kind)),
        (header::CONTENT_SECURITY_POLICY, fixed(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
        (header::REFERRER_POLICY, fixed("no-referrer")),
        // A new version of the program brings a new page.
        (header::CACHE_CONTROL, fixed("no-cache")),
        (HeaderName::from_static("cross-origin-opener-policy"), fixed("same-origin")),
    ];
    (headers, text).into_response()
}
