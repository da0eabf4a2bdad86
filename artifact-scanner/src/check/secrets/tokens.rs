//! Tokens that are known by their prefix.

use super::super::decode;
use super::placeholder;
use aho_corasick::AhoCorasick;
use std::sync::OnceLock;

type Told<'a> = dyn FnMut(&'static str, &str, usize) + 'a;

/// What may follow a prefix.
#[derive(Clone, Copy)]
enum Body {
    /// So many letters and digits, from and to.
    Alnum(usize, usize),
    /// The same with `-` and `_`.
    Url(usize, usize),
    Hex(usize),
    /// Capitals and the digits 2 to 7.
    Base32(usize),
    /// Base64, with its padding.
    Base64(usize, usize),
}

struct Prefix(&'static str, Body, &'static str, &'static str);

const MANY: usize = 400;

#[rustfmt::skip]
const PREFIXES: &[Prefix] = &[
    Prefix("AKIA", Body::Base32(16), "secrets.aws", "an access key of AWS"),
    Prefix("ASIA", Body::Base32(16), "secrets.aws", "a session key of AWS"),
    Prefix("ABIA", Body::Base32(16), "secrets.aws", "a bearer key of AWS"),
    Prefix("ghp_", Body::Alnum(36, MANY), "secrets.github", "a token of GitHub"),
    Prefix("gho_", Body::Alnum(36, MANY), "secrets.github", "a token of GitHub"),
    Prefix("ghu_", Body::Alnum(36, MANY), "secrets.github", "a token of GitHub"),
    Prefix("ghs_", Body::Alnum(36, MANY), "secrets.github", "a token of GitHub"),
    Prefix("ghr_", Body::Alnum(36, MANY), "secrets.github", "a token of GitHub"),
    Prefix("github_pat_", Body::Url(60, MANY), "secrets.github", "a token of GitHub"),
    Prefix("glpat-", Body::Url(20, MANY), "secrets.gitlab", "a token of GitLab"),
    Prefix("glptt-", Body::Url(20, MANY), "secrets.gitlab", "a trigger token of GitLab"),
    Prefix("gldt-", Body::Url(20, MANY), "secrets.gitlab", "a deploy token of GitLab"),
    Prefix("glrt-", Body::Url(20, MANY), "secrets.gitlab", "a runner token of GitLab"),
    Prefix("glcbt-", Body::Url(20, MANY), "secrets.gitlab", "a job token of GitLab"),
    Prefix("glsoat-", Body::Url(20, MANY), "secrets.gitlab", "a token of GitLab"),
    Prefix("GR1348941", Body::Url(20, MANY), "secrets.gitlab", "a runner token of GitLab"),
    Prefix("xoxb-", Body::Url(24, MANY), "secrets.slack", "a token of Slack"),
    Prefix("xoxp-", Body::Url(24, MANY), "secrets.slack", "a token of Slack"),
    Prefix("xoxa-", Body::Url(24, MANY), "secrets.slack", "a token of Slack"),
    Prefix("xoxr-", Body::Url(24, MANY), "secrets.slack", "a token of Slack"),
    Prefix("xoxs-", Body::Url(24, MANY), "secrets.slack", "a token of Slack"),
    Prefix("xoxe-", Body::Url(24, MANY), "secrets.slack", "a token of Slack"),
    Prefix("xoxe.xoxp-", Body::Url(24, MANY), "secrets.slack", "a token of Slack"),
    Prefix("xapp-", Body::Url(24, MANY), "secrets.slack", "an application token of Slack"),
    Prefix("hooks.slack.com/services/T", Body::Base64(30, 80), "secrets.slack", "a web hook of Slack"),
    Prefix("sk_live_", Body::Alnum(16, MANY), "secrets.stripe", "a live key of Stripe"),
    Prefix("rk_live_", Body::Alnum(16, MANY), "secrets.stripe", "a live key of Stripe"),
    Prefix("sk_test_", Body::Alnum(20, MANY), "secrets.stripe", "a test key of Stripe"),
    Prefix("rk_test_", Body::Alnum(20, MANY), "secrets.stripe", "a test key of Stripe"),
    Prefix("whsec_", Body::Base64(32, MANY), "secrets.stripe", "a web hook secret of Stripe"),
    Prefix("AIza", Body::Url(35, 35), "secrets.google", "an API key of Google"),
    Prefix("GOCSPX-", Body::Url(28, 28), "secrets.google", "a client secret of Google"),
    Prefix("ya29.", Body::Url(40, MANY), "secrets.google", "an access token of Google"),
    Prefix("sk-ant-", Body::Url(40, MANY), "secrets.anthropic", "a key of Anthropic"),
    Prefix("sk-proj-", Body::Url(40, MANY), "secrets.openai", "a key of OpenAI"),
    Prefix("sk-svcacct-", Body::Url(40, MANY), "secrets.openai", "a key of OpenAI"),
    Prefix("sk-admin-", Body::Url(40, MANY), "secrets.openai", "a key of OpenAI"),
    Prefix("sk-or-v1-", Body::Hex(64), "secrets.openrouter", "a key of OpenRouter"),
    Prefix("sk-", Body::Alnum(48, 48), "secrets.openai", "a key of OpenAI"),
    Prefix("gsk_", Body::Alnum(48, 60), "secrets.groq", "a key of Groq"),
    Prefix("xai-", Body::Alnum(70, 90), "secrets.xai", "a key of xAI"),
    Prefix("hf_", Body::Alnum(34, 40), "secrets.hugging_face", "a token of Hugging Face"),
    Prefix("r8_", Body::Alnum(37, 40), "secrets.replicate", "a token of Replicate"),
    Prefix("npm_", Body::Alnum(36, 36), "secrets.npm", "a token of npm"),
    Prefix("pypi-AgE", Body::Url(50, MANY), "secrets.pypi", "a token of PyPI"),
    Prefix("dckr_pat_", Body::Url(27, MANY), "secrets.docker", "a token of Docker"),
    Prefix("dop_v1_", Body::Hex(64), "secrets.digitalocean", "a token of DigitalOcean"),
    Prefix("shpat_", Body::Hex(32), "secrets.shopify", "a token of Shopify"),
    Prefix("shpss_", Body::Hex(32), "secrets.shopify", "a secret of Shopify"),
    Prefix("xkeysib-", Body::Hex(64), "secrets.brevo", "a key of Brevo"),
    Prefix("hvs.", Body::Url(24, MANY), "secrets.vault", "a token of Vault"),
    Prefix("dapi", Body::Hex(32), "secrets.databricks", "a token of Databricks"),
    Prefix("glsa_", Body::Url(32, MANY), "secrets.grafana", "a token of Grafana"),
    Prefix("lin_api_", Body::Alnum(40, 40), "secrets.linear", "a key of Linear"),
    Prefix("sq0csp-", Body::Url(43, 43), "secrets.square", "a secret of Square"),
    Prefix("AGE-SECRET-KEY-1", Body::Alnum(58, 58), "secrets.age", "a key of age"),
    Prefix("AccountKey=", Body::Base64(86, 90), "secrets.azure", "an account key of Azure"),
    Prefix("SharedAccessKey=", Body::Base64(43, 46), "secrets.azure", "an access key of Azure"),
];

/// Anchors that have a rule of their own, behind the prefixes.
const SPECIAL: [&str; 5] = [
    "PRIVATE KEY",
    "PuTTY-User-Key-File-",
    "eyJ",
    "SG.",
    "openssh-key-v1\0",
];

fn anchors() -> Option<&'static AhoCorasick> {
    static ANCHORS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let words = || PREFIXES.iter().map(|prefix| prefix.0).chain(SPECIAL);
    ANCHORS
        .get_or_init(|| AhoCorasick::new(words()).ok())
        .as_ref()
}

