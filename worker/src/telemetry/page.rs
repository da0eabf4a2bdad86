//! How is the page of one worker given to a browser, so that it can do nothing but show it?
//!
//! It is one file without a request of its own but for `status.json`. The policy allows its one
//! style and its one script by what they hold, and nothing else: no image, no frame, no form, no
//! other script, whatever should ever get into it.

use super::http::{Answer, answer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, X_FRAME_OPTIONS};
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

/// The page as it is sent.
const PAGE: &str = include_str!("page/status.html");
const HTML: &str = "text/html; charset=utf-8";

/// Made of the page, so that the two cannot differ.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let text = policy(PAGE).expect("the page has one style and one script");
    HeaderValue::try_from(text).expect("digests are plain text")
});

pub(super) fn answer_page() -> Answer {
    let mut page = answer(StatusCode::OK, HTML, PAGE);
    let headers = page.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    page
}

/// What a browser may do with a page; nothing where it has not one style and one script.
fn policy(page: &str) -> Option<String> {
    let hash = |element| {
        let digest = Sha256::digest(only(page, element)?);
        Some(format!("'sha256-{}'", STANDARD.encode(digest)))
    };
    let (script, style) = (hash("script")?, hash("style")?);
    Some(format!(
        "default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    ))
}

/// What stands in the one element of this name.
fn only<'a>(page: &'a str, element: &str) -> Option<&'a str> {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let (_, after) = page.split_once(&open)?;
    let (inside, rest) = after.split_once(&close)?;
    (!rest.contains(&format!("<{element}"))).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_nobody_and_writes_no_markup() {
        for elsewhere in [
            "http:",
            "https:",
            "//cdn",
            "src=",
            "@import",
            "url(",
            "innerHTML",
        ] {
            assert!(!PAGE.contains(elsewhere), "the page has `{elsewhere}`");
        }
        assert!(PAGE.len() < 40_000, "{} bytes", PAGE.len());
    }

    #[test]
    fn the_policy_is_of_this_very_page() {
        let of = |page: &str| policy(page).expect("it has both");
        let page = "<style>a</style><script>b</script>";
        assert!(
            of(page).contains("script-src 'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='")
        );
        assert_ne!(of(page), of("<style>a</style><script>c</script>"));
        for broken in [
            "<style>a</style>",
            "<script>b</script>",
            "<style>a</style><script>b</script><script>",
        ] {
            assert_eq!(policy(broken), None, "{broken}");
        }
        assert!(policy(PAGE).is_some());
    }
}