/// Looks for every prefix at once.
pub(super) fn search(view: &[u8], told: &mut Told<'_>) {
    let Some(anchors) = anchors() else { return };
    let mut tried = 0;
    for found in anchors.find_overlapping_iter(view) {
        let (at, end) = (found.start(), found.end());
        let rest = &view[end..];
        match PREFIXES.get(found.pattern().as_usize()) {
            Some(prefix) if starts_a_word(view, at) && body_fits(rest, prefix.1) => {
                told(prefix.2, prefix.3, at);
            }
            Some(_) => {}
            None => match SPECIAL[found.pattern().as_usize() - PREFIXES.len()] {
                "PRIVATE KEY" if private_key(view, at, rest) => {
                    told("secrets.private_key", "a private key", at);
                }
                "PuTTY-User-Key-File-"
                    if memchr::memmem::find(&rest[..rest.len().min(4096)], b"Private-Lines:")
                        .is_some() =>
                {
                    told("secrets.private_key", "a private key of PuTTY", at);
                }
                "openssh-key-v1\0" => told("secrets.private_key", "a private key of OpenSSH", at),
                "eyJ"
                    if at >= tried
                        && starts_a_word(view, at)
                        && web_token(&view[at..], &mut tried, at) =>
                {
                    told("secrets.jwt", "a signed web token", at);
                }
                "SG." if starts_a_word(view, at) && sendgrid(rest) => {
                    told("secrets.sendgrid", "a key of SendGrid", at);
                }
                _ => {}
            },
        }
    }
}

fn starts_a_word(view: &[u8], at: usize) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match view[..at] {
        // The `n` of `\n` in a text within a text.
        [.., b'\\', b'n' | b't' | b'r'] | [] => true,
        // The digits of `%3D`.
        [.., b'%', a, b] => !word(b) || (a.is_ascii_hexdigit() && b.is_ascii_hexdigit()),
        // In a record of bytes the length of a text stands before it, and may look like a letter.
        [.., last] => !word(last) || view[at.saturating_sub(32)..at].iter().any(|byte| *byte < 9),
    }
}

fn run(rest: &[u8], fits: impl Fn(u8) -> bool) -> usize {
    rest.iter()
        .take(MANY + 1)
        .take_while(|byte| fits(**byte))
        .count()
}

fn body_fits(rest: &[u8], body: Body) -> bool {
    let url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let (length, from, to) = match body {
        Body::Alnum(from, to) => (run(rest, |byte| byte.is_ascii_alphanumeric()), from, to),
        Body::Url(from, to) => (run(rest, url), from, to),
        Body::Hex(count) => (run(rest, |byte| byte.is_ascii_hexdigit()), count, count),
        Body::Base32(count) => {
            let length = run(rest, |byte| byte.is_ascii_alphanumeric());
            if !rest[..length]
                .iter()
                .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9'))
            {
                return false;
            }
            // A run of capitals alone is a sequence of amino acids, not a key.
            if !rest[..length].iter().any(u8::is_ascii_digit) {
                return false;
            }
            (length, count, count)
        }
        Body::Base64(from, to) => (run(rest, |byte| decode::sextet(byte).is_some()), from, to),
    };
    (from..=to).contains(&length) && !placeholder(&rest[..length]) && mixed(&rest[..length])
}

/// Random tokens have digits and letters; names made of words seldom do.
fn mixed(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_digit) && token.iter().any(u8::is_ascii_alphabetic)
}

/// Whether a head of PEM stands here, with a body behind it. The dashes may be missing: a packed
/// column repeats them by reference.
fn private_key(view: &[u8], at: usize, rest: &[u8]) -> bool {
    let before = &view[at.saturating_sub(24)..at];
    if memchr::memmem::find(before, b"BEGIN ").is_none() {
        return false;
    }
    let mut lines = 0;
    let near = &rest[..rest.len().min(600)];
    for line in near.split(|byte| decode::sextet(*byte).is_none() || *byte == b'-') {
        if line.len() >= 40 && super::distinct(line) > 12 && !placeholder(line) {
            lines += 1;
        }
    }
    lines > 0
}

fn web_token(text: &[u8], tried: &mut usize, at: usize) -> bool {
    let url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let part = |text: &[u8]| {
        text.iter()
            .take(16_384)
            .take_while(|byte| url(**byte))
            .count()
    };
    let head = part(text);
    // Within this run there is no other head.
    *tried = at + head;
    if text.get(head) != Some(&b'.') {
        return false;
    }
    let body = part(&text[head + 1..]);
    let rest = &text[head + 1 + body..];
    let [b'.', signature @ ..] = rest else {
        return false;
    };
    let signature = &signature[..part(signature)];
    let known = b"SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";
    head >= 16
        && body >= 8
        && signature.len() >= 20
        && signature != known
        && memchr::memmem::find(&decode::base64(&text[..head.min(1024)]), b"\"alg\"").is_some()
}

fn sendgrid(rest: &[u8]) -> bool {
    let url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let first = run(rest, url);
    first == 22 && rest.get(22) == Some(&b'.') && run(&rest[23..], url) == 43
}
